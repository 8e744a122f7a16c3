"""challenge.toml: reading it, and the messages about errors in it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import ValidationError

from scorer.errors import ChallengeError
from scorer.rules.quota import NO_QUOTA
from scorer.settings.loading import FILES, read_challenge, write_challenge
from scorer.settings.tracks import Track, check_stage

TOP = 'name = "Lectures"\n'
TRACK = """
[tracks.cold-start]
title = "Cold start"
solution = "solution.txt"
list_length = 30
cutoffs = [5, 10]
primary = "MARp"
"""

Write = Callable[..., Path]


@pytest.fixture
def challenge_file(tmp_path: Path) -> Write:
    """Write a challenge.toml and a solution in one folder; give the path of the challenge.toml."""

    def write(text: str | bytes) -> Path:
        (tmp_path / "solution.txt").write_text("1:0:2|3\n")
        file = tmp_path / "challenge.toml"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    return write


def errors_in(file: Path, *, solutions: bool = True) -> list[str]:
    """The lines of the message about a challenge.toml, each without the path that all begin with."""
    with pytest.raises(ChallengeError) as caught:
        read_challenge(file, solutions=solutions)
    lines = str(caught.value).splitlines()
    assert all(line.startswith(f"{file}: ") for line in lines)
    return [line.removeprefix(f"{file}: ") for line in lines]


def error_in(file: Path) -> str:
    """The only line of the message about a challenge.toml."""
    (error,) = errors_in(file)
    return error


def test_defaults_are_the_documented_ones(challenge_file: Write) -> None:
    """A track needs four keys; all others have the documented default."""
    challenge = read_challenge(challenge_file(TOP + TRACK.replace("cutoffs = [5, 10]\n", "").replace("MARp", "AP")))

    (track,) = challenge.tracks
    assert (challenge.name, challenge.description, challenge.database, challenge.site) == (
        "Lectures",
        "",
        "scores.db",
        "site",
    )
    assert track == Track(
        name="cold-start",
        root=challenge.root,
        title="Cold start",
        description="",
        solution="solution.txt",
        queries=None,
        items=None,
        exclude=None,
        submissions=None,
        ignore=None,
        file_names="{team}",
        list_length=30,
        cutoffs=(),
        primary="AP",
        measures=(),
        decimals=4,
        missing="zero",
        ties="trec",
        slices=None,
        clusters=None,
        checked=None,
        machine_weight=Decimal(1),
        slices_public="end",
        unjudged="nonrelevant",
        judged_bounds=None,
        equal_ranks="shared",
        entry="best",
        picks=2,
        rows="team",
        rows_per_team=None,
        stage=None,
        split=None,
        final="all",
        baselines=(),
        phases=(),
        late_board=False,
        trusted_times=False,
        quota=NO_QUOTA,
        per_query="hidden",
        statistics="primary",
        reveal_solution=False,
        solution_format=None,
        submission_format=None,
    )


def test_every_value_is_read(challenge_file: Write) -> None:
    """The track has the values of the file."""
    values: dict[str, object] = {
        "description": "Thirty.",
        "queries": "solution.txt",
        "items": "solution.txt",
        "exclude": "self",
        "submissions": "sent",
        "ignore": ["*.log"],
        "file_names": "input.{team}",
        "measures": ["nDCG@10", "RR"],
        "decimals": 0,
        "missing": "reject",
        "ties": "order",
        "unjudged": "drop",
        "equal_ranks": "earlier",
        "entry": "last",
        "rows": "entry",
        "rows_per_team": 3,
        "stage": "preliminary",
        "final": "rest",
        "baselines": ["random", "007"],
        "per_query": "public",
        "statistics": "all",
        "slices": "slices.csv",
        "slices_public": "now",
        "reveal_solution": True,
        "solution_format": "vlnet",
        "submission_format": "trec",
    }
    top = TOP + 'description = "All of it."\ndatabase = "data/scores.db"\nsite = "../site"\n'
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items())
    file = challenge_file(top + TRACK + lines)

    challenge = read_challenge(file)

    track = challenge.track("cold-start")
    assert challenge.description == "All of it."
    assert challenge.database_address == file.parent / "data" / "scores.db"
    assert challenge.site_path == file.parent.parent / "site"
    read = json.loads(track.model_dump_json())
    assert {name: read[name] for name in values} == values
    others = {"name", "root", "title", "solution", "list_length", "cutoffs", "primary", "split", "phases", "quota"}
    others |= {
        "picks",
        "late_board",
        "trusted_times",
        "overall",
        "metadata",
        "visibility",
        "judged_bounds",
        "limits",
        "clusters",
    }
    others |= {"publish_submissions", "has_earlier_names", "deciding_phase", "auto_decimals", "viewer", "hidden"}
    others |= {"checked", "machine_weight"}
    assert type(track).model_fields.keys() - values.keys() == others


def test_tracks_keep_the_order_of_the_file(challenge_file: Write) -> None:
    """The site shows tracks in the organiser's order."""
    challenge = read_challenge(
        challenge_file(TOP + TRACK.replace("cold-start", "z") + TRACK.replace("cold-start", "a"))
    )

    assert [track.name for track in challenge.tracks] == ["z", "a"]


