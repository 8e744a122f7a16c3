"""The names of other tools: each is read as the measure of the tables, or refused with what to write instead.

The lists of names are those of the installed tools, so a name that a new version adds makes a test fail.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import scorer
from docs.peers import PEERS, RANX, TREC_EVAL, TREC_EVAL_FAMILIES, VERSION_10, filled
from scorer.errors import MeasureError, SolutionError, SubmissionError
from scorer.measures import TREC_SETS, parse, parse_one, registry
from scorer.measures.kinds import AMBIGUOUS
from scorer.measures.names import REFUSED
from tests.paths import DOCS
from tests.strategies import examples, measures
from tests.values import TREC_EVAL_10

RANX_HELPERS = {"get_hit_lists"}
"""Functions in ranx' list of metrics that compute no metric."""

TOOLS = ("trec_eval, pytrec_eval", "ir_measures", "ranx")


def bare(name: str) -> str:
    """The name without its cut-off and parameters."""
    return re.sub(r"(_\{|[.@(-](?=[{0-9lp(a-z]*)).*", "", name) if not name.startswith("r-") else name


def known(tool: str) -> set[str]:
    """The names that are read or refused, without cut-offs and parameters."""
    return {bare(name) for name in PEERS[tool]} | set(REFUSED) | set(TREC_SETS)


def sizes(names: Iterable[str]) -> set[str]:
    """The names as a set, which is not empty."""
    found = set(names)
    assert len(found) > 5
    return found


def refusal_of(name: str) -> str:
    """The message that refuses the name, or "read"."""
    try:
        return "read" if registry.named(name) else ""
    except MeasureError as error:
        return str(error)


# The lists of the tools ----------------------------------------------------------------------------------------------


def test_every_name_of_pytrec_eval_is_in_the_table() -> None:
    """Its measures, its names of several measures, and their parts."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    nicknames = pytrec_eval.supported_nicknames
    names = sizes(
        [*pytrec_eval.supported_measures, *nicknames, *(name for parts in nicknames.values() for name in parts)]
    )

    assert names - known(TOOLS[0]) == set()


def test_every_name_of_trec_eval_10_is_in_the_table() -> None:
    """The measures of its source, and its names of several measures."""
    assert TREC_EVAL_10 - known(TOOLS[0]) == set()


def test_every_name_of_ir_measures_is_in_the_table() -> None:
    """Its registry, aliases included."""
    pytest.importorskip("ir_measures")
    from ir_measures.measures import registry as theirs

    assert sizes(theirs) - known("ir_measures") == set()


def test_every_name_of_ranx_is_in_the_table() -> None:
    """The names that `ranx.evaluate` accepts, and the functions of its list of metrics; ranx is not imported."""
    found = find_spec("ranx")
    if found is None or found.origin is None:
        pytest.skip("ranx is not installed")
    source = (Path(found.origin).parent / "metrics" / "__init__.py").read_text(encoding="utf-8")
    accepted = re.findall(r'metric == "([^"]+)"', source)
    functions = re.findall(r"^    \"(\w+)\",$", source, re.MULTILINE)

    assert len(functions) > 10
    assert sizes([*accepted, *functions]) - RANX_HELPERS - known("ranx") == set()


def test_every_parameter_of_ir_measures_is_read_or_refused_with_a_reason() -> None:
    """A parameter of a measure that is read here never gives the message that the measure has no such parameter."""
    pytest.importorskip("ir_measures")
    from ir_measures.measures import registry as theirs

    values = {"rel": "2", "cutoff": "3", "recall": "0.2", "dcg": "'log2'", "gains": "{1: 5, 2: 1}", "beta": "1.0"}
    checked = 0
    for name, measure in theirs.items():
        if name in REFUSED:
            continue
        for parameter, about in measure.SUPPORTED_PARAMS.items():
            value = "True" if about.dtype is bool else values.get(parameter, "0.5")
            cutoff = "@0.2" if name == "IPrec" else "@3"
            is_cut = parameter != measure.AT_PARAM and measure.SUPPORTED_PARAMS.get(measure.AT_PARAM) is not None
            text = f"{name}({parameter}={value}){cutoff if is_cut else ''}"
            assert re.search(r"^read$|--unjudged drop|different measures in different tools", refusal_of(text)), text
            checked += 1
    assert checked > 60


# How they are read ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "theirs", "ours"),
    [(tool, *pair) for tool in TOOLS for pair in filled(PEERS[tool], [1, 10], ["0.00", "0.30"]).items()],
)
def test_a_name_is_read_as_the_measure_with_its_numbers_or_refused_with_the_name_of_that(
    tool: str, theirs: str, ours: str
) -> None:
    """No name is read as another measure than in its tool, but for Compat, which is that of the authors' program."""
    if theirs.startswith(VERSION_10) and tool == TOOLS[0]:
        ours = ours.replace("reach=up", "reach=nearest")
    refusal = refusal_of(theirs)
    if theirs.startswith("IPrec") and refusal == "read":  # at a level at which reach=up and our default agree
        ours = ours.replace("(reach=up)", "")
    if theirs.startswith("Compat"):
        ours = ours.replace("depth=list", "depth=1000")
    if refusal == "read":
        assert tuple(registry.named(theirs).values()) == parse(ours)
        return
    written = {tool: name for name, tool in re.findall(r"\n  (\S+) for that of (\S.*)$", refusal, re.MULTILINE)}
    meant = next(written[name] for name in (*tool.split(", "), "scorer") if name in written)
    assert parse(meant) == parse(ours)


