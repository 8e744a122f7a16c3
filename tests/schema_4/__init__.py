"""A database of schema 4, of the challenge in `tests.schema_2`.

It was made by the last version that wrote schema 4, which never was released: it opened the database of schema 3, and
ran on the files that `schema_2.make` writes. Its board is the one of schema 2.
"""
