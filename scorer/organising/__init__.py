"""What an organiser does: import submissions, score them, render the site, and decide.

Functions raise ChallengeError if the challenge or its files do not allow it, SolutionError if a solution cannot be
used, and StoreError if the database fails; the message says what to do.
"""
