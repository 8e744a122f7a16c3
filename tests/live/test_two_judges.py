"""A track whose scores by a machine are corrected by those of people, from its files to its archive."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import zipfile
from datetime import datetime
from pathlib import Path

import pytest

import scorer
from scorer.errors import ChallengeError, SolutionError
from scorer.options import Split
from scorer.organising.render import boards
from scorer.settings.loading import read_challenge
from tests.commands import here
from tests.live_challenges import END, ONE, SECOND_END, SECOND_START, START, TWO, Live, day, ranks, stop_clock
from tests.paths import tree

QUERIES, ITEMS = 60, [f"i{number:02}" for number in range(20)]
CHECKED = 'checked = "solutions/people.txt"\nmachine_weight = 0.75\nmeasures = ["AP"]\n'
HOUR = SECOND_START - START


def graded(seed: str, queries: int = QUERIES) -> str:
    """A solution whose queries are flagged by turns; of people, of every second pair of queries."""
    lines = []
    for number in range(QUERIES):
        chance = random.Random(f"{seed} {number}")
        items = ",".join(f"{item}|{1 + chance.randrange(3)}" for item in chance.sample(ITEMS, 5))
        if queries == QUERIES or number % 4 < 2:
            lines.append(f"q{number}:{number % 2}:{items}\n")
    return "".join(lines)


def ranked(seed: str) -> str:
    """A submission."""
    lists = (random.Random(f"{seed} {number}").sample(ITEMS, 8) for number in range(QUERIES))
    return "".join(f"q{number}:{','.join(items)}\n" for number, items in enumerate(lists))


@pytest.fixture
def live(tmp_path: Path) -> Live:
    """A challenge with two phases and three teams, after the first run of its first phase."""
    made = Live.of(tmp_path / "live", ONE, TWO, settings=CHECKED)
    made.edit('primary = "P@1"', 'primary = "nDCG@5"')
    made.edit("list_length = 2", "list_length = 8")
    made.edit('name = "Live"', 'name = "Live"\nlicence = "CC BY 4.0"')
    made.write_solution(graded("machine"))
    (made.folder / "solutions" / "people.txt").write_text(graded("people", QUERIES // 2))
    made.run(START - HOUR)
    for team in ("amber", "birch", "cedar"):
        made.put(f"{team}/1", ranked(team), START)
    made.run(START)
    return made


def expected(
    live: Live, team: str, split: Split, people: str = "people.txt", weight: float | None = 0.75
) -> scorer.Evaluation:
    """The scores of a team by the library; without a weight, by the machine."""
    folder = live.folder / "solutions"
    found = scorer.evaluate(
        folder / "main.txt",
        live.path(f"{team}/1"),
        ["nDCG@5", "AP"],
        split=split,
        checked=None if weight is None else folder / people,
        machine_weight=1 if weight is None else weight,
    )
    assert isinstance(found, scorer.Evaluation)
    return found


def test_boards_have_the_scores_of_the_library(live: Live) -> None:
    """With preliminary and with final scores: score, machine's mean, bias and intervals of each team."""
    looks: tuple[tuple[datetime, Split], ...] = (START, "preliminary"), (SECOND_END, "all")
    for moment, split in looks:
        (board,) = live.do(
            moment, lambda challenge, store: store.read(lambda view: boards(view, challenge.tracks, view.cache()))
        )
        assert [row.rank for row in board.rows] == [1, 2, 3]
        for row in board.rows:
            own = expected(live, row.name, split)
            found = own.corrections()
            assert row.entry is not None
            assert row.correction is not None
            assert found is not None
            assert board.shown_scores(row.entry) == tuple(round(own[name], 3) for name in ("nDCG@5", "AP"))
            assert row.correction.machine == pytest.approx(found["nDCG@5"].machine, abs=5.1e-4)
            assert row.correction.bias == pytest.approx(found["nDCG@5"].bias, abs=5.1e-4)
            assert row.correction.checked == found["nDCG@5"].checked == board.checked_queries
            for certain, name in zip(row.certainty, ("nDCG@5", "AP"), strict=True):
                assert certain is not None
                ends = own.intervals()[name]
                if board.checked_queries < 20:
                    assert certain.interval is None
                else:
                    assert certain.interval == pytest.approx(ends, abs=5.1e-4)
    assert board.checked_queries == 30


