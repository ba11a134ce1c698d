"""The parts of a study file, each a frozen model whose fields carry unit, range and effect."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from poollab.labels import LABEL, LABEL_RULE


class Part(BaseModel):
    """Frozen, strict about unknown keys: a misspelt key must never pass as a default."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)


Label = Annotated[str, StringConstraints(pattern=LABEL), Field(description=LABEL_RULE)]
Identifier = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z_][a-z0-9_]{0,62}$"),
    Field(description="1 to 63 lower-case letters, digits and underscores, not a digit first, such as pool_lab"),
]
Seconds = Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)]
Millis = Annotated[float, Field(gt=0, le=3_600_000, allow_inf_nan=False)]

#: Settings that the lab owns; a study that could set them could open the server to a network.
LAB_SETTINGS = frozenset(
    [
        "listen_addresses",
        "port",
        "unix_socket_directories",
        "unix_socket_permissions",
        "unix_socket_group",
        "data_directory",
        "config_file",
        "hba_file",
        "ident_file",
        "external_pid_file",
        "autovacuum",
        "dynamic_shared_memory_type",
        "ssl",
        "shared_preload_libraries",
        "session_preload_libraries",
        "local_preload_libraries",
        "archive_command",
        "archive_library",
        "restore_command",
        "logging_collector",
        "log_directory",
        "log_destination",
        "superuser_reserved_connections",
        "reserved_connections",
        "cluster_name",
        "dynamic_library_path",
    ]
)


def _setting_text(value: Any) -> Any:
    """Unquoted on and off arrive from YAML as booleans."""
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else value


def _setting_name(name: str) -> str:
    if name in LAB_SETTINGS:
        raise ValueError("belongs to the lab and cannot be set by a study; remove the key")
    return name


def _printable(text: str) -> str:
    if not all(c.isprintable() or c in "\n\t" for c in text):
        raise ValueError("holds a control character; remove it")
    return text


def one_line(text: str) -> str:
    """Refuse a text that would break a table or a message; used by the whole study too."""
    if not text.isprintable():
        raise ValueError("must be one line without control characters; join the lines")
    return text


SettingName = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,62}$"),
    AfterValidator(_setting_name),
    Field(description="the setting's PostgreSQL name: lower-case letters, digits and underscores, such as work_mem"),
]
SettingText = Annotated[
    str,
    StringConstraints(max_length=200, pattern=r"^[^\x00-\x1f'\\]*$"),
    Field(description="text of at most 200 characters without apostrophe, backslash and control characters"),
]
SettingValue = Annotated[
    int | Annotated[float, Field(allow_inf_nan=False)] | SettingText, BeforeValidator(_setting_text)
]


class Limits(Part):
    """A cap on one side, enforced by the kernel's CPU bandwidth and memory control."""

    cpus: Annotated[float, Field(gt=0, le=1024, allow_inf_nan=False)] | None = None
    """CPU cap in cores; absent means uncapped."""
    period_ms: Annotated[float, Field(ge=1, le=1000, allow_inf_nan=False)] = 10.0
    """Length of the quota period in milliseconds; the kernel takes 1 to 1000."""
    memory_mib: Annotated[int, Field(ge=16, le=1_048_576)] | None = None
    """Memory cap in MiB; absent means uncapped."""

    @model_validator(mode="after")
    def _quota_is_possible(self) -> "Limits":
        if self.cpus is not None and self.cpus * self.period_ms < 1 - 1e-9:
            smallest = 1 / self.period_ms
            raise ValueError(
                f"cpus {self.cpus:g} of a {self.period_ms:g} ms period is a quota of "
                f"{self.cpus * self.period_ms * 1000:.0f} us, and the kernel refuses less than 1000 us; "
                f"the smallest cpus for this period is {smallest:g}"
            )
        return self

    @property
    def quota_us(self) -> int | None:
        """CPU time per period in microseconds, or None where uncapped."""
        return None if self.cpus is None else round(self.cpus * self.period_ms * 1000)

    @property
    def period_us(self) -> int:
        """Quota period in microseconds."""
        return round(self.period_ms * 1000)


class Table(Part):
    """A deterministic table: id int primary key, balance int, payload text of 128 characters."""

    rows: Annotated[int, Field(ge=1, le=20_000_000)]
    """Number of rows; 20,000 take 3.8 MiB with the index."""


