"""A challenge with a database that release 1.0.0 migrated from schema 1."""
