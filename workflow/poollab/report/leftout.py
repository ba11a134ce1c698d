"""Files that a published package names but does not hold for their size; the report needs only what is said of them."""

import json
from pathlib import Path
from typing import Any

from poollab.errors import DataError


def left_out(folder: Path) -> dict[str, dict[str, Any]]:
    """
    Return {path: {path, bytes, hash, rows}} of what a package left out; empty where the folder is no package.

    Raises:
        DataError: datapackage.json is there and cannot be read.
    """
    path = folder / "datapackage.json"
    if not path.is_file():
        return {}
    try:
        listed = json.loads(path.read_text("utf-8"))["poollab"]["left_out"]
        found = {str(one["path"]): dict(one) for one in listed}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} cannot be read ({type(error).__name__}); take the package anew") from None
    return {name: one for name, one in found.items() if not (folder / name).exists()}
