"""Statistics of scores.

The functions take arrays and return arrays, or frozen records where a result has several parts. Axes are named in the
docstrings, as in [submission, query]. NaN marks a score that is undefined. A measure, a submission or a query is an
index into an axis; names belong to the caller. Random numbers have a fixed seed, so the same scores give the same
results on every machine. No function reads a file or prints.
"""
