"""Checks of published documents, which anybody can repeat: they need neither the challenge nor its database.

A module checks one document: its function yields each statement of the document, true or contradicted.
"""
