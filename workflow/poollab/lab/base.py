"""
The contract that every lab keeps.

A lab is used by several short processes one after another (provision, a cell each, teardown), so its
whole state is a `LabRecord` of plain JSON values, written before anything that it names exists.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

#: Called with a LabRecord before each thing that would need clean-up is made.
Announce = Callable[["LabRecord"], None]

#: Label and name prefix of everything a lab creates; the sweep of leftovers looks for nothing else.
OWNER_LABEL = "poollab"

#: The load generator's role in the server: it may log in and read the study's tables, nothing else.
ROLE = "poollab"


@dataclass(frozen=True, slots=True)
class Caps:
    """Caps on one side in the kernel's units; None is uncapped. As asked for, or as read back."""

    quota_us: int | None
    period_us: int | None
    memory_bytes: int | None

    @property
    def cores(self) -> float | None:
        """CPU cap in cores."""
        return None if self.quota_us is None or not self.period_us else self.quota_us / self.period_us


@dataclass(frozen=True, slots=True)
class Counters:
    """
    One reading of a side's cgroup; None where the kernel does not offer the value (never 0 instead).

    `periods` counts periods in which the group was active, and `throttled_ns` sums over CPUs.
    `memory_bytes` is raw usage with the page cache; `file_bytes` holds the page cache and shared
    memory, so page cache = file - shmem. `inactive_file_bytes` is what the kernel would take back first:
    working set = memory - inactive_file.
    """

    at_ns: int
    cpu_ns: int | None = None
    periods: int | None = None
    throttled: int | None = None
    throttled_ns: int | None = None
    memory_bytes: int | None = None
    anon_bytes: int | None = None
    file_bytes: int | None = None
    shmem_bytes: int | None = None
    kernel_bytes: int | None = None
    inactive_file_bytes: int | None = None
    oom_kills: int | None = None


class CounterSource(Protocol):
    """Reads one side's counters; cheap enough for 20 readings a second."""

    def read(self) -> Counters:
        """Return the present values; raises LabError when the side is gone."""
        ...

    def read_cpu(self) -> int | None:
        """Return CPU use so far in nanoseconds."""
        ...

    def pids(self) -> list[int]:
        """List the processes of this side that this machine shows; for a message, never while all is well."""
        ...


class GeneratorProcess(Protocol):
    """A running load generator under its own cap."""

    @property
    def counters(self) -> CounterSource:
        """Counters of the generator's cgroup."""
        ...

    @property
    def caps(self) -> Caps:
        """Caps as read back from the kernel for this process."""
        ...

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        ...

    def killed_for_memory(self) -> bool:
        """Tell whether the kernel killed some of it for want of memory below its cap; False where that is unseen."""
        ...

    def stop(self) -> None:
        """End it at once and remove what held it; harmless when it is gone."""
        ...

    def errors(self) -> str:
        """Return the end of what it wrote to standard error."""
        ...


@dataclass(slots=True)
class LabRecord:
    """What a lab made and where; enough to use it and to remove it from any process."""

    kind: str
    token: str
    """Unique name of this block's lab; every resource carries it."""
    folder: str
    """Private scratch folder on the host."""
    socket: str = ""
    """Folder of the server's socket as the load generator sees it."""
    detail: dict[str, Any] = field(default_factory=dict)
    """What only this kind of lab needs: process ids and start times, container ids, cgroup paths."""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Proof:
    """One side's caps: as read back from the kernel, and as seen under a burn of CPU."""

    caps: Caps
    enforced: bool
    burn_cores: float | None
    burn_throttled: int | None
    note: str


class Lab(Protocol):
    """What provision, cells and teardown need of a lab."""

    record: LabRecord

    def start(self, announce: Announce, settings: dict[str, str], major: int) -> None:
        """
        Start the capped server and return when its final postmaster answers.

        Raises:
            LabError: naming what failed and the next step; nothing of the lab is left then.
        """
        ...

    def admin_dsn(self) -> str:
        """Return a libpq connection string for seeding and proving, usable from this process."""
        ...

    def set_caps(self, database: Caps, generator: Caps) -> tuple[Caps, Caps]:
        """Set both sides' caps and return what the kernel reads back for them."""
        ...

    def prove(self, seconds: float) -> tuple[Proof, Proof]:
        """Burn CPU inside both caps and report what the kernel let through (database, generator)."""
        ...

    def database_counters(self) -> CounterSource:
        """Return the reader of the database's cgroup."""
        ...

    def sessions(self) -> int | None:
        """Count the server's client sessions from its process list, without a query; None if unseen."""
        ...

    def pin_database(self, cpus: list[int]) -> str:
        """Keep the server to some CPUs, its later sessions included; return why not, or nothing where it obeys."""
        ...

    def start_generator(self, scratch: Path) -> GeneratorProcess:
        """
        Start the load generator in its cap on `scratch`, a folder below `record.folder`.

        `scratch` holds spec.json and the named pipe events; the generator writes its rows there.
        """
        ...

    def alive(self) -> bool:
        """Tell whether the server that was started still runs."""
        ...

    def environment(self) -> dict[str, Any]:
        """Return what identifies this lab's software: image or package, server version, engine."""
        ...

    def remove(self) -> dict[str, int]:
        """
        Remove everything of this lab, in any state and any number of times.

        Returns how many of each kind were removed: process, container, volume, network, cgroup,
        socket, shared_memory, file.
        """
        ...

    def leftovers(self) -> list[str]:
        """List what of this lab still exists; empty is the proof of clean-up."""
        ...
