"""The figures of the papers behind the measures, made again: `python -m studies` draws them and says what holds.

study.py                what a study gives: its figure, the numbers in it, and a verdict on each claim
rankings.py             many made rankings as one Judged, so that each measure runs once for all of them
drawing.py              figures as SVG
scheel_swaps.py         Scheel, Lommatzsch and Albayrak, SPIM 2011, figures 4 and 5
scheel_ohsumed.py       the same paper, figures 6 to 8; on data that lies outside of the project
moniz_permutations.py   Moniz, Torgo and Vinagre, arXiv 1612.06136, figure 2
moniz_news.py           the same paper, table 1
"""
