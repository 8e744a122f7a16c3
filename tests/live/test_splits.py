"""Splits by a secret key: which queries are preliminary, the key files, and what is public before and after."""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from scorer.board import build
from scorer.board.statistics import ScoredRows
from scorer.errors import ChallengeError
from scorer.live.now import Now
from scorer.live.rules import recorded_settings as settings
from scorer.rules.split import KeySplit, QuerySplit, make_key, read_split_key
from scorer.scoring.outcomes import QueryMask
from scorer.settings.loading import read_challenge
from scorer.settings.tracks import Track
from scorer.store.events import Basis
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store
from tests.commands import Answer, Terminal
from tests.databases import rows, site_content, without_log
from tests.oracles import preliminary_queries
from tests.strategies import rest

KEY, OTHER_KEY = bytes(range(32)), bytes(range(1, 33))
HASH, OTHER_HASH = (hashlib.sha256(key).hexdigest() for key in (KEY, OTHER_KEY))

QUERIES = [f"lecture-{number:03}" for number in range(40)]
HITS = {"amber-lamp": 2, "birch-gate": 4, "copper-wire": 8}
"""Each team lists the relevant item first for every second, fourth or eighth query: the ranks stay the same."""

SETTINGS = """
name = "Split"

[tracks.main]
title = "Main"
solution = "solutions/main.qrels"
list_length = 2
primary = "P@1"
stage = "preliminary"
split = {preliminary = 0.3}
"""


def split(share: str = "0.2", key: bytes = KEY, track: str = "main") -> QuerySplit:
    """A split of a track."""
    return QuerySplit(track, Decimal(share), key)


def selected(chosen: QuerySplit, queries: list[str]) -> list[str]:
    """The queries that a split selects."""
    return [query for query, flag in zip(queries, chosen.flags(queries), strict=True) if flag]


# Which queries


@given(
    st.binary(min_size=32, max_size=32),
    st.integers(1, 10**18 - 1),
    st.from_regex("[a-z0-9][a-z0-9-]{0,9}", fullmatch=True),
    st.lists(st.text(st.characters()), max_size=8),
)
def test_a_split_is_the_one_of_its_definition(key: bytes, share: int, track: str, queries: list[str]) -> None:
    """Also for ids with lone surrogates, zero bytes, and no characters."""
    text = f"0.{share:018}"

    assert selected(QuerySplit(track, Decimal(text), key), queries) == preliminary_queries(key, text, track, queries)


@pytest.mark.parametrize(
    ("share", "threshold"),
    [
        ("0.1", 1844674407370955161),
        ("1e-3", 18446744073709551),
        ("0.5", 2**63),
        ("0.3", 5534023222112865484),
        ("0.999999999999999999", 2**64 - 19),
        ("0.000000000000000001", 18),
    ],
)
def test_the_threshold_is_exact(share: str, threshold: int) -> None:
    """Of the decimal that was written; the nearest floating-point number has another threshold for most of them."""
    assert split(share).threshold == threshold == math.floor(Fraction(share) * 2**64)


@pytest.mark.parametrize(("above", "is_preliminary"), [(-1, True), (0, False)])
def test_a_query_at_the_threshold_is_not_preliminary(
    monkeypatch: pytest.MonkeyPatch, above: int, is_preliminary: bool
) -> None:
    """Only numbers below it are."""
    number = split("0.2").threshold + above
    monkeypatch.setattr("hmac.digest", lambda *_: number.to_bytes(8, "big") + b"\xff" * 24)

    assert split("0.2").flags(["q"]) == [is_preliminary]


def test_a_key_is_in_no_representation() -> None:
    """A message or a log cannot contain it by accident."""
    assert KEY.hex() not in repr(split())
    assert repr(KEY) not in repr((split(), Basis("s", "m", "", split())))


# Settings


def challenge_with(folder: Path, line: str) -> Track:
    """The track of a challenge with this line."""
    folder.mkdir(parents=True, exist_ok=True)
    text = SETTINGS.replace("split = {preliminary = 0.3}", line)
    (folder / "challenge.toml").write_text(text, encoding="utf-8")
    return read_challenge(folder, solutions=False).tracks[0]