def test_a_folder_and_its_file_are_the_same_challenge(challenge_file: Write) -> None:
    """Either path works; the file may also have another name."""
    file = challenge_file(TOP + TRACK)
    other = file.with_name("other.toml")
    other.write_text(TOP + TRACK)

    assert read_challenge(file) == read_challenge(file.parent) == read_challenge(str(file)) == read_challenge(other)


def test_paths_do_not_depend_on_the_working_directory(challenge_file: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path in the file starts at the folder of the file, also where that folder is given relatively."""
    file = challenge_file(TOP + TRACK + 'queries = "./solution.txt"\nitems = "./solution.txt"\n')
    monkeypatch.chdir(file.parent)

    challenge = read_challenge(".")
    monkeypatch.chdir("/")

    (track,) = challenge.tracks
    assert track.solution_path == track.files["queries"] == track.files["items"] == file.with_name("solution.txt")
    assert track.submissions_path == file.parent / "submissions" / "cold-start"
    assert challenge.site_path == file.parent / "site"


def test_a_database_may_be_a_url(challenge_file: Write) -> None:
    """A URL stays as it is written."""
    challenge = read_challenge(challenge_file('database = "postgresql+psycopg://host/scores"\n' + TOP + TRACK))

    assert challenge.database_address == "postgresql+psycopg://host/scores"


def test_a_byte_order_mark_and_crlf_are_allowed(challenge_file: Write) -> None:
    """Editors on Windows write them."""
    assert (
        read_challenge(challenge_file(b"\xef\xbb\xbf" + (TOP + TRACK).replace("\n", "\r\n").encode())).name
        == "Lectures"
    )


def test_a_challenge_is_frozen(challenge_file: Write) -> None:
    """Settings cannot change between scoring and rendering."""
    (track,) = read_challenge(challenge_file(TOP + TRACK)).tracks

    with pytest.raises(ValidationError):
        track.decimals = 2


def test_measures_take_the_cutoffs_of_the_track(challenge_file: Write) -> None:
    """A measure that needs cut-offs and has none uses the track's. The primary comes first; each is listed once."""
    file = challenge_file(TOP + TRACK + 'measures = ["P", "P@10", "nDCG", "P@20", "MARp@5,10"]\n')

    (track,) = read_challenge(file).tracks

    assert str(track.primary_measure) == "MARp@5,10"
    assert [str(measure) for measure in track.all_measures] == ["MARp@5,10", "P@5", "P@10", "nDCG", "P@20"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("decimals = 13", 'decimals: found 13; allowed: a whole number from 0 to 12, or "auto"'),
        ("decimals = -1", 'decimals: found -1; allowed: a whole number from 0 to 12, or "auto"'),
        ("decimals = 4.0", 'decimals: found 4.0; allowed: a whole number from 0 to 12, or "auto"'),
        ("decimals = true", 'decimals: found true; allowed: a whole number from 0 to 12, or "auto"'),
        ("decimals = nan", 'decimals: found NaN; allowed: a whole number from 0 to 12, or "auto"'),
        ('decimals = "4"', 'decimals: found "4"; allowed: a whole number from 0 to 12, or "auto"'),
        ("decimals = 2011-04-18", 'decimals: found "2011-04-18"; allowed: a whole number from 0 to 12, or "auto"'),
        ('missing = "Zero"', 'missing: found "Zero"; allowed: "zero" or "reject"'),
        ('ties = "mean"', 'ties: found "mean"; allowed: "trec", "order", "expected", "best" or "worst"'),
        (
            'measures = ["P@5", "ERR@5"]\nties = "expected"',
            'ties: found "expected": ERR@5: no formula is known for its mean over the orders of tied items; '
            "choose another rule for ties",
        ),
        (
            'measures = ["nDCG(ideal=retrieved)"]\nties = "expected"',
            'ties: found "expected": nDCG(ideal=retrieved): no formula is known for its mean over the orders of tied '
            "items where a list is cut between them; choose another rule for ties",
        ),
        ('equal_ranks = ""', 'equal_ranks: found ""; allowed: "shared" or "earlier"'),
        ('entry = ["best"]', 'entry: found ["best"]; allowed: "best", "last" or "picks"'),
        ("stage = 1", 'stage: found 1; allowed: "preliminary" or "final"'),
        ('final = "part"', 'final: found "part"; allowed: "all" or "rest"'),
        ('baselines = "random"', 'baselines: found "random"; allowed: names of teams, each once'),
        ('baselines = ["a", 7]', "baselines[1]: found 7; allowed: names of teams, each once"),
        (
            'baselines = ["a", "a"]',
            'baselines: found ["a", "a"], which names a team twice; allowed: names of teams, each once',
        ),
        ('baselines = [" "]', 'baselines[0]: found " ", which is blank; allowed: names of teams, each once'),
        (
            'queries = ""',
            'queries: found "", which is not a path; allowed: the path or URL of a file with one query id a line',
        ),
        (
            'submissions = "a\\u0000b"',
            'submissions: found "a\\u0000b", which is not a path; allowed: the path or URL of a folder',
        ),
        *(
            (
                f'file_names = "{names}"',
                f'file_names: found "{names}", which is not such a pattern; allowed: a text with {{team}}, {{run}} or '
                'both, as in "input.{team}" or "{team}_{run}"',
            )
            for names in ("input", "{team}{run}", "{team}_{team}", "{name}", "{team}/{run}")
        ),
        ("measures = [3]", 'measures[0]: found 3; allowed: names of measures, as in ["AP", "P@10"]'),
        (
            "solution_format = 1",
            "solution_format: found 1; allowed: vlnet, trec, delimited, jsonl, json, parquet, letor, with options "
            "as in letor:feature=21",
        ),
        (
            "decimal = 4",
            "decimal: unknown key (did you mean decimals?); known: title, description, solution, queries, items, "
            "exclude, submissions, ignore, file_names, list_length, cutoffs, primary, measures, decimals, "
            "missing, ties, unjudged, judged_bounds, equal_ranks, entry, picks, rows, rows_per_team, stage, "
            "split, clusters, checked, machine_weight, final, baselines, phases, late_board, trusted_times, quota, "
            "per_query, statistics, "
            "slices, slices_public, reveal_solution, solution_format, submission_format",
        ),
    ],
)
def test_an_invalid_value_is_reported_with_the_allowed_values(challenge_file: Write, line: str, message: str) -> None:
    """One error gives one line, with names of the file only."""
    assert error_in(challenge_file(TOP + TRACK + line)) == f"tracks.cold-start.{message}"


