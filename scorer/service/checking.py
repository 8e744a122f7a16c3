"""Checking: what `scorer check` finds in a file that is not scored yet, by that command in another process."""

from __future__ import annotations

import subprocess
import sys
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scorer.service.threads import in_thread
from scorer.wording import printable

_KEPT = 1000
"""So many answers are kept."""

_WAIT = 600.0
"""Seconds after which a check is given up. The limits of the challenge end it before."""


@dataclass(slots=True)
class Checks:
    """The checks of files, one at a time."""

    _known: OrderedDict[tuple[str, str], dict[str, Any]] = field(default_factory=OrderedDict)
    """By track and digest."""

    async def of(self, root: Path, track: str, path: Path, digest: str) -> dict[str, Any] | None:
        """What the check of a file says; None if it cannot be checked now."""
        key = track, digest
        if key not in self._known:
            answer = await in_thread("check", _checked, root, track, path)
            if answer is None:
                return None
            self._known[key] = answer
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return self._known[key]


def _checked(root: Path, track: str, path: Path) -> dict[str, Any] | None:
    command = [sys.executable, "-m", "scorer", "check", str(path), "--track", track, "--challenge", str(root)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_WAIT, check=False, stdin=subprocess.DEVNULL)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode not in (0, 1):
        return None
    lines = (done.stderr + done.stdout).decode("utf-8", "replace").splitlines()
    prefix = f"{printable(str(path))}:"
    messages = [line.removeprefix(prefix).strip() for line in lines if line.startswith(prefix)]
    return {"valid": done.returncode == 0, "messages": messages}
