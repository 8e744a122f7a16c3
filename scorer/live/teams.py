"""Teams of the record: all that is known of each, and their addresses on the site."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import replace

from scorer.rules.teams import UNCHANGED, Team, set_teams, team_names
from scorer.settings.tracks import RESERVED
from scorer.store.snapshot import Snapshot
from scorer.wording import printable_name


def teams(view: Snapshot, also: Iterable[str] = ()) -> Mapping[str, Team]:
    """All teams of the record, and those in `also`, by the names of their folders."""
    states = set_teams(view.events())
    targets = (team.merged_into for team in states.values() if team.merged_into is not None)
    # A team may have a decision, but no file yet, as of an earlier time.
    folders = tuple(dict.fromkeys((*view.teams, *also, *states, *targets)))
    names, addresses = team_names(folders, states), slugs(folders)
    return {
        folder: replace(
            states.get(folder, UNCHANGED), name=names[folder], slug=addresses[folder], folder=printable_name(folder)
        )
        for folder in folders
    }


_LONGEST = 60

_DIGITS = (8, 16, 32, 64)
"""How many digits of the SHA-256 of a name a slug may end with; the first number that gives an unused slug is used."""


def slugs(names: Iterable[str]) -> dict[str, str]:
    """The slug of each team: a-z, 0-9 and single hyphens, 1 to 60 characters, and different for different names.

    A slug is the name in lower case, with a hyphen for everything else. Where an earlier team has this slug, or it is
    reserved or empty, part of the SHA-256 of the name is added.

    The names are in the order of their first arrival, so that a later team never changes the slug of an earlier one. A
    name is any text, also with the lone surrogates of a file name that is not UTF-8.
    """
    slugs: dict[str, str] = {}
    taken = set(RESERVED) | {""}
    for name in names:
        if name not in slugs:
            slugs[name] = next(slug for slug in _candidates(name) if slug not in taken)
            taken.add(slugs[name])
    return slugs


def _candidates(name: str) -> Iterable[str]:
    """The slugs that a team may have, the preferred one first."""
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode("ascii").lower()
    plain = re.sub("[^a-z0-9]+", "-", letters).strip("-")
    yield plain[:_LONGEST].strip("-")
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    for digits in _DIGITS:
        stem = plain[: max(0, _LONGEST - digits - 1)].strip("-")
        yield f"{stem}-{digest[:digits]}" if stem else digest[: min(digits, _LONGEST)]
