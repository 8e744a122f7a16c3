"""The solution, ranked lists, and the match of the two."""
