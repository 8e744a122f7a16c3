"""Scores and boards as text: tables, CSV, JSON, Markdown, LaTeX, and trec_eval's columns."""
