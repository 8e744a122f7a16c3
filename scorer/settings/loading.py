"""Reads challenge.toml and teams.toml, and writes a new challenge. All errors are reported together: the key, what was
found, and what is allowed.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import Field, ValidationError, create_model
from pydantic_core import ErrorDetails

from scorer.errors import ChallengeError, MeasureError, os_errors_as
from scorer.files.writing import PRIVATE
from scorer.limits import Limits
from scorer.rules.overall import MEASURE_OF_ALL, OVERALL_FOLDER, Overall
from scorer.rules.split import KEY_FILE, make_key
from scorer.rules.tables import SettingsTable, located_in
from scorer.rules.teams import DECISIONS, TeamSettings, comparable_name, final_team
from scorer.settings.tracks import FILE, LISTS, NO_BRANDING, Branding, Challenge, Track, names_file
from scorer.wording import QUOTED, quoted, shortened, suggestion

Model = TypeVar("Model", bound=SettingsTable)

_Key = tuple[int | str, ...]
"""The path to a value: the names of tables and keys, and positions in lists from 0."""


LimitSettings = create_model(  # type: ignore[call-overload]
    "LimitSettings",
    __base__=SettingsTable,
    __doc__="The table [limits]: those of `Limits`, by name.",
    **{
        name: (int, Field(getattr(Limits(), name), ge=1, le=10**12, description=f"a whole number from 1: {about}"))
        for name, about in Limits.about().items()
    },
)


def read_challenge(path: str | Path, *, solutions: bool = True) -> Challenge:
    """Read the challenge in a folder, or in a file such as challenge.toml.

    Parameters
    ----------
    path
        The folder that contains challenge.toml, or a file with the same content under any name.
    solutions
        Whether the solution files must exist. A participant who checks a submission does not have them.

    Returns
    -------
    Challenge
        The settings, validated. Relative paths in them start at the folder of the file.

    Raises
    ------
    ChallengeError
        The file cannot be read, or settings are invalid. The message has one line for each error.
    """
    file = settings_file(Path(path))
    document, root = toml_document(file), file.parent.absolute()
    if not document:
        raise ChallengeError(f"{file}: is empty; `scorer init` in a new folder writes one to start from")
    tables = document.get("tracks")
    tracks: list[Track] = []
    overall, track_errors = None, list[str]()
    if "overall" in document:
        overall, track_errors = _read_table(Overall, document["overall"], ("overall",), example="[overall]")
        document["overall"] = overall
    for name, table in tables.items() if isinstance(tables, dict) else ():
        entered = overall if overall and name in overall.tracks else None
        track, errors = _read_table(Track, table, ("tracks", name), name=name, root=root, overall=entered)
        tracks += [track] if track else []
        track_errors += [*errors, *_missing_files(table, ("tracks", name), root, solutions=solutions)]
    if isinstance(tables, dict) and tables:
        document["tracks"] = tuple(tracks)
    if overall and not track_errors:
        track_errors += _overall_errors(overall, tracks)
    limits, limit_errors = _read_table(LimitSettings, document.get("limits", {}), ("limits",))
    document["limits"] = Limits() if limits is None else Limits(**limits.model_dump())
    site = document.get("site")
    branding, site_errors = _read_table(Branding, site, ("site",)) if isinstance(site, dict) else (None, [])
    branding = branding or NO_BRANDING
    if isinstance(site, dict):
        document["site"] = branding.folder
    challenge, errors = _read_table(Challenge, document, (), root=root, branding=branding)
    if isinstance(site, dict):
        errors = [re.sub(r"^site(?=:)", "site.folder", error) for error in errors]
    errors += limit_errors + site_errors + track_errors
    if challenge is None or errors:
        raise ChallengeError("\n".join(f"{file}: {error}" for error in errors))
    stated = {name: getattr(challenge, name) for name in ("metadata", "visibility", "publish_submissions", "limits")}
    return challenge.model_copy(update={"tracks": tuple(each.model_copy(update=stated) for each in challenge.tracks)})


def _overall_errors(overall: Overall, tracks: Sequence[Track]) -> Iterator[str]:
    """What contradicts the tracks of the challenge, a line for each error."""
    named = {track.name: track for track in tracks}
    if OVERALL_FOLDER in named:
        yield f"tracks.{OVERALL_FOLDER}: is the folder of the overall ranking; give the track another name"
    if len(overall.tracks) < 2 or len(set(overall.tracks)) < len(overall.tracks):
        yield f"overall.tracks: found {', '.join(overall.tracks) or 'none'}; allowed: two or more tracks, each once"
    if len(overall.shares) != len(overall.tracks):
        yield f"overall.weights: found {len(overall.shares)} for {len(overall.tracks)} tracks; allowed: one for each"
    for name in overall.tracks:
        if name not in named:
            yield f"overall.tracks: found {quoted(name)}; allowed: {', '.join(named)}"
            continue
        if named[name].rows == "entry":
            yield f'overall.tracks: found {name}, where rows = "entry"; an overall ranking needs one row a team'
        for key, measure in (("measure", overall.measure), ("tie_break", overall.tie_break or overall.measure)):
            if named[name].measure_column(measure) is None:
                yield (
                    f"overall.{key}: found {quoted(measure or named[name].primary)}, which is no measure of {name} "
                    f"that is averaged over queries; allowed: {MEASURE_OF_ALL}"
                )


def settings_file(path: Path) -> Path:
    """The file of a challenge, given its folder or the file. Raises ChallengeError if there is no such file."""
    try:
        file = path / FILE if path.is_dir() else path
        if file.is_file():
            return file
        found = "is not a file" if file.exists() else "no such file"
    except (OSError, ValueError) as error:
        raise ChallengeError(f"{quoted(str(path))}: cannot be read: {error}") from error
    raise ChallengeError(f"{file}: {found}; a challenge is a folder with a {FILE}, and `scorer init` makes a new one")


def toml_document(file: Path) -> dict[str, Any]:
    """The content of a TOML file. Raises ChallengeError if it cannot be read or is not TOML."""
    try:
        with os_errors_as(ChallengeError, f"{file}: cannot be read"):
            # Some editors write a byte order mark, which TOML does not allow.
            text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        found = f"byte 0x{error.object[error.start]:02x} in line {line}"
        raise ChallengeError(f"{file}: not UTF-8 ({found}); save it as UTF-8") from error
    try:
        return tomllib.loads(text, parse_float=_decimal)
    except (ValueError, RecursionError) as error:
        raise ChallengeError(f"{file}: not TOML: {error}") from error


def _decimal(text: str) -> Decimal:
    """A number of the file, exact as it was written; infinity if it is too large for a decimal."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return Decimal("Infinity")


