"""Excluded items: removed before ranks are assigned, in every path, and part of the rules of a challenge."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import scorer
from scorer.errors import SolutionError
from scorer.files import digest
from scorer.lists.solution import Solution
from scorer.options import Ties
from scorer.organising.bundles import export, import_bundle
from scorer.scoring.outcomes import Rules
from scorer.settings.published import portable
from scorer.settings.tracks import public_lists
from tests.commands import Terminal, here
from tests.live_challenges import FLAGGED, ONE, QUERIES, START, Live, ranking
from tests.strategies import examples

Run = Mapping[str, Mapping[str, float]]

# Numbers of other tools


ARGUMENTS = {"a1": {"a2": 1}}
FINDS_ITSELF = {"a1": {"a1": 0.9, "a2": 0.7}}

QRELS = {"q1": {"d1": 2, "d2": 1}, "q2": {"d3": 1, "q2": 1}, "q3": {"d1": 1}}
RUN: Run = {
    "q1": {"q1": 0.9, "d9": 0.8, "d1": 0.7, "d2": 0.6},
    "q2": {"q2": 0.9, "q1": 0.9, "d3": 0.5},
    "q3": {"q3": 1.0},
}
MEASURES = ("nDCG@10", "AP", "RR", "P@2", "R@2")


def tool_scores(pytrec_eval: Any, run: Run) -> dict[str, float]:
    """The means of pytrec_eval over the queries of the run, as BEIR, mteb and BRIGHT take them."""
    names = {"ndcg_cut_10": "nDCG@10", "map": "AP", "recip_rank": "RR", "P_2": "P@2", "recall_2": "R@2"}
    by_query = pytrec_eval.RelevanceEvaluator(QRELS, {"ndcg_cut.10", "map", "recip_rank", "P.2", "recall.2"})
    scores = by_query.evaluate({query: dict(items) for query, items in run.items()})
    return {ours: sum(each[theirs] for each in scores.values()) / len(scores) for theirs, ours in names.items()}


def test_the_figures_are_those_of_beir_and_mteb() -> None:
    """`ignore_identical_ids`: the pairs of equal ids leave the run, not the qrels, before pytrec_eval reads both."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    theirs = {query: {item: s for item, s in items.items() if item != query} for query, items in RUN.items()}

    found = scorer.evaluate(QRELS, RUN, MEASURES, exclude="self", missing="skip", nothing_relevant="zero")

    assert dict(found) == pytest.approx(tool_scores(pytrec_eval, theirs), abs=1e-12)
    assert dict(found) != pytest.approx(tool_scores(pytrec_eval, RUN), abs=1e-2)


