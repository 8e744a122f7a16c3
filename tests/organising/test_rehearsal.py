"""Rehearsals: what happens at each date, what an organiser would regret, and that nothing else is left or changed."""

from __future__ import annotations

import random
import re
import socket
import stat
import tempfile
from pathlib import Path

import pytest

from tests import everything
from tests.commands import Answer, here
from tests.live_challenges import day
from tests.shared import undrawn

QUERIES = 40
ITEMS = [f"i{number:03}" for number in range(200)]

SETTINGS = """\
name = "Lists"
[site]
folder = "site"
service = "https://lists.example.org/"
[tracks.main]
title = "Main"
solution = "solution.txt"
list_length = 10
primary = "nDCG@5"
baselines = ["popular"]
quota = {per_day = 2, per_phase = 5}
"""

PHASE = """
[[tracks.main.phases]]
name = "one"
start = 2027-01-10T00:00:00Z
end = 2027-01-20T00:00:00Z
grace = "1h"
freeze = "24h"
"""


def solution(flagged: int = QUERIES // 2, empty: int = 0) -> str:
    """Queries with five relevant items, but for the last ones, which have none; the first ones are flagged."""
    lines = []
    for number in range(QUERIES):
        chosen = random.Random(number).sample(ITEMS, 5 if number < QUERIES - empty else 0)
        graded = ",".join(f"{item}|{1 + place % 3}" for place, item in enumerate(chosen))
        lines.append(f"q{number}:{int(number < flagged)}:{graded}\n")
    return "".join(lines)


def write(folder: Path, settings: str = SETTINGS, phases: str = PHASE, solved: str = "", **baselines: str) -> Path:
    """A challenge with the files of baselines: popular unless others are named."""
    (folder / "submissions" / "main").mkdir(parents=True)
    (folder / "challenge.toml").write_text(settings + phases)
    (folder / "solution.txt").write_text(solved or solution())
    (folder / "solution.txt").chmod(0o600)
    for name, content in (baselines or {"popular": "".join(f"q{n}:i000,i001\n" for n in range(QUERIES))}).items():
        (folder / "submissions" / "main" / f"{name}.txt").write_text(content)
    return folder


def regrets(answer: Answer) -> list[str]:
    """The sentences about what the organiser would regret, of a rehearsal that went through."""
    assert answer.code == 0, answer
    assert answer.err == ""
    last = answer.out.splitlines()[-1]
    found = [line.removeprefix("regret: ") for line in answer.out.splitlines() if line.startswith("regret: ")]
    assert (last == "nothing to regret was found") == (not found)
    return found


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, in which a rehearsal leaves nothing."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_the_dates_of_a_challenge_pass_and_there_is_nothing_to_regret(tmp_path: Path, temporary: Path) -> None:
    """The same again the second time."""
    answer = here("rehearse", write(tmp_path / "challenge"))
    assert regrets(answer) == []
    dates = dict(zip(*[iter(re.split(r"^(2027.*)\n", answer.out, flags=re.MULTILINE)[1:])] * 2, strict=True))
    assert [(at[:16], text.splitlines()[0].strip()) for at, text in dates.items()] == [
        ("2027-01-09 00:00", "main: Phases announced"),
        ("2027-01-10 00:00", "main: Phase one started"),
        ("2027-01-13 00:00", dates["2027-01-13 00:00:00 UTC"].strip()),
        ("2027-01-16 00:00", dates["2027-01-16 00:00:00 UTC"].strip()),
        ("2027-01-19 00:00", "main: Board frozen for the end of phase one"),
        ("2027-01-19 12:00", dates["2027-01-19 12:00:00 UTC"].strip()),
        ("2027-01-20 00:00", "main: Phase one closed, with 1 hour of grace"),
        ("2027-01-20 01:00", dates["2027-01-20 01:00:00 UTC"].strip()),
        ("2027-01-21 01:00", "Commitment revealed"),
    ]
    boards = [text.splitlines()[-1 if "regret" not in text else -2].strip() for text in dates.values()]
    assert boards[:2] == ["main: no entries; visitors see no scores"] * 2
    assert re.fullmatch(r"main: 5 scored; visitors see preliminary nDCG@5: invented-team-5 0\.\d{4}, .*", boards[2])
    assert boards[5] == boards[4].replace("10 scored", "15 scored")  # frozen
    assert boards[7].startswith("main: 15 scored; visitors see final nDCG@5: invented-team-5 0.")
    assert here("rehearse", tmp_path / "challenge").out == answer.out
    assert list(temporary.iterdir()) == []


def changed(old: str, new: str) -> tuple[str, str]:
    """The settings and the phase with another text."""
    assert old in SETTINGS + PHASE
    return SETTINGS.replace(old, new), PHASE.replace(old, new)


def ideal() -> str:
    """The best lists."""
    lines = (line.split(":") for line in solution().splitlines())
    graded = ((query, [pair.split("|") for pair in items.split(",")]) for query, _, items in lines)
    ordered = ((query, sorted(pairs, key=lambda pair: -int(pair[1]))) for query, pairs in graded)
    return "".join(f"{query}:{','.join(item for item, _ in pairs)}\n" for query, pairs in ordered)


NOBODY = "nobody can hand in by a page: "
CHOICES = '[[metadata]]\nname = "kind"\ntitle = "Kind"\ntype = "choice"\nrequired = true\nchoices = '
QUOTA = "quota = {per_day = 2, per_phase = 5}"
ENDLESS = "main: teams may try entries without end until a score is high by chance; set a quota"
NOTHING = "main: the phase one shows nothing: no team sees a score while it can hand in again"
UNSEEN = "main: visitors see no score when all is over"
POPULAR = "main: the baseline popular has no scored file, so the board shows nothing to beat"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (
            changed("service = ", "footer = "),
            [f"{NOBODY}[site] names no service; set its address, or say on a page how files arrive"],
        ),
        (
            changed("https:", "http:"),
            [f"{NOBODY}http://lists.example.org/ is without TLS, and browsers keep no session then; use https://"],
        ),
        ((SETTINGS, f'{PHASE}{CHOICES}["automatic", "no  blanks"]'), []),
        (
            (SETTINGS, f'{PHASE}{CHOICES}[" automatic", "two  blanks"]'),
            [
                f'{NOBODY}kind is required, and no form can send " automatic"; remove blanks',
                "main: nobody can hand in a file like those of the invented teams: a note says why",
                UNSEEN,
                POPULAR,
            ],
        ),
        (
            (SETTINGS, f"{PHASE}[limits]\nqueries = 10\n"),
            [
                "main: nobody can hand in a file like those of the invented teams: the file has 40 lists or more; "
                "the limit is 10 (limits.queries)",
                UNSEEN,
                POPULAR,
            ],
        ),
        (changed('freeze = "24h"', 'shows = "own"'), []),
        (changed('freeze = "24h"', 'shows = "nothing"'), [NOTHING]),
        (changed('freeze = "24h"', 'freeze = "10d"'), [NOTHING]),
        (('visibility = {score = "never"}\n' + SETTINGS, PHASE), [NOTHING, UNSEEN]),
        (changed(QUOTA, ""), [ENDLESS]),
        (changed(QUOTA, "quota = {per_day = 2, per_phase = 22}"), []),
        (
            changed(QUOTA, "quota = {per_day = 2, per_phase = 23}"),
            ["main: quota.per_phase = 23 cannot be used up: the other rules leave 22"],
        ),
        (
            changed(QUOTA, "quota = {per_day = 6, per_phase = 5, total = 6}"),
            [
                "main: quota.per_day = 6 cannot be used up: the other rules leave 5",
                "main: quota.total = 6 cannot be used up: the other rules leave 5",
            ],
        ),
        (
            (SETTINGS, f"{PHASE}[limits]\nfiles_per_team = 4\n"),
            ["main: quota.per_phase = 5 cannot be used up: the other rules leave 4"],
        ),
        (
            changed('primary = "nDCG@5"', 'primary = "nDCG@5"\ndecimals = 0'),
            ["main: invented teams with different lists have equal scores; take more decimals or queries"],
        ),
    ],
)
def test_settings_that_an_organiser_would_regret(tmp_path: Path, texts: tuple[str, str], expected: list[str]) -> None:
    """Each is said of a challenge that has it; the others have all but one or two."""
    assert regrets(here("rehearse", write(tmp_path / "challenge", *texts))) == expected


