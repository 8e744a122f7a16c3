"""What all statistics use unless a caller says otherwise; without SciPy, which is slow to load."""

RESAMPLES = 10_000
"""The number of resamples."""

SEED = 1
"""The seed of the random numbers."""

LEVEL = 0.05
"""The level of all tests; intervals are at 1 minus the level."""
