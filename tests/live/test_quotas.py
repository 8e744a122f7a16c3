"""Quotas: which entries are within the limits, what waits, what is left, and that nothing over the quota is scored."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.errors import ChallengeError
from scorer.limits import ATTEMPTS
from scorer.live.entries import quota_line
from scorer.organising.errata import apply, preview_erratum
from scorer.organising.picks import amend, retry
from scorer.organising.run import carry_out, plan
from scorer.rules.phases import Phase, Phases
from scorer.rules.quota import Claim, Cost, Left, Quota, UsedQuota, admissions, quota_rules
from scorer.scoring.executors import GoOn, always
from scorer.scoring.executors.base import Executor, FileOutcomes, FileToScore, Scoring, Serial
from scorer.scoring.outcomes import Failed
from scorer.settings.loading import read_challenge
from tests.commands import here
from tests.databases import record_teams, rows
from tests.live_challenges import (
    ANNOUNCED,
    DAY,
    END,
    INVALID,
    ONE,
    SECOND,
    SECOND_START,
    START,
    TWO,
    Live,
    lists,
    solution,
)
from tests.oracles import QuotaEntry, admitted, local_day, next_local_day
from tests.strategies import examples

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)

GAPS = ("America/Santiago", "Asia/Beirut", "America/Asuncion", "Africa/Cairo")
"""Zones in which midnight does not exist on some days, and an hour before or after it is repeated on others."""

MOMENTS = st.integers(0, 6 * 365 * 24 * 60).map(lambda minutes: datetime(2026, 1, 1, tzinfo=UTC) + minutes * MINUTE)
"""Whole minutes of six years."""

ZONES = ("UTC", "Europe/Ljubljana", "America/New_York", "Pacific/Chatham", "Asia/Kolkata", *GAPS)


def quota(**limits: object) -> Quota:
    """A quota."""
    return Quota.model_validate(limits)


def solo(team: str, _: int) -> Collection[str]:
    """Every team counts separately."""
    return (team,)


def fold(costs: Sequence[Cost], limits: Quota, *, team: str = "t", received: datetime = START) -> list[bool | None]:
    """The admissions of entries of a team, received a minute apart."""
    claims = [Claim(index, team, received + index * MINUTE, "one", cost) for index, cost in enumerate(costs)]
    return list(admissions(claims, limits, solo).values())


# The fold


@pytest.mark.holds(
    r"The day of an entry is that of its time of receipt\. Entries are counted in the order .* within the quota\."
)
def test_the_index_orders_entries_and_the_time_of_receipt_decides_their_day() -> None:
    """An entry that is recorded later and was received earlier comes after."""
    late, early = Claim(1, "t", START + HOUR, "one", "scored"), Claim(2, "t", START, "one", "scored")
    tomorrow = Claim(3, "t", START + DAY, "one", "scored")

    assert admissions([tomorrow, early, late], quota(per_day=1), solo) == {1: True, 2: False, 3: True}


@dataclass(frozen=True)
class Drawn:
    """A drawn case: limits, a zone, and entries."""

    limits: dict[str, int]
    zone: str
    entries: list[QuotaEntry]
    merge: int
    """The position from which the teams a and b count as one."""


@st.composite
def cases(draw: st.DrawFn) -> Drawn:
    """Entries around a midnight, of three teams in two phases, some of them without an outcome."""
    names = ("per_day", "per_phase", "total", "rejected_per_day")
    limits = draw(st.dictionaries(st.sampled_from(names), st.integers(1, 3)))
    start = draw(MOMENTS)
    outcomes = ["scored", "scored", "rejected", "failed", "open"]
    entries = draw(
        st.lists(
            st.builds(
                QuotaEntry,
                st.sampled_from("abc"),
                st.integers(0, 40).map(lambda hours: start + hours * HOUR),
                st.sampled_from(["one", "two", None]),
                st.sampled_from(outcomes),
            ),
            max_size=9,
        )
    )
    opened = [position for position, entry in enumerate(entries) if entry.outcome == "open"]
    for position in opened[4:]:  # the oracle tries every combination
        entries[position] = replace(entries[position], outcome="failed")
    return Drawn(limits, draw(st.sampled_from(ZONES)), entries, draw(st.integers(0, 9)))


@examples(200)
@given(cases())
def test_the_fold_equals_a_slow_definition(case: Drawn) -> None:
    """What the fold decides holds for every outcome that open entries may have, and it decides unless one matters.

    After an entry that waits, the fold may let another one wait that the definition decides: which of two waiting
    entries take a place together is not followed.
    """

    def pool(team: str, index: int) -> Collection[str]:
        return ("a", "b") if index >= case.merge and team in "ab" else (team,)

    claims = [
        Claim(index, each.team, each.received, each.phase, {"failed": "none"}.get(each.outcome, each.outcome))  # type: ignore[arg-type]
        for index, each in enumerate(case.entries)
    ]

    found = list(admissions(claims, quota(zone=case.zone, **case.limits), pool).values())
    expected = admitted(case.entries, case.limits, case.zone, pool)

    is_certain = True
    for ours, theirs in zip(found, expected, strict=True):
        assert ours == theirs or (ours is None and not is_certain)
        is_certain &= ours is not None


# Days


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("UTC", "2028-02-29", 24),
        ("Europe/Ljubljana", "2027-03-28", 23),
        ("Europe/Ljubljana", "2027-10-31", 25),
        ("America/Santiago", "2026-09-06", 23),
        ("America/Santiago", "2027-04-03", 25),
        ("Asia/Beirut", "2027-03-28", 23),
        ("Africa/Cairo", "2027-04-30", 23),
        ("Pacific/Chatham", "2027-09-26", 23),
        ("Asia/Kathmandu", "2027-06-01", 24),
    ],
)
def test_a_day_is_a_calendar_day_of_the_zone(zone: str, day: str, hours: int) -> None:
    """It may have 23 or 25 hours, and may begin at one o'clock; the limit begins again with the next day."""
    limits = quota(per_day=1, zone=zone)
    noon = datetime.fromisoformat(f"{day}T12:00:00").astimezone(UTC)
    first = next(
        noon + minutes * MINUTE
        for minutes in range(-40 * 60, 40 * 60)
        if local_day(noon + minutes * MINUTE, zone).isoformat() == day
    )
    last = limits.next_day(first) - SECOND

    assert (limits.day(first), limits.day(last), limits.next_day(last)) == (day, day, last + SECOND)
    assert limits.day(first - SECOND) < day < limits.day(last + SECOND)
    assert last + SECOND - first == hours * HOUR
    claims = [
        Claim(index, "t", received, None, "scored")
        for index, received in enumerate((first - SECOND, first, last, last + SECOND))
    ]
    assert admissions(claims, limits, solo) == {0: True, 1: True, 2: False, 3: True}