@pytest.mark.parametrize(
    ("cutoffs", "message"),
    [
        (
            "[10, 5]",
            "cutoffs: found [10, 5], which is not ascending; allowed: ascending whole numbers from 1 to list_length",
        ),
        (
            "[5, 5]",
            "cutoffs: found [5, 5], which is not ascending; allowed: ascending whole numbers from 1 to list_length",
        ),
        ("[0, 5]", "cutoffs[0]: found 0; allowed: ascending whole numbers from 1 to list_length"),
        ("[5, 10.0]", "cutoffs[1]: found 10.0; allowed: ascending whole numbers from 1 to list_length"),
        ("5", "cutoffs: found 5; allowed: ascending whole numbers from 1 to list_length"),
        (
            "[5, 31]",
            "cutoffs: found [5, 31], which exceeds the list_length of 30; allowed: ascending whole numbers from 1 "
            "to list_length",
        ),
    ],
)
def test_invalid_cutoffs_are_one_error(challenge_file: Write, cutoffs: str, message: str) -> None:
    """The measures that use them are not reported as well."""
    file = challenge_file(TOP + TRACK.replace("[5, 10]", cutoffs) + 'measures = ["P"]')

    assert error_in(file) == f"tracks.cold-start.{message}"


@pytest.mark.parametrize(
    ("primary", "message"),
    [
        ("P", 'found "P", which means P@5 and P@10; allowed: the name of one measure, as in "MARp" or "nDCG@10"'),
        ("nDCH@10", 'found "nDCH@10": no measure is called "nDCH"'),
        ("P@0", 'found "P@0": '),
        ("", 'found "": '),
    ],
)
def test_the_primary_measure_must_be_one_known_measure(challenge_file: Write, primary: str, message: str) -> None:
    """The message for a name of several measures lists them."""
    error = error_in(challenge_file(TOP + TRACK.replace("MARp", primary)))

    assert error.startswith(f"tracks.cold-start.primary: {message}")