def _read_table(
    model: type[Model], table: object, where: _Key, *, example: str = "[tracks.cold-start]", **not_keys: object
) -> tuple[Model | None, list[str]]:
    """Validate a table of a file; return the model, or None if a value is invalid, and a line for each error.

    `example` is the header of such a table, for a message; `not_keys` are the fields that do not come from its keys.
    """
    if not isinstance(table, dict):
        return None, [f"{key_text(where)}: found {_value_text(table)}; allowed: a table, as in {example}"]
    keys = model.keys()
    unknown = [
        f"{key_text((*where, key))}: unknown key{suggestion(key, keys)}; known: {', '.join(keys)}"
        for key in table
        if key not in keys
    ]
    try:
        known = {key: value for key, value in table.items() if key in keys}
        return model.model_validate({**known, **not_keys}), unknown
    except ValidationError as error:
        return None, [*(_error_text(model, where, detail) for detail in error.errors()), *unknown]


def _error_text(model: type[SettingsTable], where: _Key, error: ErrorDetails) -> str:
    """One of pydantic's errors in the words of the file."""
    field = str(error["loc"][0])
    key = key_text(where if field in model.not_keys else (*where, *error["loc"]))
    table, allowed = model, model.model_fields[field].description
    for part in error["loc"][1:]:
        inner = _table_of(table, field)
        if inner is None:
            break
        if isinstance(part, int):
            continue
        if error["type"] == "extra_forbidden":
            return f"{key}: unknown key{suggestion(part, inner.keys())}; known: {', '.join(inner.keys())}"
        table, field, allowed = inner, part, inner.model_fields[part].description
    if error["type"] == "missing":
        return f"{key}: is missing; expected {allowed}"
    found = f"{key}: found {_value_text(error['input'])}"
    reason = error.get("ctx", {}).get("error")
    if isinstance(reason, MeasureError):
        return f"{found}: {reason}"
    return f"{found}{f', which {reason}' if reason else ''}; allowed: {allowed}"


def _table_of(model: type[SettingsTable], field: str) -> type[SettingsTable] | None:
    """The model of the tables that a field holds; None if its values are no tables."""
    annotation = model.model_fields[field].annotation
    for kind in (annotation, *get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, SettingsTable):
            return kind
    return None


def _missing_files(table: object, where: _Key, root: Path, *, solutions: bool) -> Iterator[str]:
    """The errors for files that the table of a track names and that do not exist."""
    for key in ("solution", "checked", *LISTS) if solutions else LISTS:
        path = table.get(key) if isinstance(table, dict) else None
        if not isinstance(path, str) or not path.strip() or "\0" in path or not names_file(key, path):
            continue  # no path, or an invalid value, which is reported already
        file = located_in(root, path)
        try:
            if not file.is_file():
                found = "it is not a file" if file.exists() else "there is no such file"
                yield f"{key_text((*where, key))}: names {file}, but {found}; create it or correct the path"
        except OSError as error:
            yield f"{key_text((*where, key))}: names {quoted(str(file))}, which cannot be read: {error.strerror}"