@pytest.mark.parametrize(
    ("written", "share"),
    [("0.2", "0.2"), ("0.200", "0.2"), ("1e-3", "0.001"), ('"0.25"', "0.25"), ("0.100000000000000001",) * 2],
)
def test_a_share_is_the_decimal_that_was_written(tmp_path: Path, written: str, share: str) -> None:
    """Without rounding; its text has no exponent and no zeros at its end, so that equal shares are equal settings."""
    track = challenge_with(tmp_path, f"split = {{preliminary = {written}}}")

    assert track.split is not None
    assert track.split.preliminary == Decimal(share)
    assert track.split.model_dump(mode="json")["preliminary"] == share
    assert track.key_path == tmp_path / "split.key"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("split = 0.2", "split: found 0.2; allowed: a table, as in split = {preliminary = 0.2}"),
        ("split = {}", "split.preliminary: is missing; expected a number between 0 and 1, as in 0.2"),
        *(
            (f"split = {{preliminary = {value}}}", f"split.preliminary: found {found}, which is not a number between")
            for value, found in [
                *[("0.0", "0.0"), ("1.0", "1.0"), ("1", "1"), ("-0.2", "-0.2"), ("nan", "NaN"), ("inf", "Infinity")],
                *[("true", "true"), ('"1/5"', '"1/5"'), ('" 0.2"', '" 0.2"'), ("1e99999999999999999999", "Infinity")],
            ]
        ),
        ("split = {preliminary = 1e-19}", "split.preliminary: found 1E-19, which has more than 18 decimals"),
        (
            "split = {preliminary = 1e-99999999}",
            "split.preliminary: found 1E-99999999, which has more than 18 decimals",
        ),
        (
            "split = {preliminary = 0.1000000000000000001}",
            "split.preliminary: found 0.1000000000000000001, which has more than",
        ),
        ('split = {preliminary = 0.2, key_file = " "}', 'split.key_file: found " ", which is not a path; allowed: the'),
        (
            "split = {preliminary = 0.2, keyfile = 1}",
            "split.keyfile: unknown key (did you mean key_file?); known: prel",
        ),
        ('split = {preliminary = 0.2, key_sha256 = "12"}', 'split.key_sha256: found "12", which is not a SHA-256'),
    ],
)
def test_an_invalid_split_is_reported(tmp_path: Path, line: str, message: str) -> None:
    """One line with the key, what was found and what is allowed."""
    with pytest.raises(ChallengeError) as caught:
        challenge_with(tmp_path, line)
    assert f"tracks.main.{message}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_split_is_refused(tmp_path: Path) -> None:
    """A share is the decimal that was written, and the folder of the site is public. No other key has decimals."""
    with pytest.raises(ValidationError, match="is not a number between 0 and 1"):
        KeySplit.model_validate({"preliminary": 0.2})

    with pytest.raises(ChallengeError, match="contains the key of the split of main"):
        challenge_with(tmp_path, 'split = {preliminary = 0.2, key_file = "site/split.key"}')

    with pytest.raises(ChallengeError) as caught:
        challenge_with(tmp_path, "decimals = 2.50\nmeasures = [0.5]\nentry = 1e999999999999999999999")
    found = [line.partition("found ")[2].partition(";")[0] for line in str(caught.value).splitlines()]
    assert found == ["0.5", "2.50", "Infinity"]


# Key files


def write_key(file: Path, key: bytes = KEY) -> None:
    """Write a key file that only its owner can read."""
    file.write_text(f"{key.hex()}\n", encoding="ascii")
    file.chmod(0o600)


def test_a_key_file_has_64_digits_and_is_private(tmp_path: Path) -> None:
    """A newline follows the digits; each file has another key. Folders are made."""
    file = tmp_path / "keys" / "split.key"
    before = os.umask(0)
    try:
        key = make_key(file)
    finally:
        os.umask(before)

    assert file.read_text(encoding="ascii") == key.hex() + "\n"
    assert (len(key), read_split_key(file)) == (32, key)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert make_key(tmp_path / "other.key") != key


def test_a_key_file_is_never_overwritten(tmp_path: Path) -> None:
    """Nor one that is a link to a missing file."""
    (tmp_path / "split.key").write_text("something", encoding="ascii")
    (tmp_path / "link.key").symlink_to(tmp_path / "missing")

    for name in ("split.key", "link.key"):
        with pytest.raises(ChallengeError, match=f"{name}: cannot write the key of a split: File exists"):
            make_key(tmp_path / name)
    assert (tmp_path / "split.key").read_text(encoding="ascii") == "something"
    assert not (tmp_path / "missing").exists()


def test_no_part_of_a_key_is_left_if_it_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a file would be taken for a key that is damaged."""

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(ChallengeError, match="No space left on device"):
        make_key(tmp_path / "split.key")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [KEY.hex(), KEY.hex() + "\r\n", KEY.hex().upper() + "\n"])
def test_a_key_that_an_editor_saved_is_the_same(tmp_path: Path, content: str) -> None:
    """Without the newline, with the line end of Windows, or in upper case."""
    (tmp_path / "split.key").write_bytes(content.encode())

    assert read_split_key(tmp_path / "split.key") == KEY


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("", "a blank file"),
        (" \n", "a blank file"),
        (KEY.hex()[:-1] + "\n", "64 bytes of something else"),
        (KEY.hex() + "0\n", "66 bytes of something else"),
        (KEY.hex()[:-1] + "g\n", "65 bytes of something else"),
        (KEY.hex() + "\n\n", "66 bytes of something else"),
    ],
)
def test_a_file_without_a_key_is_reported_without_its_content(tmp_path: Path, content: str, found: str) -> None:
    """Part of it may be a key."""
    (tmp_path / "split.key").write_text(content, encoding="ascii")

    with pytest.raises(ChallengeError) as caught:
        read_split_key(tmp_path / "split.key")
    assert (
        f"split.key: expected the key of a split, 64 hexadecimal digits and a newline; found {found}; restore"
        in str(caught.value)
    )
    assert KEY.hex()[:8] not in str(caught.value)


def test_a_missing_key_file_is_reported_with_what_to_do(tmp_path: Path) -> None:
    """A folder in its place, too."""
    with pytest.raises(ChallengeError, match=r"split\.key: there is no such file, .*; restore it .* `scorer split`"):
        read_split_key(tmp_path / "split.key")
    with pytest.raises(ChallengeError, match="cannot be read: Is a directory; make it readable"):
        read_split_key(tmp_path)


# A challenge whose solution is TREC qrels


def write_challenge(folder: Path, text: str = SETTINGS) -> Path:
    """Write a challenge with a solution and two runs in TREC's formats."""
    for name in ("solutions", "submissions/main"):
        (folder / name).mkdir(parents=True)
    (folder / "challenge.toml").write_text(text, encoding="utf-8")
    qrels = (f"{query} 0 good 1\n{query} 0 bad 0\n" for query in QUERIES)
    (folder / "solutions/main.qrels").write_text("".join(qrels), encoding="utf-8")
    for hour, (team, every) in enumerate(HITS.items(), 10):
        run = ""
        for number, query in enumerate(QUERIES):
            first, second = ("good", "bad") if number % every == 0 else ("bad", "good")
            run += f"{query} Q0 {first} 1 0.9 {team}\n{query} Q0 {second} 2 0.1 {team}\n"
        (folder / f"submissions/main/20110418T{hour}0000Z-{team}.txt").write_text(run, encoding="utf-8")
    write_key(folder / "split.key")
    return folder


