"""config/config.yaml: what is true of this machine and of no study."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from poollab.study.parts import Part


class Machine(Part):
    """Which study runs here, in which lab, and where results go."""

    study: Annotated[str, StringConstraints(min_length=1, max_length=4096)] = "pool-size"
    """Name of a file under config/studies/, or a path to a study file."""
    lab: Literal["auto", "docker", "embedded"] = "auto"
    """Where database and load generator live; auto takes Docker where it is ready, else the embedded server."""
    limits: Literal["preferred", "required"] = "preferred"
    """required refuses to start where the study's caps cannot be enforced; preferred goes on and says uncapped."""
    results: Annotated[str, Field(min_length=1, max_length=4096)] = "results"
    """Folder for results, relative to the project."""
