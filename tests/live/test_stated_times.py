"""Stated times: the table in the rules, and a model of what they say about looks, phases, days and changes of files."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from scorer.board.reports.leaderboard import entry_values
from scorer.organising.phases import extend
from scorer.organising.picks import amend
from scorer.organising.render import listed_entries
from tests.live_challenges import ANNOUNCED, DAY, END, SECOND, SECOND_END, SECOND_START, START, Live, lists, phase
from tests.paths import DOCS
from tests.strategies import examples, rest

RULES = DOCS / "rules.md"

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


def found(live: Live) -> list[tuple[object, ...]]:
    """What `scorer entries` lists, in the order of the record: the file, the phase and the states."""
    with live.store() as store:
        values = entry_values(store.read(lambda view: listed_entries(view, [live.track])))
    keys = ("file", "phase", "presence", "admission", "state")
    return [tuple(each[key] for key in keys) for each in values]


# The table in the rules


def rows() -> list[list[str]]:
    """The cells of the table without the reason."""
    section = RULES.read_text(encoding="utf-8").partition("### Stated times")[2].partition("\n## ")[0]
    return [
        [cell.strip() for cell in line.split("|")[1:6]] for line in re.findall("^\\| [0-9].*", section, re.MULTILINE)
    ]


def moment(text: str) -> datetime:
    """A time of the table."""
    return datetime.strptime(f"2011 {text}", "%Y %d %B %H:%M").replace(tzinfo=UTC)


def april(day: int) -> datetime:
    """The beginning of a day."""
    return datetime(2011, 4, day, tzinfo=UTC)


def test_the_table_has_every_state_of_a_stated_time() -> None:
    """Each combination of the phase and the states, with and without trust."""
    states = {(state, trusted) for _, _, _, state, trusted in rows()}
    assert {state for state, _ in states} == {"counts", "late", "early", "misdated"}
    assert {trusted for state, trusted in states if state == "misdated"} == {"counts", "late", "early", "misdated"}


@pytest.mark.parametrize("recorded", ["at once", *rest(["in May"])])
@pytest.mark.parametrize(("stated", "scan", "name", "state", "trusted"), rows())
def test_the_table_of_the_rules_is_true(
    tmp_path: Path, stated: str, scan: str, name: str, state: str, trusted: str, recorded: str
) -> None:
    """Each row, regardless of when the entry is recorded; and each row with `trusted_times`."""
    tables = phase("one", april(10), april(20)), phase("two", april(25), april(30))
    run = max(moment(stated), moment(scan)) + HOUR if recorded == "at once" else april(30) + 5 * DAY
    for trust, wanted in (("false", state), ("true", trusted)):
        live = Live.of(tmp_path / trust, *tables, settings=f"quota = {{per_day = 1}}\ntrusted_times = {trust}")
        for look in sorted({april(1), moment(scan)}):
            live.run(look)
        live.put("a/1", lists(1, 1), moment(stated))
        live.run(run)

        ((_, in_phase, _, _, found_state),) = found(live)
        assert found_state == {"counts": "scored"}.get(wanted, wanted)
        assert trust == "true" or in_phase == (name or None)


# A model of the rules


@dataclass
class Known:
    """An entry of the model."""

    file: str
    content: str
    stated: datetime
    recorded: datetime
    absent: datetime
    """The last look that did not find it."""
    amended: bool = False
    there: bool = True
    since: int = 0
    """The number of the run from which on its file has its content."""


@dataclass
class Model:
    """What the documentation says of a challenge with two phases, and perhaps one entry a day."""

    by_days: bool
    end: datetime = END
    grace: timedelta = timedelta(0)
    folder: dict[str, tuple[str, datetime]] = field(default_factory=dict)
    entries: list[Known] = field(default_factory=list)
    look: datetime = ANNOUNCED
    runs: int = 0

    def place(self, time: datetime) -> tuple[str | None, str]:
        """Where a time is in the phases."""
        if time < START:
            return None, "early"
        if time < SECOND_START:
            return "one", "ok" if time < self.end + self.grace else "late"
        return "two", "ok" if time < SECOND_END else "late"

    def has_closed(self, entry: Known, now: datetime) -> bool:
        """Whether nothing that happens to its file changes an entry."""
        return now >= (SECOND_END if self.place(entry.stated)[0] == "two" else self.end + self.grace)

    def run(self, now: datetime) -> None:
        """Record what is there."""
        known = {(entry.file, entry.content): entry for entry in self.entries}
        new = [(time, file.split("/")[0], file, text) for file, (text, time) in self.folder.items()]
        self.runs += 1
        for time, _, file, text in sorted(each for each in new if (each[2], each[3]) not in known):
            self.entries.append(Known(file, text, time, now, self.look, since=self.runs))
        changed = [
            entry for entry in known.values() if entry.there != self.has(entry) and not self.has_closed(entry, now)
        ]
        for entry in changed:
            entry.there = not entry.there
        for entry in self.entries:
            if self.has(entry) and entry.file in {each.file for each in changed}:
                entry.since = self.runs
        self.look = now

    def has(self, entry: Known) -> bool:
        """Whether the content of an entry is in its file."""
        return self.folder.get(entry.file, ("",))[0] == entry.content

    def is_impossible(self, entry: Known) -> bool:
        """Whether the time of receipt of an entry is impossible."""
        if entry.stated > entry.recorded + 5 * MINUTE or (entry.stated < ANNOUNCED - 5 * MINUTE and not entry.amended):
            return True
        if entry.amended or entry.stated >= entry.absent:
            return False
        scope = self.place(entry.stated)
        is_other_day = self.by_days and scope[1] == "ok" and entry.stated.date() != entry.absent.date()
        return scope != self.place(entry.absent) or is_other_day

    def listed(self) -> list[tuple[object, ...]]:
        """The entries in the order of the record, as `found` has them."""
        used: set[tuple[str, object]] = set()
        rows: list[tuple[object, ...]] = []
        for entry in self.entries:
            later = [
                each for each in self.entries if each.file == entry.file and each.there and each.since > entry.since
            ]
            presence = "present" if entry.there else "superseded" if later else "withdrawn"
            name, admission = (None, "misdated") if self.is_impossible(entry) else self.place(entry.stated)
            if admission == "ok" and self.by_days:
                day = entry.file.split("/")[0], entry.stated.date()
                admission = "over-quota" if day in used else "ok"
                used.add(day)
            state = presence if presence != "present" else "scored" if admission == "ok" else admission
            rows.append((f"main/{entry.file}", name, presence, admission, state))
        return rows


EDGES = (START, END, END + HOUR, END + DAY, SECOND_START, SECOND_END)
TIMES = st.builds(
    lambda edge, days, step: edge + days * DAY + step,
    st.sampled_from(EDGES),
    st.integers(-2, 2),
    st.sampled_from([timedelta(0), -SECOND, MINUTE, 5 * HOUR, -13 * HOUR]),
)
ACTIONS = st.lists(
    st.tuples(
        TIMES,
        st.sampled_from(["put", "put", "put", "remove", "amend", "extend"]),
        st.sampled_from(["a/1", "a/1", "a/2"]),
        st.sampled_from("xy"),
        st.one_of(st.none(), TIMES),
        st.booleans(),
    ),
    min_size=6,
    max_size=16,
)
"""When what is done to which file, its new content, the stated or amended time, and whether a run looks at once."""


@settings(examples(50), phases=[Phase.explicit, Phase.generate])
@given(actions=ACTIONS, by_days=st.booleans(), grace=st.sampled_from([timedelta(0), HOUR]))
def test_random_seasons_equal_the_model(
    actions: list[tuple[datetime, str, str, str, datetime | None, bool]], by_days: bool, grace: timedelta
) -> None:
    """Files that come, change, go and return, with any stated time, near the boundaries of phases and days."""
    keys = "quota = {per_day = 1}" if by_days else ""
    model = Model(by_days, grace=grace)
    with TemporaryDirectory() as folder:
        live = Live.of(
            Path(folder) / "live",
            phase("one", START, END, f'grace = "{grace // HOUR}h"'),
            phase("two", SECOND_START, SECOND_END),
            settings=keys,
        )
        live.run(ANNOUNCED)
        last = SECOND_END + 9 * DAY, "put", "b/1", "x", None, True
        for now, action, file, text, time, looks in sorted([*actions, last], key=lambda each: each[0]):
            stated = time or now
            if action == "put":
                content = f"{file[0]}{file[2]}{text}"
                live.put(file, lists(1, 1, content), stated)
                model.folder[file] = content, stated
            elif action == "remove":
                live.path(file).unlink(missing_ok=True)
                model.folder.pop(file, None)
            elif action == "amend" and model.entries and stated <= now:
                entry = model.entries[-1]
                with live.store(now) as store:
                    index = live.entries(now).all[-1].index
                    amend(live.challenge, store, str(index), stated, "The server has its time.")
                entry.stated, entry.recorded, entry.amended = stated, now, True
            elif action == "extend" and START <= now < model.end + grace and model.end == END:
                with live.store(now) as store:
                    extend(live.challenge, store, "main", "one", END + DAY, "The server was down.")
                model.end = END + DAY
            if looks:
                live.run(now)
                model.run(now)
                assert found(live) == model.listed()
