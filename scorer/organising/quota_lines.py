"""What a team has left of its quota, as a line of text."""

from __future__ import annotations

from scorer.board.quota_words import left_in_words, next_reset
from scorer.challenge.settings import Track
from scorer.entries.entries import entries, is_baseline
from scorer.entries.in_force import in_force
from scorer.entries.quota_left import quota_left
from scorer.store.snapshot import Snapshot
from scorer.wording import counted, printable_name, utc_moment


def quota_line(view: Snapshot, track: Track, team: str) -> str:
    """What a team has left of its quota now, and when the limits of a day begin again.

    Parameters
    ----------
    view
        A snapshot of the database, with its time.
    track
        The track.
    team
        The name of the team's folder; a team without an entry has used nothing.

    Raises
    ------
    StoreError
        The database fails.
    """
    name = printable_name(team)
    rules = in_force(view, track)
    if is_baseline(team, rules):
        return f"{name}: a baseline has no quota"
    if not rules.quota.limits_anything:
        return f"{name}: the track {track.name} has no quota"
    recorded = view.recorded_basis(track.name)
    found = entries(view, rules, recorded.basis if recorded else None, measures=())
    members = found.merges.members(team)
    left = quota_left(found, rules, members, view.now)
    if not left:
        return f"{name}: the last phase of the track {track.name} has closed"
    phase = found.schedule.current_or_next(view.now)
    words = left_in_words(left, phase.name if phase else None)
    waiting = sum(each.cost == "open" for each in found.claims if each.team in members)
    note = "" if team in view.teams else "; no team has an entry under this name"
    if waiting:
        note += f"; {counted(waiting, 'entry', 'entries')} without an outcome, counted in every limit"
    reset = next_reset(left)
    again = f"; the limits of a day begin again at {utc_moment(reset)}" if reset else ""
    return f"{name}: left of its quota: {words}{note}{again}"
