"""A database of schema 3, of the challenge in `tests.schema_2`.

It was made by the last version that wrote schema 3, which never was released: by a run on the files that
`schema_2.make` writes and on one that was withdrawn by a second run. Its board is the one of schema 2.
"""
