# What explains the package is code, too: an edit makes the package anew, and never measures again.
PUBLISH_CODE = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "workflow/poollab/publish").glob("*.py"))


rule publish:
    input:
        html=rules.render_html.output,
        pdf=rules.render_pdf.output if SESSION.pdf else [],
        tables=rules.collect_tables.output,
        study=SESSION.file,
        code=PUBLISH_CODE,
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
