"""A challenge with results by version 1.0, in which RBO and Compat were the sums over the lists.

Version 1.0 made the database and the board ``expected-main.json``.
"""
