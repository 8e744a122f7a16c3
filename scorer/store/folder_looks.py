"""Looks into the folder of a track: since when it may have had a file that arrives."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from scorer.store.canonical import iso


@dataclass(frozen=True, slots=True)
class FolderLook:
    """The last look into the folder of a track: a run listed it."""

    at: datetime
    """From before the folder was listed, so that a file that it did not have came later."""
    unread: Mapping[str, datetime | None]
    """By mark of what was listed and could not be recorded: the last look that did not list it; None without one."""


@dataclass(frozen=True, slots=True)
class NewLook:
    """A look that is about to be stored. `last` is the last look, which another run may have stored meanwhile."""

    at: datetime
    unread: Collection[str] | None
    """The marks of what cannot be recorded now; None: it may be the wrong folder, so that the last look stays."""
    earlier: FolderLook | None
    """The last look when this one began."""

    def stored_after(self, last: FolderLook | None) -> FolderLook | None:
        """What to store of it; None: the last look stays."""
        if self.unread is None or not self._follows(last):
            return None
        return FolderLook(self.at, {mark: self._lacked(last, mark) for mark in self.unread})

    def completed(self, last: FolderLook | None, arrival: Mapping[str, Any]) -> Mapping[str, Any]:
        """The body of an arrival, with the last look that did not find the file."""
        file, digest = arrival["file"], arrival["digest"]
        since = self._lacked(last, file, folder_of(file), content_mark(file, digest))
        return arrival if since is None else {**arrival, "absent_at": iso(since)}

    def _follows(self, last: FolderLook | None) -> bool:
        return last is None or last == self.earlier or last.at <= self.at

    def _lacked(self, last: FolderLook | None, *marks: str) -> datetime | None:
        """The last look before this one that did not list a file with these marks; None without one."""
        before = last if self._follows(last) else self.earlier
        if before is None:
            return None
        since = next((before.unread[mark] for mark in marks if mark in before.unread), before.at)
        return since and min(since, self.at)  # the clock may have been set back


def folder_of(file: str) -> str:
    """The path of the folder of a file."""
    return file.rpartition("/")[0]


def content_mark(file: str, digest: str) -> str:
    """The mark of a content under any name in the folder of a file. No path has two slashes."""
    return f"{folder_of(file)}//{digest}"