def test_pages_and_exports_say_what_people_changed(live: Live) -> None:
    """The sentences of the rules, the columns of the board and of its exports, and what is left out."""
    live.run(SECOND_END)
    live.render(SECOND_END)
    board, rules = live.page("main/index.html"), live.page("main/rules.html")
    for text in (board, rules):
        assert "people have judged 30 of the queries again" in text
        assert (
            "A score is the mean by the machine times 0.75, plus the mean on these queries of the score by people"
            in text
        )
        assert "Preliminary and other queries are corrected apart;" in text
        assert "Scores may be below 0 or above 1." in text
    for text in (
        "By the machine",
        "Bias of the machine",
        "People judged 30 queries",
        "Student’s t, from how the scores",
    ):
        assert text in board
    assert "by the machine" in live.page("teams/amber.html")
    analysis = live.page("main/analysis.html")
    assert "Other ways to rank" not in analysis
    assert "Wilcoxon" not in analysis
    document = json.loads(live.page("main/leaderboard.json"))
    row = document["rows"][0]
    stated = document["statistics"]["measures"]["nDCG@5"]["teams"][row["id"]]["correction"]
    assert [stated["machine"], stated["bias"], *stated["interval"]] == [
        row[name] for name in ("machine", "bias", "bias low", "bias high")
    ]
    assert "machine,bias,bias low,bias high" in live.page("main/leaderboard.csv").splitlines()[0]


