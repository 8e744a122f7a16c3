"""Conversion between all pairs of formats, and the messages for content that a format cannot hold."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import re
import subprocess
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.errors import Findings, ScorerError
from scorer.lists.conversion import FileKind, compressed, convert, format_by_suffix, submission_content
from scorer.lists.detection import FORMATS, format_named, opened
from scorer.lists.formats import SolutionContent, SubmissionContent, UnwritableError
from scorer.lists.reading.blocks import UnreadableError
from scorer.options import TieRule
from tests.commands import Terminal, command

Whole = SolutionContent | SubmissionContent


def read(content: bytes, path: Path, kind: FileKind, name: str | None) -> Whole:
    """Return the content as the format reads it. Raises UnreadableError with all findings."""
    path.write_bytes(content)
    findings = Findings()
    with opened(path, name, "submission_format") as (detected, head, blocks):
        if kind == "solution":
            read_graded = detected.graded(head)
            whole: Whole = SolutionContent.of([read_graded(block, findings) for block in blocks], findings)
        else:
            read_ranked = detected.ranked(head)
            whole = submission_content([read_ranked(block, findings) for block in blocks], None, findings)
    if findings:
        raise UnreadableError("; ".join(findings.lines()))
    return whole


def written(whole: Whole, name: str) -> bytes:
    """Return the content in a format."""
    form, options = format_named(name).format, format_named(name).options
    if isinstance(whole, SolutionContent):
        return form.write_solution(whole, options)
    return form.write_submission(whole, options)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file to write to."""
    return tmp_path_factory.mktemp("convert") / "file"


PLAIN_IDS = st.sampled_from(
    ["q1", "007", "NA", "1677128#0", "a|b", "é", "nan", "-1", "true", "1e5", "a;b", "[a", "(a)", "a(b)", "a\u00a0b"]
)
IDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | PLAIN_IDS
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def solutions(
    ids: st.SearchStrategy[str], grades: st.SearchStrategy[float], least: int
) -> st.SearchStrategy[SolutionContent]:
    """Queries with at least `least` items; any of them flagged."""
    items = st.dictionaries(ids, grades, min_size=least, max_size=4)
    lists = st.dictionaries(ids, items, min_size=1, max_size=4)
    flags = st.booleans().flatmap(lambda any_: st.frozensets(ids) if any_ else st.just(frozenset[str]()))
    return st.builds(lambda grades, flags: SolutionContent(grades, flags & set(grades)), lists, flags)


def submissions(ids: st.SearchStrategy[str], least: int) -> st.SearchStrategy[SubmissionContent]:
    """Lists of at least `least` items, with repeated items; with descending scores or without scores."""
    items = st.lists(ids, min_size=least, max_size=4)
    lists = st.dictionaries(ids, items, min_size=1, max_size=4)
    return lists.flatmap(lambda lists: st.just(SubmissionContent(lists, None)) | _scored(lists))


def _scored(lists: Mapping[str, list[str]]) -> st.SearchStrategy[SubmissionContent]:
    falling = {
        query: st.lists(FINITE, min_size=len(items), max_size=len(items)).map(
            lambda scores: sorted((score + 0.0 for score in scores), reverse=True)
        )
        for query, items in lists.items()
    }
    return st.fixed_dictionaries(falling).map(
        lambda scores: SubmissionContent(lists, scores if any(lists.values()) else None)
    )


def order(whole: Whole) -> object:
    """Return the content that every format keeps."""
    if isinstance(whole, SolutionContent):
        return [(query, list(items.items()), query in whole.flagged) for query, items in whole.grades.items()]
    return [(query, list(items)) for query, items in whole.items.items()]


@settings(deadline=None)
@given(st.data(), st.sampled_from(["solution", "submission"]))
def test_what_is_written_is_read_back_or_refused(place: Path, data: st.DataObject, kind: FileKind) -> None:
    """Content with any ids is read back the same in every format, or cannot be written."""
    whole: Whole = data.draw(solutions(IDS, FINITE, 0)) if kind == "solution" else data.draw(submissions(IDS, 0))
    for name in FORMATS:
        try:
            content = written(whole, name)
        except UnwritableError:
            continue
        found = read(content, place, kind, name)
        assert order(found) == order(whole)
        if isinstance(found, SubmissionContent) and found.scores and whole.scores:  # type: ignore[union-attr]
            assert found.scores == whole.scores  # type: ignore[union-attr]