def test_every_invalid_measure_is_reported(challenge_file: Write) -> None:
    """With its position in the list, from 0."""
    first, second = errors_in(challenge_file(TOP + TRACK + 'measures = ["AP", "nope", "P", "P(rel=x)@5"]'))

    assert first.startswith('tracks.cold-start.measures[1]: found "nope": no measure is called "nope"')
    assert second.startswith('tracks.cold-start.measures[3]: found "P(rel=x)@5": ')


def test_a_measure_without_a_cutoff_is_an_error(challenge_file: Write) -> None:
    """If neither its name nor the track has one. P is then several measures, as in trec_eval."""
    track = TRACK.replace("cutoffs = [5, 10]\n", "")
    assert 'found "MARp": MARp needs cut-offs' in error_in(challenge_file(TOP + track))
    error = error_in(challenge_file(TOP + track.replace("MARp", "P")))

    assert error.startswith('tracks.cold-start.primary: found "P", which means P@5 and P@10 and P@15')


def test_all_errors_are_reported_together(challenge_file: Write) -> None:
    """Those of the challenge first, then those of each track."""
    file = challenge_file(
        'nam = "Lectures"\n' + TRACK + 'decimals = 99\nmissing = "no"\nroot = "/"\n' + "[tracks.Other]\nname = 'x'\n"
    )

    assert [error.partition(";")[0] for error in errors_in(file)] == [
        "name: is missing",
        "nam: unknown key (did you mean name?)",
        "tracks.cold-start.decimals: found 99",
        'tracks.cold-start.missing: found "no"',
        "tracks.cold-start.root: unknown key",
        'tracks.Other: found "Other", which cannot be the name of a folder of the site',
        "tracks.Other.title: is missing",
        "tracks.Other.solution: is missing",
        "tracks.Other.list_length: is missing",
        "tracks.Other.primary: is missing",
        "tracks.Other.name: unknown key",
    ]


@pytest.mark.parametrize("key", ["root", '"../../x"', '"<script>"', '"a\\nb"'])
def test_a_hostile_key_is_quoted_on_one_line(challenge_file: Write, key: str) -> None:
    """Text of the file cannot be mistaken for text of the message."""
    error = error_in(challenge_file(f"{key} = 1\n" + TOP + TRACK))

    assert error.startswith(f"{key}: unknown key")
    known = "name, description, tracks, overall, metadata, visibility, limits, licence, publish_submissions, "
    assert error.endswith(f"; known: {known}keep_submissions, database, site")


@pytest.mark.parametrize(
    "name", ['"../x"', '"a/b"', '""', "-a", "A", '"ä"', "con", "lpt1", "teams", "x" * 61, '"a\\n"', '"a "']
)
def test_the_name_of_a_track_can_be_a_folder_name(challenge_file: Write, name: str) -> None:
    """It becomes part of paths and URLs, so it is short, plain and not reserved."""
    error = error_in(challenge_file(TOP + TRACK.replace("cold-start", name)))

    assert "which cannot be the name of a folder of the site" in error
    assert error.startswith("tracks.")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TOP, "tracks: is missing; expected a table for each track, as in [tracks.cold-start]"),
        (TOP + "[tracks]", "tracks: found {}; allowed: a table for each track, as in [tracks.cold-start]"),
        (TOP + "tracks = 3", "tracks: found 3; allowed: a table for each track, as in [tracks.cold-start]"),
        (
            TOP + '[[tracks]]\nname = "a"',
            'tracks: found [{"name": "a"}]; allowed: a table for each track, as in [tracks.cold-start]',
        ),
        (TOP + "[tracks]\na = 3", "tracks.a: found 3; allowed: a table, as in [tracks.cold-start]"),
        ("name = 3" + TRACK, "name: found 3; allowed: a text"),
        ('name = " "' + TRACK, 'name: found " ", which is blank; allowed: a text'),
    ],
)
def test_the_top_level_of_the_file_is_checked(challenge_file: Write, text: str, message: str) -> None:
    """A challenge has a name and at least one table under `tracks`."""
    assert error_in(challenge_file(text)) == message


DEEP = 4000 if sys.version_info < (3, 14) else 1000
"""The parts of a key that Python reads."""


