"""Proof in the record that an arm ran the implementation that it names."""

from dataclasses import asdict, dataclass
from importlib import metadata
from types import ModuleType
from typing import Any

_DISTRIBUTIONS = {"psycopg_pool": "psycopg-pool"}


@dataclass(frozen=True, slots=True)
class Proof:
    """The class of a pool as Python itself names it, the versions in use, and the settings it was made with."""

    module: str
    class_name: str
    package: str
    version: str
    driver: str
    settings: dict[str, Any]

    @classmethod
    def of(cls, pool: object, package: ModuleType, settings: dict[str, Any], driver: Any = None) -> "Proof":
        """Take what can be asked of the pool itself; versions are those of the installed packages."""
        kind, name = type(pool), package.__name__
        used = driver or package
        # psycopg is one package, over its C library or in plain Python.
        made_of = getattr(getattr(used, "pq", None), "__impl__", None)
        return cls(
            module=kind.__module__,
            class_name=kind.__qualname__,
            package=name,
            version=metadata.version(_DISTRIBUTIONS.get(name, name)),
            driver=f"{used.__name__} {metadata.version(used.__name__)}" + (f" ({made_of})" if made_of else ""),
            settings=settings,
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)
