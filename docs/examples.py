"""A worked example of each measure; nearly all use the same list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import scorer

Solution = Mapping[str, Mapping[str, float | Mapping[str, float]]]
"""Query -> item -> grade, or query -> item -> subtopic -> grade."""

RankedLists = Mapping[str, Sequence[str]]
"""Query -> items, the best first."""

GRADES: Solution = {"q": {"a": 5, "b": 3, "c": 2, "d": 2, "e": 1, "f": 0, "g": 0}}
LIST: RankedLists = {"q": ["f", "d", "a", "x", "b", "g"]}

TWO_SOLUTIONS: Solution = {**GRADES, "p": {"h": 1}}
TWO_LISTS: RankedLists = {**LIST, "p": ["x", "h"]}

SAMPLED: Solution = {"q": {"a": 1, "b": 1, "f": 0, "u": -1}}
SAMPLED_LIST: RankedLists = {"q": ["a", "f", "u", "x", "b"]}

DIVIDED: Solution = {"q": {"a": {"1": 1, "2": 1}, "b": {"1": 1}, "c": {"3": 1}, "d": {"2": 0}}}
DIVIDED_LIST: RankedLists = {"q": ["b", "a", "x", "c"]}
NOVELTY = (
    "The list has b, a and x first. b is the first item with subtopic 1, so its novelty is 1. a is the second one with "
    "subtopic 1 and the first with subtopic 2, so it is (1 - 0.5) + 1 = 1.5. x has no subtopic."
)
IDEAL_NOVELTY = (
    "The ideal list begins with a, which has two subtopics, then has c, whose subtopic is new, and then b: their "
    "novelty is 2, 1 and 0.5."
)
FULL_NOVELTY = "Items with all three subtopics would have the novelty 3, 3 · 0.5 and 3 · 0.25 at the first three ranks."


@dataclass(frozen=True, slots=True)
class Example:
    """A list, its score, and the calculation."""

    measure: str
    """With its cut-off and parameters."""
    working: str
    """The explanation, in Markdown."""
    arithmetic: str
    """The calculation as a Python expression, with `log2`, `ln` and `exp`."""
    solution: Solution
    lists: RankedLists

    @property
    def score(self) -> float:
        """The score that scorer computes."""
        return scorer.evaluate(self.source, self.lists, self.measure)[self.measure]

    @property
    def source(self) -> Solution | list[dict[str, object]]:
        """The solution as `evaluate` takes it: with subtopics, a row for each."""
        rows: list[dict[str, object]] = [
            {"query": query, "item": item, "subtopic": subtopic, "grade": grade}
            for query, items in self.solution.items()
            for item, grades in items.items()
            if isinstance(grades, Mapping)
            for subtopic, grade in grades.items()
        ]
        return rows or self.solution


def _of_one_list(measure: str, working: str, arithmetic: str) -> Example:
    return Example(measure, working, arithmetic, GRADES, LIST)


def _of_two_lists(measure: str, working: str, arithmetic: str) -> Example:
    return Example(measure, working, arithmetic, TWO_SOLUTIONS, TWO_LISTS)


def _divided(measure: str, working: str, arithmetic: str) -> Example:
    return Example(measure, working, arithmetic, DIVIDED, DIVIDED_LIST)


EXAMPLES: Mapping[str, Example] = {
    "MARp": _of_one_list(
        "MARp@3,5",
        "The three best items are a, b, and one of c and d. As these two have the same grade, both count. The first "
        "three ranks have d and a: Rp@3 is 2/3. All five relevant items count for Rp@5, and the first five ranks have "
        "d, a and b: 3/5. The score is the mean of the two.",
        "(2/3 + 3/5) / 2",
    ),
    "Rp": _of_one_list(
        "Rp@3",
        "The three best items are a, b, and one of c and d. As these two have the same grade, both count, and there "
        "are four to be found; but the hits are divided by min(m, z) = min(5, 3) = 3. The first three ranks have d "
        "and a.",
        "2 / 3",
    ),
    "Rprec": _of_one_list(
        "Rprec",
        "Five items are relevant: a, b, c, d, e. So five ranks count, and they have d, a and b.",
        "3 / 5",
    ),
    "P": _of_one_list("P@3", "Of the first three ranks, the second and the third have a relevant item.", "2 / 3"),
    "R": _of_one_list("R@3", "Of the five relevant items, d and a are in the first three ranks.", "2 / 5"),
    "F": _of_one_list(
        "F@3",
        "P@3 is 2/3, R@3 is 2/5, and β is 1.",
        "(1 + 1**2) * 2/3 * 2/5 / (1**2 * 2/3 + 2/5)",
    ),
    "RprecMult": _of_one_list(
        "RprecMult@0.5",
        "Five items are relevant, and 0.5 · 5 + 0.9 is 3.4. So three ranks count, and they have d and a.",
        "2 / 3",
    ),
    "Utility": _of_one_list(
        "Utility(missed=-0.25)",
        "The list has three relevant items and three others, and misses the relevant items c and e.",
        "1*3 - 1*3 - 0.25*2",
    ),
    "Hits": _of_one_list("Hits@3", "Of the first three items, d and a are relevant.", "1 + 1"),
    "SetP": _of_one_list("SetP", "The list has six items. Of these d, a and b are relevant.", "3 / 6"),
    "SetR": _of_one_list("SetR", "Of the five relevant items the list has d, a and b.", "3 / 5"),
    "SetF": _of_one_list(
        "SetF",
        "SetP is 3/6, SetR is 3/5, and β is 1.",
        "(1 + 1**2) * 3/6 * 3/5 / (1**2 * 3/6 + 3/5)",
    ),
    "SetAP": _of_one_list("SetAP", "SetP is 3/6, SetR is 3/5.", "3/6 * 3/5"),
    "AP": _of_one_list(
        "AP",
        "Relevant items are at ranks 2, 3 and 5. The precision there is 1/2, 2/3 and 3/5. c and e are not found "
        "and add 0, so the sum is divided by 5.",
        "(1/2 + 2/3 + 3/5) / 5",
    ),
    "GMAP": _of_two_lists(
        "GMAP",
        "AP is (1/2 + 2/3 + 3/5) / 5 = 53/150 for q. For p it is 1/2, because h is at rank 2. Their mean is "
        "0.4267; their geometric mean is a little less.",
        "exp((ln(53/150) + ln(1/2)) / 2)",
    ),
    "RR": _of_one_list("RR", "The first relevant item is d, at rank 2.", "1 / 2"),
    "Success": _of_one_list("Success@3", "d and a are relevant; one of them is enough.", "1"),
    "SetSuccess": _of_one_list("SetSuccess", "d, a and b are relevant; one of them is enough.", "1"),
    "IPrec": _of_one_list(
        "IPrec@0.2",
        "A recall of 0.2 is reached with one of the five relevant items, so at rank 2, where the precision is 1/2. "
        "Further down it is higher: 2/3 at rank 3, and 3/5 at rank 5. The highest counts.",
        "2 / 3",
    ),
    "11pt_avg": _of_one_list(
        "11pt_avg",
        "The eleven levels take 0, 0.5, 1, 1.5, ... 5 of the five relevant items; rounded, a half up, that is 0, 1, 1, "
        "2, 2, 3, 3, 4, 4, 5, 5. With up to two of them the highest precision to come is 2/3, at rank 3; with three "
        "it is 3/5, at rank 5; four and five are never found.",
        "(5 * 2/3 + 2 * 3/5 + 4 * 0) / 11",
    ),
    "Accuracy": _of_one_list(
        "Accuracy",
        "The list has three relevant items (d, a, b) and three others (f, x, g), so nine pairs. d and a are before x "
        "and g, and b is before g: five pairs are in the correct order.",
        "5 / 9",
    ),
    "nDCG": _of_one_list(
        "nDCG@3",
        "The first three ranks have the gains 0, 2 and 5. The ideal list has 5, 3 and 2 there. At rank r a "
        "gain is divided by log2(r + 1).",
        "(0/log2(2) + 2/log2(3) + 5/log2(4)) / (5/log2(2) + 3/log2(3) + 2/log2(4))",
    ),
    "DCG": _of_one_list(
        "DCG@3",
        "The first three ranks have the gains 0, 2 and 5. At rank r a gain is divided by log2(r + 1).",
        "0/log2(2) + 2/log2(3) + 5/log2(4)",
    ),
    "nDCGrel": _of_one_list(
        "nDCGrel",
        "nDCG@2, nDCG@3 and nDCG@5 are those at d, a and b. For the missing items c and e, it is the nDCG of the whole "
        "list, which has the same DCG as that at b, and the whole ideal list as nDCG@5.",
        "((2/log2(3)) / (5 + 3/log2(3)) + (2/log2(3) + 5/log2(4)) / (5 + 3/log2(3) + 2/log2(4)) "
        "+ 3 * (2/log2(3) + 5/log2(4) + 3/log2(6)) / (5 + 3/log2(3) + 2/log2(4) + 2/log2(5) + 1/log2(6))) / 5",
    ),
    "Rndcg": _of_one_list(
        "Rndcg",
        "The grades of the ideal list are 5, 3, 2, 2, 1, so its gain changes after the ranks 1, 2, 4 and 5. nDCG@1 is "
        "0. The list has only one rank more than 5, so its end does not count.",
        "(0 + (2/log2(3)) / (5 + 3/log2(3)) + (2/log2(3) + 5/log2(4)) / (5 + 3/log2(3) + 2/log2(4) + 2/log2(5)) "
        "+ (2/log2(3) + 5/log2(4) + 3/log2(6)) / (5 + 3/log2(3) + 2/log2(4) + 2/log2(5) + 1/log2(6))) / 4",
    ),
    "G": _of_one_list(
        "G",
        "The ideal gains are 5, 3, 2, 2, 1. Up to rank 2 they sum to 8, and the list has 2, so d is discounted by "
        "log2(2 + 6); up to rank 3 to 10, of which the list has 7; up to rank 5 to 13, of which it has 10.",
        "(2/log2(2 + 8 - 2) + 5/log2(2 + 10 - 7) + 3/log2(2 + 13 - 10)) / 13",
    ),
    "binG": _of_one_list(
        "binG",
        "Only f is before d and before a; f and x are before b. The missing items c and e add 0.",
        "(1/log2(2 + 1) + 1/log2(2 + 1) + 1/log2(2 + 2)) / 5",
    ),
    "Q": _of_one_list(
        "Q",
        "The gains are the grades, and beta is 1. d, a and b are relevant, at ranks 2, 3 and 5: 1, 2 and 3 relevant "
        "items "
        "with the gains 2, 7 and 10 up to there. The ideal list has the gains 5, 3, 2, 2, 1, which are 8, 10 and 13 up "
        "to these ranks. c and e are not found and add 0.",
        "((1 + 2)/(2 + 8) + (2 + 7)/(3 + 10) + (3 + 10)/(5 + 13)) / 5",
    ),
    "P-plus": _of_one_list(
        "P-plus",
        "The best item of the list is a, at rank 3. d and a are relevant up to there: at ranks 2 and 3, there are 1 "
        "and 2 "
        "relevant items with the gains 2 and 7. The ideal list has the gains 8 and 10 up to these ranks.",
        "((1 + 2)/(2 + 8) + (2 + 7)/(3 + 10)) / 2",
    ),
    "muAP": _of_one_list(
        "muAP",
        "The positive grades are 1, 2, 3 and 5. AP with each of them as the threshold: (1/2 + 2/3 + 3/5) / 5 = 53/150 "
        "at 1; (1/2 + 2/3 + 3/5) / 4 = 53/120 at 2; only a and b, at ranks 3 and 5, (1/3 + 2/5) / 2 = 11/30 at 3; "
        "only a, 1/3 at 5. The steps from grade to grade are 1, 1, 1 and 2.",
        "(53/150 * 1 + 53/120 * 1 + 11/30 * 1 + 1/3 * 2) / (1 + 1 + 1 + 2)",
    ),
    "NDCNG": _of_one_list(
        "NDCNG@3",
        "The highest grade is 5, so the gain of grade g is 2^(g/5) - 1. The first three ranks have the grades 0, 2 "
        "and 5; the ideal list has 5, 3 and 2 there.",
        "((2**(2/5) - 1)/log2(3) + 1/log2(4)) / (1/log2(2) + (2**(3/5) - 1)/log2(3) + (2**(2/5) - 1)/log2(4))",
    ),
    "nDCGphi": _of_one_list(
        "nDCGphi@5",
        "The positive grades are 1, 2, 2, 3 and 5. Their median is 2 and their hinges are 2 and 3, so the fence is at "
        "3 + 1.5 · (3 - 2) = 4.5, and the whisker is 3, the highest grade within it. α = (5 - 3) / (5 - 1) = 1/2. The "
        "curve goes through (0, 0), (2, 0), (3, 1/2) and (5, 1), which are all grades of the list: φ is 1 for a, 1/2 "
        "for b, 0 for d. The list has a at rank 3 and b at rank 5; the ideal list has them at 1 and 2.",
        "(1/log2(4) + (2**(1/2) - 1)/log2(6)) / (1/log2(2) + (2**(1/2) - 1)/log2(3))",
    ),
    "MeanNDCG": _of_one_list(
        "MeanNDCG@3",
        "The gains 2^g - 1 of the first three ranks are 0, 3 and 31; the ideal list has 31, 7 and 3 there. "
        "nDCG@1 is 0.",
        "(0 + 3/log2(3) / (31 + 7/log2(3)) + (3/log2(3) + 31/log2(4)) / (31 + 7/log2(3) + 3/log2(4))) / 3",
    ),
    "MeanNDCNG": _of_one_list(
        "MeanNDCNG@2",
        "The highest grade is 5, so the gain of grade g is 2^(g/5) - 1. NDCNG@1 is 0. The second rank has grade 2; "
        "the ideal list begins with 5 and 3.",
        "(0 + (2**(2/5) - 1)/log2(3) / (1 + (2**(3/5) - 1)/log2(3))) / 2",
    ),
    "RBP": _of_one_list(
        "RBP(p=0.5)",
        "As shares of the highest grade, which is 5, the gains at ranks 2, 3 and 5 are 2/5, 1 and 3/5. A user "
        "reaches rank r with probability 0.5^(r - 1).",
        "(1 - 0.5) * (2/5 * 0.5 + 1 * 0.5**2 + 3/5 * 0.5**4)",
    ),
    "ERR": _of_one_list(
        "ERR",
        "The highest grade is 5, so a grade g satisfies with probability (2^g - 1) / 32: d with 3/32, a with 31/32, b "
        "with 7/32. A user reaches a if d does not satisfy, and b if neither does.",
        "1/2 * 3/32 + 1/3 * 29/32 * 31/32 + 1/5 * 29/32 * 1/32 * 7/32",
    ),
    "nERR": _of_one_list(
        "nERR@3",
        "The highest grade is 5, so a grade g satisfies with probability (2^g - 1) / 32. The first three ranks of the "
        "list have d (3/32) and a (31/32), those of the ideal list a, b (7/32) and one of c and d (3/32).",
        "(1/2 * 3/32 + 1/3 * 29/32 * 31/32) / (31/32 + 1/2 * 1/32 * 7/32 + 1/3 * 1/32 * 25/32 * 3/32)",
    ),
    "BPM": _of_one_list(
        "BPM@5",
        "The highest grade of the solution is 5, so the gains of the first three ranks are 0, 2/5 and 1. Their sum is "
        "at "
        "least T = 1 at rank 3, where the user stops.",
        "(0 + 2/5 + 1) / 3",
    ),
    "RBPresidual": _of_one_list(
        "RBPresidual(p=0.5)",
        "Only x, at rank 4, is not judged. It could add 0.5⁴, and all items after the sixth rank 0.5⁶.",
        "0.5**6 + (1 - 0.5) * 0.5**3",
    ),
    "RBO": _of_one_list(
        "RBO(p=0.5)",
        "The ideal list is a, b, d, c, e: of c and d, which tie, the one that the list has comes first. The first 1, "
        "2, ... 5 ranks of both share 0, 0, 2, 2 and 3 items, the first 6 also 3. At depth 6 the ideal list has ended: "
        "it is supposed to go on to share 3/5 of its items.",
        "0.5 * (0.5**2 * 2/3 + 0.5**3 * 2/4 + 0.5**4 * 3/5 + 0.5**5 * (3 + 3/5)/6) + 0.5**6 * 3/5",
    ),
    "Compat": _of_one_list(
        "Compat(p=0.5,depth=list)",
        "The ideal list is a, b, d, c, e: of c and d, which tie, the one that the list has comes first. The first 1, "
        "2, ... 6 ranks of both share 0, 0, 2, 2, 3 and 3 items. Those of the ideal list and itself share 1, 2, 3, 4, "
        "5 and, as it ends there, 5. Without depth=list, both sums go on to depth 1000.",
        "(0.5**2 * 2/3 + 0.5**3 * 2/4 + 0.5**4 * 3/5 + 0.5**5 * 3/6) "
        "/ (1 + 0.5 + 0.5**2 + 0.5**3 + 0.5**4 + 0.5**5 * 5/6)",
    ),
    "INST": _of_one_list(
        "INST@3",
        "The highest grade of the solution is 5, so the gains of the first three ranks are 0, 2/5 and 1. T is 1. x is "
        "1 + 2 - 0 = 3 at rank 1 and 2 + 2 - 2/5 = 18/5 at rank 2, so the user reads rank 2 with probability (2/3)^2, "
        "and rank 3 with (2/3)^2 · (13/18)^2.",
        "(2/5 * (2/3)**2 + 1 * (2/3)**2 * (13/18)**2) / (1 + (2/3)**2 + (2/3)**2 * (13/18)**2)",
    ),
    "INSQ": _of_one_list(
        "INSQ@3",
        "The highest grade of the solution is 5, so the gains of the first three ranks are 0, 2/5 and 1. T is 1, so "
        "their weights are 1/(r + 1)^2.",
        "(2/5 / 3**2 + 1 / 4**2) / (1/2**2 + 1/3**2 + 1/4**2)",
    ),
    "SDCG": _of_one_list(
        "SDCG@3",
        "The highest grade of the solution is 5, so the gains of the first three ranks are 0, 2/5 and 1. The divisor "
        "is that of a list with gain 1 at each rank.",
        "(2/5 / log2(3) + 1 / log2(4)) / (1/log2(2) + 1/log2(3) + 1/log2(4))",
    ),
    "NERR8": _of_one_list(
        "NERR8@5",
        "The highest grade of the solution is 5, so the gains of the first five ranks are 0, 2/5, 1, 0 and 3/5. The "
        "user reads the first two ranks for certain and the third with probability 3/5, and stops there.",
        "(2/5 + 3/5 * 1) / (1 + 1 + 3/5)",
    ),
    "NERR9": _of_one_list(
        "NERR9@5",
        "The highest grade of the solution is 5, so the gains of the first five ranks are 0, 2/5, 1, 0 and 3/5. The "
        "user reads rank 2 with probability 1/2, and rank 3 with 1/2 · 3/5 · 2/3 = 1/5, and stops there.",
        "(1/2 * 2/5 + 1/5 * 1) / (1 + 1/2 + 1/5)",
    ),
    "NERR10": _of_one_list(
        "NERR10(p=0.5)",
        "The highest grade of the solution is 5, so the gains of the first three ranks are 0, 2/5 and 1. The user "
        "reads rank 2 with probability 1/2, and rank 3 with 1/2 · 3/5 · 1/2 = 3/20, and stops there.",
        "(1/2 * 2/5 + 3/20 * 1) / (1 + 1/2 + 3/20)",
    ),
    "NERR11": _of_one_list(
        "NERR11",
        "The highest grade of the solution is 5, so the gains of the first three ranks are 0, 2/5 and 1. T is 1. The "
        "user reads rank 2 with probability (2/3)^2, and rank 3 with (2/3)^2 · 3/5 · (3/4)^2 = 3/20, and stops there.",
        "((2/3)**2 * 2/5 + 3/20 * 1) / (1 + (2/3)**2 + 3/20)",
    ),
    "alpha-nDCG": _divided(
        "alpha-nDCG@3",
        f"{NOVELTY} {IDEAL_NOVELTY}",
        "(1/log2(2) + 1.5/log2(3)) / (2/log2(2) + 1/log2(3) + 0.5/log2(4))",
    ),
    "alpha-DCG": _divided(
        "alpha-DCG@3",
        f"{NOVELTY} {FULL_NOVELTY}",
        "(1/log2(2) + 1.5/log2(3)) / (3 * (1/log2(2) + 0.5/log2(3) + 0.25/log2(4)))",
    ),
    "ERR-IA": _divided("ERR-IA@3", f"{NOVELTY} {FULL_NOVELTY}", "(1 + 1.5 / 2) / (3 * (1 + 0.5 / 2 + 0.25 / 3))"),
    "nERR-IA": _divided("nERR-IA@3", f"{NOVELTY} {IDEAL_NOVELTY}", "(1 + 1.5 / 2) / (2 + 1 / 2 + 0.5 / 3)"),
    "NRBP": _divided(
        "NRBP",
        f"{NOVELTY} c, at rank 4, has the novelty 1. A user reaches rank r with probability 0.5^(r - 1).",
        "(1 - (1 - 0.5) * 0.5) / 3 * (1 + 1.5 * 0.5 + 1 * 0.5**3)",
    ),
    "nNRBP": _divided(
        "nNRBP",
        f"{NOVELTY} c, at rank 4, has the novelty 1. {IDEAL_NOVELTY} A user reaches rank r with probability "
        "0.5^(r - 1).",
        "(1 + 1.5 * 0.5 + 1 * 0.5**3) / (2 + 1 * 0.5 + 0.5 * 0.5**2)",
    ),
    "P-IA": _divided(
        "P-IA@3",
        "The first three ranks have two items with subtopic 1 (b and a), one with subtopic 2 (a) and none with "
        "subtopic 3.",
        "(2/3 + 1/3 + 0/3) / 3",
    ),
    "AP-IA": _divided(
        "AP-IA",
        "For subtopic 1, b and a are relevant, at ranks 1 and 2: the average precision is (1/1 + 2/2) / 2. For "
        "subtopic 2 it is 1/2, as only a is relevant, and for subtopic 3 it is 1/4, as only c is.",
        "((1/1 + 2/2) / 2 + 1/2 + 1/4) / 3",
    ),
    "StRecall": _divided(
        "StRecall@3", "The first three ranks have items with subtopics 1 and 2, of three subtopics.", "2 / 3"
    ),
    "Bpref": _of_one_list(
        "Bpref",
        "Five items are relevant, and two (f, g) are judged not to be, so min(N, R) = 2. Only f is before d, a "
        "and b: each of them adds 1 - 1/2. x is not judged and does not matter. c and e are not found and add 0.",
        "((1 - 1/2) + (1 - 1/2) + (1 - 1/2)) / 5",
    ),
    "GMBpref": Example(
        "GMBpref",
        "The list for q has Bpref = 0.3: only f is before d, a and b, so each of them adds 1/2. In the list for p, "
        "nothing before h is judged not to be relevant, so its Bpref is 1.",
        "exp((ln(0.3) + ln(1)) / 2)",
        TWO_SOLUTIONS,
        TWO_LISTS,
    ),
    "infAP": Example(
        "infAP",
        "u is in the pool and was not judged, as grade -1 says. a is at rank 1 and adds 1. b is at "
        "rank 5; three items of the pool are before it (a, f, u), and of the two judged ones among them half are "
        "relevant, so 3/5 · 1/2 is added to 1/5 for b itself. (Here ε cancels: (1 + ε) / (2 + 2ε) = 1/2.)",
        "(1 + (1/5 + 3/5 * 1/2)) / 2",
        SAMPLED,
        SAMPLED_LIST,
    ),
    "Judged": _of_one_list("Judged@4", "The solution grades f, d and a, also with 0; it does not list x.", "3 / 4"),
    "Unjudged": _of_one_list("Unjudged@5", "Of the first five items, the solution lists all but x.", "1 / 5"),
    "NumQ": _of_two_lists("NumQ", "The solution has the queries q and p.", "1 + 1"),
    "NumRet": _of_two_lists("NumRet", "The list for q has six items, that for p has two.", "6 + 2"),
    "NumRel": _of_two_lists("NumRel", "Five items are relevant to q, and h to p.", "5 + 1"),
    "NumRelRet": _of_two_lists("NumRelRet", "The list for q has d, a and b, that for p has h.", "3 + 1"),
    "NumNonrelJudgedRet": _of_two_lists(
        "NumNonrelJudgedRet", "The list for q has f and g, whose grade is 0. In that for p, x is not judged.", "2 + 0"
    ),
}
"""The examples by the name of the measure."""