@settings(deadline=None)
@given(st.data(), st.sampled_from(["solution", "submission"]))
def test_a_detected_format_is_correct_or_refused(place: Path, data: st.DataObject, kind: FileKind) -> None:
    """A file whose format is not named is never read with another meaning."""
    whole: Whole = data.draw(solutions(IDS, FINITE, 1)) if kind == "solution" else data.draw(submissions(IDS, 1))
    for name in FORMATS:
        try:
            content = written(whole, name)
            found = read(content, place, kind, None)
        except (UnwritableError, UnreadableError):
            continue
        assert order(found) == order(whole)


SOLUTION = SolutionContent({"q1": {"007": 2.0, "NA": 0.5}, "q2": {"#0": 1.0}}, frozenset())
SCORED = SubmissionContent({"q1": ["007", "x"], "q2": ["NA"]}, {"q1": [0.5, -1.0], "q2": [1e-300]})
LISTED = SubmissionContent({"q1": ["007", "x"], "q2": ["NA"]}, None)

SOLUTION_FORMATS = tuple(FORMATS)
SUBMISSION_FORMATS = tuple(name for name in FORMATS if name != "letor")


def converted(
    source: Path,
    target_format: str,
    kind: FileKind | None = None,
    source_format: str | None = None,
    ties: TieRule | None = None,
) -> bytes:
    """The bytes that `convert` writes."""
    stream = io.BytesIO()
    convert(source, stream, kind=kind, source_format=source_format, target_format=target_format, ties=ties)
    return stream.getvalue()


@pytest.mark.parametrize("pair", [*product(SOLUTION_FORMATS, repeat=2)], ids="-".join)
def test_a_solution_goes_from_every_format_to_every_format(pair: tuple[str, str], place: Path) -> None:
    """Grades and the order of queries and items stay; the same content gives the same bytes."""
    source, target = pair
    place.write_bytes(written(SOLUTION, source))

    content = converted(place, target, kind="solution", source_format=source)

    assert content == written(SOLUTION, target)
    assert read(content, place, "solution", target) == SOLUTION


@pytest.mark.parametrize("pair", [*product(SUBMISSION_FORMATS, repeat=2)], ids="-".join)
@pytest.mark.parametrize("whole", [SCORED, LISTED], ids=["scored", "listed"])
def test_a_submission_goes_from_every_format_to_every_format(
    pair: tuple[str, str], whole: SubmissionContent, place: Path
) -> None:
    """The ranking stays, and so do the scores where both formats have them."""
    source, target = pair
    place.write_bytes(written(whole, source))

    content = converted(place, target, kind="submission", source_format=source)
    found = read(content, place, "submission", target)

    assert order(found) == order(whole)
    assert isinstance(found, SubmissionContent)
    if whole.scores and "vlnet" not in pair:
        assert found.scores == whole.scores


def test_a_list_without_scores_gets_descending_ones_in_a_run_and_ranks_in_a_table() -> None:
    """Readers of the run rank the items as they are listed."""
    assert written(LISTED, "trec") == b"q1 Q0 007 1 2 scorer\nq1 Q0 x 2 1 scorer\nq2 Q0 NA 1 1 scorer\n"
    assert written(LISTED, "delimited") == b"query,item,rank\nq1,007,1\nq1,x,2\nq2,NA,1\n"


def test_ranks_become_the_order(place: Path) -> None:
    """The ranks order the list, in any order of the lines and from any first rank."""
    place.write_text("query,item,rank\nq,b,3\nq,a,0\n", encoding="utf-8")

    assert converted(place, "vlnet", kind="submission") == b"q:a,b\n"


