"""Checks of published documents, which anybody can repeat: they need neither the challenge nor its database."""
