"""Checked files that teams may hand in."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from scorer.site.submit_page import Held

HELD_FOR = timedelta(hours=1)
"""How long a checked file is kept for its team."""


@dataclass(slots=True)
class HeldFiles:
    """The checked files, at most one of a team."""

    _of: dict[str, Held] = field(default_factory=dict)

    def of(self, team: str, now: datetime) -> Held | None:
        """The file of a team."""
        for other, held in list(self._of.items()):
            if now - held.at > HELD_FOR or not held.path.exists():
                self.drop(other)
        return self._of.get(team)

    def keep(self, team: str, held: Held) -> None:
        """Keep a file instead of the earlier one."""
        self.drop(team)
        self._of[team] = held

    def take(self, team: str) -> None:
        """Forget the file of a team, which is handed in now: another one that the team checks does not replace it."""
        self._of.pop(team, None)

    def drop(self, team: str) -> None:
        """Delete the file of a team."""
        held = self._of.pop(team, None)
        if held is not None:
            held.path.unlink(missing_ok=True)
