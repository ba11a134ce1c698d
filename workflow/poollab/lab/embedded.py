"""
The embedded lab: a private Postgres from a wheel, capped by control groups where this user may.

It listens on a Unix socket in a folder that only the server's user may enter; there is no TCP, so no
network reaches it and no password exists that could leak.
"""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from poollab.errors import LabError
from poollab.lab import affinity, binaries, burn, groups, place, procs, sysv
from poollab.lab.base import ROLE, Announce, Caps, CounterSource, LabRecord, Proof
from poollab.lab.cgroup import Group
from poollab.lab.child import EmbeddedGenerator, become, clean_environment, signals_held

SUPERUSER = "postgres"
PORT = 5432
READY_WITHIN_S = 30.0


class EmbeddedLab:
    """See `Lab` in base.py; `record.detail` holds groups, postmaster and the wanted caps."""

    def __init__(self, record: LabRecord) -> None:
        self.record = record
        self._folder = Path(record.folder)

    @classmethod
    def new(cls, owner: place.Owner) -> "EmbeddedLab":
        """Make the private folder of a lab that is not started yet."""
        token = place.new_token()
        folder = place.make(token, "embedded", owner, 0o711 if os.geteuid() == 0 else 0o700)
        record = LabRecord("embedded", token, str(folder), str(folder / "socket"))
        return cls(record)

    # --- start -----------------------------------------------------------------------------------

    def start(self, announce: Announce, settings: dict[str, str], major: int) -> None:
        """Make groups, data folder and server; return when the final postmaster answers."""
        who = binaries.account()
        bin_folder = binaries.programs(self._folder, who)
        version = binaries.version(bin_folder)
        if int(version.partition(".")[0]) != major:
            raise LabError(
                f"database.major = {major}, and the embedded server is {version}; "
                f"set major to {version.partition('.')[0]} or use lab: docker"
            )
        group, note = groups.make(self.record.token)
        self.record.detail |= {"group": group.to_json() if group else None, "caps_note": note, "version": version}
        announce(self.record)
        for name in ("data", "socket", "cells"):
            (self._folder / name).mkdir(mode=0o700)
            if who.uid is not None and who.gid is not None and name != "cells":
                os.chown(self._folder / name, who.uid, who.gid)
        self._initdb(bin_folder, who)
        postmaster = self._launch(bin_folder, who, settings)
        self.record.detail["postmaster"] = [postmaster.pid, procs.start_time(postmaster.pid)]
        announce(self.record)
        from poollab.lab import seeding  # noqa: PLC0415 - its driver is no part of a cell's start

        seeding.wait_ready(self.admin_dsn(), READY_WITHIN_S, lambda: self._death(postmaster))
        self.record.detail["segment"] = sysv.of_server(self._folder / "data")
        announce(self.record)

    def _initdb(self, bin_folder: Path, who: binaries.Account) -> None:
        command: list[str | Path] = [
            bin_folder / "initdb",
            "-D",
            self._folder / "data",
            "-U",
            SUPERUSER,
            "--auth=peer",
            "--no-sync",
        ]
        command += ["--encoding=UTF8", "--locale=C", "--no-instructions"]
        with signals_held():
            done = subprocess.run(
                command,
                cwd=self._folder,
                env=clean_environment(),
                capture_output=True,
                text=True,
                check=False,
                preexec_fn=become(who, None),
            )
        if done.returncode != 0:
            raise LabError(
                f"initdb failed with {done.returncode}: {done.stderr.strip()[-400:]}; is {self._folder} full or noexec?"
            )
        # Peer authentication with a map: the server's user may be shared by other programs (nobody is), and they
        # must not get in; whoever runs the study may, as superuser and as the load generator's role.
        me = pwd.getpwuid(os.geteuid()).pw_name
        maps = [f'lab "{me}" {role}\n' for role in (SUPERUSER, ROLE)]
        (self._folder / "data" / "pg_hba.conf").write_text("local all all peer map=lab\n", "utf-8")
        (self._folder / "data" / "pg_ident.conf").write_text("".join(maps), "utf-8")

    def _launch(self, bin_folder: Path, who: binaries.Account, settings: dict[str, str]) -> "subprocess.Popen[bytes]":
        fixed = {
            "listen_addresses": "",
            "unix_socket_directories": self.record.socket,
            "unix_socket_permissions": "0700"
            if who.uid is None
            else "0777",  # the folder decides: 0700, entered by root and the server
            "port": str(PORT),
            "autovacuum": "off",
            # Segments of the default kind would stay in /dev/shm when the server is killed.
            "dynamic_shared_memory_type": "mmap",
        }
        words = [part for key, value in {**settings, **fixed}.items() for part in ("-c", f"{key}={value}")]
        command: list[str | Path] = [bin_folder / "postgres", "-D", self._folder / "data", *words]
        log = os.open(self._folder / "server.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            return subprocess.Popen(
                command,
                cwd=self._folder,
                env=clean_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=become(who, self._side("database")),  # noqa: PLW1509 - single-threaded
            )
        finally:
            os.close(log)

    def _death(self, postmaster: "subprocess.Popen[bytes]") -> str | None:
        if postmaster.poll() is None:
            return None
        text = (self._folder / "server.log").read_text("utf-8", "replace").strip().splitlines()
        return f"the server ended with {postmaster.returncode}: {' | '.join(text[-3:])}; check database.settings"

    # --- use -------------------------------------------------------------------------------------

    def admin_dsn(self) -> str:
        """Return the superuser's connection string over the socket."""
        return f"host={self.record.socket} port={PORT} user={SUPERUSER} dbname=postgres"

    def set_caps(self, database: Caps, generator: Caps) -> tuple[Caps, Caps]:
        """Set both sides' caps; without groups they stay uncapped and read back so."""
        self.record.detail["wanted"] = [asdict(database), asdict(generator)]
        both = []
        for side, caps in (("database", database), ("generator", generator)):
            group = self._side(side)
            if group is not None:
                group.set_caps(caps)
            both.append(group.read_caps() if group is not None else Caps(None, None, None))
        return both[0], both[1]

    def prove(self, seconds: float) -> tuple[Proof, Proof]:
        """Burn CPU in the capped groups, together where there are CPUs enough; without groups say so."""
        wanted = self._wanted()
        sides = [self._side(name) for name in groups.SIDES]
        if sides[0] is None or sides[1] is None:
            note = self.record.detail["caps_note"]
            free = [caps.cores is None and caps.memory_bytes is None for caps in wanted]
            return tuple(
                Proof(Caps(None, None, None), ok, None, None, "no cap asked for" if ok else note) for ok in free
            )  # type: ignore[return-value]
        cpus, burnt = burn.usable(), dict[int, burn.Readings]()
        for together in burn.rounds(wanted, cpus):
            loops = [(sides[i], burn.burners(wanted[i], cpus)) for i in together]
            burnt |= zip(together, self._burn_all(loops, seconds), strict=True)
        caps = [side.read_caps() for side in sides if side]
        one, two = (burn.judge(caps[i], wanted[i], burnt.get(i), cpus) for i in range(len(caps)))
        return one, two

    def _burn_all(self, loops: list[tuple[Group | None, int]], seconds: float) -> list[burn.Readings]:
        """Run so many busy loops in each group, all at once; return what each group had used before and after."""
        readers = [side.counters() for side, _ in loops if side]
        before = [reader.read() for reader in readers]
        running = [self._burn(side, seconds) for side, count in loops for _ in range(count)]
        for loop in running:
            loop.wait()
        return list(zip(before, [reader.read() for reader in readers], strict=True))

    def _burn(self, side: Group | None, seconds: float) -> "subprocess.Popen[bytes]":
        code = f"import time\nend = time.monotonic() + {seconds}\nwhile time.monotonic() < end: pass"
        return subprocess.Popen(
            [sys.executable, "-ISc", code],
            cwd=self._folder,
            preexec_fn=become(binaries.Account(None, None), side),  # noqa: PLW1509 - single-threaded
        )

    def database_counters(self) -> CounterSource:
        """Read the database's group, else its process tree."""
        group = self._database_group()
        return group.counters() if group is not None else groups.TreeCounters(self._postmaster()[0])

    def sessions(self) -> int | None:
        """Count client sessions by the titles of the server's processes."""
        group = self._database_group()
        return procs.client_backends(group.procs() if group is not None else procs.descendants(self._postmaster()[0]))

    def pin_database(self, cpus: list[int]) -> str:
        """Keep every process of the server to some CPUs; those that are born later follow the postmaster."""
        return affinity.pin(self.database_counters().pids(), cpus)

    def start_generator(self, scratch: Path) -> EmbeddedGenerator:
        """Start the load generator in its group, below this process so that both end together."""
        command = [sys.executable, "-m", "poollab.load.generator", str(scratch)]
        return EmbeddedGenerator(command, scratch, self._side("generator"))

    def alive(self) -> bool:
        """Tell whether the postmaster still runs, and is not stopped by a signal."""
        return procs.alive(*self._postmaster()) and not procs.stopped(self._postmaster()[0])

    def environment(self) -> dict[str, Any]:
        """Name the server's source and version."""
        return {"lab": "embedded", "server_source": binaries.source()}

    # --- removal ---------------------------------------------------------------------------------

    def remove(self) -> dict[str, int]:
        """End the server and everything that works in the folder, then remove groups and files."""
        count = dict.fromkeys(
            ("process", "container", "volume", "network", "cgroup", "socket", "shared_memory", "file"), 0
        )
        segment = self.record.detail.get("segment") or sysv.of_server(self._folder / "data")
        count["process"] += self._end_processes()
        if segment is not None and sysv.remove_orphan(segment):
            count["shared_memory"] += 1
        group = self._group()
        if group is not None and group.exists():
            count["cgroup"] += groups.remove(group)
        for entry in place.files(self._folder):
            count["socket" if entry.is_socket() else "file"] += 1
        shutil.rmtree(self._folder, ignore_errors=True)
        return count

    def _end_processes(self) -> int:
        found = {(pid, procs.start_time(pid)) for pid in self._own_processes()}
        postmaster = self.record.detail.get("postmaster")
        if postmaster and procs.alive(*postmaster):
            # Nothing of the data is kept: an immediate shutdown also takes the shared memory along. A frozen
            # child would hold it up, so all are woken first.
            procs.send([*found, tuple(postmaster)], signal.SIGCONT)
            os.kill(postmaster[0], signal.SIGQUIT)
            deadline = time.monotonic() + 5
            while procs.alive(*postmaster) and time.monotonic() < deadline:
                time.sleep(0.01)
        procs.end([(pid, started) for pid, started in found if procs.alive(pid, started)], grace_s=0.2)
        return len(found)

    def _own_processes(self) -> set[int]:
        found = set(place.inside(self._folder))
        group = self._group()
        for side in groups.SIDES if group else ():
            found |= set(group.child(side).procs()) if group else set()
        return found - {os.getpid()}

    def leftovers(self) -> list[str]:
        """List processes, groups, shared memory and files that still exist."""
        found = [f"process {pid} ({procs.title(pid)[:60]})" for pid in sorted(self._own_processes())]
        group = self._group()
        found += [f"cgroup {folder}" for folder in group.folders if folder.exists()] if group else []
        segment = self.record.detail.get("segment")
        found += [f"shared memory {segment}"] if segment is not None and sysv.exists(segment) else []
        return found + ([f"folder {self._folder}"] if self._folder.exists() else [])

    # --- small helpers ---------------------------------------------------------------------------

    def _group(self) -> Group | None:
        data = self.record.detail.get("group")
        return Group.from_json(data) if data else groups.find(self.record.token)

    def _side(self, side: str) -> Group | None:
        group = self._group()
        return group.child(side) if group else None

    def _database_group(self) -> Group | None:
        return self._side("database")

    def _postmaster(self) -> tuple[int, int | None]:
        pid, started = self.record.detail["postmaster"]
        return pid, started

    def _wanted(self) -> tuple[Caps, Caps]:
        both = [Caps(**caps) for caps in self.record.detail.get("wanted", [])] or [Caps(None, None, None)] * 2
        return both[0], both[1]