def key_text(key: _Key) -> str:
    """A key in the notation of TOML, `tracks.cold-start.cutoffs[2]`; positions in a list count from 0."""
    text = ""
    for part in key:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if re.fullmatch(r"[\w-]+", part, re.ASCII) else f".{quoted(part)}"
    return text.removeprefix(".")


def _value_text(value: object) -> str:
    """A value in about the notation of the file, on one line and shortened."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Decimal):
        return shortened(str(value), QUOTED)
    try:
        # JSON has neither decimals nor times.
        text = json.dumps(
            value, ensure_ascii=False, default=lambda part: float(part) if isinstance(part, Decimal) else str(part)
        )
    except (ValueError, RecursionError):  # a number of thousands of digits, a table of thousands of levels
        return "a value that is too large to show"
    return quoted(text)[1:-1].replace('\\"', '"')


TEAMS_FILE = "teams.toml"
"""The name of the file, which is optional, in the folder of the challenge."""


def read_teams(root: Path) -> Mapping[str, TeamSettings]:
    """The settings of each team in teams.toml, by the key of its table. Raises ChallengeError with all errors."""
    file = root / TEAMS_FILE
    if not file.exists() and not file.is_symlink():
        return {}
    return teams_in(toml_document(file), file)


def teams_in(document: Mapping[str, Any], file: Path) -> Mapping[str, TeamSettings]:
    """The settings in the content of teams.toml; `file` is for messages. Raises ChallengeError as `read_teams`."""
    teams: dict[str, TeamSettings] = {}
    errors: list[str] = []
    for key, table in document.items():
        team, of_table = _read_table(TeamSettings, table, (key,), example='["the name of a folder"]')
        if team is not None:
            teams[key] = team
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


def _shared_names(teams: Mapping[str, TeamSettings]) -> Iterator[str]:
    """Two teams must not show the same name, and none the name of the folder of another team."""
    folders = {comparable_name(key): key for key in teams}
    shown: dict[str, list[str]] = defaultdict(list)
    for key, settings in teams.items():
        if settings.name is None:
            continue
        other = folders.get(comparable_name(settings.name), key)
        if other != key:
            yield (
                f"{key_text((key, 'name'))}: found {quoted(settings.name)}, which reads as the name of the folder of "
                f"another team, {quoted(other)}; choose another name"
            )
        shown[comparable_name(settings.name)].append(key)
    for keys in shown.values():
        for key in keys[1:]:
            yield (
                f"{key_text((key, 'name'))}: found {quoted(str(teams[key].name))}, which reads as the name of "
                f"{quoted(keys[0])}; choose another name"
            )


def edited(text: str, changes: Mapping[tuple[str, ...], Any]) -> str:
    """TOML with other values, by the names of tables and the key; None removes one. Comments and the order stay.

    Raises ValueError if the text cannot be changed so.
    """
    import tomlkit  # noqa: PLC0415 (only commands that write need it)

    expected, document = tomllib.loads(text), tomlkit.parse(text)
    for root, make in ((expected, dict), (document, tomlkit.table)):
        for (*names, key), value in changes.items():
            table: Any = root
            for name in names:
                if name not in table:
                    table[name] = make()
                table = table[name]
            if value is None:
                table.pop(key, None)
            else:
                table[key] = value
    edited = tomlkit.dumps(document)
    if tomllib.loads(edited) != expected:
        raise ValueError("another value")
    return edited


_NEW_CHALLENGE = Path(__file__).with_name("new_challenge")

FILES = (
    "challenge.toml",
    "README.md",
    "solutions/main.txt",
    "queries/main.txt",
    "submissions/main/20260131T120000Z-first-team.txt",
    "submissions/main/20260131T100000Z-most-popular.txt",
)
"""The files of a new challenge by their paths, but for the key of the split, which is another one each time."""


def write_challenge(folder: str | Path) -> list[Path]:
    """Write a small challenge to start from, and return its files.

    Raises ChallengeError unless the folder is new or empty.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise ChallengeError(f"{folder}: is not empty; name a new or empty folder")
        for path in FILES:
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch(PRIVATE if file.parent.name == "solutions" else 0o666)
            text = (_NEW_CHALLENGE / path).read_text(encoding="utf-8")
            file.write_text(text, encoding="utf-8", newline="\n")
        make_key(folder / KEY_FILE)
        return [folder / path for path in (*FILES, KEY_FILE)]
    except FileExistsError as error:
        raise ChallengeError(f"{folder}: is a file; name a new or empty folder") from error
    except (OSError, ValueError) as error:
        raise ChallengeError(f"{quoted(str(folder))}: cannot write a challenge here: {error}") from error
