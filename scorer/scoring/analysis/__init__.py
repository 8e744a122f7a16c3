"""The analysis of a task: rankings by every rule, tests, intervals and stability; and comparisons of submissions."""
