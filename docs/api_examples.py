"""Examples of the names of the library whose docstrings have none; they run as a doctest in an empty folder."""

from __future__ import annotations

EXAMPLES = {
    "Challenge": """\
>>> import scorer
>>> from pathlib import Path
>>> Path("challenge.toml").write_text('''
... name = "Playlists"
... [tracks.main]
... title = "Main track"
... solution = "solution.txt"
... list_length = 10
... cutoffs = [5, 10]
... primary = "nDCG@10"
... ''') > 0
True
>>> challenge = scorer.read_challenge(".", solutions=False)
>>> challenge.name, challenge.track("main").title
('Playlists', 'Main track')
>>> [track.list_length for track in challenge.tracks]
[10]
""",
    "ChallengeError": """\
>>> import scorer
>>> try:
...     scorer.read_challenge("no-such-folder")
... except scorer.ChallengeError as error:
...     print(str(error).partition(";")[0])
no-such-folder: no such file
""",
    "Coefficient": """\
>>> import scorer
>>> first = {f"q{number}": {"d1": 2, "d2": number % 2, "d3": 0} for number in range(20)}
>>> second = {f"q{number}": {"d1": 2, "d2": 0, "d3": 0} for number in range(20)}
>>> kappa = scorer.agree(first, second).coefficients["kappa"]
>>> round(kappa.value, 4), [round(end, 4) for end in kappa.interval], kappa.excludes_0
(0.7, [0.5791, 0.8209], True)
""",
    "Comparison": """\
>>> import scorer
>>> solution = {"q1": {"d1": 2}, "q2": {"d2": 1}, "q3": {"d3": 1}}
>>> first, second = {"q1": ["d1"], "q2": ["d2"], "q3": ["d3"]}, {"q1": ["d9", "d1"], "q2": ["d2"]}
>>> comparison = scorer.compare(solution, {"second": second, "first": first}, "RR")
>>> comparison
Comparison(MRR: first=1.0000, second=0.5000; queries=3)
>>> comparison.names, comparison.means, comparison.measure
(('first', 'second'), {'first': 1.0, 'second': 0.5}, 'MRR')
>>> pair = comparison.pair("second", "first")
>>> pair.difference, round(pair.p_value, 2), (pair.wins, pair.ties, pair.losses)
(0.5, 0.5, (2, 1, 0))
>>> comparison.pairs == (pair,)
True
>>> comparison.to_frame()[["first", "second", "difference", "wins"]]
   first  second  difference  wins
0  first  second         0.5     2
>>> comparison.notes["first"], comparison.settings.resamples
((), 10000)
>>> comparison.separates, comparison.slices, comparison.power()[0].queries
(False, {}, 10)
>>> comparison.analysis.task.cases
('q1', 'q2', 'q3')
>>> comparison.to_dict()["algorithms"]
['first', 'second']
>>> scorer.compare(solution, {"second": second, "first": first}, ["RR", "P@1"]).by_measure["P@1"]
Comparison(P@1: first=1.0000, second=0.3333; queries=3)
""",
    "ConversionError": """\
>>> import scorer
>>> try:
...     scorer.convert({"q1": ["d1"]}, "lists.xyz")
... except scorer.ConversionError as error:
...     print(error.setting, "|", error.text[:46])
target_format | the name lists.xyz does not determine the form
""",
    "Counts": """\
>>> import scorer
>>> counts = scorer.evaluate({"q1": {"d1": 1}, "q2": {"d2": 1}}, {"q1": ["d1", "d1"], "q7": ["d1"]}, "AP").counts
>>> counts.queries, counts.answered, counts.unknown
(2, 1, 1)
>>> counts.items, counts.repeated, counts.in_solution
(2, 1, 1)
>>> counts.overlong, counts.few_known
(0, False)
""",
    "DecisiveCase": """\
>>> import scorer
>>> runs = {"a": {"q1": ["d1"], "q2": ["d2"]}, "b": {"q1": ["d9", "d1"], "q2": ["d2"]}}
>>> (decisive,) = scorer.compare({"q1": {"d1": 1}, "q2": {"d2": 1}}, runs, "RR").pair("a", "b").decisive
>>> decisive.case, decisive.difference, decisive.first, decisive.second
('q1', 0.5, 1.0, 0.5)
""",
    "Evaluation": """\
>>> import scorer
>>> solution = {"q1": {"d1": 2, "d2": 1}, "q2": {"d3": 1}, "q3": {"d4": 0}}
>>> run = {"q1": {"d2": 2.0, "d1": 1.0}, "q2": {"d9": 1.0, "d3": 1.0}}
>>> result = scorer.evaluate(solution, run, ["map", "P@1"], per_query=True, tie_bounds=True)
>>> result["map"], result["AP"], result["P.1"]
(0.75, 0.75, 0.5)
>>> result.queries, result.undefined, result.left_out()
(3, 1, {'map': 1, 'P@1': 1})
>>> result.bounds()
{'map': (0.75, 1.0), 'P@1': (0.5, 1.0)}
>>> {name: (round(low, 4), round(high, 4)) for name, (low, high) in result.intervals().items()}
{'map': (0.1024, 0.9969), 'P@1': (0.0126, 0.9874)}
>>> result.units is None  # as without clusters
True
>>> result.scores_of("P@1").tolist()
[1.0, 0.0, nan]
>>> result.judges(["map"]) is result.corrections() is None  # as without checked
True
>>> corrected = scorer.evaluate(solution, run, "AP", checked={"q2": {"d9": 1}})
>>> corrected["AP"], corrected.corrections()["AP"].bias
(1.25, -0.5)
>>> result.unjudged_bounds("any")
{'map': (0.0, 1.0), 'P@1': (0.3333333333333333, 1.0)}
>>> result.by_query()["q2"]
{'map': 0.5, 'P@1': 0.0}
>>> result.by_slice({"short": ["q1"], "long": ["q2", "q3"]})
{'short': {'map': 1.0, 'P@1': 1.0}, 'long': {'map': 0.5, 'P@1': 0.0}}
>>> result.per_query
       map  P@1
query
q1     1.0  1.0
q2     0.5  0.0
q3     NaN  NaN
>>> result.to_frame()
         score  worst  best
measure
map       0.75   0.75   1.0
P@1       0.50   0.50   1.0
>>> result.variants["P@1"]
'P(rel=positive)@1'
>>> result.policies["ties"], result.counts.answered
('trec', 2)
>>> result.notes.lines()[0]
'1 of 3 queries have no list ("q3"); each scores 0, unless nothing is relevant to it'
""",
    "Evaluations": """\
>>> import scorer
>>> solution = {"q1": {"d1": 1}, "q2": {"d2": 1}}
>>> runs = {"a": {"q1": ["d1"], "q2": ["d9", "d2"]}, "b": {"q1": ["d9"], "q2": ["d2"]}}
>>> results = scorer.evaluate(solution, runs, ["AP", "P@1"], per_query=True)
>>> results["a"]["AP"]
0.75
>>> results.to_frame()
              AP  P@1
submission
a           0.75  0.5
b           0.50  0.5
>>> results.per_query["a"]
measure   AP  P@1
query
q1       1.0  1.0
q2       0.5  0.0
>>> results.to_frame("long").head(3)
  submission query measure  score
0          a    q1      AP    1.0
1          a    q1     P@1    1.0
2          a    q2      AP    0.5
>>> results.queries, results.policies["missing"], results.variants["AP"], results.notes
(2, 'zero', 'AP(denominator=R,rel=positive)', {'a': (), 'b': ()})
""",
    "FileError": """\
>>> import scorer
>>> try:
...     scorer.evaluate("no-such-file.txt", {"q1": ["d1"]}, "AP")
... except scorer.FileError as error:
...     print(error.path, error.findings.count)
no-such-file.txt 1
""",
    "Findings": """\
>>> import scorer
>>> notes = scorer.evaluate({"q1": {"d1": 1}}, {"q1": ["d1"], "q7": ["d1"]}, "AP").notes
>>> notes.count, notes.lines("my run")
(1, ['my run:2: query "q7" is unknown; its list is ignored'])
>>> notes.shown[0].line, notes.shown[0].text
(2, 'query "q7" is unknown; its list is ignored')
""",
    "FusionError": """\
>>> import scorer
>>> try:
...     scorer.fuse([{"q1": ["d1"]}, {"q1": ["d2"]}], method="no such method")
... except scorer.FusionError as error:
...     print(str(error).partition(";")[0])
no method is called "no such method"
""",
    "Measure": """\
>>> import scorer
>>> (measure,) = scorer.parse("P_10")
>>> str(measure), measure.full, measure.mean_name, measure.cutoff
('P@10', 'P(rel=positive)@10', 'P@10', 10)
>>> measure.bounded, measure.threshold
(True, 'positive')
>>> str(measure.at_threshold(2))
'P(rel=2)@10'
>>> measure.to_ir_measures()  # for ir_measures.calc_aggregate and pt.Experiment
P@10
>>> scorer.evaluate({"q1": {"d1": 1}}, {"q1": ["d1"]}, [measure])[measure]
0.1
""",
    "MeasureError": """\
>>> import scorer
>>> try:
...     scorer.parse("nDGC@10")
... except scorer.MeasureError as error:
...     print(str(error).partition(";")[0])
no measure is called "nDGC"
""",
    "Overlaps": """\
>>> import scorer
>>> found = scorer.overlap({"a": {"q1": ["d1", "d2"]}, "b": {"q1": ["d2", "d3"], "q2": ["d4"]}}, "Jaccard@10")
>>> found.runs, list(found.measures), found.queries
(('a', 'b'), ['Jaccard@10'], 2)
>>> found.missing, found.repeated
({'a': 1, 'b': 0}, {'a': 0, 'b': 0})
>>> [(pair.first, pair.second, pair.queries) for pair in found.pairs]
[('a', 'b', ('q1',))]
>>> found.to_frame()
  first second  Jaccard@10
0     a      b    0.333333
""",
    "Swap": """\
>>> import scorer
>>> runs = {"a": {"q": ["d1", "d2"]}, "b": {"q": ["d2", "d1"]}}
>>> (swap,) = scorer.agree({"q": {"d1": 1, "d2": 0}}, {"q": {"d1": 0, "d2": 1}}, runs, "RR").swaps
>>> swap.above, swap.by_first, swap.below, swap.by_second
('a', 0.5, 'b', -0.5)
>>> swap.change
Coefficient(value=1.0, interval=None)
""",
    "Pair": """\
>>> import scorer
>>> runs = {"a": {"q1": ["d1"], "q2": ["d2"]}, "b": {"q1": ["d9", "d1"], "q2": ["d2"]}}
>>> pair = scorer.compare({"q1": {"d1": 1}, "q2": {"d2": 1}}, runs, "RR").pair("b", "a")
>>> pair.first, pair.second, pair.difference
('a', 'b', 0.25)
>>> pair.p_value == pair.adjusted, pair.is_significant
(True, False)
>>> round(pair.effect_size, 4), pair.interval
(0.7071, (-1.0, 1.0))
>>> pair.wins, pair.ties, pair.losses, len(pair.decisive), pair.is_not_worse
(1, 1, 0, 1, None)
""",
    "Power": """\
>>> import scorer
>>> runs = {"a": {"q1": ["d1"], "q2": ["d2"]}, "b": {"q1": ["d9", "d1"], "q2": ["d2"]}}
>>> (power,) = scorer.compare({"q1": {"d1": 1}, "q2": {"d2": 1}}, runs, "RR").power(0.1)
>>> power.first, power.second, round(power.deviation, 4), round(power.smallest, 1)
('a', 'b', 0.3536, 4.1)
>>> power.difference, power.queries
(0.1, 101)
""",
    "ScorerError": """\
>>> import scorer
>>> try:
...     scorer.evaluate({"q1": {"d1": 1}}, "no-such-file.run", "AP")
... except scorer.ScorerError as error:  # the base of all errors that a user can correct
...     print(error)
no-such-file.run: no such file
""",
    "Chart": """\
>>> import scorer
>>> comparison = scorer.compare({"q1": {"d1": 1}}, {"a": {"q1": ["d1"]}, "b": {"q1": ["d2"]}}, "AP")
>>> chart = scorer.figures(comparison)["boxes"]
>>> chart.title
'MAP of each query, for each team'
>>> chart.description
'Medians go from 0.000 (b) to 1.000 (a).'
>>> picture = chart.svg().text  # <svg ...>...</svg>
""",
    "JudgedItems": """\
>>> import scorer
>>> def deepest(matched):  # the lowest rank of an item with a grade of at least 2, among the first 10
...     found = matched.found.relevant(2).top(10)
...     ranks = np.zeros(matched.queries)
...     np.maximum.at(ranks, found.query, found.rank)
...     return ranks + 0 * matched.total(found, found.grade)
>>> import numpy as np
>>> scorer.evaluate({"q1": {"d1": 2, "d2": 1}}, {"q1": ["d9", "d1", "d2"]}, scorer.measure(deepest, "Deepest"))
Evaluation({'Deepest': 2.0}, queries=1, undefined=0)
""",
    "JudgeAgreement": """\
>>> import scorer
>>> machine = {"q1": {"d1": 2, "d2": 1, "d3": 0}, "q2": {"d4": 1, "d5": 1}}
>>> people = {"q1": {"d1": 2, "d2": 0, "d3": 0, "d6": 1}, "q2": {"d4": 1}, "q3": {"d7": 1}}
>>> runs = {"a": {"q1": ["d2", "d1"], "q2": ["d4"]}, "b": {"q1": ["d1", "d3"], "q2": ["d5"]}}
>>> found = scorer.agree(machine, people, runs, "RR")
>>> found
JudgeAgreement(kappa=0.6364, pairs=4, queries=2)
>>> found.queries, found.pairs, found.only_first, found.only_second
(2, 4, 1, 1)
>>> found.grades, found.confusion
((0.0, 1.0, 2.0), ((1, 0, 0), (1, 1, 0), (0, 0, 1)))
>>> {name: round(each.value, 4) for name, each in found.coefficients.items()}
{'equal': 0.75, 'kappa': 0.6364, 'weighted_kappa': 0.8, 'alpha': 0.8205, 'nominal_alpha': 0.6667}
>>> found.weights, found.measure, found.scored, found.notes
('quadratic', 'MRR', 2, {'a': (), 'b': ()})
>>> [(run.name, run.by_first, run.by_second) for run in found.runs]
[('a', 1.0, 0.75), ('b', 1.0, 0.5)]
>>> found.tau.value, found.swaps, found.machine_weight
(nan, (), None)
>>> found.to_dict()["only_second"], list(found.to_frame())
(1, ['value', 'low', 'high'])
""",
    "JudgedRun": """\
>>> import scorer
>>> machine, people = {"q": {"d1": 1, "d2": 0}}, {"q": {"d1": 0, "d2": 1}}
>>> run, _ = scorer.agree(machine, people, {"a": {"q": ["d1", "d2"]}, "b": {"q": ["d2", "d1"]}}, "RR").runs
>>> run.name, run.by_first, run.by_second, run.favour.value
('a', 1.0, 0.5, 0.5)
""",
    "Matched": """\
>>> import scorer
>>> def misses(matched):  # the share of the judged items that are relevant and not in the list
...     missing = matched.relevant_items() - matched.total(matched.found.relevant())
...     possible = matched.total(matched.ideal).clip(1, None)
...     assert missing.size == matched.queries == matched.retrieved.size
...     return missing / possible
>>> scorer.evaluate({"q1": {"d1": 2, "d2": 1}}, {"q1": ["d9", "d1"]}, scorer.measure(misses, "Misses"))
Evaluation({'Misses': 0.5}, queries=1, undefined=0)
""",
    "Tabular": """\
>>> import scorer
>>> result = scorer.evaluate({"q1": {"d1": 1}}, {"q1": ["d2", "d1"]}, ["AP", "RR"])
>>> print(result.to_markdown())
| measure | score |
| :--- | ---: |
| AP | 0.5000 |
| RR | 0.5000 |
<BLANKLINE>
1 query
>>> print(result.to_latex().partition("midrule")[2])
<BLANKLINE>
AP & 0.5000 \\\\
RR & 0.5000 \\\\
\\bottomrule
\\end{tabular}
""",
    "Solution": """\
>>> import scorer
>>> from pathlib import Path
>>> Path("qrels.txt").write_text("q1 0 d1 2\\nq1 0 d2 1\\nq2 0 d3 1\\n")
30
>>> solution = scorer.Solution.read("qrels.txt")
>>> solution.queries.to_pylist(), solution.items.to_pylist(), solution.flagged.tolist()
(['q1', 'q2'], ['d1', 'd2', 'd3'], [False, False])
>>> [scorer.evaluate(solution, run, "RR")["RR"] for run in ({"q1": ["d1"]}, {"q2": ["d3"]})]  # read once
[0.5, 0.5]
>>> scorer.Solution.read({"q1": {"d1": 2, "d2": 1}, "q2": {"d3": 1}}) == solution  # all that `evaluate` takes
True
>>> solution
Solution(queries=2, judged=3)
""",
    "SolutionError": """\
>>> import scorer
>>> try:
...     scorer.evaluate({"q1": {"d1": 0}}, {"q1": ["d1"]}, "AP")
... except scorer.SolutionError as error:
...     print(error)
the solution: no query has a relevant item, so nothing can be scored; expected grades above 0
""",
    "StoreError": """\
>>> import scorer
>>> issubclass(scorer.StoreError, scorer.ScorerError)  # the database of a challenge; `evaluate` needs none
True
""",
    "SubmissionError": """\
>>> import scorer
>>> try:
...     scorer.evaluate({"q1": {"d1": 1}}, [("q1", "d1", float("nan"))], "AP")
... except scorer.SubmissionError as error:
...     print(error)
the submission:1: found nan as the score; expected a finite number
""",
    "SubmissionsError": """\
>>> import scorer
>>> try:
...     scorer.evaluate({"q1": {"d1": 1}}, {"good": {"q1": ["d1"]}, "bad": "bad.run", "gone": "gone.run"}, "AP")
... except scorer.SubmissionsError as error:
...     print(error)
...     print([*error.errors])
submission "bad": bad.run: no such file
submission "gone": gone.run: no such file
['bad', 'gone']
""",
    "Tuning": """\
>>> import scorer
>>> solution = {"q1": {"d2": 1}, "q2": {"d3": 1}}
>>> runs = [{"q1": ["d1", "d2"], "q2": ["d3"]}, {"q1": ["d2", "d4"], "q2": ["d5", "d3"]}]
>>> tuning = scorer.tune(solution, runs, "AP", step=0.5)
>>> tuning.method, tuning.parameter, tuning.measure
('wsum', 'weights', 'AP')
>>> tuning.best, tuning.parameters, len(tuning.trials)
(Trial(value=(0.5, 0.5), score=0.75), {'weights': (0.5, 0.5)}, 3)
>>> tuning.to_frame()
   weight_1  weight_2        AP
0       0.0       1.0  0.750000
1       0.5       0.5  0.750000
2       1.0       0.0  0.416667
>>> tuning.columns(), tuning.rows()[0]
(['weight_1', 'weight_2', 'AP'], [0.0, 1.0, 0.75])
""",
    "fuse": """\
>>> import scorer
>>> fused = scorer.fuse([{"q1": ["d1", "d2"]}, {"q1": ["d2", "d4"]}], method="rrf")
>>> fused.to_pandas().round(4)
  query item   score  rank
0    q1   d2  0.0325     1
1    q1   d1  0.0164     2
2    q1   d4  0.0161     3
>>> scorer.evaluate({"q1": {"d2": 1}}, fused, "RR")["RR"]
1.0
>>> scorer.convert(fused, "fused.run")
""",
    "overlap": """\
>>> import scorer
>>> scorer.overlap({"a": {"q1": ["d1", "d2"]}, "b": {"q1": ["d2", "d3"]}}, ["Jaccard@10", "RBO"]).to_frame().round(4)
  first second  Jaccard@10   RBO
0     a      b      0.3333  0.45
""",
    "parse": """\
>>> import scorer
>>> [str(measure) for measure in scorer.parse("P_5,10")]
['P@5', 'P@10']
>>> [measure.full for measure in scorer.parse("nDCG(gain=exp)@10")]
['nDCG(gain=exp,discount=log2,ideal=judged,rel=positive)@10']
""",
    "tune": """\
>>> import scorer
>>> solution = {"q1": {"d2": 1}, "q2": {"d3": 1}}
>>> runs = [{"q1": ["d1", "d2"], "q2": ["d3"]}, {"q1": ["d2", "d4"], "q2": ["d5", "d3"]}]
>>> weights = scorer.tune(solution, runs, "AP", step=0.5).parameters
>>> weights
{'weights': (0.5, 0.5)}
>>> scorer.fuse(runs, method="wsum", **weights).num_rows
5
""",
    "read_challenge": """\
>>> import scorer
>>> from pathlib import Path
>>> Path("challenge.toml").write_text('''
... name = "Playlists"
... [tracks.main]
... title = "Main track"
... solution = "solution.txt"
... list_length = 10
... cutoffs = [5, 10]
... primary = "nDCG@10"
... ''') > 0
True
>>> scorer.read_challenge("challenge.toml", solutions=False).name
'Playlists'
""",
}