@pytest.mark.parametrize(
    ("solved", "popular", "expected"),
    [
        (
            solution(flagged=2),
            None,
            ["no two invented teams, from the worst to the best, are separable by 2 preliminary queries; take more"],
        ),
        (
            solution(flagged=0),
            None,
            ["teams see final scores while they hand in, and may fit to them; flag queries, or set split"],
        ),
        (
            solution(empty=QUERIES // 2),  # the preliminary queries are all that count
            None,
            ["teams see final scores while they hand in, and may fit to them; flag queries, or set split"],
        ),
        (solution(flagged=15, empty=QUERIES // 2), None, []),
        (
            solution(flagged=15, empty=QUERIES // 2 + 1),
            None,
            ["21 of 40 queries have no relevant item, so no list for them counts"],
        ),
        (solution(), ideal(), ["the baseline popular has 100% of the best possible score; make the task harder"]),
        (solution(), "", [POPULAR.removeprefix("main: ")]),
        (
            "".join(f"q{number}:{number % 2}:i001|99,{ITEMS[number + 9]}|1\n" for number in range(QUERIES)),
            None,
            ["one list for all queries has 99% of the best possible score; make the task harder"],
        ),
    ],
)
def test_files_that_an_organiser_would_regret(
    tmp_path: Path, solved: str, popular: str | None, expected: list[str]
) -> None:
    """That is a solution, or the files of baselines."""
    baselines = {} if popular is None else {"popular" if popular else "unpopular": popular or "q0:i001\n"}
    found = regrets(here("rehearse", write(tmp_path / "challenge", solved=solved, **baselines)))
    assert found == [f"main: {text}" for text in expected]


def test_relevant_items_that_no_list_may_have_are_a_regret(tmp_path: Path) -> None:
    """The public list of items lacks them."""
    folder = write(tmp_path / "challenge", *changed("list_length", 'items = "items.txt"\nlist_length'))
    listed = sorted({pair.split("|")[0] for line in solution().splitlines() for pair in line.split(":")[2].split(",")})
    (folder / "items.txt").write_text("\n".join(ITEMS))
    assert regrets(here("rehearse", folder)) == []
    (folder / "items.txt").write_text("\n".join(item for item in ITEMS if item not in listed[:3]))
    assert regrets(here("rehearse", folder)) == ["main: the list of items lacks 3 relevant items; add them"]


def contents(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """All files and folders below a folder: their modes, times of change and bytes."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mode, path.stat().st_mtime_ns, path.read_bytes())
        if path.is_file()
        else (path.stat().st_mode, path.stat().st_mtime_ns, b"")
        for path in (folder, *folder.rglob("*"))
    }


@pytest.fixture(scope="module")
def everything_at_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Answer, Path, bool]:
    """The challenge in which every rule is on, after a run, and a rehearsal of it: its output, and the private sites.

    And whether the folder of the challenge is as it was before.
    """
    base = tmp_path_factory.mktemp("everything")
    folder, site = base / "challenge", base / "private" / "sites"
    everything.write(folder)
    for track in everything.TRACKS:
        first = everything.Delivery(day(9), track, "popular", "top", 0.3)
        file = folder / ("entries/songs" if track == "songs" else f"submissions/{track}") / "popular" / first.file
        file.parent.mkdir(parents=True)
        file.write_text(first.text)
        file.with_name(f"{file.name}.meta.yaml").write_text(first.metadata)
    assert here("run", folder, "--executor", "serial").code == 0
    before = contents(folder)
    with undrawn():
        answer = here("rehearse", folder, "--site", site)
    return folder, answer, site, contents(folder) == before


def test_a_rehearsal_changes_no_byte_of_the_challenge_and_leaves_nothing_else(
    everything_at_once: tuple[Path, Answer, Path, bool], tmp_path: Path, temporary: Path
) -> None:
    """Also with a database and a site, and where the site of each date is kept."""
    folder, _, _, is_unchanged = everything_at_once
    assert is_unchanged
    assert (folder / "data" / "scores.db").is_file()
    assert (folder / "public" / "index.html").is_file()
    assert {path.name for path in folder.parent.iterdir()} == {"challenge", "private"}
    small = write(tmp_path / "challenge")
    before = contents(small)
    assert here("rehearse", small).code == 0
    assert contents(small) == before
    assert list(temporary.iterdir()) == []


def test_every_rule_has_its_dates(everything_at_once: tuple[Path, Answer, Path, bool]) -> None:
    """Splits, slices, hidden names, rows that are entries, an overall ranking, and three tracks."""
    _, answer, _, _ = everything_at_once
    assert regrets(answer) == [
        "films: no two invented teams, from the worst to the best, are separable by 8 preliminary queries in 4 "
        "clusters; take more",
        "films: the phase one shows nothing: no team sees a score while it can hand in again",
    ]
    lines = [line.strip() for line in answer.out.splitlines()]
    for happened in (
        "songs: Hash of the key of the split published",
        "Solutions, rules and keys committed",
        "runs: Phase two closed, with 30 minutes of grace",
        "songs: Key of the split revealed",
        "Commitment revealed",
    ):
        assert happened in lines
    assert not [line for line in lines if line.startswith("note")]
    shown = [line for line in lines if "visitors see" in line]
    hidden = [line for line in shown if "visitors see preliminary" in line]  # names are hidden until the end
    assert hidden
    assert all(re.search(r": team [0-9a-f]{6}", line) for line in hidden)
    assert not any("invented" in line for line in hidden)
    assert re.fullmatch(r"runs: 25 scored; visitors see final AP: invented-team-\d: invented-\d 0\..*", shown[-1])


def test_the_site_of_each_date_is_private_and_names_only_invented_teams(
    everything_at_once: tuple[Path, Answer, Path, bool],
) -> None:
    """Each page says that it is of a rehearsal."""
    _, answer, site, _ = everything_at_once
    assert stat.S_IMODE(site.stat().st_mode) == 0o700
    pages = [Path(line.strip()) for line in answer.out.splitlines() if line.endswith("index.html")]
    assert pages == sorted(site.glob("*/index.html"))
    assert len(pages) == sum(line.startswith("2027-") for line in answer.out.splitlines())
    assert all("<title>Rehearsal: Everything at once" in page.read_text() for page in pages)
    names = {path.name for path in site.glob("*/teams/*.html")} - {"index.html"}
    assert len(names) >= 10  # with the pseudonyms
    assert all(re.fullmatch(r"(popular|invented-[a-z0-9-]+|team-[0-9a-f]{6}).html", name) for name in names), names
    overall = (pages[-1].parent / "overall" / "leaderboard.csv").read_text()
    assert overall.splitlines()[1].startswith("1,invented-team-")
    assert (pages[-1].parent / "songs" / "slices.csv").is_file()
    assert "Phase one" in (pages[5].parent / "timeline.html").read_text()


@pytest.mark.parametrize("stage", ["preliminary", "final"])
def test_a_challenge_without_dates_has_three_days_and_one_that_is_over_its_dates_again(
    tmp_path: Path, stage: str
) -> None:
    """With a stage and without phases, the days are invented, too."""
    folder = write(tmp_path / "challenge", f'{SETTINGS}stage = "{stage}"\n', "")
    answer = here("rehearse", folder)
    assert regrets(answer) == []
    assert [line.split(": ", 1)[1][:40] for line in answer.out.splitlines() if line.startswith("  main: ")] == [
        "no entries; visitors see no scores",
        f"5 scored; visitors see {stage} nDCG@5: inv"[:40],
        f"10 scored; visitors see {stage} nDCG@5: in"[:40],
        "10 scored; visitors see final nDCG@5: in",
    ]
    over = write(tmp_path / "over", phases=PHASE.replace("2027", "2011"))
    assert "2011-01-20 01:00:00 UTC\n  main: 15 scored; visitors see final" in here("rehearse", over).out


def test_neither_the_database_of_the_challenge_nor_a_network_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address of the database leads nowhere."""

    def no_socket(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(socket, "socket", no_socket)
    folder = write(tmp_path / "challenge", 'database = "postgresql+psycopg://nobody@localhost:1/none"\n' + SETTINGS)
    assert regrets(here("rehearse", folder)) == []


def test_what_is_wrong_is_a_line_and_leaves_nothing(tmp_path: Path, temporary: Path) -> None:
    """Also what cannot be invented."""
    folder, other = write(tmp_path / "challenge"), tmp_path / "other"
    other.mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    letor = write(tmp_path / "letor", *changed("list_length", 'submission_format = "letor:feature=2"\nlist_length'))
    torn = write(tmp_path / "torn", solved="q1:1:a|x\n")
    split = write(tmp_path / "split", *changed("list_length", "split = {preliminary = 0.5}\nlist_length"))
    for arguments, message in (
        ([tmp_path / "none"], f"{tmp_path / 'none'}: no such file; a challenge is a folder with a challenge.toml"),
        ([folder, "--site", folder / "sites"], f"{folder / 'sites'}: is in the challenge, which is not changed; name"),
        ([folder, "--site", other], f"{other}: cannot be made: File exists; name a new folder"),
        ([folder, "--site", tmp_path / "loop"], f"{tmp_path / 'loop'}: cannot be made: File exists; name a new folder"),
        (
            [letor, "--site", other / "sites"],
            "main: no entry can be invented in the format letor:feature=2: the target",
        ),
        ([torn, "--site", other / "torn"], f"{torn / 'solution.txt'}:1: "),
        ([split], f"{split / 'split.key'}: there is no such file, and a split needs the key in it; restore it"),
    ):
        answer = here("rehearse", *arguments)
        assert (answer.code, answer.out) == (1, "")
        assert answer.err.startswith(message), answer.err
        assert answer.err.count("\n") == 1
    assert list(temporary.iterdir()) == []
    assert not (other / "torn").exists()


def test_a_rehearsal_that_is_stopped_leaves_nothing(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder for the sites is private from the beginning."""
    folder, sites = write(tmp_path / "challenge"), tmp_path / "sites"
    before = contents(folder)

    def stop(*_: object) -> None:
        assert [path.name for path in temporary.iterdir() if path.is_dir()]  # the copy
        raise KeyboardInterrupt

    monkeypatch.setattr("scorer.organising.rehearsal.commit", stop)
    assert here("rehearse", folder, "--site", sites).code == 130
    assert list(temporary.iterdir()) == []
    assert contents(folder) == before
    assert stat.S_IMODE(sites.stat().st_mode) == 0o700
