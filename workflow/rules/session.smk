# A block is one Snakemake run that measures; its record is never deleted and its number never reused,
# since a missing "database ready" file would make Snakemake measure every finished cell again.
from poollab.session.hooks import Hooks

HOOKS = Hooks(SESSION, workflow, SILENT)


onstart:
    HOOKS.start()


onsuccess:
    HOOKS.succeed(f"{RESULTS}/published")


onerror:
    HOOKS.fail(log)


rule begin_block:
    output:
        f"{RESULTS}/state/blocks/{{block}}/block.json",
    log:
        f"{RESULTS}/logs/block-{{block}}.log",
    conda:
        "../envs/poollab.yaml"
    shell:
        "python3 scripts/provision.py {output:q} --log {log:q}"


rule end_blocks:
    input:
        expand(f"{RESULTS}/cells/{{cell}}/run.json", cell=SESSION.plans),
    output:
        f"{RESULTS}/cleanup.json",
    log:
        f"{RESULTS}/logs/cleanup.log",
    # Before the analysis: the machine is free again as soon as the last cell is measured.
    priority: 10**6
    conda:
        "../envs/poollab.yaml"
    shell:
        "python3 scripts/teardown.py {output:q} --log {log:q}"
