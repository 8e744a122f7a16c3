"""A new challenge to start from: one track, a few queries, two submissions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from scorer.errors import ChallengeError
from scorer.files.writing import PRIVATE
from scorer.rules.split import KEY_FILE, make_key
from scorer.wording import quoted

_FOLDER = Path(__file__).with_name("new_challenge")

FILES: Mapping[str, str] = {
    name: (_FOLDER / name).read_text(encoding="utf-8")
    for name in (
        "challenge.toml",
        "README.md",
        "solutions/main.txt",
        "queries/main.txt",
        "submissions/main/20260131T120000Z-first-team.txt",
        "submissions/main/20260131T100000Z-most-popular.txt",
    )
}
"""The files of the challenge by their paths, but for the key of the split, which is another one each time."""


def write_challenge(folder: str | Path) -> list[Path]:
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
    file.touch(PRIVATE if file.parent.name == "solutions" else 0o666)
    file.write_text(text, encoding="utf-8", newline="\n")
    return file
