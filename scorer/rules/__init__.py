"""The rules of a running challenge, a file for each: its settings, its events, what they change, and its sentences."""
