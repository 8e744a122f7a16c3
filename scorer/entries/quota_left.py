"""What the quota of a track still allows a team."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from scorer.challenge.settings import Track
from scorer.entries.entries import Entries
from scorer.entries.quotas import Left, remaining


def quota_left(found: Entries, track: Track, members: Collection[str], now: datetime) -> tuple[Left, ...]:
    """What a team has left of each limit, as of a time.

    Parameters
    ----------
    found
        The entries of the track.
    track
        With the rules in force.
    members
        The folders of the teams that share the quota, with the team itself.
    now
        The time, with a zone.

    Returns
    -------
    One for each limit. Between phases, that on the entries of a phase is on those of the next one. Empty without a
    quota, and once the last phase has closed.
    """
    plan = found.schedule
    if not track.quota.limits_anything or plan.is_over(now):
        return ()
    phase = plan.current_or_next(now)
    return remaining(found.claims, track.quota, members, now, phase.name if phase else None)
