"""A new challenge to start from: one track, a few queries, two submissions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from scorer.errors import ChallengeError
from scorer.wording import quoted

CHALLENGE = """\
# A challenge to start from. Replace what is here with your own, then `scorer run` in this folder.

name = "My challenge"
description = "What it is about, in plain text."

[tracks.main]
title = "Main track"
solution = "solutions/main.txt"      # never publish this one
queries = "queries/main.txt"         # for participants: the query ids, one a line
list_length = 5                      # what stands beyond this many items is not read
cutoffs = [1, 3, 5]                  # for measures that need cut-offs and name none
primary = "nDCG@5"                   # ranks the board; `scorer measures` lists all there are
measures = ["AP", "RR", "P"]
baselines = ["most-popular"]         # shown without a rank
"""

README = """\
# My challenge

    scorer check FILE --track main   is a submission well formed?
    scorer run                       score what is new, render site/index.html

- `solutions/main.txt`: for each query `query:flag:item|grade,item|grade,...`, the best item first. A query with
  flag 1 counts for the preliminary scores.
- `submissions/main/<team>.txt`, or `submissions/main/<team>/<file>` for several of a team: `query:item,item,...`, the
  best item first. A name that begins with a UTC time, as `20260131T120000Z-first.txt`, says when the file was received.
- Tables (CSV, TSV), TREC files, JSON, JSON Lines, Parquet and LETOR files are read as well, also compressed.
"""

SOLUTION = """\
q1:1:apple|3,pear|2,plum|1
q2:0:fig|2,grape|2
q3:0:lemon|1
q4:0:
"""

QUERIES = "q1\nq2\nq3\nq4\n"

FIRST_TEAM = """\
q1:pear,apple,fig,plum,lemon
q2:grape,apple,fig,pear,plum
q3:fig,lemon,apple,pear,plum
q4:apple,pear,plum,fig,grape
"""

MOST_POPULAR = """\
q1:apple,pear,fig,lemon,plum
q2:apple,pear,fig,lemon,plum
q3:apple,pear,fig,lemon,plum
q4:apple,pear,fig,lemon,plum
"""

FILES: Mapping[str, str] = {
    "challenge.toml": CHALLENGE,
    "README.md": README,
    "solutions/main.txt": SOLUTION,
    "queries/main.txt": QUERIES,
    "submissions/main/20260131T120000Z-first-team.txt": FIRST_TEAM,
    "submissions/main/20260131T100000Z-most-popular.txt": MOST_POPULAR,
}


def write_new(folder: str | Path) -> list[Path]:
    """Write a small challenge into a new or empty folder; gives the paths of its files.

    Raises
    ------
    ChallengeError
        The folder is not empty, is no folder, or cannot be written to. A folder that is not empty is left as it is.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise ChallengeError(f"{folder}: is not empty; name a new folder, or an empty one")
        return [_written(folder / path, text) for path, text in FILES.items()]
    except FileExistsError as error:
        raise ChallengeError(f"{folder}: is a file; name a new folder, or an empty one") from error
    except (OSError, ValueError) as error:
        raise ChallengeError(f"{quoted(str(folder))}: cannot make a challenge here: {error}") from error


def _written(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", newline="\n")
    return file
