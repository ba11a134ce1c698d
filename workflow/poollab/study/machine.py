"""config/config.yaml: what is true of this machine and of no study."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from poollab.study.parts import Part


class Safety(Part):
    """When the host is too busy to measure; shares are of all CPUs. The defaults let a quiet 2-core machine pass."""

    on_stop: Literal["stop", "wait"] = "stop"
    """stop ends with exit code 75, and the same command continues; wait cools down and continues by itself."""
    max_waits: Annotated[int, Field(ge=1, le=100)] = 3
    """How often wait may continue before it stops after all."""
    calm_within_s: Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)] = 300.0
    """Longest wait for a calm host before a cell, in seconds; then it is a safety stop."""
    window_s: Annotated[float, Field(ge=0.5, le=60, allow_inf_nan=False)] = 2.0
    """How long a threshold must be passed during a run before the run is broken off, in seconds."""
    other_cpu: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 0.25
    """CPU that all but our two sides may take, as a share of all CPUs; a run above half of it is marked host-busy."""
    runnable_per_cpu: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)] = 8.0
    """Runnable processes per CPU on average, beyond the sessions and threads that a cell itself has."""
    steal: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 0.10
    """CPU time that the hypervisor may withhold, as a share of all CPUs; a run above half of it is marked host-busy."""
    min_available_mib: Annotated[int, Field(ge=0, le=1_048_576)] = 128
    """Memory that must stay available, in MiB."""
    min_free_disk_mib: Annotated[int, Field(ge=0, le=1_048_576)] = 256
    """Disk that must stay free where results and lab lie, in MiB."""
    max_temperature_c: Annotated[float, Field(gt=0, le=200, allow_inf_nan=False)] = 85.0
    """Hottest reading of any sensor that this machine has, in degrees Celsius."""


class Machine(Part):
    """Which study runs here, in which lab, and where results go."""

    study: Annotated[str, StringConstraints(min_length=1, max_length=4096)] = "pool-size"
    """Name of a file under config/studies/, or a path to a study file."""
    lab: Literal["auto", "docker", "embedded"] = "auto"
    """Where database and load generator live; auto takes Docker where it is ready, else the embedded server."""
    limits: Literal["preferred", "required"] = "preferred"
    """required refuses to start where the study's caps cannot be enforced; preferred goes on and says uncapped."""
    safety: Safety = Safety()
    """Thresholds of the guard that watches the host."""
    results: Annotated[str, Field(min_length=1, max_length=4096)] = "results"
    """Folder for results, relative to the project."""
