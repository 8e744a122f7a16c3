"""The database of a challenge; the only SQL.

Rows are **recorded** or **derived**. Recorded rows cannot be computed again: they are only ever added, in the order of
an index, and survive every migration. Derived rows follow from files and recorded rows: each has a digest as its key,
and any of them may be dropped and computed again.

    event           recorded: arrivals, withdrawals and returns of submissions, the bases of boards, and decisions of
                    the organiser: amendments of times of receipt, and outcomes to forget
    solution        derived: the queries of a solution, their flags, and its grades
    result          derived: what became of a submission, by submission, solution and matching rules; its judged items
    mean            derived: the mean of a measure over a mask of queries, for a result
    failure         derived: why a submission has no result yet, and how often it was tried
    scanned_file    derived: the digests of files, as long as their size, times and inode stay the same
    scorer_schema   one row: the version of these tables, the identity of the database, its secret salt, its revision
    last_run        when each track was last scored

The scores of single queries are not stored. They are computed from the judged items of a result (see
`scoring.outcomes`), so that a new measure or another split reads no submission again.

Every row has a checksum, see `schema`. Names are bytes, decoded with surrogateescape, and stored as JSON in ASCII.

SQLite unless the address names another database. A write is one short transaction that locks the one row of
`scorer_schema` first (on SQLite: BEGIN IMMEDIATE), so that writers wait for each other. A read sees one snapshot and
locks nothing. Every operation may be repeated without harm, and is repeated for a while if the connection to a
database server is lost.
"""