def test_the_figures_are_those_of_bright() -> None:
    """The `excluded_ids` of a query leave its list; "N/A" means none. The other queries are as without the list."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    excluded_ids = {"q1": ["d9", "q1", "d404"], "q2": ["N/A"], "q404": ["d3"]}
    theirs = {
        query: {item: s for item, s in items.items() if item not in excluded_ids.get(query, ())}
        for query, items in RUN.items()
    }

    found = scorer.evaluate(QRELS, RUN, MEASURES, exclude=excluded_ids, missing="skip", nothing_relevant="zero")

    assert dict(found) == pytest.approx(tool_scores(pytrec_eval, theirs), abs=1e-12)
    excluded, tied, bounds = found.notes.lines()
    assert excluded == "2 items are excluded, and removed before ranks are assigned"
    assert tied.startswith("equal run scores: 1 of 8 items (12.5%)")
    assert bounds.startswith("by the order of ties: ")


# As without the items


IDS = ("q1", "q2", "a", "b", "ä")
ids = st.sampled_from(IDS)
queries = st.sampled_from(("q1", "q2", "q3"))
runs = st.dictionaries(queries, st.dictionaries(ids, st.sampled_from((1.0, 2.0, 3.0)), max_size=5), min_size=1)
pairs = st.dictionaries(queries, st.lists(ids, max_size=4))
ties = st.sampled_from(("trec", "order", "expected", "best", "worst"))
GRADES = {"q1": {"a": 2, "b": 1, "q2": 1}, "q2": {"q2": 1, "ä": 3}}


@given(runs, st.one_of(st.just("self"), pairs), ties, st.sampled_from(("nonrelevant", "drop")))
@example({"q1": {"q1": 1.0}}, "self", "trec", "nonrelevant")
@examples(150)
def test_a_list_scores_as_without_the_excluded_items(
    run: dict[str, dict[str, float]], exclude: Any, rule: Ties, unjudged: Any
) -> None:
    """For dicts and for frames, with every rule for ties, and with unjudged items dropped."""
    options = {"ties": rule, "unjudged": unjudged, "per_query": True, "missing": "skip"}
    by_query = {query: [query] for query in run} if exclude == "self" else exclude
    left = {
        query: {item: score for item, score in items.items() if item not in by_query.get(query, ())}
        for query, items in run.items()
    }
    if not run.keys() & GRADES.keys():
        return
    expected = scorer.evaluate(GRADES, left, MEASURES[:2], **options)

    found = scorer.evaluate(GRADES, run, MEASURES[:2], exclude=exclude, **options)
    assert str(found.by_query()) == str(expected.by_query())  # undefined scores are equal, too
    assert (found.counts.items, found.counts.answered) == (expected.counts.items, expected.counts.answered)

    rows = [(query, item, score) for query, items in run.items() for item, score in items.items()]
    if all(run.values()):
        frame = pd.DataFrame(rows, columns=["query", "item", "score"])
        table = scorer.evaluate(GRADES, frame, MEASURES[:2], exclude=exclude, **options)
        assert str(table.by_query()) == str(found.by_query())


def test_ranks_are_assigned_after_the_items_are_removed() -> None:
    """Cut-offs count the items that are left, also where the file states ranks, and repeated items go with all rows."""
    frame = pd.DataFrame({"query": "q", "item": ["x", "y", "a", "x"], "rank": [1, 2, 3, 4]})
    found = scorer.evaluate({"q": {"a": 1}}, frame, ["RR", "P@1"], exclude={"q": {"x", "y"}})

    assert dict(found) == {"RR": 1, "P@1": 1}
    assert found.notes.lines() == ["3 items are excluded, and removed before ranks are assigned"]


def test_the_ideal_list_keeps_an_excluded_item() -> None:
    """As in BEIR. Who has the solution gets a note, once for each submission."""
    found = scorer.evaluate({"q": {"q": 1, "a": 1}}, {"q": ["q", "a"]}, ["nDCG", "R"], exclude="self")

    assert found["R"] == 0.5
    assert found["nDCG"] == pytest.approx(1 / (1 + 1 / math.log2(3)))
    assert found.notes.lines()[0] == (
        '1 excluded item is relevant by the solution, as "q" of query "q": no list can have it, but the ideal list '
        "does; correct one of the two"
    )


def test_a_solution_keeps_its_exclusions_unless_others_are_given(tmp_path: Path) -> None:
    """The Solution of the caller stays as it is."""
    (tmp_path / "q").write_text("a1 0 a2 1\n")
    kept = Solution.read(tmp_path / "q")

    assert scorer.evaluate(kept, FINDS_ITSELF, "RR", exclude="self")["RR"] == 1
    assert scorer.evaluate(kept, FINDS_ITSELF, "RR")["RR"] == 0.5


# Lists


FORMS: Mapping[str, str] = {
    "lines": '{"query": "a1", "items": ["a1", "x"]}\n{"query": "a2", "items": []}\n',
    "json": '{"a1": ["a1", "x"]}',
    "vlnet": "a1:a1,x\n",
    "run": "a1 Q0 a1 1 2 t\na1 Q0 x 2 1 t\n",
    "qrels": "a1 0 a1 1\na1 0 x 0\n",
    "table": "query,item,grade\na1,a1,1\na1,x,1\n",
}


@pytest.mark.parametrize("name", FORMS)
def test_a_file_in_any_layout_excludes_the_same(tmp_path: Path, terminal: Terminal, name: str) -> None:
    """In the library and on the command line."""
    for file, text in (("list", FORMS[name]), ("qrels", "a1 0 a2 1\n"), ("run", "a1 Q0 a1 1 2 t\na1 Q0 a2 2 1 t\n")):
        (tmp_path / file).write_text(text)

    assert scorer.evaluate(ARGUMENTS, FINDS_ITSELF, "RR", exclude=tmp_path / "list")["RR"] == 1
    answer = terminal.run(
        *("evaluate", tmp_path / "qrels", tmp_path / "run", "-m", "RR", "--exclude", tmp_path / "list"),
        *("--format", "json"),
    )
    document = json.loads(answer.out)
    assert document["policies"]["exclude"] == str(tmp_path / "list")
    assert document["submissions"][0]["scores"]["RR"] == 1
    assert "1 item is excluded" in answer.err


@pytest.mark.parametrize(
    ("exclude", "found"),
    [
        ({"q": "d1"}, "the excluded items: expected a dict whose values are dicts (item -> number) or lists of items"),
        ({"q": [None]}, 'the excluded items: found "None" as the id of the item'),
        (3, "the excluded items: found a int"),
        ("/no/such/file", "/no/such/file: no such file"),
    ],
)
def test_an_invalid_list_is_an_error(exclude: Any, found: str) -> None:
    """Of the caller's, which names the list and not the solution."""
    with pytest.raises(SolutionError) as caught:
        scorer.evaluate(ARGUMENTS, FINDS_ITSELF, "RR", exclude=exclude)
    assert str(caught.value).startswith(found)


