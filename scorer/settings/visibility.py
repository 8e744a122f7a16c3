"""The table [visibility] of challenge.toml: from which moment everybody sees what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field

from scorer.settings.rules import SettingsTable

if TYPE_CHECKING:
    from scorer.settings.tracks import Track

Moment = Literal["now", "close", "final", "reveal", "never"]
MOMENTS: tuple[Moment, ...] = get_args(Moment)
"""The earliest first: at once; when the phase has closed; when the last phase has closed; when the opening of the
commitment is published, too; never."""

_MOMENTS = ", ".join(f'"{moment}"' for moment in MOMENTS)


class Row(SettingsTable):
    """From which moment everyone sees something."""

    not_keys: ClassVar[frozenset[str]] = frozenset()

    everyone: Moment = Field("now", description=_MOMENTS)


def _of_challenge(row: Row | None) -> Row | None:
    """Names are those of the whole challenge, so that the close of a single phase shows none."""
    return Row(everyone="final") if row and row.everyone == "close" else row


PublicRow = Annotated[Row | None, BeforeValidator(lambda at: {"everyone": at} if isinstance(at, str) else at)]
"""A moment for everyone: the own team sees it anyway."""


class Visibility(SettingsTable):
    """Who sees what, and from when. The table only hides: other rules may hide for longer."""

    not_keys: ClassVar[frozenset[str]] = frozenset()

    names: Annotated[PublicRow, AfterValidator(_of_challenge)] = Field(None, description=_MOMENTS)

    def recorded(self) -> dict[str, Any]:
        """The keys that are set, as they are recorded."""
        return {"names": self.names.everyone} if self.names else {}

    def errors(self, tracks: Sequence[Track]) -> Iterator[str]:
        """What contradicts the tracks of the challenge, a clause for each error."""
        for track in tracks:
            if not track.phases and track.stage is None and self.names and self.names.everyone != "now":
                yield f'waits for an end that {track.name} lacks: add phases, or set stage = "preliminary" before it'
