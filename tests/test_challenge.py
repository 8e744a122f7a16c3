"""challenge.toml: what is read from it, and what is said of one at fault."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from scorer.challenge.loading import read_challenge
from scorer.challenge.settings import Challenge, Track
from scorer.challenge.starter import FILES, write_new
from scorer.errors import ChallengeError

ROOT = Path(__file__).resolve().parent.parent

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
    """Writes a challenge.toml beside a solution, and gives its path."""

    def write(text: str | bytes) -> Path:
        (tmp_path / "solution.txt").write_text("1:0:2|3\n")
        file = tmp_path / "challenge.toml"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    return write


def faults_of(file: Path, *, solutions: bool = True) -> list[str]:
    """What is said of a challenge.toml, a line a fault, each without the path of the file that all begin with."""
    with pytest.raises(ChallengeError) as caught:
        read_challenge(file, solutions=solutions)
    lines = str(caught.value).splitlines()
    assert all(line.startswith(f"{file}: ") for line in lines)
    return [line.removeprefix(f"{file}: ") for line in lines]


def fault_of(file: Path) -> str:
    """The one fault of a challenge.toml."""
    (fault,) = faults_of(file)
    return fault


def test_defaults_are_the_documented_ones(challenge_file: Write) -> None:
    """A track needs five keys; all others have the value that the README gives."""
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
        submissions=None,
        list_length=30,
        cutoffs=(),
        primary="AP",
        measures=(),
        decimals=4,
        missing="zero",
        ties="trec",
        equal_ranks="shared",
        entry="best",
        stage="final",
        final="all",
        baselines=(),
        solution_format=None,
        submission_format=None,
    )


def test_every_value_is_kept(challenge_file: Write) -> None:
    """What the file says is what the track has."""
    file = challenge_file(
        TOP + 'description = "All of it."\ndatabase = "kept/scores.db"\nsite = "../site"\n' + TRACK + "description = "
        '"Thirty."\nqueries = "solution.txt"\nsubmissions = "sent"\nmeasures = ["nDCG@10", "RR"]\ndecimals = 0\n'
        'missing = "reject"\nties = "order"\nequal_ranks = "earlier"\nentry = "last"\nstage = "preliminary"\n'
        'final = "rest"\nbaselines = ["random", "007"]\nsolution_format = "vlnet"\nsubmission_format = "trec"\n'
    )

    challenge = read_challenge(file)

    track = challenge.track("cold-start")
    assert challenge.description == "All of it."
    assert challenge.database_address == file.parent / "kept" / "scores.db"
    assert challenge.site_path == file.parent.parent / "site"
    assert track.model_dump(exclude={"name", "root", "title", "solution", "list_length", "cutoffs", "primary"}) == {
        "description": "Thirty.",
        "queries": "solution.txt",
        "submissions": "sent",
        "measures": ("nDCG@10", "RR"),
        "decimals": 0,
        "missing": "reject",
        "ties": "order",
        "equal_ranks": "earlier",
        "entry": "last",
        "stage": "preliminary",
        "final": "rest",
        "baselines": ("random", "007"),
        "solution_format": "vlnet",
        "submission_format": "trec",
    }


def test_tracks_keep_the_order_of_the_file(challenge_file: Write) -> None:
    """The site shows tracks as the organiser lists them."""
    challenge = read_challenge(
        challenge_file(TOP + TRACK.replace("cold-start", "z") + TRACK.replace("cold-start", "a"))
    )

    assert [track.name for track in challenge.tracks] == ["z", "a"]


def test_a_folder_and_its_file_are_the_same_challenge(challenge_file: Write) -> None:
    """Either may be named; a file may also have another name."""
    file = challenge_file(TOP + TRACK)
    other = file.with_name("other.toml")
    other.write_text(TOP + TRACK)

    assert read_challenge(file) == read_challenge(file.parent) == read_challenge(str(file)) == read_challenge(other)


def test_paths_do_not_depend_on_where_one_is(challenge_file: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path in the file starts at the folder of the file, also when that is named relatively."""
    file = challenge_file(TOP + TRACK + 'queries = "./solution.txt"\n')
    monkeypatch.chdir(file.parent)

    challenge = read_challenge(".")
    monkeypatch.chdir("/")

    (track,) = challenge.tracks
    assert track.solution_path == track.queries_path == file.with_name("solution.txt")
    assert track.submissions_path == file.parent / "submissions" / "cold-start"
    assert challenge.site_path == file.parent / "site"


