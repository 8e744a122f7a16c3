"""The table on the page of an erratum: every team before and after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from dataclasses import dataclass

from scorer.live.errata import BeforeAfter, PublishedErratum
from scorer.site.track_pages import shared_rank


@dataclass(frozen=True, slots=True)
class ErratumRow:
    """A team before and after an erratum."""

    change: BeforeAfter
    link: str
    """The path of the team's page in the site; empty without one."""
    before: str
    """The rank; `=3` if it was shared, empty without a rank."""
    after: str
    """As `before`."""
    move: int | None
    """Rank before minus rank after: above 0 if the team moved up; None where either is missing."""
    difference: float | None
    """Score after minus score before; None where either is missing, or the measures differ."""

    @property
    def is_changed(self) -> bool:
        return self.change.moves or self.change.is_rescored


def erratum_rows(erratum: PublishedErratum, paths: Container[str]) -> tuple[ErratumRow, ...]:
    """The rows of the table of an erratum.

    Parameters
    ----------
    erratum
        The erratum.
    paths
        The pages of the site.
    """
    changes = erratum.changes
    before = Counter(each.before.rank for each in changes.teams)
    after = Counter(each.after.rank for each in changes.teams)
    return tuple(
        ErratumRow(
            change=each,
            link=path if (path := f"teams/{each.team.slug}.html") in paths else "",
            before=shared_rank(each.before.rank, before),
            after=shared_rank(each.after.rank, after),
            move=_move(each),
            difference=_difference(each) if changes.before.measure == changes.after.measure else None,
        )
        for each in changes.teams
    )


def _move(change: BeforeAfter) -> int | None:
    before, after = change.before.rank, change.after.rank
    return None if before is None or after is None else before - after


def _difference(change: BeforeAfter) -> float | None:
    before, after = change.before.score, change.after.score
    return None if before is None or after is None else after - before
