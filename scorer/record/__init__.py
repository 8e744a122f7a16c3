"""The record: events as values, the log over them, and secrets."""
