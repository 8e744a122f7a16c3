"""The commands, as people and scripts call them."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from importlib.metadata import version
from io import StringIO
from pathlib import Path

import pytest

import scorer
from scorer.measures import KINDS
from tests.commands import Terminal, command, process

SOLUTION = "q1:1:a|3,b|2,c|1\nq2:0:d|1\nq3:0:\n"
GOOD = "q1:a,b\nq2:x,d\nq3:y\n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a solution and submissions, where the commands run."""
    for name, text in {
        "solution.txt": SOLUTION,
        "good.txt": GOOD,
        "other.txt": "q1:c\nq2:d\n",
        "bad.txt": "q1:a\nq2;d\nq3:,y\n",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_evaluate_gives_json_for_scripts(files: Path, terminal: Terminal) -> None:
    """Full precision, null where undefined, keys as the names were asked for."""
    answer = terminal.run("evaluate", "solution.txt", "good.txt", "-m", "map", "-m", "AP(rel=9)", "--format", "json")

    assert answer.code == 0
    assert json.loads(answer.out) == {
        "submissions": [
            {
                "submission": "good.txt",
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


def test_evaluate_gives_each_query_when_asked(files: Path, terminal: Terminal) -> None:
    """Also those that are undefined, and those that the file lacks."""
    answer = terminal.run("evaluate", "solution.txt", "other.txt", "-m", "P@1", "--per-query", "--format", "json")

    assert json.loads(answer.out)["submissions"][0]["per_query"] == {
        "q1": {"P@1": 1.0},
        "q2": {"P@1": 1.0},
        "q3": {"P@1": None},
    }


def test_evaluate_scores_the_other_files(files: Path, terminal: Terminal) -> None:
    """A file at fault goes to standard error with all that is wrong in it, and makes the exit code 1."""
    answer = terminal.run("evaluate", "solution.txt", "bad.txt", "good.txt", "none.txt", "-m", "RR", "--format", "json")

    assert answer.code == 1
    assert [each["submission"] for each in json.loads(answer.out)["submissions"]] == ["good.txt"]
    assert answer.err.splitlines()[:3] == [
        'bad.txt:2: found "q2;d"; expected "query:item,item,..."',
        "bad.txt:3: item 1 of the list is empty; expected an item between the commas",
        "none.txt: no such file",
    ]


def test_evaluate_prints_a_table_and_csv(files: Path, terminal: Terminal) -> None:
    """A line for each submission, columns for the measures; CSV has all digits."""
    table = terminal.run("evaluate", "solution.txt", "good.txt", "other.txt", "-m", "RR", "-m", "nDCGphi@2")
    written = terminal.run("evaluate", "solution.txt", "good.txt", "-m", "RR", "--per-query", "--format", "csv")

    assert [line.split()[:2] for line in table.out.splitlines()] == [
        ["submission", "RR"],
        ["good.txt", "0.7500"],
        ["other.txt", "1.0000"],
    ]
    assert list(csv.reader(StringIO(written.out))) == [
        ["submission", "query", "RR"],
        ["good.txt", "q1", "1.0"],
        ["good.txt", "q2", "0.5"],
        ["good.txt", "q3", ""],
        ["good.txt", "all", "0.75"],
    ]


@pytest.mark.parametrize(("split", "expected"), [("all", 0.75), ("preliminary", 1.0), ("rest", 0.5)])
def test_evaluate_takes_the_split_that_was_asked_for(
    split: str, expected: float, files: Path, terminal: Terminal
) -> None:
    """By the solution's flags."""
    answer = terminal.run("evaluate", "solution.txt", "good.txt", "-m", "RR", "--split", split, "--format", "json")

    assert json.loads(answer.out)["submissions"][0]["scores"] == {"RR": expected}


def test_evaluate_follows_the_rules_on_missing_queries_and_ties(files: Path, terminal: Terminal) -> None:
    """A refused file is one at fault; the order of equal scores is the rule's."""
    (files / "run.txt").write_text("q1 Q0 a 1 1 t\nq1 Q0 x 2 1 t\nq2 Q0 d 1 1 t\n", encoding="utf-8")
    shared = ("evaluate", "solution.txt", "run.txt", "-m", "P@1", "--format", "json")

    refused = terminal.run(*shared, "--missing", "reject")
    trec = terminal.run(*shared)
    order = terminal.run(*shared, "--ties", "order")

    assert refused.code == 1
    assert "1 of 3 queries have no list" in refused.err
    assert json.loads(trec.out)["submissions"][0]["scores"] == {"P@1": 0.5}
    assert json.loads(order.out)["submissions"][0]["scores"] == {"P@1": 1.0}


def test_a_named_format_overrides_the_guess(files: Path, terminal: Terminal) -> None:
    """For the solution and for the submissions; a name that is none is a wrong call."""
    shared = ("evaluate", "solution.txt", "good.txt", "-m", "RR")

    assert terminal.run(*shared, "--solution-format", "vlnet", "--submission-format", "vlnet").code == 0
    assert "six columns" in terminal.run(*shared, "--submission-format", "trec").err
    assert terminal.run(*shared, "--solution-format", "xml").code == 2


WRONG_CALLS = {
    "no measure": (("evaluate", "solution.txt", "good.txt"), "-m/--measure"),
    "unknown measure": (("evaluate", "solution.txt", "good.txt", "-m", "nonsense"), "--measure: "),
    "no submission": (("evaluate", "solution.txt", "-m", "AP"), "required: submission"),
    "unknown option": (("run", "--nonsense"), "unrecognized arguments: --nonsense"),
    "unknown command": (("nonsense",), "invalid choice: 'nonsense'"),
    "no command": ((), "commands:"),
    "part of an option": (("evaluate", "solution.txt", "good.txt", "-m", "AP", "--per"), "unrecognized"),
    "unknown split": (("evaluate", "solution.txt", "good.txt", "-m", "AP", "--split", "half"), "choose from 'all'"),
    "level out of bounds": (
        ("evaluate", "solution.txt", "good.txt", "-m", "AP", "--significance", "2"),
        'found "2", expected a number from 0.0001 to 0.5',
    ),
    "time that is none": (("run", "--time-limit", "soon"), 'found "soon", expected a number of 0.1 or more'),
    "grade that is none": (
        ("evaluate", "solution.txt", "good.txt", "-m", "AP", "-l", "nan"),
        'found "nan", expected a finite number',
    ),
    "what would steer the terminal": (("run\x1b[31m",), r"run\x1b[31m"),
    "unknown measure to explain": (("measures", "nonsense"), "nonsense"),
}


@pytest.mark.parametrize(("arguments", "told"), WRONG_CALLS.values(), ids=WRONG_CALLS.keys())
def test_a_wrong_call_exits_with_2(arguments: tuple[str, ...], told: str, files: Path, terminal: Terminal) -> None:
    """And says what is wrong, without printing a result."""
    answer = terminal.run(*arguments)

    assert answer.code == 2
    assert answer.out == ""
    assert told in answer.err


def test_options_may_stand_among_the_files(files: Path, terminal: Terminal) -> None:
    """In any order."""
    last = terminal.run("evaluate", "solution.txt", "good.txt", "other.txt", "-m", "AP", "-q")
    among = terminal.run("evaluate", "-q", "solution.txt", "good.txt", "-m", "AP", "other.txt")

    assert last.code == 0
    assert among == last


def test_the_version_is_told(terminal: Terminal) -> None:
    """Of the installed package."""
    assert terminal.run("--version").out == f"scorer {version('challenge-scorer')}\n"


def test_measures_are_listed_and_explained(terminal: Terminal) -> None:
    """All of the registry, and each by any of its names."""
    listed = terminal.run("measures").out
    explained = terminal.run("measures", "ndcg_cut_10").out

    assert all(kind.summary in listed for kind in KINDS)
    assert all(words in explained for words in ("nDCG", "gain", "exp", "log2"))


def test_measures_tell_how_queries_and_ties_are_taken(terminal: Terminal) -> None:
    """What is summed or a geometric mean says so, and so does what has no formula for ties=expected."""
    told = {kind.name: terminal.run("measures", kind.name).out for kind in KINDS}

    assert {name for name, text in told.items() if "the sum, not the mean" in text} == {
        "NumQ",
        "NumRet",
        "NumRel",
        "NumRelRet",
    }
    assert {name for name, text in told.items() if "the geometric mean." in text} == {"GMAP"}
    assert {name for name, text in told.items() if "ties=expected: refused" in text} == {
        kind.name for kind in KINDS if kind.expected is False
    }
    assert "refused with denominator=hits, as" in told["AP"]
    assert "refused with ideal=retrieved where a challenge cuts lists at list_length" in told["nDCG"]
    assert "refused where a challenge cuts lists at list_length" in told["SetAP"]


@pytest.fixture
def challenge(tmp_path: Path, terminal: Terminal) -> Path:
    """A new challenge, as `scorer init` makes it."""
    folder = tmp_path / "new"
    assert terminal.run("init", folder).code == 0
    return folder


def test_a_new_challenge_runs(challenge: Path, terminal: Terminal) -> None:
    """From `init` to the site, to the board in the terminal, in all of its forms."""
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


def test_init_leaves_what_is_there_alone(tmp_path: Path, terminal: Terminal) -> None:
    """A folder with something in it is refused."""
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")

    assert terminal.run("init", tmp_path).code == 1
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_second_run_scores_nothing_again(challenge: Path, terminal: Terminal) -> None:
    """The result is known by the digests of submission, solution and settings."""
    terminal.run("run", challenge)

    assert "0 scored, 2 known, 0 rejected" in terminal.run("run", challenge).err


def test_what_changed_is_scored_anew_and_the_old_result_stays(challenge: Path, terminal: Terminal) -> None:
    """A changed solution or setting makes new results; going back finds the old ones."""
    toml, solution = challenge / "challenge.toml", challenge / "solutions" / "main.txt"
    before, right = toml.read_text(encoding="utf-8"), solution.read_text(encoding="utf-8")
    terminal.run("run", challenge)
    first = terminal.run("leaderboard", challenge, "--format", "csv").out

    toml.write_text(before.replace('primary = "nDCG@5"', 'primary = "AP"'), encoding="utf-8")
    assert "2 scored, 0 known" in terminal.run("run", challenge).err
    toml.write_text(before, encoding="utf-8")
    solution.write_text(right.replace("apple|3", "apple|4"), encoding="utf-8")
    assert "2 scored, 0 known" in terminal.run("run", challenge).err
    assert terminal.run("leaderboard", challenge, "--format", "csv").out != first
    solution.write_text(right, encoding="utf-8")
    assert "0 scored, 2 known" in terminal.run("run", challenge).err
    assert terminal.run("leaderboard", challenge, "--format", "csv").out == first


def test_a_submission_at_fault_is_kept_and_shown_and_stops_no_other(challenge: Path, terminal: Terminal) -> None:
    """Exit code 1, now and at every run while it lies there; the page of its team says what is wrong."""
    (challenge / "submissions" / "main" / "torn-sail.txt").write_text("q1:a,,b\nq1:c\n", encoding="utf-8")

    first = terminal.run("run", challenge)
    second = terminal.run("run", challenge)

    assert (first.code, second.code) == (1, 1)
    assert "main/torn-sail.txt:1: item 2 of the list is empty" in first.err
    assert "2 scored, 0 known, 1 rejected" in first.err
    assert "0 scored, 3 known, 1 rejected" in second.err
    page = (challenge / "site" / "teams" / "torn-sail.html").read_text(encoding="utf-8")
    assert "item 2 of the list is empty" in page


def test_a_solution_at_fault_leaves_the_board_as_it_was(challenge: Path, terminal: Terminal) -> None:
    """Nothing that was scored is lost by it."""
    terminal.run("run", challenge)
    first = terminal.run("leaderboard", challenge, "--format", "csv").out
    (challenge / "solutions" / "main.txt").write_text("q1:1:a|1,a|2\n", encoding="utf-8")

    broken = terminal.run("run", challenge)

    assert broken.code == 1
    assert 'main.txt:1: item "a" stands again for query "q1"' in broken.err
    assert terminal.run("leaderboard", challenge, "--format", "csv").out == first


def test_a_file_that_is_taken_away_is_withdrawn(challenge: Path, terminal: Terminal) -> None:
    """It counts no more, and counts again when it is back."""
    terminal.run("run", challenge)
    file = next(path for path in (challenge / "submissions" / "main").iterdir() if "popular" not in path.name)
    content = file.read_bytes()

    file.unlink()
    terminal.run("run", challenge)
    without = json.loads(terminal.run("leaderboard", challenge, "--format", "json").out)
    file.write_bytes(content)
    again = terminal.run("run", challenge)
    board = json.loads(terminal.run("leaderboard", challenge, "--format", "json").out)

    assert "0 scored, 2 known" in again.err
    assert [row["rank"] for row in without["rows"] if not row["baseline"]] == []
    assert [row["rank"] for row in board["rows"] if not row["baseline"]] == [1]


def test_a_folder_of_submissions_that_is_gone_withdraws_nothing(challenge: Path, terminal: Terminal) -> None:
    """A disk that is not mounted must not empty the board."""
    terminal.run("run", challenge)
    first = terminal.run("leaderboard", challenge, "--format", "csv").out
    (challenge / "submissions" / "main").rename(challenge / "elsewhere")

    answer = terminal.run("run", challenge)

    assert answer.code == 1
    assert "no such folder, though submissions were there before" in answer.err
    assert terminal.run("leaderboard", challenge, "--format", "csv").out == first


def test_no_board_stands_on_settings_that_its_scores_were_not_made_by(challenge: Path, terminal: Terminal) -> None:
    """After a changed setting, render and leaderboard ask for a run; what changes no score, they show."""
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


def test_a_run_renders_whatever_can_be_shown(challenge: Path, terminal: Terminal) -> None:
    """Where a track has new settings and a broken solution, its entries wait; the site is rendered all the same."""
    terminal.run("run", challenge)
    toml = challenge / "challenge.toml"
    toml.write_text(toml.read_text(encoding="utf-8").replace("list_length = 5", "list_length = 6"), encoding="utf-8")
    (challenge / "solutions" / "main.txt").write_text("broken", encoding="utf-8")
    (challenge / "site" / "index.html").unlink()

    answer = terminal.run("run", challenge)

    assert answer.code == 1
    assert (challenge / "site" / "index.html").is_file()
    assert "waiting" in (challenge / "site" / "teams" / "first-team.html").read_text(encoding="utf-8")


def test_the_public_queries_must_have_all_of_the_solution(challenge: Path, terminal: Terminal) -> None:
    """Or a file that was checked by them would be rejected later."""
    (challenge / "queries" / "main.txt").write_text("q1\nq2\nq4\nq5\n", encoding="utf-8")

    answer = terminal.run("run", challenge)

    assert answer.code == 1
    assert '1 query of the solution not in it, such as "q3"' in answer.err


def test_runs_at_the_same_time_do_not_disturb_each_other(challenge: Path) -> None:
    """All end well, and the site is whole."""
    runs = [
        subprocess.Popen(command("run", challenge), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    told = [run.communicate(timeout=100) for run in runs]

    assert [run.returncode for run in runs] == [0, 0, 0, 0], told
    assert not list((challenge / "site").rglob("*.part"))
    assert (challenge / "site" / "main" / "index.html").is_file()


def test_what_the_means_leave_out_is_told_for_each_measure(files: Path, terminal: Terminal) -> None:
    """A query without relevant items, or with nothing that tells its items apart; and a split without queries."""
    told = terminal.run("evaluate", "solution.txt", "good.txt", "-m", "AP", "-m", "nDCGphi").err
    (files / "unflagged.txt").write_text("q1:0:a|1\n", encoding="utf-8")
    empty = terminal.run("evaluate", "unflagged.txt", "good.txt", "-m", "AP", "--split", "preliminary")

    assert "1 query of 3 left out of the means of AP" in told
    assert "2 queries of 3 left out of the means of nDCGphi" in told
    assert "flags no query for this split" in empty.err


def test_a_board_survives_sums_that_no_number_holds(challenge: Path, terminal: Terminal) -> None:
    """Grades of any size: the page and the exports show a blank, not an infinity, and not a traceback."""
    solution = challenge / "solutions" / "main.txt"
    solution.write_text(solution.read_text(encoding="utf-8").replace("apple|3", "apple|5000"), encoding="utf-8")
    toml = challenge / "challenge.toml"
    text = toml.read_text(encoding="utf-8").replace('measures = ["AP"', 'measures = ["DCG(gain=exp)", "AP"')
    toml.write_text(text, encoding="utf-8")

    assert terminal.run("run", challenge).code == 0
    assert "inf" not in terminal.run("leaderboard", challenge, "--format", "csv").out.lower()


def test_score_keeps_and_render_shows(challenge: Path, terminal: Terminal) -> None:
    """The two halves of `run`, one by one."""
    scored = terminal.run("score", challenge)

    assert scored.code == 0
    assert not (challenge / "site").exists()
    (challenge / "solutions" / "main.txt").unlink()
    rendered = terminal.run("render", challenge)
    assert rendered.code == 0
    assert Path(rendered.out.strip()).is_file()


def test_boards_need_a_run_first(challenge: Path, terminal: Terminal) -> None:
    """And say so, without making a database."""
    for name in ("leaderboard", "render"):
        answer = terminal.run(name, challenge)
        assert answer.code == 1
        assert "`scorer run` makes it" in answer.err
    assert not (challenge / "scores.db").exists()


def test_one_track_alone(challenge: Path, terminal: Terminal) -> None:
    """--track picks it; a track that is none is a wrong call that names those there are."""
    assert terminal.run("score", challenge, "--track", "main").code == 0
    answer = terminal.run("score", challenge, "--track", "side")
    assert answer.code == 2
    assert "there are: main" in answer.err


def test_no_challenge_is_told_in_words(tmp_path: Path, terminal: Terminal) -> None:
    """The folder, and how to make one."""
    for name in ("run", "score", "render", "leaderboard"):
        answer = terminal.run(name, tmp_path)
        assert answer.code == 1
        assert "`scorer init`" in answer.err


CHECKED = "q1:apple,pear,fig,plum,lemon\nq2:fig,apple,grape\nq3:lemon\nq4:pear,pear\n"


def test_check_says_that_a_file_is_fit(challenge: Path, terminal: Terminal) -> None:
    """With what is worth knowing, and the digest that the board will show."""
    file = challenge / "mine.txt"
    file.write_text(CHECKED, encoding="utf-8")

    answer = terminal.run("check", file, "--track", "main", "--challenge", challenge)

    assert answer.code == 0
    assert f"{file}: fit for main: 4 lists, 11 items" in answer.out
    assert "sha256 " in answer.out
    assert f'{file}:4: item "pear" stands twice for query "q4" (first at place 1)' in answer.err
    assert "3 lists are shorter than 5 items" in answer.err


def test_check_tells_all_that_is_wrong(challenge: Path, terminal: Terminal) -> None:
    """The same messages as scoring's, and exit code 1."""
    file = challenge / "mine.txt"
    file.write_text("q1:a,,b\nq2\nq3:lemon\n", encoding="utf-8")

    answer = terminal.run("check", file, "--track", "main", "--challenge", challenge)

    assert answer.code == 1
    assert f"{file}:1: item 2 of the list is empty" in answer.err
    assert f'{file}:2: found "q2"; expected "query:item,item,..."' in answer.err
    assert answer.out == ""


@pytest.mark.parametrize("has_queries", [True, False])
def test_check_needs_no_solution(has_queries: bool, challenge: Path, terminal: Terminal) -> None:
    """With the public list of queries it knows which are missing; without, it says that it does not."""
    (challenge / "solutions" / "main.txt").unlink()
    toml = challenge / "challenge.toml"
    if not has_queries:
        lines = toml.read_text(encoding="utf-8").splitlines()
        toml.write_text("\n".join(line for line in lines if not line.startswith("queries")), encoding="utf-8")
    file = challenge / "mine.txt"
    file.write_text("q1:apple\n", encoding="utf-8")

    answer = terminal.run("check", file, "--track", "main", "--challenge", challenge)

    assert answer.code == 0
    assert ("3 of 4 queries have no list" in answer.err) is has_queries
    assert ("its queries are not known here" in answer.err) is not has_queries


def test_check_shows_nothing_that_only_the_solution_knows(challenge: Path, terminal: Terminal) -> None:
    """A right item and a wrong one look alike, and so do queries with and without right items."""
    answers = set()
    for item in ("apple", "wrong"):
        file = challenge / "mine.txt"
        file.write_text("".join(f"q{number}:{item}\n" for number in range(1, 5)), encoding="utf-8")
        answer = terminal.run("check", file, "--track", "main", "--challenge", challenge)
        answers.add((answer.code, answer.out.partition("sha256")[0], answer.err))

    assert len(answers) == 1


def test_help_loads_nothing_heavy() -> None:
    """`scorer --help` answers before numpy, Arrow, pandas, SQLAlchemy, Jinja2 or pydantic are loaded."""
    heavy = "{'numpy', 'pyarrow', 'pandas', 'sqlalchemy', 'jinja2', 'pydantic', 'rich'}"
    seen = f"import sys, atexit; atexit.register(lambda: print('LOADED', sorted({heavy} & set(sys.modules))))"
    program = f"{seen}; sys.argv = ['scorer', '--help']; from scorer.cli import main; main()"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "evaluate" in done.stdout
    assert done.stdout.rstrip().endswith("LOADED []")


def test_check_and_evaluate_load_neither_pandas_nor_the_database(files: Path) -> None:
    """They start fast; what they do not need is not loaded."""
    heavy = "{'pandas', 'sqlalchemy', 'jinja2'}"
    seen = f"import sys, atexit; atexit.register(lambda: print('LOADED', sorted({heavy} & set(sys.modules))))"
    program = (
        f"{seen}; sys.argv = ['scorer', 'evaluate', 'solution.txt', 'good.txt', '-m', 'AP']; "
        "from scorer.cli import main; main()"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=files)

    assert done.stdout.rstrip().endswith("LOADED []")


def test_a_closed_pipe_is_no_error_to_tell() -> None:
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


def test_the_package_tells_its_public_names() -> None:
    """All of them can be imported, and nothing else is promised."""
    assert all(getattr(scorer, name) is not None for name in scorer.__all__)
    assert sorted(scorer.__all__) == scorer.__all__
    with pytest.raises(AttributeError):
        scorer.nonsense  # noqa: B018


def test_a_process_answers_as_the_functions_do(files: Path) -> None:
    """The command line in a process of its own: exit code, output, errors."""
    answer = process("evaluate", files / "solution.txt", files / "bad.txt", "-m", "AP", "--format", "json")

    assert answer.code == 1
    assert json.loads(answer.out)["submissions"] == []
    assert "Traceback" not in answer.err