@examples(40)
@given(MOMENTS, st.sampled_from(ZONES))
def test_the_next_day_is_the_first_minute_with_another_date(now: datetime, zone: str) -> None:
    """In any zone, also where midnight does not exist or comes twice."""
    assert quota(zone=zone).next_day(now) == next_local_day(now, zone)
    assert quota(zone=zone).day(now) == local_day(now, zone).isoformat()


# Settings


@pytest.mark.parametrize(
    ("zone", "known", "shown"),
    [
        ("AoE", "Etc/GMT+12", "AoE"),
        ("UTC-12", "Etc/GMT+12", "AoE"),
        ("UTC+2", "Etc/GMT-2", "UTC+2"),
        ("GMT-03:00", "Etc/GMT+3", "UTC-3"),
        ("UTC", "UTC", "UTC"),
        ("Europe/Ljubljana", "Europe/Ljubljana", "Europe/Ljubljana"),
    ],
)
def test_an_offset_is_a_zone(zone: str, known: str, shown: str) -> None:
    """In the names of the IANA database, the sign is the opposite; people read the offset."""
    found = quota(zone=zone, per_day=2)
    assert found.zone == known
    rules = " ".join(quota_rules(found, has_phases=False))
    assert f"(a calendar day in the time zone {shown})" in rules