@pytest.mark.parametrize("name", REFUSED)
def test_a_name_without_a_measure_is_refused_with_the_reason(name: str) -> None:
    """With and without a cut-off, in any spelling."""
    for text in (name, name.upper(), f"{name}_5", f"{name}@5"):
        with pytest.raises(MeasureError) as refusal:
            registry.named(text)
        assert REFUSED[name] in str(refusal.value)


def test_refused_names_are_documented() -> None:
    """The page for users of other tools lists each of them."""
    page = (DOCS / "coming-from.md").read_text(encoding="utf-8")

    assert [name for name in REFUSED if f"`{name}`" not in page and not name.startswith(("prefs_", "all_"))] == []


def test_no_name_is_both_read_and_refused() -> None:
    """A kind that is built takes its name out of the list."""
    for name in REFUSED:
        with pytest.raises(MeasureError, match="no measure is called"):
            registry.kind(name)


def test_what_the_refusal_of_an_ambiguous_name_says_to_write_is_read() -> None:
    """For each tool."""
    for meanings in AMBIGUOUS.values():
        assert all(registry.named(name) for name in meanings.values())


@pytest.mark.parametrize(
    "name",
    [
        "ERR@20",
        "IPrec@0.35",
        "SetF(beta=2.0)",
        "RBP(rel=1)",
        "RBP@95",
        "rbp@95",
        "Accuracy@5",
        "MRR,ERR@20",
        "ERR@20,10",
    ],
)
def test_our_own_name_is_refused_where_another_tool_means_another_measure(name: str) -> None:
    """What the message says is read, and `parse`, for the names of challenges, still reads the name."""
    refusal = next(message for each in registry.listed(name) if (message := refusal_of(each)) != "read")
    assert "different measures in different tools" in refusal

    written = re.findall(r"^  (\S+) for that of", refusal, re.MULTILINE)
    read = [registry.named_one(each) for each in written]
    assert len(set(read)) == len(read) > 1
    assert read[-1] in [measure for each in registry.listed(name) for measure in parse(each)]


@examples(200)
@given(measure=measures())
def test_a_name_with_all_parameters_has_one_meaning(measure: Any) -> None:
    """The full name that results have is never refused."""
    assert registry.named(measure.full) == {measure.full: measure}


# Keys and lists ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("ndcg_cut.5,10", ["ndcg_cut.5", "ndcg_cut.10"]),
        ("P@5, 10", ["P@5", "P@10"]),
        ("precision@5,10-l2", ["precision@5-l2", "precision@10-l2"]),
        ("P(rel=2)@5,10", ["P(rel=2)@5", "P(rel=2)@10"]),
        ("MARp@5,10", ["MARp@5,10"]),
        ("success", ["success_1", "success_5", "success_10"]),
        ("success -l 2", ["success_1 -l 2", "success_5 -l 2", "success_10 -l 2"]),
        ("P(rel=2)", [f"P(rel=2)@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)]),
        (" map ", ["map"]),
        ("set_F.0.5", ["set_F.0.5"]),
        ("ndcg.1=3.5,2=9", ["ndcg.1=3.5,2=9"]),
        ("set", ["set_P", "set_relative_P", "set_recall", "set_map", "set_F"]),
    ],
)
def test_keys_are_the_names_as_requested(text: str, keys: list[str]) -> None:
    """Of several measures, each has its own cut-off in the place of the list."""
    named = registry.named(text)

    assert [name for name in named if name in keys] == keys
    assert text == "set" or len(named) == len(keys)
    for key, measure in named.items():
        assert registry.named(key) == {key: measure}