def test_a_database_may_be_a_url(challenge_file: Write) -> None:
    """A URL is passed on as it is written."""
    challenge = read_challenge(challenge_file('database = "postgresql+psycopg://host/scores"\n' + TOP + TRACK))

    assert challenge.database_address == "postgresql+psycopg://host/scores"


def test_a_byte_order_mark_and_crlf_are_no_fault(challenge_file: Write) -> None:
    """As editors on Windows write them."""
    assert (
        read_challenge(challenge_file(b"\xef\xbb\xbf" + (TOP + TRACK).replace("\n", "\r\n").encode())).name
        == "Lectures"
    )


def test_a_challenge_is_frozen(challenge_file: Write) -> None:
    """Settings cannot change between scoring and showing."""
    (track,) = read_challenge(challenge_file(TOP + TRACK)).tracks

    with pytest.raises(ValidationError):
        track.decimals = 2


def test_measures_take_the_cutoffs_of_the_track(challenge_file: Write) -> None:
    """A measure that needs cut-offs and names none takes the track's; the primary stands first, and none twice."""
    file = challenge_file(TOP + TRACK + 'measures = ["P", "P@10", "nDCG", "P@20", "MARp@5,10"]\n')

    (track,) = read_challenge(file).tracks

    assert str(track.primary_measure) == "MARp@5,10"
    assert [str(measure) for measure in track.all_measures] == ["MARp@5,10", "P@5", "P@10", "nDCG", "P@20"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("decimals = 13", "decimals: found 13; allowed: a whole number from 0 to 12"),
        ("decimals = -1", "decimals: found -1; allowed: a whole number from 0 to 12"),
        ("decimals = 4.0", "decimals: found 4.0; allowed: a whole number from 0 to 12"),
        ("decimals = true", "decimals: found true; allowed: a whole number from 0 to 12"),
        ("decimals = nan", "decimals: found NaN; allowed: a whole number from 0 to 12"),
        ('decimals = "4"', 'decimals: found "4"; allowed: a whole number from 0 to 12'),
        ("decimals = 2011-04-18", 'decimals: found "2011-04-18"; allowed: a whole number from 0 to 12'),
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
        ('entry = ["best"]', 'entry: found ["best"]; allowed: "best" or "last"'),
        ("stage = 1", 'stage: found 1; allowed: "final" or "preliminary"'),
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
            'queries: found "", which is no path; allowed: the path or URL of a file with one query id a line',
        ),
        (
            'submissions = "a\\u0000b"',
            'submissions: found "a\\u0000b", which is no path; allowed: the path or URL of a folder',
        ),
        ("measures = [3]", 'measures[0]: found 3; allowed: names of measures, as in ["AP", "P@10"]'),
        (
            "solution_format = 1",
            "solution_format: found 1; allowed: vlnet, trec, delimited, jsonl, json, parquet, letor, with options "
            "as in letor:feature=21",
        ),
        (
            "decimal = 4",
            "decimal: unknown key (did you mean decimals?); known: title, description, solution, queries, submissions, "
            "list_length, cutoffs, primary, measures, decimals, missing, ties, equal_ranks, entry, stage, final, "
            "baselines, solution_format, submission_format",
        ),
    ],
)
def test_a_bad_value_says_where_what_and_what_is_allowed(challenge_file: Write, line: str, told: str) -> None:
    """One fault gives one line, in the words of the file."""
    assert fault_of(challenge_file(TOP + TRACK + line)) == f"tracks.cold-start.{told}"