def test_the_last_day_ends_anywhere_on_earth() -> None:
    """At noon of the next day in UTC."""
    noon = datetime(2027, 1, 12, 12, tzinfo=UTC)
    assert (quota(zone="AoE").day(noon - SECOND), quota(zone="AoE").day(noon)) == ("2027-01-11", "2027-01-12")


@pytest.mark.parametrize("zone", ["UTC+99", "UTC+5:30", "utc12", "AOE12"])
def test_an_unknown_zone_is_refused(zone: str) -> None:
    """Etc has whole hours only."""
    with pytest.raises(ValueError, match="is not the name of a time zone"):
        quota(zone=zone)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("{per_day = 0}", "tracks.main.quota.per_day: found 0; allowed: a whole number from 1"),
        ("{total = 2.5}", "tracks.main.quota.total: found 2.5; allowed: a whole number from 1"),
        ("{per_week = 5}", "tracks.main.quota.per_week: unknown key"),
        (
            '{per_day = 5, zone = "Mars/Base"}',
            'tracks.main.quota.zone: found "Mars/Base", which is not the name of a time zone; allowed: the name of a',
        ),
        ('{zone = "../../etc/passwd"}', "which is not the name of a time zone"),
        ('{zone = ""}', "which is not the name of a time zone"),
        ("5", "tracks.main.quota: found 5; allowed: a table, as in quota = {per_day = 5}"),
    ],
)
def test_an_invalid_quota_is_refused(tmp_path: Path, value: str, message: str) -> None:
    """The message names the key."""
    Live.of(tmp_path, ONE, settings=f"quota = {value}")
    with pytest.raises(ChallengeError) as caught:
        read_challenge(tmp_path)

    assert message in str(caught.value)


# What is left


def remaining(
    claims: Sequence[Claim], limits: Quota, members: Collection[str], now: datetime, phase: str
) -> tuple[Left, ...]:
    """What is left while a phase is open."""
    open_now = Phase.model_validate({"name": phase, "start": now - HOUR, "end": now + HOUR})
    return UsedQuota(limits, Phases((open_now,)), tuple(claims)).left(members, now)


def test_what_is_left_of_each_limit() -> None:
    """Limits per day begin again with the next day in the zone; a merge may leave a team above a limit."""
    limits = quota(per_day=3, per_phase=5, total=9, rejected_per_day=2, zone="Europe/Ljubljana")
    now = datetime(2027, 3, 27, 22, 30, tzinfo=UTC)
    claims = [
        Claim(1, "t", now - 24 * HOUR, "one", "scored"),
        Claim(2, "u", now, "one", "scored"),
        Claim(3, "v", now, "one", "scored"),
        Claim(4, "t", now, "one", "open"),
        Claim(5, "t", now, "one", "rejected"),
        Claim(6, "t", now, "one", "none"),
        Claim(7, "t", now - 24 * HOUR, "zero", "rejected"),
    ]
    midnight = datetime(2027, 3, 27, 23, tzinfo=UTC)

    left = remaining(claims, limits, ("t", "u"), now, "one")

    assert left == (
        Left("per_day", 3, 2, 1, midnight),
        Left("per_phase", 5, 3, 1, None),
        Left("total", 9, 3, 1, None),
        Left("rejected_per_day", 2, 2, 1, midnight),
    )
    assert [each.left for each in left] == [1, 2, 6, 0]
    assert [each.expected for each in left] == [1, 2, 6, 1]
    after = remaining(claims, limits, ("t", "u"), midnight, "two")
    assert [each.left for each in after] == [3, 5, 6, 2]
    assert after[0].resets == datetime(2027, 3, 28, 22, tzinfo=UTC)
    assert remaining(claims, quota(), ("t",), now, "one") == ()
    above = [Claim(index, "t", START, "one", "scored") for index in range(3)]
    (total,) = remaining(above, quota(total=2), ("t",), START, "one")
    assert (total.used, total.left) == (3, 0)


