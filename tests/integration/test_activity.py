"""The server's own account of its work, which is held against the client's."""

import time

import psycopg

from poollab.lab.activity import active_ns
from poollab.lab.embedded import EmbeddedLab


def test_what_a_session_executes_is_counted(lab: EmbeddedLab) -> None:
    """A session that executes for 0.3 s and ends raises the reading by about that, and an idle one by nothing."""
    before = active_ns(lab.admin_dsn())
    with psycopg.connect(lab.admin_dsn(), autocommit=True) as connection:
        connection.execute("SELECT pg_sleep(0.3)")
        time.sleep(0.3)
    deadline = time.monotonic() + 5
    while (after := active_ns(lab.admin_dsn())) is not None and before is not None:
        if after - before >= 290_000_000 or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    assert before is not None
    assert after is not None
    assert 290_000_000 <= after - before < 500_000_000


def test_a_server_that_does_not_answer_leaves_the_check_out() -> None:
    """Without an answer there is no number, and no error that would cost the run."""
    assert active_ns("host=/nowhere/poollab user=nobody dbname=postgres", within_s=1) is None