@pytest.fixture
def split_challenge(tmp_path: Path) -> Path:
    """A challenge with a split and a known key, which was never run."""
    return write_challenge(tmp_path / "split")


@pytest.fixture
def run_challenge(split_challenge: Path, terminal: Terminal) -> Path:
    """The same after a run."""
    answer = terminal.run("run", split_challenge, "--executor", "serial")
    assert answer.code == 0, answer.err
    return split_challenge


def expected(queries: list[str]) -> dict[str, float]:
    """The mean P@1 of each team over some queries."""
    hits = {
        team: {query for number, query in enumerate(QUERIES) if number % every == 0} for team, every in HITS.items()
    }
    return {team: round(len(hits[team].intersection(queries)) / len(queries), 4) for team in HITS}


def preliminary(key: bytes = KEY) -> list[str]:
    """The preliminary queries of the challenge, by definition."""
    return preliminary_queries(key, "0.3", "main", QUERIES)


def board(folder: Path, terminal: Terminal) -> list[dict[str, object]]:
    """The rows of the board."""
    answer = terminal.run("leaderboard", folder, "--format", "json")
    assert answer.code == 0, answer.err
    found: list[dict[str, object]] = json.loads(answer.out)["rows"]
    return found


def scores(folder: Path, terminal: Terminal, column: str) -> dict[str, object]:
    """The scores of a column of the board, by team."""
    return {str(row["team"]): row[column] for row in board(folder, terminal)}


def edit(folder: Path, before: str, after: str) -> None:
    """Replace a text in challenge.toml."""
    file = folder / "challenge.toml"
    text = file.read_text(encoding="utf-8")
    assert before in text
    file.write_text(text.replace(before, after), encoding="utf-8")


def show_final(folder: Path) -> None:
    """Change the stage."""
    edit(folder, '"preliminary"', '"final"')


def kinds(folder: Path) -> list[str]:
    """The kinds of the events of the record."""
    with Store.open(folder / "scores.db") as store:
        return [event.kind for event in store.read(lambda view: view.events())]


