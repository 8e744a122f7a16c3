"""Checks of published documents, which anybody can repeat: they need neither the challenge nor its database.

A function checks one document: it yields each statement of the document, true or contradicted.
"""
