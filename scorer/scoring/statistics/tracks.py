"""Scores of several tracks, in which queries with the same id are one unit: they are drawn and flipped together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scorer.measures.matched import Floats, Ints
from scorer.scoring.statistics.rankings import means


def units_of(ids: Sequence[Sequence[str]]) -> list[Ints]:
    """Return the unit of each query, [track][query], given the ids of the queries of each track."""
    number = {name: at for at, name in enumerate(sorted(set().union(*ids)))}
    return [np.array([number[name] for name in own], dtype=np.int64) for own in ids]


def _count(units: Sequence[Ints]) -> int:
    """How many units there are; a track may have no query."""
    return 1 + max((int(own.max()) for own in units if own.size), default=-1)


def memberships(units: Sequence[Ints]) -> list[dict[int, Ints]]:
    """Return the sets of units that are in the same tracks: by track, the positions of their queries.

    Tracks of one set have its units in the same order. The sets with one track come in the order of tracks.
    """
    member = np.array([np.isin(np.arange(_count(units)), own) for own in units])
    sets: dict[tuple[bool, ...], dict[int, Ints]] = {}
    for which in sorted(map(tuple, np.unique(member, axis=1).T.tolist()), reverse=True):
        tracks = np.flatnonzero(which).tolist()
        inside = (member == np.array(which)[:, None]).all(axis=0)
        own = {track: np.flatnonzero(inside[units[track]]) for track in tracks}
        if len(tracks) > 1:
            own = {track: places[np.argsort(units[track][places])] for track, places in own.items()}
        sets[which] = own
    return list(sets.values())


def weighted_sums(scores: Sequence[Floats], units: Sequence[Ints], shares: Floats) -> Floats:
    """Return what each unit adds to the weighted mean of tracks, [team, unit], from scores, [track][team, query].

    An undefined score adds nothing; so does a track in which a team has none.
    """
    found = np.zeros((len(scores[0]), _count(units)))
    for of_track, own, share in zip(scores, units, shares.tolist(), strict=True):
        defined = (~np.isnan(of_track)).sum(axis=1, keepdims=True)
        found[:, own] += share * np.nan_to_num(of_track) / np.maximum(defined, 1)
    return found


def correlations(scores: Sequence[Floats], units: Sequence[Ints]) -> Floats:
    """Return the correlations of the mean scores of tracks, [team, track, track], from scores, [track][team, query].

    They come from the units that two tracks share. Where all scores of a track are equal, it is the share of these
    units, as if the scores were equal, too.
    """
    count = _count(units)
    apart, shared = np.zeros((len(scores), len(scores[0]), count)), np.zeros((len(scores), count))
    for track, (of_track, own) in enumerate(zip(scores, units, strict=True)):
        apart[track][:, own] = np.nan_to_num(of_track - means(of_track)[:, None])
        shared[track, own] = 1
    found, least = (np.einsum("atu,btu->tab", each, each) for each in (apart, shared[:, None]))
    scale = np.sqrt(np.einsum("taa->ta", found))
    size = np.sqrt(np.einsum("taa->ta", least))
    varies = scale[:, :, None] * scale[:, None, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        alike = least / (size[:, :, None] * size[:, None, :])
        return np.asarray(np.where(varies > 0, found / varies, alike), dtype=np.float64)