def published(folder: Path) -> dict[str, object]:
    """The document about the split."""
    found: dict[str, object] = json.loads((folder / "site/main/split.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("executor", ["serial", "processes:2"])
def test_qrels_have_preliminary_scores_by_a_key(split_challenge: Path, terminal: Terminal, executor: str) -> None:
    """First over the queries that the key selects, then over all, or over the rest."""
    assert terminal.run("run", split_challenge, "--executor", executor).code == 0
    assert scores(split_challenge, terminal, "preliminary P@1") == expected(preliminary())

    show_final(split_challenge)
    assert scores(split_challenge, terminal, "P@1") == expected(QUERIES)
    assert scores(split_challenge, terminal, "preliminary P@1") == expected(preliminary())

    edit(split_challenge, "split =", 'final = "rest"\nsplit =')
    others = [query for query in QUERIES if query not in preliminary()]
    assert scores(split_challenge, terminal, "P@1") == expected(others)


def test_results_are_stored_with_the_means_of_the_split(
    split_challenge: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Executors compute them: no later step has to complete them."""
    monkeypatch.setattr(Store, "store_means", lambda *_: None)
    assert terminal.run("run", split_challenge, "--executor", "serial").code == 0

    mask = QueryMask(np.array(split("0.3").flags(QUERIES))).digest
    assert rows(str(split_challenge / "scores.db"), f"SELECT count(*) FROM mean WHERE mask = '{mask}'") == [
        (len(HITS),)
    ]


def test_another_key_gives_other_means(run_challenge: Path, terminal: Terminal) -> None:
    """The next run reads no submission again, computes the means over the other queries, and stores them."""
    write_key(run_challenge / "split.key", OTHER_KEY)
    assert preliminary(OTHER_KEY) != preliminary()

    answer = terminal.run("run", run_challenge)

    assert f"0 scored, {len(HITS)} known" in answer.err
    assert scores(run_challenge, terminal, "preliminary P@1") == expected(preliminary(OTHER_KEY))
    assert published(run_challenge)["key_sha256"] == OTHER_HASH
    mask = QueryMask(np.array(split("0.3", OTHER_KEY).flags(QUERIES))).digest
    assert rows(str(run_challenge / "scores.db"), f"SELECT count(*) FROM mean WHERE mask = '{mask}'") == [(len(HITS),)]


@pytest.mark.parametrize("final", ["rest", *rest(["all"])])
def test_cached_statistics_are_not_those_of_another_key(split_challenge: Path, terminal: Terminal, final: str) -> None:
    """The whole site is that of a new database, without the files that list events or count them."""
    edit(split_challenge, '"preliminary"', f'"final"\nfinal = "{final}"')
    assert terminal.run("run", split_challenge).code == 0
    write_key(split_challenge / "split.key", OTHER_KEY)
    assert terminal.run("run", split_challenge).code == 0
    fresh = write_challenge(split_challenge.parent / "fresh", (split_challenge / "challenge.toml").read_text())
    write_key(fresh / "split.key", OTHER_KEY)
    assert terminal.run("run", fresh).code == 0

    first, second = (without_log(site_content(folder / "site")) for folder in (split_challenge, fresh))
    differ = {path for path in first.keys() | second.keys() if first.get(path) != second.get(path)}
    assert differ <= {"timeline.html", "feed.xml"}


def test_the_shake_up_is_cached_for_its_preliminary_queries(run_challenge: Path) -> None:
    """It depends on them also where the board shows final scores over all queries."""
    show_final(run_challenge)
    track = read_challenge(run_challenge).tracks[0]
    with Store.open(run_challenge / "scores.db") as store:

        def key_by(view: Snapshot, key: bytes) -> str:
            recorded = view.recorded_basis("main")
            assert recorded is not None
            basis = replace(recorded.basis, split=split("0.3", key))
            shown = build.board(Now.of(view, track).by(track, basis))
            return json.dumps(ScoredRows(shown, (), view, basis, view.flags(basis)).key(0))

        keys = [store.read(lambda view, key=key: key_by(view, key)) for key in (KEY, KEY, OTHER_KEY)]  # type: ignore[misc]

    assert keys[0] == keys[1] != keys[2]


def test_without_the_split_no_query_is_preliminary(run_challenge: Path, terminal: Terminal) -> None:
    """The flags of the key are not stored as those of the solution."""
    edit(run_challenge, "split = {preliminary = 0.3}", "")
    edit(run_challenge, 'stage = "preliminary"', "")

    assert terminal.run("run", run_challenge).code == 0
    assert scores(run_challenge, terminal, "P@1") == expected(QUERIES)
    assert "preliminary P@1" not in board(run_challenge, terminal)[0]
    assert not (run_challenge / "site/main/split.json").exists()


def test_a_given_hash_of_the_key_is_verified(split_challenge: Path, terminal: Terminal) -> None:
    """A run with another key scores nothing."""
    edit(split_challenge, "0.3}", f'0.3, key_sha256 = "{OTHER_HASH}"}}')
    answer = terminal.run("score", split_challenge)
    assert (answer.code, f"expected that with the SHA-256 {OTHER_HASH}" in answer.err) == (1, True)

    write_key(split_challenge / "split.key", OTHER_KEY)
    assert terminal.run("score", split_challenge).code == 0


# Contradictions


def flag_queries(folder: Path) -> None:
    """Give the solution flags."""
    lines = (f"{query}:{int(number < 9)}:good|1,bad|0\n" for number, query in enumerate(QUERIES))
    (folder / "solutions/main.qrels").write_text("".join(lines), encoding="utf-8")


CONTRADICTIONS = [
    (
        flag_queries,
        "tracks.main.split: decides which queries are preliminary, but the solution flags 9 queries, too; "
        "remove the flags from the solution, or remove split",
    ),
    (
        lambda folder: edit(folder, 'stage = "preliminary"', ""),
        f"tracks.main.stage: is missing, and split selects {len(preliminary())} queries for preliminary scores; "
        'set stage = "preliminary" while final scores are hidden, stage = "final" to show them',
    ),
    (
        lambda folder: edit(folder, "0.3", "0.000000000000000001"),
        "tracks.main.split: selects no query of 40 for the preliminary scores; choose a larger share, or,",
    ),
    (
        lambda folder: edit(folder, "0.3", "0.999999999999999999"),
        "tracks.main.split: selects every query of 40 for the preliminary scores; choose a smaller share, or,",
    ),
    (lambda folder: (folder / "split.key").unlink(), "split.key: there is no such file, and a split needs the key"),
    (lambda folder: (folder / "split.key").write_text(""), "split.key: expected the key of a split, 64 hexadecimal"),
    (lambda folder: (folder / "split.key").write_text("12"), "split.key: expected the key of a split, 64 hexadecimal"),
]


@pytest.mark.parametrize(("change", "message"), CONTRADICTIONS)
def test_a_contradiction_is_reported_before_anything_is_recorded(
    split_challenge: Path, terminal: Terminal, change: Callable[[Path], object], message: str
) -> None:
    """What was found, and what to do."""
    change(split_challenge)

    answer = terminal.run("score", split_challenge)

    assert answer.code == 1
    assert message in answer.err
    assert kinds(split_challenge) == []


@pytest.mark.parametrize(("change", "message"), CONTRADICTIONS[1:])
def test_a_contradiction_is_reported_where_the_board_is_shown(
    run_challenge: Path, terminal: Terminal, change: Callable[[Path], object], message: str
) -> None:
    """The site is as before."""
    before = (run_challenge / "site/main/index.html").read_bytes()
    change(run_challenge)

    for command in ("render", "leaderboard"):
        answer = terminal.run(command, run_challenge)
        assert (answer.code, message in answer.err) == (1, True)
    assert (run_challenge / "site/main/index.html").read_bytes() == before


def test_a_split_of_a_flagged_solution_is_refused_without_a_run(split_challenge: Path, terminal: Terminal) -> None:
    """The flags that were stored with the solution are compared."""
    flag_queries(split_challenge)
    edit(split_challenge, "split = {preliminary = 0.3}", "")
    assert terminal.run("run", split_challenge, "--executor", "serial").code == 0
    edit(split_challenge, "stage", "split = {preliminary = 0.3}\nstage")

    answer = terminal.run("render", split_challenge)

    assert (answer.code, "but the solution flags 9 queries, too" in answer.err) == (1, True)


def test_a_key_that_others_can_read_is_reported(split_challenge: Path, terminal: Terminal) -> None:
    """It is a note: the solution next to it is more secret. A participant needs no key for `scorer check`."""
    (split_challenge / "split.key").chmod(0o640)
    note = f"{split_challenge / 'split.key'}: other users can read the key of the split; run chmod 600 on it\n"

    for command in (("run", split_challenge), ("split", "--challenge", split_challenge)):
        answer = terminal.run(*command)
        assert (answer.code, answer.err.count(note)) == (0, 1)

    (split_challenge / "split.key").unlink()
    file = next((split_challenge / "submissions/main").iterdir())

    assert terminal.run("check", file, "--track", "main", "--challenge", split_challenge).code == 0


def test_doctor_compares_the_key_with_the_record(run_challenge: Path, terminal: Terminal) -> None:
    """A missing key, and another one."""
    good = terminal.run("doctor", run_challenge)
    write_key(run_challenge / "split.key", OTHER_KEY)
    other = terminal.run("doctor", run_challenge)
    (run_challenge / "split.key").unlink()
    missing = terminal.run("doctor", run_challenge)

    assert (good.code, other.code, missing.code) == (0, 1, 1)
    assert "ok       main: the key of the split is the recorded one" in good.out
    assert f"the board is based on another key; restore the key with the SHA-256 {HASH}" in other.err
    assert "there is no such file" in missing.err


# scorer split, scorer init


def test_split_makes_missing_keys_and_says_what_they_select(split_challenge: Path, terminal: Terminal) -> None:
    """Tracks may share a file; an existing key stays."""
    text = SETTINGS.partition("[tracks.main]")[2]
    for name, key_file in (("second", "split.key"), ("third", "keys/new.key"), ("fourth", "keys/new.key")):
        table = text.replace("0.3", f'0.3, key_file = "{key_file}"')
        edit(split_challenge, "\n[tracks.main]", f"\n[tracks.{name}]{table}\n[tracks.main]")
    edit(split_challenge, "\n[tracks.main]", "\n[tracks.fifth]" + text.replace("split", "# split") + "\n[tracks.main]")

    first, second = (terminal.run("split", "--challenge", split_challenge) for _ in range(2))

    made, *lines = first.out.splitlines()
    new = split_challenge / "keys/new.key"
    assert (first.code, made) == (0, f"made {new}: keep it secret, and keep a copy of it until the key is revealed")
    assert second.out.splitlines() == lines
    key = read_split_key(new)
    keys = {"fourth": key, "third": key, "second": KEY, "main": KEY}
    for track, each in keys.items():
        count = len(preliminary_queries(each, "0.3", track, QUERIES))
        assert f"{track}: the key has the SHA-256 {hashlib.sha256(each).hexdigest()}" in lines
        assert f"{track}: {count} of 40 queries are preliminary" in lines
    assert len(lines) == 2 * len(keys)
    assert read_split_key(split_challenge / "split.key") == KEY
    assert key.hex() not in first.out + first.err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (flag_queries, "the solution flags 9 queries, too"),
        (lambda folder: (folder / "split.key").write_text("12"), "expected the key of a split"),
        (lambda folder: (folder / "solutions/main.qrels").unlink(), "main.qrels: "),
        (lambda folder: edit(folder, "split = ", "# split = "), "main: no split; add split = {preliminary = 0.2} to"),
    ],
)
def test_split_reports_what_does_not_work(
    split_challenge: Path, terminal: Terminal, change: Callable[[Path], object], message: str
) -> None:
    """Before the challenge is run for the first time."""
    change(split_challenge)

    answer = terminal.run("split", "--challenge", split_challenge)

    assert (answer.code, message in answer.err) == (1, True)


def test_a_new_challenge_has_a_secret_key(new_challenge: Path, terminal: Terminal) -> None:
    """The README names it; challenge.toml has the setting as a comment, which works once the flags are removed."""
    assert stat.S_IMODE((new_challenge / "split.key").stat().st_mode) == 0o600
    assert "`split.key`" in (new_challenge / "README.md").read_text()
    assert "(`*.key`) are secret" in (new_challenge / "README.md").read_text()

    edit(new_challenge, "# split = {preliminary = 0.2}", "split = {preliminary = 0.5}")
    solution = new_challenge / "solutions/main.txt"
    solution.write_text(solution.read_text().replace(":1:", ":0:"))
    write_key(new_challenge / "split.key")
    assert terminal.run("run", new_challenge).code == 0
    assert published(new_challenge)["preliminary"] == "0.5"


# What is public


def public(folder: Path, terminal: Terminal) -> bytes:
    """All bytes of the site, and of all forms of the board in the terminal."""
    files = [path.read_bytes() for path in sorted((folder / "site").rglob("*")) if path.is_file()]
    forms = ("table", "csv", "json", "markdown")
    return b"".join((*files, *(terminal.run("leaderboard", folder, "--format", form).out.encode() for form in forms)))


def reveals(content: bytes) -> list[str]:
    """Which queries, and whether the key, are in public bytes."""
    secrets = {**{query: query for query in QUERIES}, "key": KEY.hex(), "KEY": KEY.hex().upper()}
    return [name for name, secret in secrets.items() if secret.encode() in content] + ["raw"] * (KEY in content)


@pytest.mark.parametrize("per_query", ["public", *rest(["hidden"])])
@pytest.mark.parametrize("stage", ["preliminary", "final"])
def test_no_public_byte_has_the_key_or_a_query_before_it_is_revealed(
    split_challenge: Path, terminal: Terminal, stage: str, per_query: str
) -> None:
    """With per_query = "public", the ids of queries are shown once the key is revealed."""
    edit(split_challenge, 'stage = "preliminary"', f'stage = "{stage}"\nper_query = "{per_query}"')
    assert terminal.run("run", split_challenge).code == 0

    before = public(split_challenge, terminal)

    assert reveals(before) == []
    assert published(split_challenge) == {"version": 1, "track": "main", "preliminary": "0.3", "key_sha256": HASH}
    if stage == "final":
        assert terminal.run("reveal", "--challenge", split_challenge).code == 0
        assert reveals(public(split_challenge, terminal)) == []
        assert terminal.run("render", split_challenge).code == 0
        (split_challenge / "site/main/split.json").unlink()
        shown = [name for name in reveals(public(split_challenge, terminal)) if name in QUERIES]
        assert bool(shown) == (per_query == "public")


def test_neither_the_database_nor_its_site_has_the_key(run_challenge: Path) -> None:
    """The recorded settings have its hash, and the share as text; read again, they refuse another key."""
    for file in (path for path in run_challenge.rglob("*") if path.is_file() and path.name != "split.key"):
        content = file.read_bytes()
        assert KEY.hex().encode() not in content, file
        assert KEY not in content, file

    track = read_challenge(run_challenge).tracks[0]
    with Store.open(run_challenge / "scores.db") as store:
        recorded = store.read(lambda view: view.recorded_basis("main"))

    assert recorded is not None
    assert recorded.settings is not None
    assert recorded.settings["split"] == {"preliminary": "0.3", "key_file": "split.key", "key_sha256": HASH}
    again = Track.model_validate({**recorded.settings, "name": "main", "root": run_challenge}, strict=False)
    assert settings(again) == recorded.settings == settings(track)
    write_key(run_challenge / "split.key", OTHER_KEY)
    assert settings(track) != recorded.settings
    with pytest.raises(ChallengeError, match=f"SHA-256 {OTHER_HASH}; expected that with the SHA-256 {HASH}"):
        settings(again)


# scorer reveal


def test_a_revealed_key_is_published_with_the_queries(run_challenge: Path, terminal: Terminal) -> None:
    """Sorted, and all of them. The event is recorded once."""
    show_final(run_challenge)
    assert terminal.run("run", run_challenge).code == 0

    first, second = (terminal.run("reveal", "--challenge", run_challenge) for _ in range(2))
    assert terminal.run("render", run_challenge).code == 0

    assert first.out == f"main: the key with the SHA-256 {HASH} is revealed; `scorer render` publishes it\n"
    assert (second.code, second.out) == (0, f"main: the key with the SHA-256 {HASH} was revealed before\n")
    assert kinds(run_challenge).count("reveal") == 1
    with Store.open(run_challenge / "scores.db") as store:
        (event,) = (event for event in store.read(lambda view: view.events("main")) if event.kind == "reveal")
    assert event.values == {"split_key": KEY.hex()}
    chosen = preliminary()
    assert published(run_challenge) == {
        "version": 1,
        "track": "main",
        "preliminary": "0.3",
        "key_sha256": HASH,
        "key": KEY.hex(),
        "queries": {"preliminary": sorted(chosen), "rest": sorted(set(QUERIES) - set(chosen))},
    }
    for command in ("run", "doctor", "status"):
        assert terminal.run(command, run_challenge).code == 0
    assert scores(run_challenge, terminal, "preliminary P@1") == expected(chosen)


def refused(folder: Path, terminal: Terminal, *arguments: str) -> str:
    """The message of a reveal that is refused and records nothing."""
    answer: Answer = terminal.run("reveal", "--challenge", folder, *arguments)
    assert (answer.code, answer.out) == (1, "")
    assert "reveal" not in kinds(folder)
    return answer.err


def test_a_key_is_not_revealed_while_final_scores_are_hidden(run_challenge: Path, terminal: Terminal) -> None:
    """Nor while the stage is missing."""
    assert "main: the final scores of main are not shown yet; the key would" in refused(run_challenge, terminal)
    edit(run_challenge, 'stage = "preliminary"', "")
    assert "the final scores of main are not shown yet" in refused(run_challenge, terminal)


@pytest.mark.parametrize(("end", "is_over"), [("2011-05-01", True), ("2999-05-01", False)])
def test_a_key_is_revealed_after_the_last_phase(
    split_challenge: Path, terminal: Terminal, end: str, is_over: bool
) -> None:
    """Phases decide which scores are shown, instead of a stage. Before that, no public byte has the key."""
    edit(split_challenge, 'stage = "preliminary"\n', "")
    phase = f'name = "all"\nstart = 2011-04-01T00:00:00Z\nend = {end}T00:00:00Z'
    edit(split_challenge, "0.3}\n", f"0.3}}\n[[tracks.main.phases]]\n{phase}\n")
    assert terminal.run("run", split_challenge).code == 0
    assert reveals(public(split_challenge, terminal)) == []

    answer = terminal.run("reveal", "--challenge", split_challenge)

    assert answer.code == (0 if is_over else 1)
    assert ("the final scores of main are not shown yet" in answer.err) == (not is_over)


def test_a_key_is_not_revealed_while_another_track_needs_it(split_challenge: Path, terminal: Terminal) -> None:
    """No track is revealed then, also not with --track."""
    text = SETTINGS.partition("[tracks.main]")[2].replace('"preliminary"', '"final"')
    edit(split_challenge, "[tracks.main]", f"[tracks.second]{text}\n[tracks.main]")
    (split_challenge / "submissions/second").mkdir()
    assert terminal.run("run", split_challenge).code == 0

    message = "second: the key of second is also that of main, and the final scores of main are not shown yet"
    for track in ([], ["--track", "second"]):
        assert message in refused(split_challenge, terminal, *track)

    show_final(split_challenge)
    assert terminal.run("run", split_challenge).code == 0
    assert terminal.run("reveal", "--challenge", split_challenge, "--track", "second").code == 0
    assert terminal.run("render", split_challenge).code == 0
    documents = {name: split_challenge / f"site/{name}/split.json" for name in ("second", "main")}
    assert ["key" in json.loads(file.read_text()) for file in documents.values()] == [True, False]


def test_another_key_than_the_published_one_is_not_revealed(split_challenge: Path, terminal: Terminal) -> None:
    """Before the first run, no key is published."""
    show_final(split_challenge)
    Store.open(split_challenge / "scores.db").close()
    assert f"its board is not based on the key with the SHA-256 {HASH}" in refused(split_challenge, terminal)
    assert terminal.run("run", split_challenge).code == 0
    write_key(split_challenge / "split.key", OTHER_KEY)
    assert f"its board is not based on the key with the SHA-256 {OTHER_HASH}" in refused(split_challenge, terminal)


def test_a_later_key_is_not_revealed_with_the_earlier_one(run_challenge: Path, terminal: Terminal) -> None:
    """The document has the key that the board is based on, or none."""
    show_final(run_challenge)
    assert terminal.run("run", run_challenge).code == 0
    assert terminal.run("reveal", "--challenge", run_challenge).code == 0
    write_key(run_challenge / "split.key", OTHER_KEY)
    assert terminal.run("run", run_challenge).code == 0
    assert published(run_challenge) == {"version": 1, "track": "main", "preliminary": "0.3", "key_sha256": OTHER_HASH}

    assert terminal.run("reveal", "--challenge", run_challenge).code == 0
    assert terminal.run("render", run_challenge).code == 0
    assert published(run_challenge)["key"] == OTHER_KEY.hex()


def test_a_challenge_without_a_split_has_nothing_to_reveal(challenge: Path, terminal: Terminal) -> None:
    """The message says how to have one."""
    assert terminal.run("run", challenge).code == 0

    assert "main: no split; add split = {preliminary = 0.2}" in refused(challenge, terminal)


# scorer verify split


def document(**changes: object) -> dict[str, object]:
    """A true document about the split of the challenge, with changes."""
    chosen = preliminary()
    queries = {"preliminary": chosen, "rest": [query for query in QUERIES if query not in chosen]}
    facts = {"version": 1, "track": "main", "preliminary": "0.3", "key_sha256": HASH, "key": KEY.hex()}
    return {**facts, "queries": queries, **changes}


def verified(folder: Path, content: object, terminal: Terminal, *options: str) -> Answer:
    """Verify a document."""
    file = folder / "split.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return terminal.run("verify", "split", file, *options)


OK = [
    "ok      the key has the published SHA-256",
    f"ok      with the share 0.3, the key selects the {len(preliminary())} preliminary queries",
    f"ok      the key selects none of the {40 - len(preliminary())} other queries",
    "ok      no query is listed twice",
    "note    the share was not compared with an earlier copy, nor with the commitment",
    "note    the lists were not compared with all queries of the solution",
]


def moved(query: str, *, copy: bool = False) -> dict[str, object]:
    """The queries with one of them in the other list, or in both."""
    lists = {side: list(ids) for side, ids in document()["queries"].items()}  # type: ignore[attr-defined]
    source, target = lists.values() if query in lists["preliminary"] else reversed(lists.values())
    if not copy:
        source.remove(query)
    target.append(query)
    return {"queries": lists}


FIRST, LAST = preliminary()[0], next(query for query in QUERIES if query not in preliminary())


@pytest.mark.parametrize(
    ("changes", "failed"),
    [
        (moved(FIRST), [f'other queries: selects "{FIRST}"']),
        (moved(LAST), [f'preliminary queries: does not select "{LAST}"']),
        (moved(FIRST, copy=True), [f'other queries: selects "{FIRST}"', f'listed twice: twice: "{FIRST}"']),
        (moved(LAST, copy=True), [f'queries: does not select "{LAST}"', f'listed twice: twice: "{LAST}"']),
        ({"queries": {"preliminary": [FIRST] * 2, "rest": []}}, [f'listed twice: twice: "{FIRST}"']),
        ({"key_sha256": OTHER_HASH}, [f"published SHA-256: its SHA-256 is {HASH}, not {OTHER_HASH}"]),
        ({"key": OTHER_KEY.hex()}, [f"its SHA-256 is {OTHER_HASH}, not {HASH}", "does not select", ": selects "]),
        ({"key": OTHER_KEY.hex(), "key_sha256": OTHER_HASH}, ["does not select", ": selects "]),
        ({"track": "other"}, ["does not select", ": selects "]),
        ({"preliminary": "0.1"}, ["does not select"]),
        ({"preliminary": "0.6"}, [": selects "]),
        ({"queries": {"preliminary": QUERIES, "rest": []}}, ["and 21 more"]),
    ],
)
def test_verification_finds_what_was_changed(
    tmp_path: Path, terminal: Terminal, changes: dict[str, object], failed: list[str]
) -> None:
    """Each line that fails says what differs; the others are ok."""
    answer = verified(tmp_path, document(**changes), terminal)

    lines = answer.out.splitlines()
    wrong = [line for line in lines if line.startswith("FAILED  ")]
    assert (answer.code, answer.err) == (1, "")
    assert len(wrong) == len(failed)
    assert all(part in line for part, line in zip(failed, wrong, strict=True)), wrong
    assert all(line.startswith(("ok  ", "note")) for line in lines if line not in wrong)


def test_a_published_split_is_verified(run_challenge: Path, terminal: Terminal) -> None:
    """Before the reveal only the hash can be; then neither challenge nor database is needed."""
    file = run_challenge / "site/main/split.json"
    answer = terminal.run("verify", "split", file, "--key-sha256", HASH)

    earlier, line = answer.out.splitlines()
    assert (answer.code, earlier) == (1, "ok      the SHA-256 of the key is that of the earlier copy")
    assert line == "FAILED  the key is revealed: not revealed yet; the organiser publishes it after the challenge"

    show_final(run_challenge)
    for command in (["run"], ["reveal", "--challenge"], ["render"]):
        assert terminal.run(*command, run_challenge).code == 0
    content = (run_challenge / "site/main/split.json").read_text(encoding="utf-8")
    elsewhere = run_challenge.parent

    answer = verified(elsewhere, content, terminal)
    assert (answer.code, answer.out.splitlines(), answer.err) == (0, OK, "")
    answer = verified(elsewhere, content, terminal, "--key-sha256", HASH.upper())
    earlier = "ok      the SHA-256 of the key is that of the earlier copy"
    assert (answer.code, answer.out.splitlines()) == (0, [earlier, *OK])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "split.json: not JSON: "),
        ("[" * 100_000, "split.json: not JSON: "),
        ("[]", "split.json: expected a JSON object"),
        (document(version=2), 'split.json: found version "2", expected 1'),
        (document(track="../x"), "split.json: track: expected a text of the form"),
        (document(preliminary=0.3), "split.json: preliminary: expected a decimal between 0 and 1 as text"),
        (document(preliminary="0.0"), "split.json: preliminary: expected a decimal"),
        (document(key="12"), "split.json: key: expected a text of the form [0-9a-f]{64}"),
        (document(key=None), "split.json: key: expected a text"),
        (document(key_sha256=1), "split.json: key_sha256: expected a text"),
        (document(queries=[]), "split.json: queries: expected an object with the lists preliminary and rest"),
        (document(queries={"preliminary": []}), "split.json: queries.rest: expected a list of ids"),
        (document(queries={"preliminary": [1], "rest": []}), "split.json: queries.preliminary: expected a list"),
    ],
)
def test_another_document_is_reported(tmp_path: Path, terminal: Terminal, content: object, message: str) -> None:
    """What was expected, without a traceback."""
    answer = verified(tmp_path, content, terminal)

    assert (answer.code, message in answer.err) == (1, True), answer.err


def test_ids_that_utf_8_cannot_encode_are_published_and_verified(tmp_path: Path, terminal: Terminal) -> None:
    """And escaped in the terminal."""
    ids = ["\ud800", "a\x1b[31m", "é", "\x00"]
    flags = split("0.3").flags(ids)
    sides = {
        side: [query for query, flag in zip(ids, flags, strict=True) if flag == (side == "preliminary")]
        for side in ("preliminary", "rest")
    }
    assert verified(tmp_path, document(queries=sides), terminal).code == 0

    answer = verified(
        tmp_path, document(queries={"preliminary": sides["rest"], "rest": sides["preliminary"]}), terminal
    )

    assert answer.code == 1
    assert "\x1b" not in answer.out


def test_other_documents_and_arguments_are_reported(tmp_path: Path, terminal: Terminal) -> None:
    """A missing file, something that is no hash, and another hash: the organiser replaced the key and all else."""
    missing = terminal.run("verify", "split", tmp_path / "split.json")
    assert (missing.code, "cannot be read: No such file or directory" in missing.err) == (1, True)
    assert terminal.run("verify", "board", tmp_path / "board.json").code == 2
    wrong = terminal.run("verify", "split", tmp_path / "split.json", "--key-sha256", "12")
    assert (wrong.code, "expected 64 hexadecimal digits" in wrong.err) == (2, True)

    answer = verified(tmp_path, document(), terminal, "--key-sha256", OTHER_HASH)

    first, *others = answer.out.splitlines()
    assert answer.code == 1
    differs = f"the file has {HASH}, the earlier copy {OTHER_HASH}"
    assert first == f"FAILED  the SHA-256 of the key is that of the earlier copy: {differs}"
    assert others == OK
