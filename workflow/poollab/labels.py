"""Names that become folders and file names: studies, workloads, arms, limits."""

import re

LABEL = r"^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$"
LABEL_RULE = "1 to 40 lower-case letters, digits and inner hyphens, such as heavy-bursts"


def is_label(text: str) -> bool:
    """
    Tell whether a name is safe as a single path component.

    No dot, slash or upper-case letter can occur, so no name leaves the results folder and no two
    names meet on a file system that ignores case.
    """
    return re.fullmatch(LABEL, text) is not None