@pytest.mark.parametrize(
    ("cutoffs", "told"),
    [
        (
            "[10, 5]",
            "cutoffs: found [10, 5], which does not ascend; allowed: ascending whole numbers from 1 to list_length",
        ),
        (
            "[5, 5]",
            "cutoffs: found [5, 5], which does not ascend; allowed: ascending whole numbers from 1 to list_length",
        ),
        ("[0, 5]", "cutoffs[0]: found 0; allowed: ascending whole numbers from 1 to list_length"),
        ("[5, 10.0]", "cutoffs[1]: found 10.0; allowed: ascending whole numbers from 1 to list_length"),
        ("5", "cutoffs: found 5; allowed: ascending whole numbers from 1 to list_length"),
        (
            "[5, 31]",
            "cutoffs: found [5, 31], which goes beyond the list_length of 30; allowed: ascending whole numbers from 1 "
            "to list_length",
        ),
    ],
)
def test_faulty_cutoffs_are_one_fault(challenge_file: Write, cutoffs: str, told: str) -> None:
    """The measures that would take them are not called faulty as well."""
    file = challenge_file(TOP + TRACK.replace("[5, 10]", cutoffs) + 'measures = ["P"]')

    assert fault_of(file) == f"tracks.cold-start.{told}"


@pytest.mark.parametrize(
    ("primary", "told"),
    [
        ("P", 'found "P", which stands for P@5 and P@10; allowed: the name of one measure, as in "MARp" or "nDCG@10"'),
        ("nDCH@10", 'found "nDCH@10": no measure is called "nDCH"'),
        ("P@0", 'found "P@0": '),
        ("", 'found "": '),
    ],
)
def test_the_primary_measure_must_be_one_that_there_is(challenge_file: Write, primary: str, told: str) -> None:
    """A name of several measures, or of none, says what it stands for."""
    fault = fault_of(challenge_file(TOP + TRACK.replace("MARp", primary)))

    assert fault.startswith(f"tracks.cold-start.primary: {told}")


def test_every_bad_measure_is_named(challenge_file: Write) -> None:
    """With its place in the list, which counts from 0."""
    first, second = faults_of(challenge_file(TOP + TRACK + 'measures = ["AP", "nope", "P", "P(rel=x)@5"]'))

    assert first.startswith('tracks.cold-start.measures[1]: found "nope": no measure is called "nope"')
    assert second.startswith('tracks.cold-start.measures[3]: found "P(rel=x)@5": ')


def test_a_measure_without_its_cutoff_is_a_fault(challenge_file: Write) -> None:
    """Where neither the name nor the track says a cut-off."""
    fault = fault_of(challenge_file(TOP + TRACK.replace("cutoffs = [5, 10]\n", "").replace("MARp", "P")))

    assert fault.startswith('tracks.cold-start.primary: found "P": P needs a cut-off')


def test_all_faults_are_told_at_once(challenge_file: Write) -> None:
    """In both levels of the file, and of every track."""
    file = challenge_file(
        'nam = "Lectures"\n' + TRACK + 'decimals = 99\nmissing = "no"\nroot = "/"\n' + "[tracks.Other]\nname = 'x'\n"
    )

    assert [fault.partition(";")[0] for fault in faults_of(file)] == [
        "name: is missing",
        "tracks.cold-start.decimals: found 99",
        'tracks.cold-start.missing: found "no"',
        'tracks.Other: found "Other", which cannot be a folder of the site',
        "tracks.Other.title: is missing",
        "tracks.Other.solution: is missing",
        "tracks.Other.list_length: is missing",
        "tracks.Other.primary: is missing",
        "nam: unknown key (did you mean name?)",
        "tracks.cold-start.root: unknown key",
        "tracks.Other.name: unknown key",
    ]


@pytest.mark.parametrize("key", ["root", '"../../x"', '"<script>"', '"a\\nb"'])
def test_a_hostile_key_is_quoted_on_one_line(challenge_file: Write, key: str) -> None:
    """Text of the file does not pass for text of the message."""
    fault = fault_of(challenge_file(f"{key} = 1\n" + TOP + TRACK))

    assert fault.startswith(f"{key}: unknown key")
    assert fault.endswith("; known: name, description, tracks, database, site")


