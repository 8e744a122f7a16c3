"""The table [visibility] of challenge.toml: from which moment a team, and everybody, sees what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from scorer.settings.rules import SettingsTable

if TYPE_CHECKING:
    from scorer.settings.tracks import Track

Moment = Literal["now", "close", "final", "reveal", "never"]
MOMENTS: tuple[Moment, ...] = get_args(Moment)
"""The earliest first: at once; when the phase has closed; when the last phase has closed; when the opening of the
commitment is published, too; never."""

Viewer = Literal["everyone", "team", "organiser"]

_MOMENTS = ", ".join(f'"{moment}"' for moment in MOMENTS)


class Row(SettingsTable):
    """From which moment the own team sees something, and everyone."""

    team: Moment = Field("now", description=_MOMENTS)
    everyone: Moment = Field("now", description=_MOMENTS)

    @model_validator(mode="after")
    def _team_first(self) -> Row:
        if MOMENTS.index(self.team) > MOMENTS.index(self.everyone):
            raise ValueError(f'shows it to everyone ("{self.everyone}") before the team ("{self.team}")')
        return self


def _of_all(row: Row) -> Row:
    if row.team != "now":
        raise ValueError("has a moment for the team, but is the same for all, or shown to its team anyway")
    return row


_ALLOWED = f'{_MOMENTS}, or a table, as in {{team = "now", everyone = "final"}}'

OwnRow = Annotated[Row | None, BeforeValidator(lambda at: {"team": at, "everyone": at} if isinstance(at, str) else at)]
"""A moment for all, or one for the own team and one for everyone."""

PublicRow = Annotated[
    Annotated[Row, AfterValidator(_of_all)] | None,
    BeforeValidator(lambda at: {"everyone": at} if isinstance(at, str) else at),
]
"""A moment for everyone: the own team sees it anyway, or no part of it is of one team."""


def _of_challenge(row: Row | None) -> Row | None:
    """It concerns the whole challenge, so that the close of a single phase shows nothing."""
    return Row(team="now", everyone="final") if row and row.everyone == "close" else row


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
        row: Row | None = getattr(self, name)
        return "now" if row is None or viewer == "organiser" else row.team if viewer == "team" else row.everyone

    def recorded(self) -> dict[str, Any]:
        """The keys that are set, as they are recorded."""
        rows: dict[str, Row] = {name: row for name in self.keys() if (row := getattr(self, name)) is not None}
        return {
            name: row.everyone if name not in OWN or row.team == row.everyone else row.model_dump(mode="json")
            for name, row in rows.items()
        }

    def errors(self, tracks: Sequence[Track]) -> Iterator[str]:
        """What contradicts other rows, or the tracks of the challenge, a clause for each error."""
        own, shown = self.moment("score", "team"), self.moment("score", "everyone")
        if self.rank and self.rank.everyone != shown:
            yield f'shows ranks to everyone at another moment than scores ("{shown}"), and a board has both or none'
        if self.rank and MOMENTS.index(self.rank.team) < MOMENTS.index(own):
            yield f'shows a team its rank ("{self.rank.team}") before its score ("{own}")'
        rows = [row for name in type(self).model_fields if (row := getattr(self, name))]
        for track in tracks:
            if not track.phases and track.stage is None and {*rows} - {Row(team="now", everyone="now")}:
                yield f'waits for an end that {track.name} lacks: add phases, or set stage = "preliminary" before it'