@pytest.mark.parametrize("value", ["0x" + "f" * 6000, "[" * 60 + "]" * 60, "{" + ".".join("a" * DEEP) + " = 1}"])
def test_a_huge_value_is_shortened(challenge_file: Write, value: str) -> None:
    """A number of thousands of digits, deeply nested lists, deeply nested tables."""
    error = error_in(challenge_file(TOP + TRACK + f"decimals = {value}"))

    assert error.startswith("tracks.cold-start.decimals: found ")
    assert len(error) < 200


def test_a_syntax_error_has_a_line_number(challenge_file: Write) -> None:
    """The message of the parser has line and column."""
    assert error_in(challenge_file(TOP + "title = \n")).startswith("not TOML: Invalid value (at line 2, column 9)")
    assert "line 7" in error_in(challenge_file(TOP + TRACK.replace("cutoffs", "title")))


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "a = 1" + "0" * 5000])
def test_toml_beyond_the_parser_is_an_error(challenge_file: Write, text: str) -> None:
    """It does not end in a traceback."""
    assert error_in(challenge_file(text)).startswith("not TOML: ")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty; `scorer init` in a new folder writes one to start from"),
        (b" \r\n\n", "is empty; `scorer init` in a new folder writes one to start from"),
        (b'name = "a"\ntitle = "caf\xe9"\n', "not UTF-8 (byte 0xe9 in line 2); save it as UTF-8"),
        ((TOP + TRACK).encode("utf-16"), "not UTF-8 (byte 0xff in line 1); save it as UTF-8"),
    ],
)
def test_a_file_without_utf8_text_is_an_error(challenge_file: Write, content: bytes, message: str) -> None:
    """It is empty, or in another encoding."""
    assert error_in(challenge_file(content)) == message


def test_a_missing_challenge_is_an_error(tmp_path: Path) -> None:
    """A folder without the file, a missing folder, and a folder with the name of the file."""
    (tmp_path / "odd" / "challenge.toml").mkdir(parents=True)

    assert error_without_file(tmp_path) == f"{tmp_path / 'challenge.toml'}: no such file"
    assert error_without_file(tmp_path / "none") == f"{tmp_path / 'none'}: no such file"
    assert error_without_file(tmp_path / "odd") == f"{tmp_path / 'odd' / 'challenge.toml'}: is not a file"
    for path in ("a\0b", "x" * 5000):
        with pytest.raises(ChallengeError):
            read_challenge(path)


def error_without_file(path: Path) -> str:
    """The first part of the message about a path without a challenge; the rest says how to make one."""
    with pytest.raises(ChallengeError, match="`scorer init` makes a new one") as caught:
        read_challenge(path)
    return str(caught.value).partition(";")[0]


