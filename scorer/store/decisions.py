"""Events about teams and picks: their bodies, checked against the record."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

from scorer.challenge.teams import DECISIONS
from scorer.errors import StoreError
from scorer.store.canonical import encoded
from scorer.store.events import Event, Key, submission_states
from scorer.wording import printable_name

PickSource = Literal["folder", "command"]
"""Where picks come from: the file `picks.toml` in the team's folder, or `scorer pick`."""


def team_settings(events: Iterable[Event]) -> dict[str, Mapping[str, Any]]:
    """The last recorded settings of each team, given events in order."""
    return {event.body["team"]: event.body["settings"] for event in events if event.kind == "team"}


def team_changes(
    events: Iterable[Event],
    teams: Collection[str],
    settings: Mapping[str, Mapping[str, Any]],
    reasons: Mapping[str, str],
) -> list[dict[str, Any]]:
    """The bodies of the events that bring the record to these settings.

    Parameters
    ----------
    events
        The record.
    teams
        All teams of the record.
    settings
        By team, what is set for it.
    reasons
        By team, why its settings change; it is recorded with a decision only.

    Returns
    -------
    One body for each team whose settings change, sorted by team.

    Raises
    ------
    StoreError
        There is no such team, or the decisions contradict each other.
    """
    _check(teams, settings)
    before = team_settings(events)
    bodies = []
    for team in sorted(before.keys() | settings.keys()):
        old, new = before.get(team, {}), settings.get(team, {})
        if encoded(old) != encoded(new):
            is_decision = any(old.get(name) != new.get(name) for name in DECISIONS)
            reason = _reason(new) or reasons.get(team, "") if is_decision else ""
            bodies.append({"team": team, "settings": dict(new), "reason": reason})
    return bodies


def _reason(settings: Mapping[str, Any]) -> str:
    return str(settings.get("disqualified") or settings.get("withdrawn") or "")


def _check(teams: Collection[str], settings: Mapping[str, Mapping[str, Any]]) -> None:
    for team, values in settings.items():
        target = values.get("merged_into")
        if team not in teams:
            raise StoreError(f"no team is called {printable_name(team)}; its name is that of its folder")
        if sum(name in values for name in DECISIONS) > 1:
            raise StoreError(f"team {printable_name(team)}: can be merged, disqualified or withdrawn, not several")
        if target is None:
            continue
        if target not in teams:
            raise StoreError(
                f"team {printable_name(team)}: cannot be merged into {printable_name(target)}, because no team has "
                "this name; its name is that of its folder"
            )
        if target == team or "merged_into" in settings.get(target, {}):
            raise StoreError(
                f"team {printable_name(team)}: cannot be merged into {printable_name(target)}, which is "
                f"{'the team itself' if target == team else 'merged itself; merge into the final team'}"
            )


def last_pick(events: Sequence[Event], team: str) -> Event | None:
    """The event with the present picks of a team, given the events of a track in order; None without one."""
    return next((event for event in reversed(events) if event.kind == "pick" and event.body["team"] == team), None)


def pick_keys(event: Event | None) -> tuple[Key, ...]:
    """The submissions that an event picks; none without an event."""
    return () if event is None else tuple((pick["file"], pick["digest"]) for pick in event.body["picks"])


def pick_body(events: Sequence[Event], team: str, keys: Sequence[Key], source: PickSource) -> dict[str, Any] | None:
    """The body of the event with the picks of a team; None if they are the same as before.

    Parameters
    ----------
    events
        The events of the track.
    team, keys, source
        As for `Record.record_pick`.

    Raises
    ------
    StoreError
        There is no such submission, or one is listed twice.
    """
    if pick_keys(last_pick(events, team)) == tuple(keys):
        return None
    states = submission_states(events)
    for key in keys:
        if key not in states:
            raise StoreError(
                f"no submission is {printable_name(key[0])} with the digest {key[1][:12]}; the page of the team lists "
                "its entries"
            )
    if len(set(keys)) < len(keys):
        raise StoreError("a submission is picked twice; pick each once")
    return {"team": team, "picks": [{"file": file, "digest": digest} for file, digest in keys], "source": source}