def test_the_command_names_the_invalid_list(tmp_path: Path, terminal: Terminal) -> None:
    """Of `evaluate`, `compare` and `report`, in one message without a traceback."""
    for name in ("qrels", "run", "other"):
        (tmp_path / name).write_text("a1 0 a2 1\n" if name == "qrels" else "a1 Q0 a1 1 2 t\n")
    (tmp_path / "list").write_text("<html>\n")
    qrels, run, other = (tmp_path / name for name in ("qrels", "run", "other"))
    calls: list[list[str | Path]] = [
        ["evaluate", qrels, run, "-m", "RR"],
        ["compare", run, other, "--solution", qrels, "-m", "RR"],
        ["report", run, other, "--solution", qrels, "-m", "RR", "--format", "json"],
    ]
    for call in calls:
        answer = terminal.run(*call, "--exclude", tmp_path / "list")
        assert (answer.code, answer.out) == (1, "")
        assert answer.err.startswith(f'{tmp_path / "list"}:1: found "<html>": a page in HTML')


def test_comparisons_and_reports_exclude_as_well(tmp_path: Path, terminal: Terminal) -> None:
    """In the library and on the command line."""
    runs = {"itself": FINDS_ITSELF, "other": {"a1": {"x": 2.0, "a2": 1.0}}}
    compared = scorer.compare(ARGUMENTS, runs, "RR", exclude="self")
    assert compared.means == {"itself": 1, "other": 0.5}
    report = scorer.report(ARGUMENTS, runs, "RR", form="markdown", exclude={"a1": ["x"]})
    assert "other: 1 item is excluded, and removed before ranks are assigned" in report

    (tmp_path / "qrels").write_text("a1 0 a2 1\n")
    for name, run in runs.items():
        rows = (f"a1 Q0 {item} 1 {score} {name}\n" for item, score in run["a1"].items())
        (tmp_path / name).write_text("".join(rows))
    files = [tmp_path / name for name in runs]
    options = ("--solution", tmp_path / "qrels", "-m", "RR", "--exclude", "self", "--format")
    answer = terminal.run("compare", *files, *options, "json")
    means = json.loads(answer.out)["rules"]["mean"]
    assert {name: row["value"] for name, row in means.items()} == {"itself": 1, "other": 0.5}
    answer = terminal.run("report", *files, *options, "markdown")
    assert "itself: 1 item is excluded" in answer.out


# Challenges


LISTS = "".join(f"q{number}:q{number},a,z\n" for number in range(QUERIES))
"""Each list has its query first, then the relevant item, then another."""


def started(folder: Path, settings: str, content: str = "", *phases: str) -> Live:
    """A challenge with an entry that is scored; the file of excluded items has this content."""
    live = Live.of(folder, *phases, settings=settings)
    if content:
        (folder / "list").write_text(content)
    live.run(START)
    live.put("a/1", LISTS, START)
    live.run(START)
    return live


