rule publish:
    input:
        html=rules.render_html.output,
        pdf=rules.render_pdf.output if SESSION.pdf else [],
        tables=rules.collect_tables.output,
        study=SESSION.file,
    output:
        f"{RESULTS}/published/SHA256SUMS",
    log:
        f"{RESULTS}/logs/publish.log",
    conda:
        "../envs/poollab.yaml"
    params:
        pdf="--pdf" if SESSION.pdf else "",
    shell:
        "python3 scripts/package.py {output:q} {input.study:q} {params.pdf} --log {log:q}"
