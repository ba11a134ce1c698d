"""The server that is measured: its version, its tables, its settings and its cap."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from poollab.study.parts import Limits, Part


def _table_name(name: str) -> str:
    """PostgreSQL keeps pg_ for itself: a table of that name would be hidden by the system's own."""
    if name.startswith("pg_"):
        raise ValueError("pg_ is PostgreSQL's own; name the table otherwise, such as pool_lab")
    return name


Identifier = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z_][a-z0-9_]{0,62}$"),
    AfterValidator(_table_name),
    Field(description="1 to 63 lower-case letters, digits and underscores, not a digit first, such as pool_lab"),
]

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
    settings: Annotated[dict[SettingName, SettingValue], Field(default_factory=dict)]
    """Server settings by their PostgreSQL names."""
    limits: Limits = Limits()
    """Cap on all server processes together."""
    lifetime: Literal["block"] = "block"
    """How long one server instance lives; a block ends at a stop."""