def score_of(live: Live) -> float | None:
    """The score of the only team."""
    return ranking(live.board())[0][2]


EVERY = "".join(f'{{"query": "q{number}", "items": ["q{number}"]}}\n' for number in range(QUERIES))


@pytest.mark.holds(
    r"The item that has the id of the query is removed from its list before ranks are assigned\.",
    r"Items that are excluded for a query, by a public list, are removed before ranks are assigned\.",
)
@pytest.mark.parametrize(
    ("settings", "content", "score"),
    [("", "", 0.0), ('exclude = "self"', "", 1.0), ('exclude = "list"', EVERY, 1.0), ('exclude = "./self"', "", None)],
)
def test_a_challenge_excludes_items(tmp_path: Path, settings: str, content: str, score: float | None) -> None:
    """The first item that counts is the first one that is left; the notes have the number."""
    if score is None:  # a path, not the word
        with pytest.raises(scorer.ChallengeError, match="there is no such file"):
            started(tmp_path, settings, content, ONE)
        return
    live = started(tmp_path, settings, content, ONE)

    assert score_of(live) == score
    first = str(next(iter(live.entry("a/1").findings)))
    assert (first == "10 items are excluded, and removed before ranks are assigned") == bool(score)
    assert "exclude" not in live.events("basis")[-1].values["settings"] or score


def test_keys_without_exclusions_are_those_of_earlier_versions() -> None:
    """So nothing is scored again; the digest is from before the key existed."""
    rules = Rules(scorer.parse("AP"), 10)
    assert rules.matching_digest == "a4a3dccb4f4647a8cd4b00335e60004d79f6c53b3b0f5aee67040e06ee73683d"


def test_another_list_scores_all_entries_again(tmp_path: Path) -> None:
    """Its bytes decide, not its path; without phases a run takes the new one at once."""
    live = started(tmp_path, 'exclude = "list"\nstage = "preliminary"', EVERY)
    (tmp_path / "same").write_text(EVERY)
    live.edit('exclude = "list"', 'exclude = "same"')
    live.run(START)
    assert (live.outcomes, score_of(live)) == ([], 1.0)

    (tmp_path / "same").write_text(EVERY.replace('"q0", "items"', '"q9", "items"'))
    live.run(START)
    assert live.outcomes == [("main/a/1", "Summary")]
    assert score_of(live) == 1 - 1 / FLAGGED

    live.edit('exclude = "same"', 'exclude = "self"')
    live.run(START)
    assert (live.outcomes, score_of(live)) == ([("main/a/1", "Summary")], 1.0)


def test_the_list_of_excluded_items_is_a_rule(tmp_path: Path) -> None:
    """Its bytes are archived; once a phase has started, an erratum changes it."""
    live = started(tmp_path, 'exclude = "list"', EVERY, ONE)
    (tmp_path / "list").write_text('{"q0": ["q0"]}')
    (note,) = live.run(START).notes
    assert note.startswith("main: exclude differs from the rules in force")
    live.put("b/1", LISTS + "\n", START)
    live.run(START)
    assert [score for *_, score in ranking(live.board())] == [1.0, 1.0]

    live.preview(START)
    live.apply(START)
    assert live.run(START).notes == ()
    assert [score for *_, score in ranking(live.board())] == [0.2, 0.2]
    body = live.events("basis")[-1].values["settings"]["exclude"]
    assert body == {"file": "list", "sha256": digest(tmp_path / "list")}


@pytest.mark.parametrize("after", ["", 'exclude = "self"'])
def test_an_erratum_removes_the_list(tmp_path: Path, after: str) -> None:
    """The key may be gone; until the erratum is applied, the archived list is in force."""
    live = started(tmp_path, 'exclude = "list"', EVERY, ONE)
    live.edit('exclude = "list"', after)
    (note,) = live.run(START).notes
    assert note.startswith("main: exclude differs")
    assert score_of(live) == 1.0

    live.preview(START)
    live.apply(START)
    assert score_of(live) == (1.0 if after else 0.0)
    assert live.run(START).notes == ()


