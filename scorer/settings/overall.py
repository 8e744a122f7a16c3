"""The table [overall] of challenge.toml: one ranking over several tracks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field

from scorer.options import EQUAL_RANKS, OVERALL_MISSING, OVERALL_RULE, EqualRanks, OverallMissing, OverallRule
from scorer.settings.rules import OneMeasureName, SettingsTable, Stated
from scorer.wording import quoted

if TYPE_CHECKING:
    from scorer.settings.tracks import Track

FOLDER = "overall"
"""The folder of the site with the overall ranking."""

_MEASURE = "the name of a measure that all these tracks have"

Weight = Annotated[
    float,
    BeforeValidator(lambda value: float(value) if isinstance(value, int | Decimal) else value),
    Field(gt=0, allow_inf_nan=False),
]


class Overall(SettingsTable):
    """How several tracks are ranked as one."""

    tracks: tuple[Stated, ...] = Field(strict=False, description='names of two or more tracks, as in ["one", "other"]')
    rule: OverallRule = Field("mean", description=OVERALL_RULE.allowed)
    weights: tuple[Weight, ...] = Field((), strict=False, description="numbers above 0, one for each track")
    measure: OneMeasureName = Field("", description=_MEASURE)
    missing: OverallMissing = Field("lowest", description=OVERALL_MISSING.allowed)
    tie_break: OneMeasureName = Field("", description=_MEASURE)
    equal_ranks: EqualRanks = Field("shared", description=EQUAL_RANKS.allowed)

    def recorded(self) -> dict[str, Any]:
        """The keys that are set, as they are recorded."""
        return self.model_dump(mode="json", exclude_defaults=True)

    @property
    def shares(self) -> tuple[float, ...]:
        """The weight of each track."""
        return self.weights or (1.0,) * len(self.tracks)

    def errors(self, tracks: Sequence[Track]) -> Iterator[str]:
        """What contradicts the tracks of the challenge, a line for each error."""
        known = {track.name: track for track in tracks}
        if FOLDER in known:
            yield f"tracks.{FOLDER}: is the folder of the overall ranking; give the track another name"
        if len(self.tracks) < 2 or len(set(self.tracks)) < len(self.tracks):
            yield f"overall.tracks: found {', '.join(self.tracks) or 'none'}; allowed: two or more tracks, each once"
        if len(self.shares) != len(self.tracks):
            yield f"overall.weights: found {len(self.shares)} for {len(self.tracks)} tracks; allowed: one for each"
        for name in self.tracks:
            if name not in known:
                yield f"overall.tracks: found {quoted(name)}; allowed: {', '.join(known)}"
                continue
            if known[name].rows == "entry":
                yield f'overall.tracks: found {name}, where rows = "entry"; an overall ranking needs one row a team'
            for key, measure in (("measure", self.measure), ("tie_break", self.tie_break or self.measure)):
                if measure_column(known[name], measure) is None:
                    yield (
                        f"overall.{key}: found {quoted(measure or known[name].primary)}, which is no measure of {name} "
                        f"that is averaged over queries; allowed: {_MEASURE}"
                    )


def measure_column(track: Track, name: str) -> int | None:
    """The place of a measure among those of a track, the first one without a name; None where it has no means."""
    from scorer.measures import parse  # noqa: PLC0415 (whoever verifies a document needs no arrays)

    measures = track.all_measures
    wanted = parse(name, track.cutoffs) if name else measures[:1]
    return next((at for at, each in enumerate(measures) if (each,) == wanted and each.kind.aggregation == "mean"), None)
