"""Times: an impossible time of receipt wins nothing, until the organiser corrects it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.hostile.sieges import HONEST, Siege, own

MEMORY = Path("/dev/shm")

pytestmark = pytest.mark.skipif(not os.access(MEMORY, os.W_OK), reason="needs a file system that stores any time")

BEST = HONEST["alpha/20260131T100000Z-first.txt"]
"""The lists of the team that is the first on the board."""

BY_NAME = {
    "year-1": "00010101T000000Z",
    "year-1969": "19691231T235959Z",
    "one-second-before-1990": "19891231T235959Z",
    "next-year": f"{datetime.now(UTC) + timedelta(days=366):%Y%m%dT%H%M%SZ}",
    "in-two-hours": f"{datetime.now(UTC) + timedelta(hours=2):%Y%m%dT%H%M%SZ}",
    "year-2099": "20990101T000000Z",
    "year-9999": "99991231T235959Z",
}
"""What the name of a file states, by team: no such time is possible."""

NO_TIME = {
    "month-13": "20111318T100000Z",
    "day-0": "20110400T100000Z",
    "february-30": "20110230T100000Z",
    "hour-24": "20110418T240000Z",
    "second-60": "20111231T235960Z",
    "year-0": "00000101T000000Z",
    "arabic-digits": "٢٠١١٠٤١٨T١٠٠٠٠٠Z",
    "full-width-digits": "２０１１０４１８T１０００００Z",
    "lower-case": "20110418t100000z",
    "no-zone": "20110418T100000",
    "offset": "20110418T100000+0000",
    "year-10000": "100000418T100000Z",
    "negative-year": "-0010418T100000Z",
}
"""What is no time: that of the last change is taken."""

BY_CHANGE = {
    "changed-in-the-year-1": -62_135_596_800,
    "changed-before-the-year-1": -62_135_596_800 * 9,
    "changed-in-1969": -1,
    "changed-in-1970": 0,
    "changed-next-year": datetime.now(UTC).timestamp() + 366 * 86_400,
    "changed-in-9999": 253_402_300_799,
    "changed-after-9999": 10**12,
    "changed-at-the-end-of-time": 2**62 // 10**9,
}
"""The time of the last change, in seconds since 1970: no such time is possible."""

IMPOSSIBLE = [*BY_NAME, *BY_CHANGE]


@pytest.fixture(scope="module")
def siege() -> Iterator[Siege]:
    """Teams with the lists of the best team, and with any time; the earlier of equal entries is ranked first."""
    with TemporaryDirectory(dir=MEMORY) as memory:
        siege = Siege(Path(memory) / "challenge", settings='equal_ranks = "earlier"')
        for team, time in (BY_NAME | NO_TIME).items():
            (siege.main / team).mkdir()
            (siege.main / team / f"{time}-{team}.txt").write_text(BEST, encoding="utf-8")
        for team, seconds in BY_CHANGE.items():
            file = siege.main / team / "lists.txt"
            file.parent.mkdir()
            file.write_text(BEST, encoding="utf-8")
            os.utime(file, (seconds, seconds))
        siege.answer = siege.run("run")
        yield siege


@pytest.mark.parametrize("team", IMPOSSIBLE)
def test_an_impossible_time_does_not_count(team: str, siege: Siege) -> None:
    """The entry has no score on the board until the organiser confirms its time."""
    row = siege.board()[team]
    assert (row["rank"], row["nDCG@5"]) == (None, None)
    assert "time not confirmed" in (siege.folder / "site" / "teams" / f"{team}.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("team", NO_TIME)
def test_what_is_no_time_is_ignored(team: str, siege: Siege) -> None:
    """The file was received when it was written: after the team whose lists it has."""
    row = siege.board()[team]
    assert row["nDCG@5"] == siege.rows["alpha"]["nDCG@5"]
    assert isinstance(row["rank"], int)
    assert row["rank"] > 1


def test_nobody_else_is_harmed(siege: Siege) -> None:
    """The first team stays the first. Years have four digits."""
    assert own(siege.board()["alpha"]) == own(siege.rows["alpha"])
    for row in siege.board().values():
        received = row["last entry"]
        assert received is None or len(str(received)) == len("2011-04-18T10:00:00Z")
    siege.check_secrets()


def test_an_entry_with_an_amended_time_counts(tmp_path: Path) -> None:
    """In its place in the record: of equal scores, after those recorded earlier. An impossible time is refused."""
    siege = Siege(tmp_path / "challenge", settings='equal_ranks = "earlier"')
    (siege.main / "20990101T000000Z-late.txt").write_text(BEST, encoding="utf-8")
    assert siege.run("run").code == 0
    assert siege.board()["late"]["rank"] is None
    for time in "2026-01-30T10:00:00Z", "2026-01-31T10:30:00+01:00", "2026-02-01T10:00:00Z":
        answer = siege.amend("main/20990101T000000Z-late.txt", time)
        assert answer.code == 0, answer.err
        assert siege.run("run").code == 0
        assert siege.board()["late"]["rank"] == 2
    for time in "2100-01-01T00:00:00Z", "1989-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z":
        assert siege.amend("main/20990101T000000Z-late.txt", time).code == 1, time
    for time in "2011-04-18", "2011-04-18T10:00:00", "10000-01-01T00:00:00Z", "9999-12-31T23:59:59-14:00", "x":
        assert siege.amend("main/20990101T000000Z-late.txt", time).code == 2, time
    assert siege.board()["late"]["rank"] == 2
