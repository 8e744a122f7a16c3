"""Errata: changes of the solution or of the rules while a challenge is live, and what visitors see of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import datetime
from typing import Any

from scorer.live.rules import ChangedRule, SaltedDigest, file_changes, rule_changes, salted_digest
from scorer.options import Stage
from scorer.record.events import Event
from scorer.rules.phases import Phases
from scorer.rules.tables import sentences
from scorer.rules.teams import Team, teams
from scorer.settings.tracks import Track
from scorer.store.events import AppliedErratumBody, BasisBody, ChangesBody, ErratumBody
from scorer.store.snapshot import Snapshot
from scorer.wording import counted, one_line


@dataclass(frozen=True, slots=True)
class Erratum:
    """A change of what a track is scored by."""

    number: int
    """From 1, in the order in which the errata of the track were applied."""
    reason: str
    """Empty until it is applied."""
    before: BasisBody | None
    """The basis of the board at that time; None if no earlier event records one."""
    basis: BasisBody
    """The new basis."""
    changes: ChangesBody | None
    """What it changed on the board; None until it is applied."""
    index: int
    """Of the event that gave it its state."""
    at: datetime | None
    """When that was recorded, in UTC."""


@dataclass(frozen=True, slots=True)
class Errata:
    """The errata of a track."""

    applied: tuple[Erratum, ...]
    """In order."""
    open: Erratum | None
    """The one that was previewed, and neither applied nor cancelled; None without one."""


def folded_errata(events: Iterable[Event]) -> Errata:
    """The errata of a track, given its events in order."""
    applied = []
    previewed = before = None
    for event in events:
        body = event.body
        if isinstance(body, BasisBody):
            before = body
        elif isinstance(body, ErratumBody):
            changes = body.changes if isinstance(body, AppliedErratumBody) else None
            erratum = Erratum(body.number, body.reason, before, body.basis, changes, event.index, event.at)
            applied += [] if changes is None else [erratum]
            previewed = erratum if body.state == "previewed" else None
    return Errata(tuple(applied), previewed)


@dataclass(frozen=True, slots=True)
class Scale:
    """What the scores of a board are."""

    measure: str
    """The name of the primary measure."""
    decimals: int
    stage: Stage
    """Which scores the board was ranked by."""


@dataclass(frozen=True, slots=True)
class Placing:
    """A team's place on a board; None where it has none."""

    rank: int | None
    score: float | None
    """On the primary measure, rounded to the decimals of the track."""


@dataclass(frozen=True, slots=True)
class BeforeAfter:
    """A row before and after an erratum."""

    team: Team
    """With another name where entries are rows."""
    baseline: bool
    before: Placing
    after: Placing

    @property
    def moves(self) -> bool:
        return self.before.rank != self.after.rank

    @property
    def is_rescored(self) -> bool:
        return self.before.score != self.after.score


@dataclass(frozen=True, slots=True)
class Changes:
    """Two boards of the same entries, side by side."""

    before: Scale
    after: Scale
    teams: tuple[BeforeAfter, ...]
    """In the order of the board after; teams that are not on it follow. Baselines are among them."""
    are_hidden: bool = False
    """Whether the board showed no scores, because its phase shows nothing; then no team has any."""
    final: Changes | None = None
    """What changes of the final scores and ranks, for the organiser; None where the board shows these, or in public."""
    rules: tuple[str, ...] = ()
    """Each rule and file that differs, in words for the organiser."""

    @property
    def summary(self) -> str:
        """How many scores and ranks of teams change, in a sentence; baselines are not counted."""
        if self.are_hidden:
            return "The board showed no scores at that time, so none are compared."
        teams = [row for row in self.teams if not row.baseline]
        scores, ranks = sum(row.is_rescored for row in teams), sum(row.moves for row in teams)
        return (
            f"Of {counted(len(teams), 'team')}, {scores:,} {'has' if scores == 1 else 'have'} another score and "
            f"{ranks:,} another rank."
        )


def recorded_changes(changes: Changes) -> dict[str, Any]:
    """The changes as plain values for the record, with the teams by the names of their folders."""
    return {
        "scales": [astuple(changes.before), astuple(changes.after)],
        "teams": [[row.team.folder, row.baseline, astuple(row.before), astuple(row.after)] for row in changes.teams],
        "hidden": changes.are_hidden,
    }


def changes_of_record(recorded: ChangesBody, teams: Sequence[Team]) -> Changes:
    """The changes that `recorded_changes` returned; the teams are all that are known now, with their present names."""
    by_folder = {team.folder: team for team in teams}
    before, after = (Scale(*scale) for scale in recorded.scales)
    rows = (
        BeforeAfter(_named(folder, by_folder), baseline, Placing(*earlier), Placing(*later))
        for folder, baseline, earlier, later in recorded.teams
    )
    return Changes(before, after, tuple(rows), recorded.hidden)


def _named(folder: str, teams: Mapping[str, Team]) -> Team:
    """The team of a row, given its folder, or that of a team and the index of an entry."""
    name, _, index = folder.partition("/")
    team = teams.get(name, Team(name, "", name))
    return replace(team, name=f"{team.name}: entry {index}") if index else team


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that an erratum changed: the solution, or the list of candidate items."""

    name: str
    """``solution`` or ``items``."""
    before: SaltedDigest | None
    """None without such a file, as `after`."""
    after: SaltedDigest | None


@dataclass(frozen=True, slots=True)
class PublishedErratum:
    """An erratum that was applied."""

    track: str
    number: int
    """From 1."""
    at: datetime
    """When it was applied, in UTC."""
    index: int
    """Of the event that applied it."""
    reason: str
    """On one line."""
    rules: tuple[ChangedRule, ...]
    files: tuple[ChangedFile, ...]
    changes: Changes
    """The board when it was applied; the teams have their present names."""

    @property
    def path(self) -> str:
        """Of its page in the site."""
        return f"{self.track}/errata/{self.number}.html"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of what changed: rules, then ``solution`` and ``items``."""
        return (*(rule.name for rule in self.rules), *(file.name for file in self.files))

    @property
    def changed(self) -> str:
        """What changed, by name: ``decimals, solution``."""
        return ", ".join(self.names)


def published_errata(shown: Snapshot, track: Track, errata: Sequence[Erratum]) -> tuple[PublishedErratum, ...]:
    """The applied errata of a track as visitors may see them, given the snapshot that they may see."""
    if not errata:
        return ()
    listed_teams = tuple(teams(shown.teams, shown.events()).values())
    return tuple(
        PublishedErratum(
            track=track.name,
            number=erratum.number,
            at=erratum.at or shown.now,
            index=erratum.index,
            reason=one_line(erratum.reason),
            rules=() if erratum.before is None else rule_changes(erratum.before, erratum.basis),
            files=() if erratum.before is None else _changed_files(shown, track, erratum.before, erratum.basis),
            changes=changes_of_record(erratum.changes, listed_teams),
        )
        for erratum in errata
        if erratum.changes is not None
    )


def _changed_files(view: Snapshot, track: Track, before: BasisBody, after: BasisBody) -> tuple[ChangedFile, ...]:
    def salted(digest: str | None) -> SaltedDigest | None:
        return None if digest is None else salted_digest(view, track, digest)

    return tuple(ChangedFile(name, salted(old), salted(new)) for name, old, new in file_changes(before, after))


def erratum_rules(plan: Phases) -> tuple[str, ...]:
    """The rule on changes of the solution and of the rules of scoring; none without phases."""
    return sentences("phases", "errata") if plan.all else ()
