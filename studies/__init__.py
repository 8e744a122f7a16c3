"""Figures of the papers that define the measures, the coverage of statistics, and attacks: `python -m studies`.

study.py                the result of a study: its figure, its numbers, and a verdict on each claim
rankings.py             many generated rankings as one Matched; each measure runs once for all of them
drawing.py              figures as SVG
scheel_swaps.py         Scheel, Lommatzsch and Albayrak, SPIM 2011, figures 4 and 5
scheel_ohsumed.py       the same paper, figures 6 to 8; on data that is not part of the project
moniz_permutations.py   Moniz, Torgo and Vinagre, arXiv 1612.06136, figure 2
moniz_news.py           the same paper, table 1
populations.py          queries from which scores are drawn, with known means
coverage.py             how often intervals, ranges of ranks, tiers and tests are right on such scores
skewed.py               how often intervals are right where rare scores decide the mean
judges.py               how often scores by two judges are right
tracks.py               how often overall rankings are right where tracks share queries
shown_scores.py         what a board shows of preliminary scores: rounded, or by the Ladder
ladder_attack.py        a team that overfits the preliminary queries by probing the board, in two ways
ladder_cost.py          how often the Ladder shows the true improvements of a fair team
"""
