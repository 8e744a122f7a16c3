"""Updating the site: it is rendered only if what its pages depend on has changed since it was rendered."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from scorer.challenge.branding import PAGES, STATIC
from scorer.challenge.lists import public_lists
from scorer.challenge.settings import FILE, Challenge, Track
from scorer.challenge.splits import exposure
from scorer.challenge.teams import FILE as TEAMS
from scorer.live.state import in_force, track_state
from scorer.organising.picks import picks_problems
from scorer.paths import AnyFile, code_digest, digest, shipped_templates
from scorer.paths.writing import replace_content
from scorer.site.folder import FRONT_PAGE, manifest_of, shows
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store

TEMPLATES = "templates"

SHOWN = ".shown"
"""Ends the name of the file that has the state which the site shows; it begins with that of the database."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A site that shows the present state."""

    index: Path
    """Its first page."""
    notes: tuple[str, ...]
    """What the organiser should know about it."""


def update(challenge: Challenge, store: Store) -> Rendered:
    """Render the site after a run, unless it shows the present state: then no file is written.

    Raises as `render`.
    """
    last_state, manifest = _last_shown(challenge, store)

    def read(view: Snapshot) -> tuple[str, ...] | None:
        """The notes on the site if it shows the state of the snapshot."""
        is_shown = site_state(view, challenge, pending=True) == last_state and shows(challenge.site_path, manifest)
        return site_notes(view, challenge) if is_shown else None

    notes = store.read(read)
    if notes is not None:
        return Rendered(challenge.site_path / FRONT_PAGE, notes)
    from scorer.organising.render import render  # noqa: PLC0415 (Jinja2 and the pages are slow to load)

    return render(challenge, store, pending=True)


def note_shown(challenge: Challenge, store: Store, state: str) -> None:
    """Keep that the site shows this state, next to the database: the site itself must not tell when it changes."""
    shown = {"state": state, "manifest": manifest_of(challenge.site_path)}
    with suppress(OSError):  # then the next run renders it again
        replace_content(store.beside(challenge.root, SHOWN), json.dumps(shown).encode("ascii"))


def _last_shown(challenge: Challenge, store: Store) -> tuple[str, str]:
    """The state that the site showed last, and the digest of its manifest; empty if that is unknown."""
    try:
        shown = json.loads(store.beside(challenge.root, SHOWN).read_bytes())
        return str(shown["state"]), str(shown["manifest"])
    except (OSError, ValueError, LookupError, TypeError):
        return "", ""


def site_state(view: Snapshot, challenge: Challenge, *, pending: bool) -> str:
    """A name for everything that the pages depend on: two renders with the same name write the same files.

    That is the record, the files of the organiser, this package, and where the challenge is in its phases and in the
    days of its quotas: pages do not show the time of the render. `pending` is as for `boards`.
    """
    last = view.all_events[-1:]  # a database that was restored may have the revision of another state
    recorded = [view.identity, view.revision, *((event.index, str(event.at), event.body) for event in last)]
    files = {str(path): _digest(path) for path in _files_of_pages(challenge)}
    moments = {track.name: _moment(view, track) for track in challenge.tracks}
    problems = {track.name: picks_problems(view, track) for track in challenge.tracks}
    parts = [code_digest(), recorded, pending, str(challenge.site_path), files, moments, problems]
    return hashlib.sha256(json.dumps(parts, default=str).encode("ascii")).hexdigest()


def _files_of_pages(challenge: Challenge) -> Iterator[AnyFile]:
    yield challenge.root / FILE
    yield from (challenge.root / place for place in files_of_site(challenge.root))
    yield from (path for path in sorted(shipped_templates().rglob("*")) if path.is_file())
    for track in challenge.tracks:
        yield from filter(None, (*public_lists(track).values(), track.key_path))


def _digest(path: AnyFile) -> str | None:
    """None for a file that cannot be read, such as a key that is missing: a render says so where it needs it."""
    with suppress(OSError):
        return digest(path)
    return None


def files_of_site(root: Path) -> Iterator[str]:
    """The relative paths of files with a fixed place that a render reads, and teams.toml."""
    if (root / TEAMS).is_file():
        yield TEAMS
    for page in (root / PAGES).glob("*.md"):
        if not page.name.startswith(".") and not page.is_symlink():
            yield f"{PAGES}/{page.name}"
    for name, _, files in os.walk(root / TEMPLATES):
        for file in files:
            path = Path(name) / file
            place = path.relative_to(root).as_posix()
            # A render copies no link from this folder into the site.
            if path.is_file() and not (place.startswith(f"{STATIC}/") and path.is_symlink()):
                yield place


def _moment(view: Snapshot, track: Track) -> list[str]:
    """What pages show of the time: the last time of a phase that has passed, and the day of the quota."""
    phases, quota = track_state(view, track).phases, in_force(view, track).quota
    times = [time for phase in phases.all for time in (phase.start, phase.frozen_from, phase.end, phase.closes)]
    passed = [time for time in times if time is not None and time <= view.now]
    day = [quota.day(view.now)] if quota.counts_days else []
    return [*(time.isoformat() for time in sorted(passed)[-1:]), *day]


def site_notes(view: Snapshot, challenge: Challenge) -> tuple[str, ...]:
    """What the organiser should know about a site that shows this state."""
    return tuple(note for track in challenge.tracks for note in (*_outdated(view, track), *_exposed(track)))


def _exposed(track: Track) -> list[str]:
    """A note if other users of this machine can read the key of the split."""
    note = None if track.key_path is None else exposure(track.key_path)
    return [] if note is None else [note]


def _outdated(view: Snapshot, track: Track) -> list[str]:
    """A note if the solution has changed since the track was scored."""
    now = track_state(view, track)
    if now.are_rules_fixed or now.basis is None:
        return []
    try:
        changed = digest(track.solution_path) != now.basis.basis.solution
    except OSError:
        return []  # a site may be rendered without the solutions
    if not changed:
        return []
    return [
        f"{track.name}: the solution has changed since the track was scored; the board shows the scores by the earlier "
        "solution; `scorer run` scores by the new one"
    ]
