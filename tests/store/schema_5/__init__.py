"""A challenge with a database of schema 5."""