@pytest.mark.parametrize(
    ("names", "keys"),
    [
        (["ndcg_cut", "ndcg_cut.1,4"], ["ndcg_cut.1", "ndcg_cut.4"]),
        (["P_5", "map", "P"], ["P_5", "map"]),
        ("recip_rank,P,P.1", ["recip_rank", "P.1"]),
        (["success", "P.5"], ["success_1", "success_5", "success_10", "P.5"]),
    ],
)
def test_default_cutoffs_are_only_for_names_without_others(names: Any, keys: list[str]) -> None:
    """As in pytrec_eval, and with the options -m of trec_eval, a name with cut-offs decides those of its family."""
    assert list(scorer.evaluate({"q": {"a": 1}}, {"q": ["a"]}, names)) == keys


def test_keys_of_families_are_the_names_that_trec_eval_prints() -> None:
    """Each kind has them in its declaration."""
    for name in TREC_EVAL_FAMILIES.keys() - AMBIGUOUS.keys():
        for key, measure in registry.named(name).items():
            assert key in [each.template.format(measure.cutoff) for each in measure.kind.in_trec_eval]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("AP,nDCG@10,RR", ["AP", "nDCG@10", "RR"]),
        ("P@5,10,RR", ["P@5,10", "RR"]),
        ("P@5, 10 , RR", ["P@5, 10", "RR"]),
        ("ndcg.1=3.5,2=9,map", ["ndcg.1=3.5,2=9", "map"]),
        ("nDCG(gains={1: 3.5, 2: 9},discount=jk)@10,AP", ["nDCG(gains={1: 3.5, 2: 9},discount=jk)@10", "AP"]),
        ("11pt_avg,map", ["11pt_avg", "map"]),
        ("utility.1,-1,0,0,map", ["utility.1,-1,0,0", "map"]),
        ("precision@5,10-l2,map", ["precision@5,10-l2", "map"]),
        ("rbp.p=0.8,map", ["rbp.p=0.8", "map"]),
        ("iprec_at_recall.0.1,.5,P", ["iprec_at_recall.0.1,.5", "P"]),
        ("official,P_5", ["official", "P_5"]),
        (" AP , MARp@5, 10 ", ["AP", "MARp@5, 10"]),
        ("10,AP", ["10", "AP"]),
        ("", [""]),
    ],
)
def test_a_list_is_split_between_names(text: str, names: list[str]) -> None:
    """Not within parentheses or braces, and not before a number or a gain."""
    assert registry.listed(text) == names


@examples(200)
@given(drawn=st.lists(measures() | st.sampled_from([*TREC_EVAL_FAMILIES, *RANX, *TREC_SETS]), min_size=1, max_size=4))
def test_a_joined_list_is_split_into_its_names(drawn: list[Any]) -> None:
    """Canonical names, full names, families, names of ranx and sets."""
    names = [*map(str, drawn), *(each.full for each in drawn if not isinstance(each, str))]

    for comma in (",", ", "):
        assert registry.listed(comma.join(names)) == names


@examples(200)
@given(text=st.text("PRFndcgMAp@()={},._-0159e +rel", max_size=30))
def test_any_text_is_split_and_read_or_refused(text: str) -> None:
    """Joined again, the parts have the characters of the text; each key is read as the same measure."""
    try:
        parts = registry.listed(text)
    except MeasureError:
        assert "" in map(str.strip, text.split(","))
        return
    assert "".join(",".join(parts).split()) == "".join(text.split())
    for part in parts:
        try:
            named = registry.named(part)
        except MeasureError:
            continue
        for key, measure in named.items():
            assert registry.named(key) == {key: measure}


@examples(100)
@given(measure=measures(), cutoffs=st.lists(st.integers(1, 99), min_size=1, max_size=4, unique=True))
def test_several_cutoffs_are_the_measures_of_each(measure: Any, cutoffs: list[int]) -> None:
    """`named` and `parse` agree, and each key names its measure."""
    if measure.kind.cutoff not in ("required", "optional"):
        return
    text = f"{measure.full.split('@')[0]}@{','.join(map(str, cutoffs))}"

    named = registry.named(text)
    assert tuple(named.values()) == parse(text)
    assert named == {key: registry.named_one(key) for key in named}
    assert [each.cutoff for each in named.values()] == cutoffs


