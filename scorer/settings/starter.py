"""A new challenge to start from: one track, a few queries, two submissions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from scorer.errors import ChallengeError
from scorer.settings.rules import KEY_FILE, make_key
from scorer.wording import quoted

CHALLENGE = """\
# A challenge to start from. Replace the texts and files with your own, then run `scorer run` in this folder.

name = "My challenge"
description = "What the challenge is about, in Markdown."

[tracks.main]
title = "Main track"
solution = "solutions/main.txt"      # secret: do not publish it
queries = "queries/main.txt"         # public: the query ids, one a line
# items = "items/main.txt"           # public: the ids of all items that a list may contain, one a line
list_length = 5                      # items after this rank do not count
cutoffs = [1, 3, 5]                  # for measures without a cut-off in their name
primary = "nDCG@5"                   # the board ranks by it; `scorer measures` lists all measures
measures = ["AP", "RR", "P"]
baselines = ["most-popular"]         # teams that are shown without a rank

# "preliminary": the board shows only scores over the flagged queries of the solution (here q1). Keep this while
# the challenge is open. "final": it shows final scores too, and ranks by them. Change it when the challenge is over.
stage = "preliminary"

# Instead of flags, a secret key can decide which queries are preliminary. Set all flags to 0 then; `scorer split` says
# how many queries the key selects, and `scorer reveal` publishes it in the end.
# split = {preliminary = 0.2}
"""

README = """\
# My challenge

    scorer check FILE --track main   check a submission, without the solution
    scorer run                       score new submissions, then render site/index.html

- `solutions/main.txt`: one query a line, `query:flag:item|grade,item|grade,...`, the best item first. Queries with
  flag 1 count for the preliminary scores.
- `queries/main.txt`: the query ids, for participants.
- `submissions/main/<team>.txt`, or `submissions/main/<team>/<file>` for several files of a team: one query a line,
  `query:item,item,...`, the best item first. A name that begins with a UTC time, as in
  `20260131T120000Z-first.txt`, states when the file was received. A name that begins with a dot is an upload in
  progress: rename the file when it is complete.
- `split.key`: the key of `split` in `challenge.toml`. Key files (`*.key`) are secret: do not publish them. Keep a copy.
- Other formats are read too, also compressed: tables (CSV, TSV), TREC, JSON, JSON Lines, Parquet and LETOR.
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
    """Write a small challenge, and return its files. Raises ChallengeError unless the folder is new or empty."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise ChallengeError(f"{folder}: is not empty; name a new or empty folder")
        written = [_write(folder / path, text) for path, text in FILES.items()]
        make_key(folder / KEY_FILE)
        return [*written, folder / KEY_FILE]
    except FileExistsError as error:
        raise ChallengeError(f"{folder}: is a file; name a new or empty folder") from error
    except (OSError, ValueError) as error:
        raise ChallengeError(f"{quoted(str(folder))}: cannot write a challenge here: {error}") from error


def _write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", newline="\n")
    return file