def test_the_second_solution_is_secret_and_a_rule(live: Live) -> None:
    """A changed one moves the board by an erratum only, and no public file has its digest."""
    people = live.folder / "solutions" / "people.txt"
    first, before = hashlib.sha256(people.read_bytes()).hexdigest(), live.board(START)
    shutil.copy(people, people.with_name("before.txt"))
    people.write_text(graded("others", QUERIES // 2))
    (note,) = live.run(START + (END - START) / 2).notes
    assert note.startswith("main: checked differs from the rules in force")
    assert [row.entry and row.entry.preliminary for row in live.board().rows] == [
        row.entry and row.entry.preliminary for row in before.rows
    ]
    live.put("dale/1", ranked("dale"), START + (END - START) / 2)
    live.run(START + (END - START) / 2)
    old = expected(live, "dale", "preliminary", "before.txt")
    assert round(old["nDCG@5"], 3) in [row.entry and row.entry.preliminary[0] for row in live.board().rows]

    at = START + (END - START) * 2 / 3
    second = hashlib.sha256(people.read_bytes()).hexdigest()
    assert live.preview(at).rules == (f"checked: {first[:12]} before, {second[:12]} after",)
    live.apply(at)
    for row in live.board(at).rows:
        own = expected(live, row.name, "preliminary")
        assert row.entry is not None
        assert row.entry.preliminary[0] == round(own["nDCG@5"], 3)
    live.render(at)
    assert "checked" in live.page("main/errata/1.html")
    public = b"".join(tree(live.folder / "site").values())
    assert public
    assert first.encode() not in public
    assert second.encode() not in public
    live.put("evil/1", people.read_text(), at)
    live.run(at + (END - START) / 100)
    assert "evil/1" not in live.states()


def test_an_erratum_takes_it_away_and_brings_it_back(live: Live) -> None:
    """With its weight: what is in force does not depend on what the files name now."""
    before = ranks(live.board(START))
    names = 'checked = "solutions/people.txt"\nmachine_weight = 0.75\n'
    live.edit(names, "")
    at = START + (END - START) / 4
    assert live.run(at).notes[0].startswith("main: machine_weight, checked differ from the rules in force")
    assert ranks(live.board(at)) == before
    assert live.preview(at).rules[0] == "machine_weight: 0.75 before, none after"
    live.apply(at)
    live.render(at)
    alone = ranks(live.board(at))
    assert alone["amber"][1] == round(expected(live, "amber", "preliminary", weight=None)["nDCG@5"], 3)
    assert "by a machine" not in live.page("main/rules.html")
    live.edit('measures = ["AP"]', 'measures = ["AP"]\njudged_bounds = "any"')
    live.render(at)
    assert ranks(live.board(as_of=START)) == before
    live.edit('judged_bounds = "any"\n', "")

    live.edit('measures = ["AP"]\n', f'measures = ["AP"]\n{names}')
    at = START + (END - START) / 2
    live.run(at)
    assert ranks(live.board(at)) == alone
    assert live.preview(at).rules[0] == "machine_weight: none before, 0.75 after"
    live.apply(at)
    assert ranks(live.board(at)) == before


def test_the_rules_say_it_before_there_are_scores(tmp_path: Path) -> None:
    """Without a number of queries."""
    made = Live.of(tmp_path / "live", ONE, TWO, settings=CHECKED)
    (made.folder / "solutions" / "people.txt").write_text("q1:1:a|1\nq7:0:a|1\n")
    made.run(START - HOUR)
    made.render(START - HOUR)
    assert "people have judged some of the queries again" in made.page("main/rules.html")


def test_a_machine_that_is_wrong_wherever_people_look(tmp_path: Path) -> None:
    """A score is above 1, in its own interval and overall; slices and sentences depend on what people judged."""
    settings, submissions = (
        'name = "Wrong"\n[overall]\ntracks = ["one", "two"]\ntasks = "sample"\n',
        tmp_path / "submissions",
    )
    for track, checked in (("one", 2), ("two", 3)):
        machine = (f"q{number}:0:{'a' if number % checked else 'b'}|1\n" for number in range(60))
        (tmp_path / f"{track}.txt").write_text("".join(machine))
        (tmp_path / f"{track}-people.txt").write_text("".join(f"q{number}:0:a|1\n" for number in range(0, 60, checked)))
        (submissions / track).mkdir(parents=True)
        for team in "abc":
            (submissions / track / f"{team}.txt").write_text("".join(f"q{number}:{team}\n" for number in range(60)))
        settings += f'[tracks.{track}]\ntitle = "{track}"\nsolution = "{track}.txt"\nchecked = "{track}-people.txt"\n'
        settings += 'list_length = 1\nprimary = "P@1"\nbaselines = ["c"]\nslices = "odd.csv"\nslices_public = "now"\n'
    (tmp_path / "odd.csv").write_text("".join(f"q{number},odd\n" for number in range(1, 60, 2)))
    (tmp_path / "challenge.toml").write_text(settings)
    assert here("run", tmp_path).code == 0
    site = tmp_path / "site"

    scores = []
    for folder in ("one", "two", "overall"):
        first = json.loads((site / folder / "leaderboard.json").read_text())["rows"][0]
        scores.append(first["score"] if folder == "overall" else first["P@1"])
        assert first["low"] <= scores[-1] <= first["high"]
    assert scores == pytest.approx([1.5, 1 + 2 / 3, (1.5 + 1 + 2 / 3) / 2], abs=1e-4)
    team = (site / "teams" / "a.html").read_text()
    assert "The 30 queries that people judged may miss losses on up to 9.5 % of all queries." in team
    assert "A slice without a query that people judged has no scores" in (site / "one" / "slices.html").read_text()
    with (site / "one" / "slices.csv").open() as lines:
        assert all(line.split(",")[6] in ("score", "") for line in lines)


def test_a_second_solution_that_was_committed_is_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the solution; a changed one is that of its erratum."""
    made = Live.of(tmp_path / "live", ONE, TWO, settings=CHECKED)
    people, site = made.folder / "solutions" / "people.txt", made.folder / "site"
    people.write_text("q1:1:a|1\nq7:0:a|1\n")
    shutil.copy(people, tmp_path / "first.txt")
    made.run(START - HOUR)
    stop_clock(monkeypatch, START - HOUR)
    assert here("commit", "-C", made.folder).code == 0
    made.run(START)
    people.write_text("q1:1:a|2\nq7:0:a|1\n")
    made.preview(START + HOUR / 2)
    made.apply(START + HOUR / 2)
    made.run(SECOND_END)
    stop_clock(monkeypatch, SECOND_END)
    assert here("reveal", "-C", made.folder).code == 0
    made.render(SECOND_END)
    document: list[str | Path] = [site / "commitment.json", "--opening", site / "commitment.txt"]
    solutions = [f"--solution=main={path}" for path in (tmp_path / "first.txt", people)]
    verified = here("verify", "commitment", *document, *solutions)
    assert verified.code == 0, verified.out
    for line in (
        "the second solution was changed by erratum 1 after the commitment",
        "first.txt is the second solution that was committed",
        "people.txt is the second solution of erratum 1",
    ):
        assert f"ok      main: {line}\n" in verified.out


def test_it_goes_with_bundles_and_the_archive(live: Live, tmp_path: Path) -> None:
    """An import has the same site, and the archive verifies unless a byte of what people judged is another one."""
    live.run(SECOND_END)
    live.render(SECOND_END)
    folder = live.folder
    for name, options in (("with", ["--solutions", "--files"]), ("without", [])):
        assert here("export", "-C", folder, *options, tmp_path / f"{name}.zip").code == 0
        made = here("import", tmp_path / f"{name}.zip", tmp_path / name)
        assert (made.code, made.err.count("error")) == (0, 0), made.err
        assert here("verify", "bundle", tmp_path / f"{name}.zip").code == 0
    archive = tmp_path / "archive.zip"
    assert here("export", "-C", folder, "--public", archive).code == 0
    verified = here("verify", "challenge", archive)
    assert verified.code == 0, verified.out
    assert "main: 3 of 3 entries were scored from their bytes" in verified.out
    assert here("doctor", "-C", folder).code == 0

    digest = hashlib.sha256((folder / "solutions" / "people.txt").read_bytes()).hexdigest()
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(archive) as read, zipfile.ZipFile(other, "w") as write:
        for name in read.namelist():
            content = read.read(name)
            write.writestr(name, content.replace(b"|3", b"|1", 1) if digest in name else content)
    assert here("verify", "challenge", other).code == 1


WRONG = {
    "a sum": ('measures = ["AP"]', 'measures = ["NumRel"]', "corrects means, and NumRel is none"),
    "bounds": (
        'measures = ["AP"]',
        'measures = ["AP"]\njudged_bounds = "any"',
        "cannot be combined with judged_bounds",
    ),
    "automatic decimals": (
        "decimals = 3",
        'decimals = "auto"',
        "or with automatic decimals",
    ),
    "no number": (
        "machine_weight = 0.75",
        "machine_weight = 11",
        "found 11, which is not a number from 0 to 10",
    ),
    "a weight alone": (
        'checked = "solutions/people.txt"\n',
        "",
        "found 0.75, which has no effect without checked",
    ),
    "no file": ("people.txt", "nobody.txt", "nobody.txt, but there is no such file"),
    "the Ladder": (
        'name = "one"',
        'name = "one"\nshows = "ladder"\nladder_step = 0.01',
        "which cannot be corrected by checked",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_contradicts_it_is_refused(live: Live, case: str) -> None:
    """With the key, and what is wrong."""
    before, after, message = WRONG[case]
    live.edit(before, after)
    with pytest.raises(ChallengeError) as caught:
        read_challenge(live.folder)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("people", "message"),
    [
        ("q0:1:i00|1\nz:0:i00|1\n", '1 query is not in the solution, such as "z"; remove them'),
        ("q0:0:i00|1\n", "has none of the preliminary queries; judge a random part of these, too"),
        ("q1:1:i00|1\n", "has none of the other queries; judge a random part of these, too"),
        (
            "q1:1:i00|0\nq2:0:i00|1\n",
            "none of the preliminary queries with a defined P@1 by both solutions; judge more",
        ),
    ],
)
def test_a_second_solution_that_cannot_correct_is_refused(live: Live, people: str, message: str) -> None:
    """Before anything is scored, and without a change of the board."""
    other = Live.of(live.folder.parent / "other", settings=f'{CHECKED}stage = "preliminary"\n')
    other.write_solution(graded("machine"))
    (other.folder / "solutions" / "people.txt").write_text(people)
    with pytest.raises(SolutionError, match=r"people\.txt") as caught:
        other.run(day(5))
    assert message in str(caught.value)
