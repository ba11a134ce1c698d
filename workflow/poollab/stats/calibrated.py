"""Runs of one workload must rest on one calibration: one capacity, and one value of each calibrated argument."""

from typing import Any

from poollab.errors import DataError


def same_calibration(records: list[dict[str, Any]]) -> None:
    """
    Compare what each run of a workload was calibrated with (`calibration` of run.json; empty where nothing was).

    Raises:
        DataError: two runs of a workload differ, so they were sent different rates or different work.
    """
    seen: dict[str, dict[str, Any]] = {}
    for record in records:
        other = seen.setdefault(record["workload"], record)
        ours, theirs = record.get("calibration") or {}, other.get("calibration") or {}
        if ours != theirs:
            raise DataError(
                f"cells {other['cell']} and {record['cell']} were measured with different calibrations "
                f"({theirs} and {ours}); they cannot be compared. Remove the folder of the one that differs from "
                f"state/calibration.json and run the same command again"
            )