# From files to the board


def live_with(folder: Path, limits: str, *more: str) -> Live:
    """A challenge with a quota, whose phases are announced."""
    live = Live.of(folder, ONE, TWO, settings="\n".join([f"quota = {{{limits}}}", *more]))
    live.run(ANNOUNCED)
    return live


def stored_results(live: Live) -> set[str]:
    """The digests of the submissions with a result in the database."""
    return {digest for (digest,) in rows(str(live.folder / "scores.db"), "SELECT submission_digest FROM result")}


def put_all(live: Live, *files: str, received: datetime = START) -> None:
    """Write submissions with different bytes, received a minute apart; those whose names begin with x are invalid."""
    for number, file in enumerate(files):
        is_invalid = file.rpartition("/")[2].startswith("x")
        live.put(file, INVALID.format(number) if is_invalid else lists(3, number % 5, file), received + number * MINUTE)


@pytest.mark.holds(
    r"A team has at most 2 scored entries a day \(a calendar day in the time zone UTC\)\.",
    r"An entry over the quota is kept and marked; it is not scored\.",
)
def test_an_entry_over_the_quota_has_no_result(tmp_path: Path) -> None:
    """It is kept and marked. The next day, and the next phase, begin again."""
    live = live_with(tmp_path, "per_day = 2")
    put_all(live, "a/1", "a/2", "a/3", "b/1")
    put_all(live, "a/4", received=START + DAY)
    live.run(START + DAY + HOUR)

    assert live.states() == {"a/1": "scored", "a/2": "scored", "a/3": "over-quota", "b/1": "scored", "a/4": "scored"}
    over = live.entry("a/3")
    assert (over.outcome, over.preliminary, over.is_counting) == ("waiting", (None,), False)
    assert over.digest not in stored_results(live)
    assert len(stored_results(live)) == 4
    live.run(START + 2 * DAY)
    assert live.outcomes == []


@pytest.mark.holds(
    r"A team has at most 2 scored entries a day .*, 3 scored entries a phase and 4 scored entries in all\.",
    r"A team has at most 1 rejected file a day .*; when it has so many, .* are over the quota\.",
)
@pytest.mark.parametrize(
    ("limits", "first", "later", "start", "states"),
    [
        ("per_phase = 2, total = 3", "1 2 3", "4 5", SECOND_START, "scored scored over-quota scored over-quota"),
        # A rejected file takes no place among the scored ones, so the next one is scored, in the same run
        ("per_day = 1", "x1 x2 3 4", "", START, "rejected rejected scored over-quota"),
        # When the limit of rejected files is reached, all later files of the day are over the quota
        (
            *("rejected_per_day = 2", "1 x2 x3 4 x5", "6", START + DAY),
            "scored rejected rejected over-quota over-quota scored",
        ),
    ],
)
def test_each_limit_holds_in_one_run(
    tmp_path: Path, limits: str, first: str, later: str, start: datetime, states: str
) -> None:
    """Of a phase and of the whole challenge, and of rejected files; other teams have their own."""
    live = live_with(tmp_path, limits)
    put_all(live, *(f"a/{name}" for name in first.split()), "b/1")
    put_all(live, *(f"a/{name}" for name in later.split()), received=start)
    live.run(start + HOUR)

    assert [entry.state for entry in live.entries().all if entry.team == "a"] == states.split()
    assert live.states()["b/1"] == "scored"


