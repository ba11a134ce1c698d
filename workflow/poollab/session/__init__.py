"""What connects the graph to the package: one Snakemake run over a study, its blocks, its messages, its end."""
