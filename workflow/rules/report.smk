# Code, templates and texts are inputs: an edit re-renders, and never measures again.
REPORT_INPUTS = sorted(
    str(p.relative_to(ROOT))
    for folder in ("reports/templates", "reports/text", "workflow/poollab/report")
    for p in (ROOT / folder).rglob("*")
    if p.is_file() and p.suffix != ".pyc"
)


rule render_html:
    input:
        tables=rules.collect_tables.output,
        code=REPORT_INPUTS,
    output:
        f"{RESULTS}/report/index.html",
    log:
        f"{RESULTS}/logs/render_html.log",
    conda:
        "../envs/poollab.yaml"
    params:
        results=subpath(output[0], ancestor=2),
        pdf="--pdf" if SESSION.pdf else "",
    shell:
        "python3 scripts/render_html.py {params.results:q} reports/templates {output:q} {params.pdf} --log {log:q}"


rule render_pdf:
    input:
        tables=rules.collect_tables.output,
        code=REPORT_INPUTS,
    output:
        f"{RESULTS}/report/report.pdf",
    log:
        f"{RESULTS}/logs/render_pdf.log",
    conda:
        "../envs/poollab.yaml"
    params:
        results=subpath(output[0], ancestor=2),
    shell:
        "python3 scripts/render_pdf.py {params.results:q} reports/templates {output:q} --log {log:q}"