class Failing:
    """Fails all files with a text in them, for a reason that counts."""

    def __init__(self, mark: str) -> None:
        self.mark = mark

    def results(self, scoring: Scoring, files: Sequence[FileToScore], go_on: GoOn = always) -> FileOutcomes:
        """As the serial executor, but for these files."""
        failed = [self.mark in str(each.path) for each in files]
        for position in (position for position, is_failed in enumerate(failed) if is_failed):
            yield position, Failed("it took too long", "time")
        others = [position for position, is_failed in enumerate(failed) if not is_failed]
        for index, outcome in Serial().results(scoring, [files[position] for position in others], go_on):
            yield others[index], outcome


def run_with(live: Live, now: datetime, executor: Executor) -> None:
    """Run with this executor."""
    live.now = now
    with live.store() as store:
        for _ in carry_out(store, plan(store, live.challenge, live.track), executor):
            pass


def test_a_failure_costs_nothing_and_holds_later_entries_back_until_it_is_given_up(tmp_path: Path) -> None:
    """An entry that does not depend on it is scored at once."""
    live = live_with(tmp_path, "per_day = 2")
    put_all(live, "a/slow", "a/2", "a/3", "a/4")
    run_with(live, START + HOUR, Failing("slow"))
    assert live.states() == {"a/slow": "failed", "a/2": "scored", "a/3": "waiting", "a/4": "waiting"}
    assert live.entry("a/3").digest not in stored_results(live)

    for attempt in range(1, ATTEMPTS):
        run_with(live, START + (attempt + 1) * HOUR, Failing("slow"))
    assert live.states() == {"a/slow": "failed", "a/2": "scored", "a/3": "scored", "a/4": "over-quota"}


def test_a_failure_that_succeeds_later_takes_its_place(tmp_path: Path) -> None:
    """The entry that waited is then over the quota, and was never scored."""
    live = live_with(tmp_path, "per_day = 1")
    put_all(live, "a/slow", "a/2")
    run_with(live, START + HOUR, Failing("slow"))
    assert live.states() == {"a/slow": "failed", "a/2": "waiting"}
    with live.store() as store:
        assert retry(live.challenge, store) == 1
    run_with(live, START + 2 * HOUR, Serial())

    assert live.states() == {"a/slow": "scored", "a/2": "over-quota"}
    assert live.entry("a/2").digest not in stored_results(live)
    assert here("retry", "-C", live.folder).out == "no entry has failed\n"


@pytest.mark.holds(
    r"Withdrawn entries that were scored stay in the count\. Files that could not be scored .* do not count"
    r"(, nor do early and late entries)?\."
)
def test_a_withdrawn_entry_keeps_its_place(tmp_path: Path) -> None:
    """If it was scored; otherwise it has none, and the entry behind it moves up."""
    live = live_with(tmp_path, "per_day = 1")
    put_all(live, "a/1", "b/slow")
    run_with(live, START + HOUR, Failing("slow"))
    for file in ("a/1", "b/slow"):
        live.path(file).unlink()
    put_all(live, "a/2", "b/2", received=START + HOUR)
    live.run(START + 2 * HOUR)

    assert live.states() == {"a/1": "withdrawn", "a/2": "over-quota", "b/slow": "withdrawn", "b/2": "scored"}


def test_a_withdrawn_entry_keeps_its_place_after_an_erratum(tmp_path: Path) -> None:
    """Also among the looks. Its file is gone, so only the earlier rules scored it."""
    live = live_with(tmp_path, "per_day = 1")
    put_all(live, "a/1")
    live.run(START + HOUR)
    live.path("a/1").unlink()
    put_all(live, "a/2", received=START + HOUR)
    live.run(START + 2 * HOUR)
    live.write_solution(solution().replace("q9:0:a|1", "q9:0:z|1"))
    live.now = START + 3 * HOUR
    with live.store() as store:
        preview_erratum(live.challenge, store, live.track, Serial())
        apply(live.challenge, store, live.track, "q9 was wrong", Serial())
    live.run(START + 4 * HOUR)

    assert live.states() == {"a/1": "withdrawn", "a/2": "over-quota"}
    assert [row.looks for row in live.board(START + 4 * HOUR).rows] == [1]


