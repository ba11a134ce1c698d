# The workflow is workflow/Snakefile; a default target inside an included file is ignored, so it stands here.
include: "workflow/Snakefile"


rule study:
    default_target: True
    input:
        rules.publish.output,
