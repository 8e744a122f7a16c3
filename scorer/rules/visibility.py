"""Visibility: who sees what, and from when."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, model_validator

from scorer.rules.tables import SettingsTable, sentences, valid

Moment = Literal["now", "close", "final", "reveal", "never"]

MOMENTS: tuple[Moment, ...] = get_args(Moment)
"""The earliest first: at once; when the phase has closed; when the last phase has closed; when the opening of the
commitment is published, too; never."""

Viewer = Literal["everyone", "team", "organiser"]
_MOMENTS = ", ".join(f'"{moment}"' for moment in MOMENTS)


class _Row(SettingsTable):
    """From which moment the own team sees something, and everyone."""

    always_recorded: ClassVar = frozenset({"team", "everyone"})

    team: Moment = Field("now", description=_MOMENTS)
    everyone: Moment = Field("now", description=_MOMENTS)

    @model_validator(mode="after")
    def _team_first(self) -> _Row:
        if MOMENTS.index(self.team) > MOMENTS.index(self.everyone):
            raise ValueError(f'shows it to everyone ("{self.everyone}") before the team ("{self.team}")')
        return self


_OF_ALL = valid(
    lambda row: row.team == "now", "has a moment for the team, but is the same for all, or shown to its team anyway"
)


_ALLOWED = f'{_MOMENTS}, or a table, as in {{team = "now", everyone = "final"}}'


def _or_text(table_of: Callable[[str], dict[str, str]]) -> tuple[BeforeValidator, PlainSerializer]:
    """Reads a moment as the table that it means, and writes it instead of this table."""

    def written(row: _Row | None) -> object:
        values = row and row.recorded()
        return row.everyone if row and values == {"team": "now", **table_of(row.everyone)} else values

    return BeforeValidator(lambda at: table_of(at) if isinstance(at, str) else at), PlainSerializer(written)


OwnRow = Annotated[_Row | None, *_or_text(lambda at: {"team": at, "everyone": at})]
"""A moment for all, or one for the own team and one for everyone."""

PublicRow = Annotated[Annotated[_Row, _OF_ALL] | None, *_or_text(lambda at: {"everyone": at})]
"""A moment for everyone: the own team sees it anyway, or no part of it is of one team."""


def _of_challenge(row: _Row | None) -> _Row | None:
    """It concerns the whole challenge, so that the close of a single phase shows nothing."""
    return _Row(team="now", everyone="final") if row and row.everyone == "close" else row


OWN = ("score", "rank")
"""What the own team may see earlier than everyone."""


class Visibility(SettingsTable):
    """Who sees what, and from when. The table only hides: other rules may hide for longer."""

    score: OwnRow = Field(None, description=_ALLOWED)
    rank: OwnRow = Field(None, description=_ALLOWED)
    board: PublicRow = Field(None, description=_MOMENTS)
    names: Annotated[PublicRow, AfterValidator(_of_challenge)] = Field(None, description=_MOMENTS)
    per_query: PublicRow = Field(None, description=_MOMENTS)
    metadata: PublicRow = Field(None, description=_MOMENTS)

    def moment(self, name: str, viewer: Viewer) -> Moment:
        """From when a viewer sees the thing with this name; the organiser sees all now."""
        row: _Row | None = getattr(self, name)
        return "now" if row is None or viewer == "organiser" else row.team if viewer == "team" else row.everyone


def shown_from(moment: Moment | None) -> str:
    """Until when something is hidden, as the end of a sentence; empty if it is never shown."""
    return "" if moment is None or moment == "never" else sentences("moments", moment)[0].replace("once", " until", 1)


def visibility_rules(visibility: Visibility | None) -> tuple[str, ...]:
    """Who sees what, a sentence for each row of the table [visibility] that is set."""
    if visibility is None:
        return ()
    rules: list[str] = []
    for name in ("score", "rank", "board", "names", "per_query", "metadata"):
        if (row := getattr(visibility, name)) is not None:
            (what,), (team, everyone) = sentences("visible", name), sentences("moments", row.team, row.everyone)
            form = "own_row" if name in OWN else "row"
            rules += sentences("visible", form, what=what, team=team, everyone=everyone)
    names = visibility.names
    if names and names.everyone != "now":
        rules.append("".join(sentences("visible", "pseudonyms", *(["until"] if names.everyone != "never" else []))))
    return tuple(rules)


def visibility_errors(visibility: Visibility, tracks: Sequence[Any]) -> Iterator[str]:
    """What contradicts other rows, or the tracks of the challenge, a clause for each error."""
    own, shown = visibility.moment("score", "team"), visibility.moment("score", "everyone")
    if visibility.rank and visibility.rank.everyone != shown:
        yield f'shows ranks to everyone at another moment than scores ("{shown}"), and a board has both or none'
    if visibility.rank and MOMENTS.index(visibility.rank.team) < MOMENTS.index(own):
        yield f'shows a team its rank ("{visibility.rank.team}") before its score ("{own}")'
    rows = [row for name in Visibility.model_fields if (row := getattr(visibility, name))]
    waits = any({row.team, row.everyone} & {"close", "final", "reveal"} for row in rows)
    for track in tracks:
        if not track.phases and track.stage is None and waits:
            yield f"waits for an end that {track.name} lacks: add phases, or with preliminary queries a stage"
