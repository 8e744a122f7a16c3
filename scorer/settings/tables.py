"""The tables [overall] and [visibility] of challenge.toml: one ranking over tracks, and who sees what from when."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, model_validator

from scorer.options import EQUAL_RANKS, OVERALL_MISSING, OVERALL_RULE, EqualRanks, OverallMissing, OverallRule
from scorer.rules.tables import Filled, OneMeasureName, SettingsTable

OVERALL_FOLDER = "overall"
"""The folder of the site with the overall ranking."""

OF_ALL_TRACKS = "the name of a measure that all these tracks have"

_Weight = Annotated[
    float,
    BeforeValidator(lambda value: float(value) if isinstance(value, int | Decimal) else value),
    Field(gt=0, allow_inf_nan=False),
]


class Overall(SettingsTable):
    """How several tracks are ranked as one."""

    always_recorded: ClassVar = frozenset({"rule", "weights", "measure", "missing", "tie_break", "equal_ranks"})
    """Of what is published; only the keys that are set are recorded."""

    tracks: tuple[Filled, ...] = Field(strict=False, description='names of two or more tracks, as in ["one", "other"]')
    rule: OverallRule = Field("mean", description=OVERALL_RULE.allowed)
    weights: tuple[_Weight, ...] = Field((), strict=False, description="numbers above 0, one for each track")
    measure: OneMeasureName = Field("", description=OF_ALL_TRACKS)
    missing: OverallMissing = Field("lowest", description=OVERALL_MISSING.allowed)
    tie_break: OneMeasureName = Field("", description=OF_ALL_TRACKS)
    equal_ranks: EqualRanks = Field("shared", description=EQUAL_RANKS.allowed)

    def recorded(self) -> dict[str, Any]:
        """The keys that are set, as they are recorded."""
        return self.model_dump(mode="json", exclude_defaults=True)

    @property
    def shares(self) -> tuple[float, ...]:
        """The weight of each track."""
        return self.weights or (1.0,) * len(self.tracks)


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


def _of_all(row: _Row) -> _Row:
    if row.team != "now":
        raise ValueError("has a moment for the team, but is the same for all, or shown to its team anyway")
    return row


_ALLOWED = f'{_MOMENTS}, or a table, as in {{team = "now", everyone = "final"}}'


def _or_text(table_of: Callable[[str], dict[str, str]]) -> tuple[BeforeValidator, PlainSerializer]:
    """Reads a moment as the table that it means, and writes it instead of this table."""

    def written(row: _Row | None) -> object:
        values = row and row.recorded()
        return row.everyone if row and values == {"team": "now", **table_of(row.everyone)} else values

    return BeforeValidator(lambda at: table_of(at) if isinstance(at, str) else at), PlainSerializer(written)


OwnRow = Annotated[_Row | None, *_or_text(lambda at: {"team": at, "everyone": at})]
"""A moment for all, or one for the own team and one for everyone."""

PublicRow = Annotated[Annotated[_Row, AfterValidator(_of_all)] | None, *_or_text(lambda at: {"everyone": at})]
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
