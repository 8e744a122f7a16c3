"""A challenge with two tracks that is committed on 6 January, run until 31 January, and revealed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from scorer.live.commitment import Commitment
from scorer.organising.commitment import Reveal, commit, named_receipts, reveal
from scorer.settings.tracks import Challenge
from scorer.store.store import Store
from tests.live_challenges import GOOD, OTHER, POOR, Live, day

COMMITTED = datetime(2027, 1, 6, tzinfo=UTC)

SPLIT = "split = {preliminary = 0.5}\n"
KEY = f"{1:064}"
"""The key of the split of the track `lists`."""

LISTS = "".join(f"q{number}:0:a|1\n" for number in range(1, 9))
"""The solution of this track, without flags."""


@dataclass
class Committed(Live):
    """The challenge."""

    @classmethod
    def create(cls, folder: Path, place: str = "scores.db") -> Self:
        """Write its files; the track `main` has flags, and `lists` has a split."""
        live = cls.graded(folder, tracks=("main", "lists"))
        live.edit('name = "Live"\n', f'name = "Live"\ndatabase = "{place}"\n')
        live.edit('title = "Lists"\n', f'title = "Lists"\n{SPLIT}')
        (folder / "solutions" / "lists.txt").write_text(LISTS)
        (folder / "split.key").write_text(f"{KEY}\n")
        (folder / "split.key").chmod(0o600)
        return live

    def commit(self, at: datetime = COMMITTED) -> Commitment:
        return self.do(at, commit)

    def reveal(self, at: datetime, tracks: Sequence[str] = ()) -> tuple[Reveal, ...]:
        """As `scorer reveal` does; without tracks, for all of them."""

        def work(challenge: Challenge, store: Store) -> tuple[Reveal, ...]:
            return reveal(challenge, store, [challenge.track(name) for name in tracks] or challenge.tracks)

        return self.do(at, work)

    def arrive(self) -> None:
        """Run until the end of January: files of three teams arrive in both tracks."""
        for track in ("main", "lists"):
            self.chosen = track
            for hour, (team, lists) in enumerate((("amber", GOOD), ("birch", OTHER), ("cedar", POOR))):
                self.put(f"{team}/1.txt", f"{lists}q5:{track}\n" if track == "lists" else lists, day(10, hour))
        self.chosen = "main"
        self.run(day(11))

    def receipt(self, name: str) -> str:
        return self.do(day(31), lambda challenge, store: named_receipts(challenge, store, challenge.tracks, [name]))[0]

    def rendered(self, at: datetime) -> Path:
        """Render the site, and return its folder."""
        self.render(at)
        return self.folder / "site"

    def document(self) -> dict[str, Any]:
        """The file commitment.json of the site."""
        found: dict[str, Any] = json.loads(self.page("commitment.json"))
        return found


def whole(folder: Path, place: str = "scores.db") -> Committed:
    """The challenge when it is over and revealed, with its site."""
    live = Committed.create(folder, place)
    live.run(day(5))
    live.commit()
    live.arrive()
    live.run(day(31))
    live.reveal(day(31))
    live.rendered(day(31))
    return live
