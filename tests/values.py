"""Tables of values for the tests of analyses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

Values = Mapping[str, Mapping[str, Sequence[float | str | None]]]
"""Task -> algorithm -> a value for each case; None has no row."""

HEAD = "task,algorithm,case,value"


def rows(values: Values) -> list[tuple[str, str, str, str]]:
    """The rows of a table; cases are numbered from 1."""
    return [
        (task, algorithm, str(case), str(value))
        for task, algorithms in values.items()
        for algorithm, column in algorithms.items()
        for case, value in enumerate(column, 1)
        if value is not None
    ]


def csv(values: Values | Iterable[tuple[str, ...]]) -> str:
    """The text of a CSV file; fields are quoted."""
    listed = rows(values) if isinstance(values, Mapping) else values
    lines = (",".join('"' + field.replace('"', '""') + '"' for field in row) for row in listed)
    return "\n".join([HEAD, *lines]) + "\n"


def table(folder: Path, values: Values | Iterable[tuple[str, ...]], name: str = "values.csv") -> Path:
    """Write a CSV file."""
    file = folder / name
    file.write_text(csv(values), encoding="utf-8")
    return file


CLEAR = {
    "clear": {
        "low": [0.1 + case / 1000 for case in range(20)],
        "middle": [0.5 + case % 3 / 100 for case in range(20)],
        "high": [0.9 - case % 4 / 200 for case in range(20)],
    }
}
"""Three algorithms of which each is better than the next one on every case."""

TREC_EVAL_10 = {
    *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank"),
    *("iprec_at_recall", "P", "relstring", "recall", "infAP", "gm_bpref", "Rprec_mult", "utility", "11pt_avg"),
    *("binG", "G", "dcg", "ideal_dcg", "ndcg", "ndcg_rel", "Rndcg", "ndcg_cut", "map_cut", "relative_P"),
    *("success", "set_P", "set_relative_P", "set_recall", "set_map", "set_F", "num_nonrel_judged_ret"),
    *("prefs_num_prefs_poss", "prefs_num_prefs_ful", "prefs_num_prefs_ful_ret", "prefs_simp", "prefs_pair"),
    *("prefs_avgjg", "prefs_avgjg_Rnonrel", "prefs_simp_ret", "prefs_pair_ret", "prefs_avgjg_ret"),
    *("prefs_avgjg_Rnonrel_ret", "prefs_simp_imp", "prefs_pair_imp", "prefs_avgjg_imp", "map_avgjg", "P_avgjg"),
    *("Rprec_mult_avgjg", "yaap", "rbp", "rbp_resid", "unj", "official", "set", "all_trec", "all_prefs", "prefs"),
    "qrels_jg",
}
"""The measures of trec_eval 10.0, in the order of its list, and its names of several measures."""