def test_an_unreadable_file_is_an_error(challenge_file: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message has the reason of the operating system."""
    file = challenge_file(TOP + TRACK)

    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refuse)

    assert error_in(file) == "cannot be read: Permission denied"


def test_the_files_of_a_track_must_exist(challenge_file: Write) -> None:
    """The message has the absolute path. A participant needs no solution."""
    file = challenge_file(
        TOP + TRACK + 'queries = "lists"\n' + TRACK.replace("solution.txt", "no.txt").replace("cold-start", "restart")
    )
    (file.parent / "lists").mkdir()

    missing_queries = f"tracks.cold-start.queries: names {file.parent / 'lists'}, but it is not a file"
    missing_solution = f"tracks.restart.solution: names {file.parent / 'no.txt'}, but there is no such file"
    advice = "; create it or correct the path"
    assert errors_in(file) == [missing_queries + advice, missing_solution + advice]
    assert errors_in(file, solutions=False) == [missing_queries + advice]


def test_a_solution_may_be_outside_the_folder(challenge_file: Write, tmp_path_factory: pytest.TempPathFactory) -> None:
    """An organiser can keep it out of a shared folder."""
    secret = tmp_path_factory.mktemp("secret") / "solution.txt"
    secret.write_text("1:0:2|3\n")

    (track,) = read_challenge(challenge_file(TOP + TRACK.replace("solution.txt", str(secret)))).tracks

    assert track.solution_path == secret


@pytest.mark.parametrize(
    ("site", "solution", "submissions", "message"),
    [
        (".", "solution.txt", "sent", "contains the challenge itself"),
        ("..", "solution.txt", "sent", "contains the challenge itself"),
        ("site/../", "solution.txt", "sent", "contains the challenge itself"),
        ("public", "public/solution.txt", "sent", "contains the solution of cold-start"),
        ("scores.db", "solution.txt", "sent", "contains the database"),
        ("public", "solution.txt", "public/sent", "overlaps the submissions of cold-start"),
        ("sent/site", "solution.txt", "sent", "overlaps the submissions of cold-start"),
        ("site", "solution.txt", "site", "overlaps the submissions of cold-start"),
    ],
)
def test_the_site_publishes_neither_solutions_nor_submissions(
    challenge_file: Write, site: str, solution: str, submissions: str, message: str
) -> None:
    """Its folder is public, and `render` writes to it."""
    file = challenge_file(
        f'site = "{site}"\n' + TOP + TRACK.replace("solution.txt", solution) + f'submissions = "{submissions}"'
    )
    (file.parent / solution).parent.mkdir(exist_ok=True)
    (file.parent / solution).write_text("1:0:2|3\n")

    assert error_in(file) == (f'site: found "{site}", which {message}; allowed: the path of a folder for the site only')


def test_an_unknown_track_is_an_error_with_the_names_of_the_tracks(challenge_file: Write) -> None:
    """The message suggests the most similar name."""
    challenge = read_challenge(challenge_file(TOP + TRACK))

    with pytest.raises(ChallengeError) as caught:
        challenge.track("coldstart")
    assert str(caught.value) == 'no track is called "coldstart" (did you mean cold-start?); the tracks are: cold-start'


def track_with(stage: str | None) -> Track:
    """A track with this `stage`; None leaves the key out."""
    settings = {"name": "main", "title": "Main", "solution": "s.txt", "list_length": 5, "primary": "AP"}
    return Track.model_validate(settings if stage is None else {**settings, "stage": stage})


@pytest.mark.parametrize(
    ("stage", "flagged"), [(None, 0), ("final", 0), ("final", 1), ("final", 9), ("preliminary", 1), ("preliminary", 9)]
)
def test_a_stage_that_agrees_with_the_solution_is_valid(stage: str | None, flagged: int) -> None:
    """Only a solution that flags queries has preliminary scores."""
    check_stage(track_with(stage), flagged)


def test_a_solution_with_flagged_queries_needs_a_stage() -> None:
    """Without it a new challenge would show final scores at once."""
    with pytest.raises(ChallengeError) as caught:
        check_stage(track_with(None), 12)
    assert str(caught.value) == (
        "tracks.main.stage: is missing, and the solution flags 12 queries for preliminary scores; "
        'set stage = "preliminary" while final scores are hidden, stage = "final" to show them'
    )


@pytest.mark.holds(r"The solution flags no queries for preliminary scores, so there are no scores to show\.")
def test_a_preliminary_stage_needs_flagged_queries() -> None:
    """Without them the board would be blank."""
    with pytest.raises(ChallengeError) as caught:
        check_stage(track_with("preliminary"), 0)
    assert str(caught.value) == (
        'tracks.main.stage: found "preliminary", but the solution flags no query, so there are no preliminary scores '
        'to show; flag queries in the solution, set split = {preliminary = 0.2}, or set stage = "final"'
    )


@pytest.mark.parametrize(("stage", "shown"), [(None, True), ("final", True), ("preliminary", False)])
def test_final_scores_are_shown_unless_the_stage_is_preliminary(stage: str | None, shown: bool) -> None:
    """A track without flagged queries needs no `stage`."""
    assert track_with(stage).shows_final is shown


def test_a_new_challenge_can_be_read(tmp_path: Path) -> None:
    """`scorer init` writes a valid challenge, into a folder that it creates."""
    folder = tmp_path / "new" / "challenge"

    written = write_challenge(folder)

    (track,) = read_challenge(folder).tracks
    assert [path.relative_to(folder).as_posix() for path in written] == [*FILES, "split.key"]
    assert len(list(track.submissions_path.iterdir())) == 2
    assert isinstance(track.files["queries"], Path)
    assert isinstance(track.solution_path, Path)
    assert track.files["queries"].read_text().split() == [
        line.partition(":")[0] for line in track.solution_path.read_text().splitlines()
    ]


def test_a_new_challenge_overwrites_nothing(tmp_path: Path) -> None:
    """A folder that is not empty, or a file, is refused and unchanged."""
    (tmp_path / "mine.txt").write_text("mine")

    refused = {
        tmp_path: "is not empty",
        tmp_path / "mine.txt": "is a file",
        tmp_path / "a\0b": "cannot write a challenge",
    }
    for folder, message in refused.items():
        with pytest.raises(ChallengeError, match=message):
            write_challenge(folder)

    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
