"""The state of a challenge: its tracks, entries, and the last run and render."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from scorer.challenge.settings import Challenge, Track
from scorer.live.entries import entries
from scorer.live.entry import STATE_WORDS, UNRANKED, State
from scorer.live.state import track_state
from scorer.organising.rules import scored_by
from scorer.organising.submission_files import submission_files
from scorer.site.folder import MANIFEST
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store
from scorer.wording import counted, utc_moment

ALWAYS_SHOWN: tuple[State, ...] = ("scored", "rejected", "failed", "waiting")


def status(challenge: Challenge, store: Store) -> list[str]:
    """A few lines on the state of a challenge."""
    lines = [f"challenge: {challenge.name}", f"database: {store.where}", f"site: {_last_render(challenge)}"]
    return lines + store.read(lambda view: [line for track in challenge.tracks for line in _track_lines(view, track)])


def _last_render(challenge: Challenge) -> str:
    try:
        changed = (challenge.site_path / MANIFEST).stat().st_mtime
    except OSError:
        return "not rendered yet; `scorer run` renders it"
    return f"rendered {utc_moment(datetime.fromtimestamp(changed, UTC))}, {challenge.site_path / 'index.html'}"


def number_in_state(states: Mapping[State, int], state: State) -> str:
    """How many entries are in a state: ``2 over the quota``."""
    words = STATE_WORDS[state]
    return f"{states[state]:,} {words.of_organiser or words.label}"


def _track_lines(view: Snapshot, track: Track) -> Iterator[str]:
    rules, basis = scored_by(view, track)
    listed = entries(view, rules, basis, measures=())
    present = [entry for entry in listed.all if entry.presence == "present"]
    states = Counter(entry.state for entry in present)
    folder = submission_files(track)
    known = {
        file.file
        for state in track_state(view, track).submissions.values()
        if state.present and (file := folder.recorded(state))
    }
    new = len(folder.files) - len(known)
    teams = len({entry.team for entry in present})
    listed_states = [*ALWAYS_SHOWN, *(state for state in UNRANKED if states[state])]
    parts = ", ".join(number_in_state(states, state) for state in listed_states)
    yield (
        f"{track.name}: {counted(len(present), 'entry', 'entries')} of {counted(teams, 'team')}: {parts}; "
        f"{counted(new, 'new file')} in the folder"
    )
    last_run = view.last_run(track.name)
    stage = f"stage {rules.stage or 'not set'}"
    phase = listed.phases.current(view.now)
    if phase is not None:
        stage = f"phase {phase.name} until {utc_moment(phase.closes)}"
    elif listed.phases.all:
        following = listed.phases.upcoming(view.now)
        stage = f"phase {following.name} from {utc_moment(following.start)}" if following else "all phases are over"
    yield f"{track.name}: last run {utc_moment(last_run) if last_run else 'never'}; {stage}"
    erratum = track_state(view, track).errata.open
    if erratum is not None:
        yield f"{track.name}: erratum {erratum.number} is open; `scorer erratum apply` or `cancel` ends it"
