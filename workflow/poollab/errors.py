"""Every error that Poollab raises on purpose, and the exit code that each one ends with."""

from collections.abc import Sequence


class PoollabError(Exception):
    """Something the user can mend; its text says what, where, got, allowed and the next step."""

    exit_code = 2


class ConfigError(PoollabError):
    """A study or machine file is wrong; holds every fault that was found, not only the first."""

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        count = f"{len(self.faults)} fault{'s' if len(self.faults) != 1 else ''}"
        super().__init__("\n".join([f"Nothing was started: {count} in the configuration.", *self.faults]))


class LabError(PoollabError):
    """The lab cannot be built, capped or proven as the study asks."""


class IdentityError(PoollabError):
    """Results or an environment of another study, method or machine stand where ours should be."""


class LockedError(PoollabError):
    """Another process works on this folder or measures on this machine."""


class DataError(PoollabError):
    """A result file is truncated, foreign or inconsistent with the plan."""


class MeasurementError(PoollabError):
    """A cell could not be measured; nothing of it was kept as a result."""

    exit_code = 1


class SafetyStop(PoollabError):  # noqa: N818 - the word of the design
    """The block ends because the host or the server is not fit to measure; the same command continues."""

    exit_code = 75

    #: Columns of samples.parquet up to the moment when a run was broken off; empty where none was under way.
    samples: "dict[str, list[int | None]]"
    zero_ns: int

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.samples, self.zero_ns = {}, 0