def test_a_replaced_file_takes_two_places(tmp_path: Path) -> None:
    """Each content is an entry."""
    live = live_with(tmp_path, "per_day = 2")
    for number in range(3):
        live.put("a/1", lists(number, 0), START + number * HOUR)
        live.run(START + number * HOUR + MINUTE)

    assert [entry.state for entry in live.entries().all] == ["superseded", "superseded", "over-quota"]


@pytest.mark.holds(r"A team has at most 1 scored entry in all\.")
def test_early_late_and_misdated_entries_take_no_place(tmp_path: Path) -> None:
    """They are outside of the quota, in both directions."""
    live = live_with(tmp_path, "total = 1")
    put_all(live, "a/early", received=START - HOUR)
    put_all(live, "a/late", received=END)
    put_all(live, "a/misdated", received=ANNOUNCED - DAY)
    put_all(live, "a/1", "a/2")
    live.run(END + HOUR)
    assert live.states() == {
        "a/misdated": "misdated",
        "a/early": "early",
        "a/1": "scored",
        "a/2": "over-quota",
        "a/late": "late",
    }

    with live.store() as store:
        amend(live.challenge, store, "main/a/misdated", START, "it was in time")
    assert live.states()["a/misdated"] == "scored"
    assert live.states()["a/1"] == "over-quota"


def test_baselines_have_no_quota(tmp_path: Path) -> None:
    """They are scored however many there are."""
    live = live_with(tmp_path, "per_day = 1", 'baselines = ["popular"]')
    put_all(live, "popular/1", "popular/2", "popular/3")
    live.run(START + HOUR)

    assert set(live.states().values()) == {"scored"}


@pytest.mark.holds(
    r"Teams may merge: from then on their entries count together, also for the quota; earlier entries stay .*"
)
def test_merged_teams_count_together(tmp_path: Path) -> None:
    """From the merge on; what was admitted before stays."""
    live = live_with(tmp_path, "per_day = 2")
    put_all(live, "a/1", "b/1")
    live.run(START + HOUR)
    with live.store() as store:
        record_teams(store, {"b": {"merged_into": "a"}}, {"b": "they work together"})
    put_all(live, "a/2", "b/2", received=START + HOUR)
    live.run(START + 2 * HOUR)
    assert live.states() == {"a/1": "scored", "b/1": "scored", "a/2": "over-quota", "b/2": "over-quota"}

    with live.store() as store:
        record_teams(store, {}, {"b": "they do not any more"})
    put_all(live, "a/3", "b/3", received=START + 2 * HOUR)
    live.run(START + 3 * HOUR)
    assert (live.states()["a/3"], live.states()["b/3"]) == ("scored", "scored")


def test_a_quota_also_holds_without_phases(tmp_path: Path) -> None:
    """The limit per phase is then one on all entries."""
    live = Live.of(tmp_path, settings='stage = "preliminary"\nquota = {per_phase = 1}')
    put_all(live, "a/1", "a/2")
    put_all(live, "a/3", received=START + 30 * DAY)
    live.run(START + 40 * DAY)

    assert list(live.states().values()) == ["scored", "over-quota", "over-quota"]


def test_an_entry_without_an_outcome_counts_in_every_limit(tmp_path: Path) -> None:
    """It may be scored or rejected, so no limit shows a place that it may take."""
    live = live_with(tmp_path, "per_day = 3, rejected_per_day = 1")
    put_all(live, "a/slow")
    run_with(live, START + HOUR, Failing("slow"))
    with live.store() as store:
        line = store.read(lambda view: quota_line(view, live.track, "a"))

    assert line.startswith("a: left of its quota: 2 of 3 scored entries a day, 0 of 1 rejected file a day; ")
    assert "; 1 entry without an outcome, counted in every limit; " in line
