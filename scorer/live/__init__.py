"""The rules of a running challenge: one file for each rule."""
