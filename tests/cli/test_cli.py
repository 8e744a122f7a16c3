"""The commands, as people and scripts use them."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from importlib.metadata import version
from io import StringIO
from pathlib import Path

import pytest

from scorer.measures import KINDS
from tests.commands import Answer, Terminal, command

SOLUTION = "q1:1:a|3,b|2,c|1\nq2:0:d|1\nq3:0:\n"
GOOD = "q1:a,b\nq2:x,d\nq3:y\n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a solution and submissions, the current folder of the commands."""
    for name, text in {
        "solution.txt": SOLUTION,
        "good.txt": GOOD,
        "other.txt": "q1:c\nq2:d\n",
        "bad.txt": "q1:a\nq2;d\nq3:,y\n",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_evaluate_prints_json_for_scripts(files: Path, terminal: Terminal) -> None:
    """Full precision, null where undefined, keys as the names were given."""
    answer = terminal.run("evaluate", "solution.txt", "good.txt", "-m", "map", "-m", "AP(rel=9)", "--format", "json")

    assert answer.code == 0
    document = json.loads(answer.out)
    counts, notes = (document["submissions"][0].pop(key) for key in ("counts", "notes"))
    assert counts.items() >= {"answered": 3, "unknown": 0, "items": 5, "repeated": 0, "overlong": 0}.items()
    assert notes == ["without a header, read as query:items, between commas"]
    assert document == {
        "submissions": [
            {
                "submission": "good.txt",
                "tag": None,
                "scores": {"map": (2 / 3 + 1 / 2) / 2, "AP(rel=9)": None},
                "queries": 3,
                "undefined": 1,
            }
        ],
        "policies": {
            "split": "all",
            "missing": "zero",
            "ties": "trec",
            "nothing_relevant": "skip",
            "unjudged": "nonrelevant",
            "rel": "positive",
        },
        "measures": {"map": "AP(denominator=R,rel=positive)", "AP(rel=9)": "AP(denominator=R,rel=9)"},
    }
    assert "1 query of 3 left out of the means of map" in answer.err


def test_evaluate_prints_each_query_on_request(files: Path, terminal: Terminal) -> None:
    """Including undefined scores, and queries without a list."""
    answer = terminal.run("evaluate", "solution.txt", "other.txt", "-m", "P@1", "--per-query", "--format", "json")

    assert json.loads(answer.out)["submissions"][0]["per_query"] == {
        "q1": {"P@1": 1.0},
        "q2": {"P@1": 1.0},
        "q3": {"P@1": None},
    }


def test_a_named_format_overrides_detection(files: Path, terminal: Terminal) -> None:
    """For the solution and for the submissions. An unknown name is a wrong call."""
    shared = ("evaluate", "solution.txt", "good.txt", "-m", "RR")

    assert terminal.run(*shared, "--solution-format", "vlnet", "--submission-format", "vlnet").code == 0
    assert "six columns" in terminal.run(*shared, "--submission-format", "trec").err
    assert terminal.run(*shared, "--solution-format", "xml").code == 2


WRONG_CALLS = {
    "no measure between commas": (("evaluate", "solution.txt", "good.txt", "-m", "AP,"), "no name between the commas"),
    "unknown measure": (("evaluate", "solution.txt", "good.txt", "-m", "nonsense"), "--measure: "),
    "no submission": (("evaluate", "solution.txt", "-m", "AP"), "required: submission"),
    "unknown option": (("run", "--nonsense"), "unrecognized arguments: --nonsense"),
    "unknown command": (("nonsense",), 'no command is called "nonsense"'),
    "no command": ((), "run a challenge:"),
    "part of an option": (("evaluate", "solution.txt", "good.txt", "-m", "AP", "--per"), "unrecognized"),
    "unknown split": (("evaluate", "solution.txt", "good.txt", "-m", "AP", "--split", "half"), "choose from 'all'"),
    "level out of bounds": (
        ("evaluate", "solution.txt", "good.txt", "-m", "AP", "--significance", "2"),
        'found "2", expected a number from 0.0001 to 0.5',
    ),
    "invalid time": (("run", "--time-limit", "soon"), 'found "soon", expected a number of 1 or more'),
    "invalid grade": (
        ("evaluate", "solution.txt", "good.txt", "-m", "AP", "-l", "nan"),
        'found "nan", expected a finite number',
    ),
    "control characters": (("run\x1b[31m",), r"run\u001b[31m"),
    "unknown measure to explain": (("measures", "nonsense"), "nonsense"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG_CALLS.values(), ids=WRONG_CALLS.keys())
def test_a_wrong_call_exits_with_2(arguments: tuple[str, ...], message: str, files: Path, terminal: Terminal) -> None:
    """It prints what is wrong, and no result."""
    answer = terminal.run(*arguments)

    assert answer.code == 2
    assert answer.out == ""
    assert message in answer.err


def test_options_may_be_between_files(files: Path, terminal: Terminal) -> None:
    """Files and options can be in any order."""
    last = terminal.run("evaluate", "solution.txt", "good.txt", "other.txt", "-m", "AP", "-q")
    between = terminal.run("evaluate", "-q", "solution.txt", "good.txt", "-m", "AP", "other.txt")

    assert last.code == 0
    assert between == last


def test_version_prints_the_version(terminal: Terminal) -> None:
    """It is that of the installed package."""
    assert terminal.run("--version").out == f"scorer {version('challenge-scorer')}\n"


def test_measures_are_listed_and_explained(terminal: Terminal) -> None:
    """The list has all kinds; any name of a measure explains it."""
    listed = terminal.run("measures").out
    explained = terminal.run("measures", "ndcg_cut_10").out

    assert all(kind.summary in listed for kind in KINDS)
    assert all(words in explained for words in ("nDCG", "gain", "exp", "log2"))


def test_measures_explain_queries_and_ties(terminal: Terminal) -> None:
    """The text states whether a score is a sum or a geometric mean, and where ties=expected has no formula."""
    texts = {kind.name: terminal.run("measures", kind.name).out for kind in KINDS}

    assert {name for name, text in texts.items() if "the sum, not the mean" in text} == {
        "NumQ",
        "NumRet",
        "NumRel",
        "NumRelRet",
        "NumNonrelJudgedRet",
    }
    assert {name for name, text in texts.items() if "the geometric mean." in text} == {"GMAP", "GMBpref"}
    assert {name for name, text in texts.items() if "ties=expected: refused" in text} == {
        kind.name for kind in KINDS if not kind.closed_form
    }
    assert "refused with denominator=hits, because" in texts["AP"]
    assert "refused with ideal=retrieved where a challenge cuts lists at list_length" in texts["nDCG"]
    assert "refused where a challenge cuts lists at list_length" in texts["SetAP"]


def test_a_new_challenge_runs(challenge: Path, terminal: Terminal) -> None:
    """From `init` to the site and to the board in the terminal, in all formats."""
    run = terminal.run("run", challenge)

    assert run.code == 0
    assert Path(run.out.splitlines()[-1]).is_file()
    assert "2 scored" in run.err
    rows = list(csv.DictReader(StringIO(terminal.run("leaderboard", challenge, "--format", "csv").out)))
    board = json.loads(terminal.run("leaderboard", challenge, "--format", "json").out)
    assert {row["team"] for row in rows} == {row["team"] for row in board["rows"]}
    for form in ("table", "markdown"):
        text = terminal.run("leaderboard", challenge, "--format", form).out
        assert all(row["team"] in text for row in rows)


def test_a_new_challenge_hides_final_scores(new_challenge: Path, terminal: Terminal) -> None:
    """Its board has preliminary scores only, until the organiser changes the stage."""
    assert terminal.run("run", new_challenge).code == 0
    settings = new_challenge / "challenge.toml"

    preliminary = terminal.run("leaderboard", new_challenge, "--format", "csv").out.splitlines()[0].split(",")
    settings.write_text(settings.read_text(encoding="utf-8").replace('"preliminary"\n', '"final"\n'), encoding="utf-8")
    final = terminal.run("leaderboard", new_challenge, "--format", "csv").out.splitlines()[0].split(",")

    assert "preliminary nDCG@5" in preliminary
    assert "nDCG@5" not in preliminary
    assert {"preliminary nDCG@5", "nDCG@5"} <= set(final)


def test_changed_settings_are_scored_and_earlier_results_stay(challenge: Path, terminal: Terminal) -> None:
    """A changed solution or setting gives new results; after changing it back, the earlier results are found."""
    toml, solution = challenge / "challenge.toml", challenge / "solutions" / "main.txt"
    before, original = toml.read_text(encoding="utf-8"), solution.read_text(encoding="utf-8")
    terminal.run("run", challenge)
    first = terminal.run("leaderboard", challenge, "--format", "csv").out

    toml.write_text(before.replace("list_length = 5", "list_length = 6"), encoding="utf-8")
    assert "2 scored, 0 known" in terminal.run("run", challenge).err
    toml.write_text(before, encoding="utf-8")
    solution.write_text(original.replace("apple|3", "apple|4"), encoding="utf-8")
    assert "2 scored, 0 known" in terminal.run("run", challenge).err
    assert terminal.run("leaderboard", challenge, "--format", "csv").out != first
    solution.write_text(original, encoding="utf-8")
    assert "0 scored, 2 known" in terminal.run("run", challenge).err
    assert terminal.run("leaderboard", challenge, "--format", "csv").out == first


def test_an_invalid_submission_is_stored_and_shown_and_the_others_are_scored(
    challenge: Path, terminal: Terminal
) -> None:
    """The page of its team has the errors."""
    (challenge / "submissions" / "main" / "torn-sail.txt").write_text("q1:a,,b\nq1:c\n", encoding="utf-8")

    first = terminal.run("run", challenge)
    second = terminal.run("run", challenge)

    assert "main/torn-sail.txt:1: item 2 of the list is empty" in first.err
    assert "2 scored, 0 known, 1 rejected" in first.err
    assert "main/torn-sail.txt: rejected by an earlier run" in second.err
    assert "0 scored, 3 known, 1 rejected" in second.err
    page = (challenge / "site" / "teams" / "torn-sail.html").read_text(encoding="utf-8")
    assert "item 2 of the list is empty" in page


@pytest.mark.parametrize("name", ["run", "score"])
def test_only_a_new_rejection_makes_the_exit_code_1(name: str, challenge: Path, terminal: Terminal) -> None:
    """A rejected file that stays in the folder does not fail later runs, except with --strict."""
    folder = challenge / "submissions" / "main"
    assert terminal.run(name, challenge, "--strict").code == 0
    (folder / "torn-sail.txt").write_text("q1:a,,b\n", encoding="utf-8")

    assert terminal.run(name, challenge).code == 1
    assert terminal.run(name, challenge).code == 0
    assert terminal.run(name, challenge, "--strict").code == 1
    (folder / "second.txt").write_text("q1:a,,b,,c\n", encoding="utf-8")
    assert terminal.run(name, challenge).code == 1


def test_an_unreadable_file_makes_the_exit_code_1_at_every_run(challenge: Path, terminal: Terminal) -> None:
    """No run can score it."""
    (challenge / "submissions" / "main" / "broken.txt").symlink_to("nowhere")

    assert [terminal.run("run", challenge).code for _ in range(2)] == [1, 1]


def test_a_name_that_begins_with_a_dot_is_an_upload_in_progress(challenge: Path, terminal: Terminal) -> None:
    """The run reports it, exits with 0, and scores the file once it is renamed. Files of systems are ignored."""
    folder = challenge / "submissions" / "main"
    (folder / ".late.txt").write_text("q1:a", encoding="utf-8")
    (folder / "tea-kettle").mkdir()
    (folder / "tea-kettle" / ".first.txt").write_text("q1:", encoding="utf-8")
    for name in (".DS_Store", ".gitkeep", ".gitignore", "._late.txt", "tea-kettle/.DS_Store"):
        (folder / name).write_bytes(b"\0")

    first = terminal.run("run", challenge)
    (folder / ".late.txt").write_text("q1:apple\n", encoding="utf-8")
    (folder / ".late.txt").rename(folder / "late.txt")
    second = terminal.run("run", challenge)

    note = "upload in progress (the name begins with a dot); it is read once it is renamed"
    assert (first.code, second.code) == (0, 0)
    assert first.err.splitlines() == [
        f"main/.late.txt: {note}",
        f"main/tea-kettle/.first.txt: {note}",
        "main: 2 scored, 0 known, 0 rejected",
    ]
    assert second.err.splitlines() == [f"main/tea-kettle/.first.txt: {note}", "main: 1 scored, 2 known, 0 rejected"]


def test_a_board_is_not_shown_with_changed_settings(challenge: Path, terminal: Terminal) -> None:
    """After a setting of scoring changes, render and leaderboard require a run; other settings apply at once."""
    terminal.run("run", challenge)
    toml = challenge / "challenge.toml"
    before = toml.read_text(encoding="utf-8")

    toml.write_text(before.replace("list_length = 5", "list_length = 6"), encoding="utf-8")
    for name in ("render", "leaderboard"):
        answer = terminal.run(name, challenge)
        assert answer.code == 1
        assert "main: its settings have changed since it was scored" in answer.err
    toml.write_text(before.replace('title = "Main track"', 'title = "Other"\ndecimals = 2'), encoding="utf-8")
    assert "Other" in terminal.run("leaderboard", challenge).out


def test_a_run_renders_the_site_in_spite_of_an_invalid_solution(challenge: Path, terminal: Terminal) -> None:
    """Its board is unchanged. If the settings changed as well, the entries of the track are pending."""
    terminal.run("run", challenge)
    shown = terminal.run("leaderboard", challenge, "--format", "csv").out
    (challenge / "solutions" / "main.txt").write_text("broken", encoding="utf-8")
    assert terminal.run("run", challenge).code == 1
    assert terminal.run("leaderboard", challenge, "--format", "csv").out == shown
    toml = challenge / "challenge.toml"
    toml.write_text(toml.read_text(encoding="utf-8").replace("list_length = 5", "list_length = 6"), encoding="utf-8")
    (challenge / "site" / "index.html").unlink()

    answer = terminal.run("run", challenge)

    assert answer.code == 1
    assert (challenge / "site" / "index.html").is_file()
    assert "not scored yet" in (challenge / "site" / "teams" / "first-team.html").read_text(encoding="utf-8")


def test_the_public_queries_must_have_all_queries_of_the_solution(challenge: Path, terminal: Terminal) -> None:
    """Otherwise a file that passes `check` could be rejected later."""
    (challenge / "queries" / "main.txt").write_text("q1\nq2\nq4\nq5\n", encoding="utf-8")

    answer = terminal.run("run", challenge)

    assert answer.code == 1
    assert 'lacks 1 query of the solution, such as "q3"' in answer.err


def test_evaluate_reports_how_many_queries_the_means_leave_out(files: Path, terminal: Terminal) -> None:
    """For each measure: a query may have no relevant item, or equal grades only. A split may have no query."""
    messages = terminal.run("evaluate", "solution.txt", "good.txt", "-m", "AP", "-m", "nDCGphi").err
    (files / "unflagged.txt").write_text("q1:0:a|1\n", encoding="utf-8")
    none_flagged = terminal.run("evaluate", "unflagged.txt", "good.txt", "-m", "AP", "--split", "preliminary")
    (files / "flagged.txt").write_text("q1:1:a|1\n", encoding="utf-8")
    all_flagged = terminal.run("evaluate", "flagged.txt", "good.txt", "-m", "AP", "--split", "rest")

    assert "1 query of 3 left out of the means of AP" in messages
    assert "2 queries of 3 left out of the means of nDCGphi" in messages
    assert "the solution flags no query, so --split preliminary has no queries" in none_flagged.err
    assert "the solution flags every query, so --split rest has no queries" in all_flagged.err


@pytest.mark.parametrize("first_run", [False, True], ids=["new", "known"])
def test_grades_that_are_too_high_for_a_measure_are_refused(
    challenge: Path, terminal: Terminal, first_run: bool
) -> None:
    """The message names the measure, the query, the item and its grade, also where the measure is added later."""
    solution = challenge / "solutions" / "main.txt"
    solution.write_text(solution.read_text(encoding="utf-8").replace("apple|3", "apple|5000"), encoding="utf-8")
    if first_run:
        assert terminal.run("run", challenge).code == 0
    toml = challenge / "challenge.toml"
    text = toml.read_text(encoding="utf-8").replace('measures = ["AP"', 'measures = ["DCG(gain=exp)", "AP"')
    toml.write_text(text, encoding="utf-8")

    answer = terminal.run("run", challenge)

    assert answer.code == 1
    assert f"{solution}: DCG(gain=exp): its score can exceed the largest floating-point number" in answer.err
    assert 'item "apple" of query "' in answer.err
    assert "has the grade 5000; choose another gain or measure, or give smaller grades" in answer.err


def test_score_stores_and_render_shows_the_results(challenge: Path, terminal: Terminal) -> None:
    """The two halves of `run`."""
    scored = terminal.run("score", challenge)

    assert scored.code == 0
    assert not (challenge / "site").exists()
    (challenge / "solutions" / "main.txt").unlink()
    rendered = terminal.run("render", challenge)
    assert rendered.code == 0
    assert Path(rendered.out.strip()).is_file()


def test_boards_need_a_run_first(challenge: Path, terminal: Terminal) -> None:
    """The message names `scorer run`, and no database is created."""
    for name in ("leaderboard", "render", "entries", "doctor", "status"):
        answer = terminal.run(name, challenge)
        assert answer.code == 1
        assert "`scorer run` creates it" in answer.err
    assert not (challenge / "scores.db").exists()


def test_a_command_can_be_restricted_to_one_track(challenge: Path, terminal: Terminal) -> None:
    """An unknown track is a wrong call; the message lists the tracks."""
    assert terminal.run("score", challenge, "--track", "main").code == 0
    answer = terminal.run("score", challenge, "--track", "side")
    assert answer.code == 2
    assert "the tracks are: main" in answer.err


def test_a_folder_without_a_challenge_is_an_error(tmp_path: Path, terminal: Terminal) -> None:
    """The message says how to make a challenge."""
    for name in ("run", "score", "render", "leaderboard"):
        answer = terminal.run(name, tmp_path)
        assert answer.code == 1
        assert "`scorer init`" in answer.err


def check(terminal: Terminal, challenge: Path, content: str, *options: str) -> Answer:
    """Check a submission with this content."""
    file = challenge / "mine.txt"
    file.write_text(content, encoding="utf-8")
    return terminal.run("check", file, "--challenge", challenge, *options)


CHECKED = "q1:apple,pear,fig,plum,lemon\nq2:fig,apple,grape\nq3:lemon\nq4:pear,pear\n"


def test_check_needs_the_track_only_where_there_are_several(challenge: Path, terminal: Terminal) -> None:
    """The message lists them."""
    settings = challenge / "challenge.toml"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(
        text + text[text.index("[tracks.main]") :].replace("tracks.main", "tracks.other"), encoding="utf-8"
    )
    answer = check(terminal, challenge, CHECKED)
    assert (answer.code, "name that of the file with --track: main, other" in answer.err) == (2, True)


def test_check_accepts_a_valid_file(challenge: Path, terminal: Terminal) -> None:
    """It prints notes, and the digest that the board will show."""
    answer = check(terminal, challenge, CHECKED, "--track", "main")

    assert answer.code == 0
    assert check(terminal, challenge, CHECKED) == answer  # it has one track
    file = challenge / "mine.txt"
    assert f"{file}: valid for track main: 4 lists, 11 items" in answer.out
    assert "sha256 " in answer.out
    assert f'{file}:4: item "pear" is listed twice for query "q4" (first at rank 1)' in answer.err
    assert "3 lists are shorter than 5 items" in answer.err


@pytest.mark.parametrize("has_queries", [True, False])
def test_check_needs_no_solution(has_queries: bool, challenge: Path, terminal: Terminal) -> None:
    """With the public list of queries it reports missing queries; without it, it says that it did not compare them."""
    (challenge / "solutions" / "main.txt").unlink()
    toml = challenge / "challenge.toml"
    if not has_queries:
        lines = toml.read_text(encoding="utf-8").splitlines()
        toml.write_text("\n".join(line for line in lines if not line.startswith("queries")), encoding="utf-8")

    answer = check(terminal, challenge, "q1:apple\n")

    assert answer.code == 0
    assert ("3 of 4 queries have no list" in answer.err) is has_queries
    assert ("the queries of the track are not available" in answer.err) is not has_queries


def test_check_shows_nothing_that_only_the_solution_knows(challenge: Path, terminal: Terminal) -> None:
    """The output for relevant and for other items is the same, and so for queries without relevant items."""
    answers = set()
    for item in ("apple", "other"):
        answer = check(terminal, challenge, "".join(f"q{number}:{item}\n" for number in range(1, 5)))
        answers.add((answer.code, answer.out.partition("sha256")[0], answer.err))

    assert len(answers) == 1


ITEMS = "apple\npear\nplum\nfig\ngrape\nlemon\ncherry\n"


@pytest.fixture
def with_items(challenge: Path) -> Path:
    """A new challenge with a list of candidate items, and without its solution, as a participant has it."""
    (challenge / "solutions" / "main.txt").unlink()
    (challenge / "items").mkdir(exist_ok=True)
    (challenge / "items" / "main.txt").write_text(ITEMS, encoding="utf-8")
    settings = challenge / "challenge.toml"
    text = settings.read_text(encoding="utf-8")
    if "\nitems = " not in text:
        settings.write_text(text.replace("\nqueries = ", '\nitems = "items/main.txt"\nqueries = '), encoding="utf-8")
    return challenge


def test_check_reports_items_that_are_not_candidates(with_items: Path, terminal: Terminal) -> None:
    """The file stays valid; a note has the number of unknown items and examples with their lines."""
    answer = check(terminal, with_items, "q1:apple,banana,pear\nq2:fig,9\nq3:lemon\nq4:cherry\n")

    assert answer.code == 0
    assert "2 of its 7 items are not candidate items" in answer.err
    assert "mine.txt:1: " in answer.err
    assert '"banana"' in answer.err
    assert "mine.txt:2: " in answer.err
    assert '"9"' in answer.err
    assert "valid for track main: 4 lists, 7 items" in answer.out


def test_check_accepts_candidates_that_the_solution_does_not_have(with_items: Path, terminal: Terminal) -> None:
    """Only the public list decides."""
    answer = check(terminal, with_items, "q1:cherry,apple\nq2:fig\nq3:lemon\nq4:plum\n")

    assert answer.code == 0
    assert " candidate" not in answer.err


@pytest.mark.parametrize(
    ("content", "message"),
    [("", "{}: the file is empty"), (None, "tracks.main.items: names {}, but there is no such file")],
)
def test_the_list_of_items_must_have_items(
    content: str | None, message: str, with_items: Path, terminal: Terminal
) -> None:
    """The error names the list, which is the organiser's."""
    file = with_items / "items" / "main.txt"
    file.unlink() if content is None else file.write_text(content, encoding="utf-8")

    answer = check(terminal, with_items, "q1:apple\n")

    assert answer.code == 1
    assert all(part in answer.err for part in message.split("{}"))
    assert str(file) in answer.err


LOADED: dict[str, tuple[str, set[str]]] = {
    "help": ("--help", {"numpy", "pyarrow", "pandas", "sqlalchemy", "jinja2", "pydantic", "rich"}),
    "evaluate": ("evaluate solution.txt good.txt -m AP", {"pandas", "sqlalchemy", "jinja2"}),
    "a run in TREC's format": (
        "evaluate qrels run -m AP",
        {"scipy", "pyarrow.compute", "numpy.ma", "html", "tempfile", "difflib", "scorer.cli.run"},
    ),
    "convert": ("convert run - --to jsonl", {"pandas", "scipy", "sqlalchemy"}),
    "overlap": ("overlap run again -m Jaccard", {"pandas", "scipy", "sqlalchemy"}),
    "compare": ("compare run again --solution qrels -m AP", {"pandas", "sqlalchemy"}),
}
"""A command, and modules that it does not load."""


@pytest.mark.parametrize(("arguments", "heavy"), LOADED.values(), ids=LOADED.keys())
def test_a_command_loads_only_what_it_needs(arguments: str, heavy: set[str], files: Path) -> None:
    """So that it starts fast."""
    (files / "qrels").write_text("q 0 a 1\nq 0 b 2\n")
    (files / "run").write_text("q Q0 a 1 3 t\nq Q0 b 2 3 t\nq Q0 c 3 1 t\n")
    (files / "again").write_text("q Q0 b 1 3 u\nq Q0 a 2 2 u\n")
    seen = f"import sys, atexit; atexit.register(lambda: print('LOADED', sorted({heavy} & set(sys.modules))))"
    program = f"{seen}; sys.argv = {['scorer', *arguments.split()]}; from scorer.cli import main; main()"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    output, loaded = done.stdout.rstrip().rsplit("\n", 1)
    assert output
    assert loaded == "LOADED []"


def test_a_closed_pipe_is_not_an_error() -> None:
    """`scorer measures | head -1` ends quietly."""
    done = subprocess.run(
        f"{subprocess.list2cmdline(command('measures'))} | head -1",
        shell=True,
        capture_output=True,
        text=True,
        check=True,
    )

    assert "Traceback" not in done.stderr
    assert len(done.stdout.splitlines()) == 1