def test_the_organiser_gets_a_note_on_relevant_items_that_are_excluded(tmp_path: Path) -> None:
    """The run has the note; the entry, whose notes are public, does not."""
    live = Live.of(tmp_path, ONE, settings='exclude = "list"')
    (tmp_path / "list").write_text('{"q0": ["a"], "q1": ["a", "b"]}')
    live.put("a/1", LISTS, START)
    (note,) = live.run(START).notes

    assert note.startswith('main: 2 excluded items are relevant by the solution, as "a" of query "q0"')
    assert not [problem for problem in live.entry("a/1").findings if "relevant" in str(problem)]


@pytest.mark.parametrize("content", ["", "<html>"])
def test_a_run_names_an_invalid_list(tmp_path: Path, content: str) -> None:
    """As a file that does not exist, which is reported with the settings."""
    (tmp_path / "challenge").mkdir()
    live = Live.of(tmp_path / "challenge" / "live", settings='exclude = "list"\nstage = "preliminary"')
    (live.folder / "list").write_text(content)
    live.put("a/1", LISTS, START)
    with pytest.raises(SolutionError, match=r"live/list:"):
        live.run(START)


# Participants


@pytest.fixture(params=["self", "list"])
def with_site(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A challenge that excludes items, with its site."""
    live = started(tmp_path / "live", f'exclude = "{request.param}"', EVERY, ONE)
    live.render(START)
    return live.folder


def test_check_excludes_as_the_run_does(with_site: Path) -> None:
    """With the folder, with the solution or without it, and with the site."""
    file = with_site / "mine.txt"
    file.write_text(LISTS)
    for challenge in (with_site, with_site / "site"):
        answer = here("check", file, "--challenge", challenge)
        assert answer.code == 0
        assert "mine.txt: 10 items are excluded, and removed before ranks are assigned" in answer.err
        assert "10 lists, 20 items" in answer.out


def test_the_site_has_the_rule_and_the_list(with_site: Path) -> None:
    """The list in one notation, regardless of that of the file."""
    site = with_site / "site" / "main"
    is_self = 'exclude = "self"' in (with_site / "challenge.toml").read_text()
    sentence = "that has the id of the query" if is_self else "by a public list"
    assert sentence in (site / "rules.html").read_text()
    assert (site / "exclude.jsonl").exists() == (not is_self)
    assert ("main/exclude.jsonl" in (site / "index.html").read_text()) == (not is_self)
    if not is_self:
        assert (site / "exclude.jsonl").read_text() == EVERY
        (with_site / "list").write_text(EVERY.replace("q9", "q8"))
        assert here("run", with_site).code == 0


@pytest.mark.parametrize("value", ["../outside", "self"])
def test_a_bundle_has_the_list(tmp_path: Path, value: str) -> None:
    """Also one that is outside of the folder; a word is no file."""
    live = Live.of(tmp_path / "live", ONE, settings=f'exclude = "{value}"')
    (tmp_path / "outside").write_text(EVERY)
    live.put("a/1", LISTS, START)
    live.run(START)
    target = tmp_path / "bundle.zip"
    live.do(
        START,
        lambda challenge, store: export(
            challenge, store, live.folder / "challenge.toml", target, solutions=True, files=True
        ),
    )
    import_bundle(target, tmp_path / "made", clock=lambda: START)
    made = Live(tmp_path / "made", START)
    assert (made.track.exclude == "self") == (value == "self")
    assert score_of(made) == 1.0
    assert made.run(START).notes == ()
    assert made.outcomes == []


def test_other_lists_may_be_called_self(tmp_path: Path) -> None:
    """Only of `exclude` is it a word."""
    live = Live.of(tmp_path / "live", ONE, settings='queries = "self"\nexclude = "self"')
    file = live.folder / "self"
    file.write_text("q1\nq2\n")
    assert public_lists(live.track) == {"queries": file}
    places = portable(live.folder / "challenge.toml", live.challenge).places
    assert {key for track, key in places if track == "main"} >= {"queries"}
    assert ("main", "exclude") not in places