@pytest.mark.parametrize(
    "name", ['"../x"', '"a/b"', '""', "-a", "A", '"ä"', "con", "lpt1", "teams", "x" * 61, '"a\\n"', '"a "']
)
def test_a_track_is_named_so_that_it_can_be_a_folder(challenge_file: Write, name: str) -> None:
    """Its name becomes part of paths and addresses, so it is short, plain, and not reserved."""
    fault = fault_of(challenge_file(TOP + TRACK.replace("cold-start", name)))

    assert "which cannot be a folder of the site" in fault
    assert fault.startswith("tracks.")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (TOP, "tracks: is missing; needed: a table for each track, as in [tracks.cold-start]"),
        (
            TOP + "[tracks]",
            "tracks: found [], which is empty; allowed: a table for each track, as in [tracks.cold-start]",
        ),
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
def test_the_frame_of_the_file_is_checked(challenge_file: Write, text: str, told: str) -> None:
    """A challenge has a name and at least one table under `tracks`."""
    assert fault_of(challenge_file(text)) == told


@pytest.mark.parametrize("value", ["0x" + "f" * 6000, "[" * 60 + "]" * 60, "{" + ".".join("a" * 4000) + " = 1}"])
def test_a_monstrous_value_is_not_printed_whole(challenge_file: Write, value: str) -> None:
    """A number of thousands of digits, a list in a list in a list: cut, or left unsaid."""
    fault = fault_of(challenge_file(TOP + TRACK + f"decimals = {value}"))

    assert fault.startswith("tracks.cold-start.decimals: found ")
    assert len(fault) < 200


def test_bad_toml_says_the_line(challenge_file: Write) -> None:
    """In the words of the parser, which give line and column."""
    assert fault_of(challenge_file(TOP + "title = \n")).startswith("not TOML: Invalid value (at line 2, column 9)")
    assert "line 7" in fault_of(challenge_file(TOP + TRACK.replace("cutoffs", "title")))


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "a = 1" + "0" * 5000])
def test_toml_beyond_the_parser_is_a_fault_too(challenge_file: Write, text: str) -> None:
    """Not a traceback."""
    assert fault_of(challenge_file(text)).startswith("not TOML: ")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty; `scorer init` in a new folder writes one to start from"),
        (b" \r\n\n", "is empty; `scorer init` in a new folder writes one to start from"),
        (b'name = "a"\ntitle = "caf\xe9"\n', "not UTF-8 (byte 0xe9 in line 2); save it in that encoding"),
        ((TOP + TRACK).encode("utf-16"), "not UTF-8 (byte 0xff in line 1); save it in that encoding"),
    ],
)
def test_a_file_that_is_no_text_says_so(challenge_file: Write, content: bytes, told: str) -> None:
    """Empty, or of another encoding."""
    assert fault_of(challenge_file(content)) == told


def test_no_challenge_says_how_to_begin(tmp_path: Path) -> None:
    """A folder without the file, no folder at all, and a folder of that name."""
    (tmp_path / "odd" / "challenge.toml").mkdir(parents=True)

    assert fault_of_missing(tmp_path) == f"{tmp_path / 'challenge.toml'}: no such file"
    assert fault_of_missing(tmp_path / "none") == f"{tmp_path / 'none'}: no such file"
    assert fault_of_missing(tmp_path / "odd") == f"{tmp_path / 'odd' / 'challenge.toml'}: is not a file"
    for path in ("a\0b", "x" * 5000):
        with pytest.raises(ChallengeError):
            read_challenge(path)


def fault_of_missing(path: Path) -> str:
    """What is said first of a path that holds no challenge; then it says how to make one."""
    with pytest.raises(ChallengeError, match="`scorer init` makes a new one") as caught:
        read_challenge(path)
    return str(caught.value).partition(";")[0]


def test_an_unreadable_file_is_a_fault(challenge_file: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the system's reason."""
    file = challenge_file(TOP + TRACK)

    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refuse)

    assert fault_of(file) == "cannot be read: Permission denied"


