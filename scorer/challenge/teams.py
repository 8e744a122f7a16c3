"""teams.toml: what the organiser sets for each team, as validated models."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from scorer.challenge.branding import split_url
from scorer.challenge.loading import key_text, read_table, toml_document
from scorer.challenge.tables import SettingsTable
from scorer.errors import ChallengeError
from scorer.wording import INVISIBLE, printable, quoted

FILE = "teams.toml"
"""The name of the file, which is optional, in the folder of the challenge."""

LONGEST_NAME = 200
LONGEST_TEXT = 1000
LONGEST_URL = 2000
MOST_LINKS = 10

_JOINERS = re.compile("(?<=[^\\s\u200c\u200d])(?:[\u200c\u200d](?=[^\\s\u200c\u200d])|[\ufe0e\ufe0f])")
"""Characters that show nothing and that some scripts and emoji need, between two characters that show."""

_UNSEEN = re.compile(f"[\u00ad\u200b-\u200d\u2060\ufeff]|{INVISIBLE.pattern}")


def _line(text: str, longest: int) -> str:
    if not text.strip():
        raise ValueError("is blank")
    if len(text) > longest:
        raise ValueError(f"has {len(text):,} characters, more than {longest:,}")
    plain = _JOINERS.sub("", text)
    if printable(plain) != plain:
        raise ValueError("has a character that does not show, or not in its place")
    return text


def _name(text: str) -> str:
    _line(text, LONGEST_NAME)
    if text != " ".join(text.split()):
        raise ValueError("has a space at an end, or two in a row")
    return text


def _text(text: str) -> str:
    return _line(text, LONGEST_TEXT)


def _url(text: str) -> str:
    parts = split_url(_line(text, LONGEST_URL))
    if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc:
        raise ValueError("is not a URL of this kind")
    return text


_A_NAME = f"a text of at most {LONGEST_NAME} characters that all show"
_A_TEXT = f"a text of at most {LONGEST_TEXT:,} characters that all show"
_A_REASON = f"the reason, {_A_TEXT}"
_A_URL = f"a URL of at most {LONGEST_URL:,} characters that begins with http:// or https://, without a user name"

Name = Annotated[str, AfterValidator(_name)]
Line = Annotated[str, AfterValidator(_text)]
Url = Annotated[str, AfterValidator(_url)]

Decision = Literal["merged_into", "disqualified", "withdrawn"]
DECISIONS: tuple[Decision, ...] = ("merged_into", "disqualified", "withdrawn")
"""The keys of which a team has at most one."""


class TeamSettings(SettingsTable):
    """The table of a team in teams.toml."""

    not_keys: ClassVar[frozenset[str]] = frozenset()

    name: Name | None = Field(None, description=_A_NAME)
    affiliation: Line | None = Field(None, description=_A_TEXT)
    links: tuple[Url, ...] = Field(
        (), strict=False, max_length=MOST_LINKS, description=f"a list of at most {MOST_LINKS} items, each {_A_URL}"
    )
    code: Url | None = Field(None, description=_A_URL)
    paper: Url | None = Field(None, description=_A_URL)
    merged_into: str | None = Field(None, description="the name of the folder of another team")
    disqualified: Line | None = Field(None, description=_A_REASON)
    withdrawn: Line | None = Field(None, description=_A_REASON)
    reason: Line | None = Field(None, description=f"why the last decision was taken, {_A_TEXT}")

    def recorded(self) -> dict[str, Any]:
        """What is recorded: the keys that are set, without the reason, which is part of the event."""
        values = self.model_dump(mode="json", exclude_none=True, exclude={"reason"})
        return {key: value for key, value in values.items() if value != []}


def read_teams(root: Path) -> Mapping[str, TeamSettings]:
    """The settings of each team in teams.toml, by the key of its table. Raises ChallengeError with all errors."""
    file = root / FILE
    if not file.exists() and not file.is_symlink():
        return {}
    return teams_in(toml_document(file), file)


def teams_in(document: Mapping[str, Any], file: Path) -> Mapping[str, TeamSettings]:
    """The settings in the content of teams.toml; `file` is for messages. Raises ChallengeError as `read_teams`."""
    teams: dict[str, TeamSettings] = {}
    errors: list[str] = []
    for key, table in document.items():
        found, of_table = read_table(TeamSettings, table, (key,), example='["the name of a folder"]')
        if found is not None:
            teams[key] = found
        errors += of_table
    errors += [*_contradictions(teams), *_merge_errors(teams), *_shared_names(teams)]
    if errors:
        raise ChallengeError("\n".join(f"{file}: {error}" for error in errors))
    return teams


def _contradictions(teams: Mapping[str, TeamSettings]) -> Iterator[str]:
    for key, settings in teams.items():
        taken = [name for name in DECISIONS if getattr(settings, name) is not None]
        if len(taken) > 1:
            yield (
                f"{key_text((key,))}: found {' and '.join(taken)}; allowed: one of them"
                f"{', and the team that it is merged into can have the other' if 'merged_into' in taken else ''}"
            )


def _merge_errors(teams: Mapping[str, TeamSettings]) -> Iterator[str]:
    """A team is merged into one that is not merged itself, so that there are neither chains nor cycles."""
    targets = {key: settings.merged_into for key, settings in teams.items() if settings.merged_into is not None}
    for key, target in targets.items():
        found = f"{key_text((key, 'merged_into'))}: found {quoted(target)}"
        final = final_team(targets, key)
        if target == key:
            yield f"{found}, which is the team itself; allowed: another team"
        elif not target.strip():
            yield f"{found}, which is blank; allowed: the name of the folder of another team"
        elif final in targets:
            yield f"{found}, which leads back to the team itself; leave one of the teams unmerged"
        elif final != target:
            yield f"{found}, which is itself merged; merge into the final team, {quoted(final)}"


def final_team(targets: Mapping[str, str], team: str) -> str:
    """The team at the end of a chain of merges; if that leads into a circle, a team of the circle.

    `targets` has the team that each merged team is merged into.
    """
    passed = {team}
    while (target := targets.get(team)) is not None and target not in passed:
        passed.add(target)
        team = target
    return team


def _shared_names(teams: Mapping[str, TeamSettings]) -> Iterator[str]:
    """Two teams must not show the same name, and none the name of the folder of another team."""
    folders = {compared(key): key for key in teams}
    shown: dict[str, list[str]] = defaultdict(list)
    for key, settings in teams.items():
        if settings.name is None:
            continue
        other = folders.get(compared(settings.name), key)
        if other != key:
            yield (
                f"{key_text((key, 'name'))}: found {quoted(settings.name)}, which reads as the name of the folder of "
                f"another team, {quoted(other)}; choose another name"
            )
        shown[compared(settings.name)].append(key)
    for keys in shown.values():
        for key in keys[1:]:
            yield (
                f"{key_text((key, 'name'))}: found {quoted(str(teams[key].name))}, which reads as the name of "
                f"{quoted(keys[0])}; choose another name"
            )


def compared(name: str) -> str:
    """A name as names are compared: equal for names that a reader takes for the same.

    That is NFKC with cases folded, without the characters that show nothing.
    """
    plain = _UNSEEN.sub("", unicodedata.normalize("NFKC", _UNSEEN.sub("", name)))
    return " ".join(unicodedata.normalize("NFKC", plain.casefold()).split())


def edited(text: str, key: str, changes: Mapping[str, Any]) -> str:
    """The text of teams.toml with some keys of one team changed; comments and the order of the file stay.

    The text is valid TOML, and empty for a new file. `changes` has the new value of each key; None removes it.
    """
    import tomlkit  # noqa: PLC0415 (only commands that write need it)

    document = tomlkit.parse(text)
    if key not in document:
        document[key] = tomlkit.table()
    table: Any = document[key]
    for name, value in changes.items():
        if value is not None:
            table[name] = value
        elif name in table:
            del table[name]
    return tomlkit.dumps(document)