HELD_NOWHERE = {
    "flags in qrels": (
        SolutionContent({"q": {"a": 1.0}}, frozenset("q")),
        "trec",
        'query "q" is flagged as preliminary',
    ),
    "flags in JSON": (SolutionContent({"q": {"a": 1.0}}, frozenset("q")), "json", "json has no flags"),
    "flags in LETOR": (SolutionContent({"q": {"a": 1.0}}, frozenset("q")), "letor", "letor has no flags"),
    "no items": (SolutionContent({"q": {}}, frozenset()), "trec", 'query "q" has no items'),
    "an empty list": (SubmissionContent({"q": []}, None), "delimited", 'the list of query "q" is empty'),
    "a space": (SubmissionContent({"q": ["a b"]}, None), "trec", 'the id "a b" of an item holds " "'),
    "a colon": (SubmissionContent({"q:1": ["a"]}, None), "vlnet", 'the id "q:1" of a query holds ":"'),
    "a bar": (SubmissionContent({"q": ["a|b"]}, None), "vlnet", 'the id "a|b" of an item holds "|"; vlnet cannot hold'),
    "brackets": (SolutionContent({"q": {"[a]": 1.0}}, frozenset()), "vlnet", 'the id "[a]" of an item holds "["'),
    "a no-break space": (SubmissionContent({"q\u00a0": ["a"]}, None), "vlnet", 'of a query holds "\\xa0"'),
    "a comment": (SubmissionContent({"#q": ["a"]}, None), "trec", 'the id "#q" of a query holds "#"'),
    "a line end": (SubmissionContent({"q": ["a\nb"]}, None), "delimited", "holds"),
    "no id": (SubmissionContent({"q": [""]}, None), "parquet", "holds nothing"),
    "an item twice": (
        SubmissionContent({"q": ["a", "b", "a"]}, {"q": [3.0, 2.0, 1.0]}),
        "json",
        'item "a" is listed twice',
    ),
    "ties": (
        SubmissionContent({"q": ["a", "b"]}, {"q": [1.0, 1.0]}),
        "vlnet",
        "have the same score; vlnet holds no scores",
    ),
    "a ranking in LETOR": (LISTED, "letor", "letor holds labels with features, not rankings"),
}


@pytest.mark.parametrize(("whole", "name", "message"), HELD_NOWHERE.values(), ids=HELD_NOWHERE.keys())
def test_content_that_a_format_cannot_hold_is_reported(whole: Whole, name: str, message: str) -> None:
    """The message names the query or the id, and the format."""
    with pytest.raises(UnwritableError, match=re.escape(message)):
        written(whole, name)


@pytest.mark.parametrize(("ties", "expected"), [("trec", b"q:c,b,a\n"), ("order", b"q:c,a,b\n")])
def test_a_rule_orders_equal_scores(ties: str, expected: bytes, place: Path) -> None:
    """Equal scores are ordered as in matching: by item id, descending, or as listed."""
    place.write_text("q Q0 a 1 1 t\nq Q0 b 2 1 t\nq Q0 c 3 2 t\n", encoding="utf-8")
    rule: TieRule = "trec" if ties == "trec" else "order"

    assert converted(place, "vlnet", ties=rule) == expected


def test_conversion_does_not_change_what_is_relevant(place: Path) -> None:
    """An item with the grade 0 is relevant in VL.NET's format only."""
    place.write_text("q:0:a|0\n", encoding="utf-8")
    with pytest.raises(
        ScorerError, match='item "a" of query "q" has the grade 0, which would make it not relevant in trec'
    ):
        converted(place, "trec", kind="solution")
    place.write_text("q 0 a 0\n", encoding="utf-8")
    with pytest.raises(ScorerError, match="which would make it relevant in vlnet"):
        converted(place, "vlnet", kind="solution")


def test_options_name_the_columns_on_both_sides(place: Path) -> None:
    """Columns of any name are read, and columns of any name are written, with any delimiter."""
    place.write_text("session;track;weight;grade\ns1;t1;2.5;9\n", encoding="utf-8")
    target = "delimited:query=user,item=song,delimiter=tab"

    content = converted(
        place, target, kind="submission", source_format="delimited:query=session,item=track,score=weight"
    )

    assert content == b"user\tsong\tscore\ns1\tt1\t2.5\n"


