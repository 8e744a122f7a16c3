"""Scores of a submission: rules, one submission, evaluate(), and the compact form that is stored."""
