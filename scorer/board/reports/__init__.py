"""Scores and boards as text: tables for the terminal, CSV, Markdown and LaTeX; JSON; and trec_eval's columns."""