@pytest.mark.parametrize("end", ["", ".gz", ".xz", ".zst"])
def test_the_suffix_decides_the_compression(end: str, place: Path) -> None:
    """The bytes are the same each time, and are read like the plain file."""
    content = written(SCORED, "trec")
    packed = compressed(content, f"run{end}")

    assert packed == compressed(content, f"run{end}")
    assert (packed == content) == (not end)
    assert read(packed, place, "submission", None) == SCORED


def test_the_suffix_decides_the_format() -> None:
    """The suffix of the compression is ignored; an unknown suffix gives None."""
    found = {
        path: form and form.format.NAME
        for path in ("a/b.jsonl.zst", "B.CSV", "x.tsv", "y.txt", "-", "json")
        if [form := format_by_suffix(path)]
    }

    assert found == {
        "a/b.jsonl.zst": "jsonl", "B.CSV": "delimited", "x.tsv": "delimited", "y.txt": None, "-": None, "json": None
    }  # fmt: skip


# The command


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_convert_writes_a_file(here: Path, terminal: Terminal) -> None:
    """The suffix of the target decides its format, and nothing is printed."""
    (here / "run").write_text("q Q0 b 1 2 t\nq Q0 a 2 1 t\n", encoding="utf-8")

    answer = terminal.run("convert", "run", "run.jsonl.gz")

    assert (answer.code, answer.out, answer.err) == (0, "", "")
    rows = [json.loads(line) for line in gzip.decompress((here / "run.jsonl.gz").read_bytes()).splitlines()]
    assert rows == [{"query": "q", "item": "b", "score": 2}, {"query": "q", "item": "a", "score": 1}]


def test_convert_goes_from_standard_input_to_standard_output() -> None:
    """The command works in a pipe, with compressed and plain input."""
    for content in (b"q,q\n", b"query,item,score\nq,a,1\n", lzma.compress(b"query,item,score\nq,a,1\n")):
        done = subprocess.run(
            command("convert", "-", "-", "--to", "json", "--kind", "submission"),
            input=content, capture_output=True, check=False, timeout=60,
        )  # fmt: skip
        if content == b"q,q\n":
            assert (done.returncode, done.stdout) == (1, b"")
            assert b'-:1: the format cannot be detected from "q,q"' in done.stderr
        else:
            assert (done.returncode, done.stdout) == (0, b'{\n"q": {"a": 1}\n}\n')


WRONG_CALLS = {
    "no format": (("run", "out.txt"), 2, "does not determine the format"),
    "unknown format": (("run", "out", "--to", "xml"), 2, 'no format is called "xml"'),
    "unknown option": (("run", "out", "--to", "vlnet:tag=x"), 2, "it takes none"),
    "either": (("lists", "out.json"), 2, "--kind: lists can be read as a solution and as a submission"),
    "a fault": (("bad", "out.json"), 1, 'bad:2: found "x" as the score'),
    "no file": (("none", "out.json"), 1, "none: no such file"),
    "cannot hold": (("tied", "out", "--to", "vlnet"), 1, "set ties to trec"),
    "no folder": (("run", "no/out.json"), 1, "no/out.json: cannot be written: No such file or directory"),
}


@pytest.mark.parametrize(("arguments", "code", "message"), WRONG_CALLS.values(), ids=WRONG_CALLS.keys())
def test_convert_reports_errors_and_writes_nothing(
    arguments: tuple[str, ...], code: int, message: str, here: Path, terminal: Terminal
) -> None:
    """A wrong call exits with 2, an invalid file with 1."""
    files = {
        "run": "q Q0 b 1 2 t\n",
        "tied": "q Q0 b 1 2 t\nq Q0 a 2 2 t\n",
        "lists": "query,item,score\nq,a,1\n",
        "bad": "q Q0 b 1 2 t\nq Q0 b 2 x t\n",
    }
    for name, text in files.items():
        (here / name).write_text(text, encoding="utf-8")

    answer = terminal.run("convert", *arguments)

    assert answer.code == code
    assert message in " ".join(answer.err.split())
    assert {path.name for path in here.iterdir()} == set(files)
