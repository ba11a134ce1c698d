# Imports are invisible to Snakemake, so the code that decides numbers is an input.
STATS_CODE = sorted(
    str(p.relative_to(ROOT)) for folder in ("stats", "data") for p in (ROOT / "workflow/poollab" / folder).rglob("*.py")
)


rule collect_tables:
    input:
        cells=expand(f"{RESULTS}/cells/{{cell}}/run.json", cell=SESSION.plans),
        cleanup=rules.end_blocks.output,
        # Its title and its plan go into the tables and the report.
        study=SESSION.file,
        code=STATS_CODE,
    output:
        requests=f"{RESULTS}/requests.parquet",
        tables=multiext(f"{RESULTS}/", "runs.parquet", "runs.csv", "conditions.parquet", "conditions.csv"),
        environment=f"{RESULTS}/environment.json",
        analysis=f"{RESULTS}/analysis.json",
        series=f"{RESULTS}/series.json",
    log:
        f"{RESULTS}/logs/collect.log",
    conda:
        "../envs/poollab.yaml"
    shell:
        "python3 scripts/collect.py {output.environment:q} --log {log:q}"
