"""What a server that cannot take a study's tables is answered with."""

import psycopg
import pytest

from poollab.errors import LabError
from poollab.session import provision


def test_a_server_that_cannot_take_the_tables_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is no fault of Poollab's: the server's words, what was loaded, and the ways out."""

    def full(*_: object) -> None:
        raise psycopg.errors.DiskFull("could not extend file: No space left on device\nHINT: Check free disk space.")

    monkeypatch.setattr(provision.seeding, "seed", full)
    with pytest.raises(LabError) as caught:
        provision._seeded("", {"big": 20_000_000})
    text = str(caught.value)
    assert "big 20,000,000 rows" in text
    assert "No space left on device; make room" in text
    assert "\n" not in text