class Database(Part):
    """The server that is measured."""

    major: Annotated[int, Field(ge=14, le=99)] = 16
    """PostgreSQL major version; a server of another major is refused."""
    tables: Annotated[dict[Identifier, Table], Field(min_length=1)]
    """Tables to seed before the first cell of each block."""
    settings: dict[SettingName, SettingValue] = {}
    """Server settings by their PostgreSQL names."""
    limits: Limits = Limits()
    """Cap on all server processes together."""
    lifetime: Literal["block"] = "block"
    """How long one server instance lives; a block ends at a stop."""

    @property
    def max_connections(self) -> int:
        """The server's limit on concurrent sessions (PostgreSQL's own default is 100)."""
        return int(self.settings.get("max_connections", 100))


class LoadGenerator(Part):
    """The process that sends the requests."""

    limits: Limits = Limits()
    """Cap on the load generator, apart from the database's."""


class IntArg(Part):
    """An integer drawn uniformly from a closed range."""

    int: tuple[Annotated[int, Field(ge=-(2**31))], Annotated[int, Field(lt=2**31)]]
    """Smallest and largest value, both included."""

    @model_validator(mode="before")
    @classmethod
    def _pair(cls, data: Any) -> Any:
        return (
            {**data, "int": tuple(data["int"])}
            if isinstance(data, dict) and isinstance(data.get("int"), list)
            else data
        )

    @model_validator(mode="after")
    def _ordered(self) -> "IntArg":
        if self.int[0] > self.int[1]:
            raise ValueError(
                f"the range is empty, as {self.int[0]} is greater than {self.int[1]}; write the smaller one first"
            )
        return self


class Uniform(Part):
    """One arrival at a fixed gap."""

    every_ms: Millis
    """Gap between arrivals in milliseconds."""


class Bursts(Part):
    """A number of arrivals at the same instant, at a fixed gap between instants."""

    size: Annotated[int, Field(ge=1, le=100_000)]
    """Arrivals per burst."""
    every_ms: Millis
    """Gap between bursts in milliseconds."""


class Poisson(Part):
    """Independent arrivals with exponential gaps, drawn once from the study's seed."""

    rate_per_s: Annotated[float, Field(gt=0, le=100_000, allow_inf_nan=False)]
    """Mean arrivals per second."""


class Arrivals(Part):
    """Exactly one arrival schedule."""

    uniform: Uniform | None = None
    """Evenly spaced arrivals."""
    bursts: Bursts | None = None
    """Arrivals in batches."""
    poisson: Poisson | None = None
    """Random arrivals."""

    @model_validator(mode="after")
    def _exactly_one(self) -> "Arrivals":
        named = sorted(self.model_fields_set)
        if len(named) != 1 or getattr(self, named[0]) is None:
            got = f"{named[0]} without its keys" if len(named) == 1 else ", ".join(named) or "none"
            raise ValueError(f"name exactly one schedule of {', '.join(sorted(type(self).model_fields))}; got {got}")
        return self


class Workload(Part):
    """What one request does while it holds a connection, and when requests arrive."""

    same: Label | None = None
    """Take what is not given here from this other workload."""
    sql: Annotated[str, StringConstraints(min_length=1, max_length=20_000), AfterValidator(_printable)] | None = None
    """The statement, with $1, $2 ... for arguments."""
    args: list[IntArg] | None = None
    """One entry for each placeholder."""
    arrivals: Arrivals
    """The arrival schedule."""


class Windows(Part):
    """How long each run warms up and measures."""

    warm_up_s: Seconds = 2.0
    """Warm-up before the measurement, in seconds; kept apart and never counted."""
    measure_s: Seconds = 12.0
    """Measurement window in seconds."""


class Timeouts(Part):
    """Bounds on every wait of a request, so that none can hang a run."""

    acquire_s: Seconds = 10.0
    """Longest wait for a connection, in seconds."""
    query_s: Seconds = 30.0
    """Longest query round trip, in seconds."""
    drain_s: Seconds = 20.0
    """Longest wait for requests still under way after the window, in seconds."""


class Order(Part):
    """The random order of the cells."""

    seed: Annotated[int, Field(ge=0, lt=2**63)] = 20
    """Seed of the order; another seed re-measures nothing."""


class Arm(Part):
    """A labelled pool: what is compared."""

    size: Annotated[int, Field(ge=1, le=10_000)]
    """Connections in the pool, all established before the run."""


class LimitSet(Part):
    """One level of the limits factor; what is not given stays as in database and load_generator."""

    database: Limits | None = None
    """Cap on the database at this level."""
    load_generator: Limits | None = None
    """Cap on the load generator at this level."""
