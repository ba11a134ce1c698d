"""The measuring process's side of the talk with the load generator, over two named pipes."""

import json
import os
import select
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from poollab.errors import MeasurementError
from poollab.lab.base import GeneratorProcess

#: How a process ends that was killed (SIGKILL), and a container whose process was.
KILLED = (-9, 137)
MEMORY = "raise load_generator.limits.memory_mib (or lower what the arm asks for) and run the same command again"


class Dialogue:
    """Events from the generator, words to it; never waits without a bound."""

    def __init__(self, scratch: Path) -> None:
        for name in ("events", "control"):
            os.mkfifo(scratch / name, 0o600)
        self._events = os.open(scratch / "events", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        # Read and write: opening a pipe only to write would block until the generator reads.
        self._control = os.open(scratch / "control", os.O_RDWR | os.O_CLOEXEC)
        self._text = b""
        self.process: GeneratorProcess | None = None

    def say(self, word: str) -> None:
        """Send one word."""
        os.write(self._control, f"{word}\n".encode())

    def expect(
        self, event: str, within_s: float, every_s: float = 1.0, between: Callable[[], object] = lambda: None
    ) -> dict[str, Any]:
        """
        Wait for an event, calling `between` every `every_s` seconds meanwhile.

        Raises:
            MeasurementError: another event came, the generator ended, or time ran out.
        """
        deadline = time.monotonic() + within_s
        following = time.monotonic() + every_s
        while True:
            if b"\n" in self._text:
                line, _, self._text = self._text.partition(b"\n")
                found: dict[str, Any] = json.loads(line)
                if found["event"] != event:
                    raise MeasurementError(f"the load generator said {found['event']} where {event} was due")
                return found
            now = time.monotonic()
            if now >= following:
                between()
                # A late reading does not shift the ones after it.
                following += every_s * (1 + int((now - following) / every_s))
            ready, _, _ = select.select([self._events], [], [], max(0.0, min(following, deadline) - time.monotonic()))
            self._take(bool(ready), event, deadline, within_s)

    def _take(self, ready: bool, event: str, deadline: float, within_s: float) -> None:  # noqa: FBT001 - private
        if ready:
            data = os.read(self._events, 65536)
            self._text += data
            if not data:
                # No writer: not started yet, or gone.
                time.sleep(0.005)
        if self.process is not None and b"\n" not in self._text and (code := self.process.poll()) is not None:
            raise self._death(f"the load generator ended with {code} before {event}", code)
        if time.monotonic() > deadline:
            raise MeasurementError(f"the load generator did not get to {event} within {within_s:g} s")

    def finish(self, within_s: float) -> None:
        """Wait until the generator has ended by itself."""
        deadline = time.monotonic() + within_s
        while self.process is not None and (code := self.process.poll()) is None:
            if time.monotonic() > deadline:
                raise MeasurementError(f"the load generator did not end within {within_s:g} s")
            time.sleep(0.005)
        if self.process is not None and code:
            raise self._death(f"the load generator ended with {code}", code)

    def _death(self, text: str, code: int) -> MeasurementError:
        """Give the user the last line that the generator wrote; its traceback is the cause, for the log."""
        said = self.process.errors().strip() if self.process else ""
        last = said.splitlines()[-1] if said else "no message"
        if code in KILLED and self.process and self.process.killed_for_memory():
            last = f"the kernel killed it for want of memory; {MEMORY}"
        error = MeasurementError(f"{text}: {last}")
        error.__cause__ = RuntimeError(said) if said else None
        return error

    def close(self) -> None:
        """Close the pipes."""
        os.close(self._events)
        os.close(self._control)


class Chorus:
    """The same talk with every process of a generator at once; each has its pipes in a folder of its own."""

    def __init__(self, folders: Sequence[Path]) -> None:
        for folder in folders:
            folder.mkdir(mode=0o700, exist_ok=True)
        self._voices = [Dialogue(folder) for folder in folders]

    def follow(self, process: GeneratorProcess) -> None:
        """Name the process whose end is the end of the talk."""
        for voice in self._voices:
            voice.process = process

    def say(self, word: str) -> None:
        """Send one word to all."""
        for voice in self._voices:
            voice.say(word)

    def expect(
        self, event: str, within_s: float, every_s: float = 1.0, between: Callable[[], object] = lambda: None
    ) -> None:
        """
        Wait until all have said an event, calling `between` every `every_s` seconds meanwhile.

        Raises:
            MeasurementError: another event came, a process ended, or time ran out.
        """
        deadline = time.monotonic() + within_s
        for voice in self._voices:
            voice.expect(event, max(0.1, deadline - time.monotonic()), every_s, between)

    def finish(self, within_s: float) -> None:
        """Wait until all have ended by themselves."""
        self._voices[0].finish(within_s)

    def close(self) -> None:
        """Close the pipes."""
        for voice in self._voices:
            voice.close()
