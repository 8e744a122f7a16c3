"""The database of a challenge; the only SQL."""
