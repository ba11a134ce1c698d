# One job a cell. Nothing but stable words in the command and no params: an edit of the script, of a
# setting or of the interpreter's path must never measure a finished cell again. What a setting decides is
# in the cell's settings hash, and results of another hash are refused when the study is opened.


rule measure_cell:
    input:
        block=lambda wc: ancient(SESSION.block_record(wc.cell)),
    output:
        f"{RESULTS}/cells/{{cell}}/run.json",
    log:
        f"{RESULTS}/logs/cell-{{cell}}.log",
    priority: lambda wc: SESSION.priority(wc.cell)
    conda:
        "../envs/poollab.yaml"
    # More than any machine has: one cell at a time whatever --cores says.
    threads: 1024
    shell:
        "python3 scripts/measure.py {output:q} {input.block:q} --log {log:q}"