def test_evaluate_reads_lists_and_keys() -> None:
    """The keys of the result are the requested names, also for a name in a dict."""
    solution, run = {"q": {"a": 1, "b": 1, "c": 0}}, {"q": ["c", "a"]}

    assert scorer.evaluate(solution, run, "hits,precision@1,2,RR").keys() == {
        "hits",
        "precision@1",
        "precision@2",
        "RR",
    }
    assert dict(scorer.evaluate(solution, run, ["ndcg_cut.1,2", "hits"])) == {
        "ndcg_cut.1": 0,
        "ndcg_cut.2": pytest.approx(0.38685280723454163),
        "hits": 1,
    }
    assert scorer.evaluate(solution, run, {"mine": "precision"})["mine"] == 0.5
    for wrong in ("recall", {"mine": "recall"}, {"mine": "P@1,2"}):
        with pytest.raises(MeasureError):
            scorer.evaluate(solution, run, wrong)


@pytest.mark.parametrize("cutoffs", [(), (5, 10)])
def test_names_of_a_track_take_its_cutoffs(cutoffs: tuple[int, ...]) -> None:
    """A name of several cut-offs takes those of the track if it has any; a level of recall is no such cut-off."""
    expected = cutoffs or (5, 10, 15, 20, 30, 100, 200, 500, 1000)
    for name in ("P", "ndcg_cut", "map_cut", "relative_P"):
        assert tuple(each.cutoff for each in parse(name, cutoffs)) == expected
    assert len(parse("iprec_at_recall", cutoffs)) == 11
    assert [str(each) for each in parse("precision", cutoffs)] == [f"P@{k}" for k in cutoffs] or ["SetP"]


# Small cases ---------------------------------------------------------------------------------------------------------

SMALL = {"q1": {"a": 1, "b": 0, "c": 3, "d": 2, "x": 0}}
SMALL_RUN = {"q1": {"b": 9.0, "a": 8.0, "c": 7.0, "u": 6.0, "d": 5.0}}


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("set_F.0.5", "0.6923"),
        ("set_F.2.0", "0.8182"),
        ("rbp", "0.1547"),
        ("rbp.p=0.8", "0.2359"),
        ("dcg", "2.9046"),
        ("ndcg.1=5", "0.6878"),
        ("iprec_at_recall.0.35", "0.6667"),
        ("success_1", "0.0000"),
        ("ndcg_cut.2", "0.1480"),
    ],
)
def test_the_numbers_that_trec_eval_10_prints(name: str, printed: str) -> None:
    """The output of version 10.0 for these files; pytrec_eval has no such names."""
    assert f"{scorer.evaluate(SMALL, SMALL_RUN, name)[name]:.4f}" == printed


def test_ranx_objects_are_read() -> None:
    """Qrels and Run, and objects like them; another object is our error."""

    class ByQuery:
        def __init__(self, lists: Any) -> None:
            self.lists = lists

        def keys(self) -> Any:
            return self.lists.keys()

        def to_dict(self) -> Any:
            return self.lists

    assert scorer.evaluate(ByQuery(SMALL), ByQuery(SMALL_RUN), "hits")["hits"] == 3
    unread: list[Any] = [ByQuery([1]), ByQuery({"q1": 1}), ByQuery({}), object()]
    for wrong in unread:
        with pytest.raises(SolutionError):
            scorer.evaluate(wrong, SMALL_RUN, "hits")
        with pytest.raises(SubmissionError):
            scorer.evaluate(SMALL, wrong, "hits")


def test_the_canonical_name_of_a_pair_is_canonical() -> None:
    """Our side of the tables is written as measures print themselves, or lists cut-offs."""
    for tool in TOOLS:
        for ours in filled(PEERS[tool], [10], [0.5]).values():
            if "," not in ours.rpartition("@")[2] and "(" not in ours:
                assert str(parse_one(ours)) == ours


def test_tables_have_no_name_twice() -> None:
    """Each trec_eval name is either of one measure or of a family."""
    assert not set(TREC_EVAL) & set(TREC_EVAL_FAMILIES)
