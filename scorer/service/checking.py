"""Checking: what `scorer check` finds in a file that is not scored yet, by that command in another process."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from scorer.service.threads import in_thread
from scorer.wording import printable

_KEPT = 1000
"""So many answers are kept."""

_WAIT = 600.0
"""Seconds after which a check is given up. The limits of the challenge end it before."""

Key = tuple[str, str]
"""The track and the digest of a file."""


@dataclass(slots=True)
class Checks:
    """The checks of files, one at a time. Teams take turns: of each, one file at most waits for its turn."""

    _known: OrderedDict[Key, dict[str, Any]] = field(default_factory=OrderedDict)
    _turns: defaultdict[str, anyio.Lock] = field(default_factory=lambda: defaultdict(anyio.Lock))
    """By team."""
    _begun: set[Key] = field(default_factory=set)
    """What is checked after an answer that did not wait for it."""
    _process: subprocess.Popen[bytes] | None = None
    """The last check that was started."""
    _stopped: threading.Event = field(default_factory=threading.Event)

    async def of(self, root: Path, track: str, path: Path, digest: str, team: str) -> dict[str, Any] | None:
        """What the check of a file says; None if it cannot be checked now."""
        key = track, digest
        async with self._turns[team]:
            if key not in self._known:
                answer = await in_thread("check", self._checked, root, track, path)
                if answer is None:
                    return None
                self._known[key] = answer
                if len(self._known) > _KEPT:
                    self._known.popitem(last=False)
            return self._known[key]

    def known(self, track: str, digest: str) -> dict[str, Any] | None:
        """What the check of a file has said; None if it was not checked."""
        return self._known.get((track, digest))

    async def begin(self, root: Path, track: str, path: Path, digest: str, team: str) -> None:
        """Check a file of which an answer says that it is being checked, unless that has begun."""
        key = track, digest
        if key not in self._begun:
            self._begun.add(key)
            try:
                await self.of(root, track, path, digest, team)
            finally:
                self._begun.discard(key)

    def stop(self) -> None:
        """End the check that runs, and begin no other: the service does not wait for them when it stops."""
        self._stopped.set()
        if self._process is not None:
            self._process.kill()

    def _checked(self, root: Path, track: str, path: Path) -> dict[str, Any] | None:
        """In a thread: check a file."""
        if self._stopped.is_set():
            return None
        command = [sys.executable, "-P", "-m", "scorer", "check", str(path), "--track", track, "--challenge", str(root)]
        try:
            process = subprocess.Popen(  # noqa: S603
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        except OSError:
            return None
        with process:
            self._process = process
            if self._stopped.is_set():
                process.kill()
            try:
                out, err = process.communicate(timeout=_WAIT)
            except subprocess.TimeoutExpired:
                process.kill()
                return None
        if process.returncode not in (0, 1):
            return None
        lines = (err + out).decode("utf-8", "replace").splitlines()
        prefix = f"{printable(str(path))}:"
        messages = [line.removeprefix(prefix).strip() for line in lines if line.startswith(prefix)]
        return {"valid": process.returncode == 0, "messages": messages}