def test_a_named_file_must_be_there(challenge_file: Write) -> None:
    """The message has its whole path; a participant has no solution and needs none."""
    file = challenge_file(
        TOP + TRACK + 'queries = "lists"\n' + TRACK.replace("solution.txt", "no.txt").replace("cold-start", "restart")
    )
    (file.parent / "lists").mkdir()

    missing_queries = f"tracks.cold-start.queries: names {file.parent / 'lists'}, but it is not a file"
    missing_solution = f"tracks.restart.solution: names {file.parent / 'no.txt'}, but there is no such file"
    advice = "; put it there or correct the path"
    assert faults_of(file) == [missing_queries + advice, missing_solution + advice]
    assert faults_of(file, solutions=False) == [missing_queries + advice]


def test_a_solution_may_be_kept_elsewhere(challenge_file: Write, tmp_path_factory: pytest.TempPathFactory) -> None:
    """An organiser keeps it out of a folder that is shared."""
    secret = tmp_path_factory.mktemp("secret") / "solution.txt"
    secret.write_text("1:0:2|3\n")

    (track,) = read_challenge(challenge_file(TOP + TRACK.replace("solution.txt", str(secret)))).tracks

    assert track.solution_path == secret


@pytest.mark.parametrize(
    ("site", "solution", "submissions", "told"),
    [
        (".", "solution.txt", "sent", "holds the challenge itself"),
        ("..", "solution.txt", "sent", "holds the challenge itself"),
        ("site/../", "solution.txt", "sent", "holds the challenge itself"),
        ("public", "public/solution.txt", "sent", "holds the solution of cold-start"),
        ("scores.db", "solution.txt", "sent", "holds the database"),
        ("public", "solution.txt", "public/sent", "overlaps the submissions of cold-start"),
        ("sent/site", "solution.txt", "sent", "overlaps the submissions of cold-start"),
        ("site", "solution.txt", "site", "overlaps the submissions of cold-start"),
    ],
)
def test_the_site_publishes_neither_solutions_nor_submissions(
    challenge_file: Write, site: str, solution: str, submissions: str, told: str
) -> None:
    """Its folder is what all may see, and is written to."""
    file = challenge_file(
        f'site = "{site}"\n' + TOP + TRACK.replace("solution.txt", solution) + f'submissions = "{submissions}"'
    )
    (file.parent / solution).parent.mkdir(exist_ok=True)
    (file.parent / solution).write_text("1:0:2|3\n")

    assert fault_of(file) == (
        f'site: found "{site}", which {told}; allowed: the path of a folder that holds nothing else'
    )


def test_an_unknown_track_says_which_there_are(challenge_file: Write) -> None:
    """And which is meant."""
    challenge = read_challenge(challenge_file(TOP + TRACK))

    with pytest.raises(ChallengeError) as caught:
        challenge.track("coldstart")
    assert str(caught.value) == 'no track is called "coldstart" (did you mean cold-start?); there are: cold-start'


def test_every_key_is_documented() -> None:
    """The README explains each key of the file, in a table that has no other."""
    reference = (ROOT / "README.md").read_text(encoding="utf-8").partition("## challenge.toml")[2].partition("\n## ")[0]
    listed = {line.split("`")[1] for line in reference.splitlines() if line.startswith("| `")}

    keys = {*Challenge.model_fields, *Track.model_fields} - {"root", "tracks"}
    assert listed == keys


def test_a_new_challenge_can_be_read(tmp_path: Path) -> None:
    """What `scorer init` writes is a challenge without fault, in a folder made for it."""
    folder = tmp_path / "new" / "challenge"

    written = write_new(folder)

    (track,) = read_challenge(folder).tracks
    assert [path.relative_to(folder).as_posix() for path in written] == list(FILES)
    assert len(list(track.submissions_path.iterdir())) == 2
    assert isinstance(track.queries_path, Path)
    assert isinstance(track.solution_path, Path)
    assert track.queries_path.read_text().split() == [
        line.partition(":")[0] for line in track.solution_path.read_text().splitlines()
    ]


def test_a_new_challenge_spares_what_is_there(tmp_path: Path) -> None:
    """A folder with anything in it, or a file in its place, is refused and stays as it was."""
    (tmp_path / "mine.txt").write_text("mine")

    refused = {tmp_path: "is not empty", tmp_path / "mine.txt": "is a file", tmp_path / "a\0b": "cannot make"}
    for folder, told in refused.items():
        with pytest.raises(ChallengeError, match=told):
            write_new(folder)

    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
