"""safety.on_stop = wait: cool down after a safety stop and go on in a new block, for a night unattended."""

import os
import signal
import sys
import time

from poollab.data import store
from poollab.errors import SafetyStop
from poollab.run.guard import Guard, Thresholds
from poollab.session import terminal
from poollab.session.open import BLOCK_VARIABLE, Session
from poollab.study.machine import Safety

#: Counts, across the restarts of one command, how often it has gone on by itself.
COUNT_VARIABLE = "POOLLAB_WAITS"
#: Rest before the first look, in seconds; what broke the block off has rarely gone at once.
COOL_DOWN_S = 10.0
INTERRUPTED = 130


def allowed(safety: Safety) -> bool:
    """Tell whether the command may go on by itself once more."""
    return safety.on_stop == "wait" and int(os.environ.get(COUNT_VARIABLE, "0")) < safety.max_waits


def go_on(session: Session) -> None:
    """Wait until the host is calm, then run the same command again in this process; give up when it stays busy."""
    safety = session.machine.safety
    count = int(os.environ.get(COUNT_VARIABLE, "0")) + 1
    terminal.say(f"Cooling down, then going on in a new block ({count} of at most {safety.max_waits}).")
    # The hooks' handler only asks the scheduler to end, and that has ended: a Ctrl-C would be answered and not obeyed.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: os._exit(INTERRUPTED))
    begun = time.monotonic()
    time.sleep(COOL_DOWN_S)
    guard = Guard(Thresholds.of(safety.model_dump(mode="json")), [], [session.paths.results])
    try:
        guard.wait_until_calm(terminal.say)
    except SafetyStop as stop:
        terminal.say(f"Not going on: {stop}. The same command continues.")
        return
    waited = time.monotonic() - begun
    store.write_json(session.paths.block(session.new_block) / "waited.json", {"waited_s": round(waited, 1)})
    terminal.say(f"Calm again after {terminal.minutes(waited)}.")
    os.environ.pop(BLOCK_VARIABLE, None)
    os.environ[COUNT_VARIABLE] = str(count)
    os.execv(sys.executable, [sys.executable, "-m", "snakemake", *sys.argv[1:]])  # noqa: S606 - the same words that started us
