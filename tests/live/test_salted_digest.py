"""The salted digest of the solution: public pages prove which solution it is, and help nobody to guess it."""

from __future__ import annotations

import hashlib
import hmac
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from scorer.files import digest
from scorer.store.store import Store
from tests.commands import Terminal
from tests.databases import removed
from tests.paths import ROOT

SALTED = re.compile(r'<code class="salted-digest">([0-9a-f]{64})</code>')


def shown(challenge: Path) -> str:
    """The salted digest that the page of the board shows."""
    (found,) = SALTED.findall((challenge / "site/main/index.html").read_text(encoding="utf-8"))
    return str(found)


def salt_of(challenge: Path) -> str:
    """The salt of the database."""
    with Store.open(challenge / "scores.db") as store:
        return store.read(lambda view: view.secret("solutions").hex())


def public(challenge: Path, terminal: Terminal) -> bytes:
    """All bytes of the site, hidden files included, and of all forms of the board in the terminal."""
    files = [path.read_bytes() for path in (challenge / "site").rglob("*") if path.is_file()]
    printed = [
        terminal.run("leaderboard", challenge, "--format", form).out.encode()
        for form in ("table", "csv", "json", "markdown")
    ]
    return b"".join((*files, *printed))


def test_a_revealed_solution_can_be_verified_by_anyone(challenge: Path, terminal: Terminal) -> None:
    """Before, no public byte has the digest or the salt: only the HMAC with the salt as its key is shown."""
    assert terminal.run("run", challenge).code == 0
    plain, salt = digest(challenge / "solutions/main.txt"), salt_of(challenge)

    content = public(challenge, terminal)

    assert re.fullmatch("[0-9a-f]{64}", salt)
    assert plain[:12].encode() not in content
    assert salt[:12].encode() not in content
    assert bytes.fromhex(salt) not in content
    assert shown(challenge) == hmac.new(bytes.fromhex(salt), plain.encode(), hashlib.sha256).hexdigest()

    before = shown(challenge)
    settings = challenge / "challenge.toml"
    settings.write_text(settings.read_text(encoding="utf-8") + "reveal_solution = true\n", encoding="utf-8")
    assert terminal.run("render", challenge).code == 0

    page = (challenge / "site/main/index.html").read_text(encoding="utf-8")

    assert shown(challenge) == before
    assert digest(challenge / "solutions/main.txt") in page
    assert re.findall(r'<code class="salt">([0-9a-f]{64})</code>', page) == [salt]
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl, to verify the salted digest")
    reference = (ROOT / "docs/challenge-toml.md").read_text(encoding="utf-8")
    (check,) = re.findall(r"^ +(sha256sum .*openssl.*)$", reference, re.MULTILINE)
    done = subprocess.run(
        check.replace("SALT", salt), shell=True, cwd=challenge, capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[-1] == before


def test_it_stays_the_same_until_the_solution_changes(challenge: Path, terminal: Terminal) -> None:
    """For each database it is another one, so that it cannot be looked up."""
    terminal.run("run", challenge)
    first = shown(challenge)
    terminal.run("run", challenge)
    assert shown(challenge) == first
    solution = challenge / "solutions/main.txt"
    solution.write_text(solution.read_text(encoding="utf-8").replace("fig|2", "fig|1"), encoding="utf-8")
    terminal.run("run", challenge)
    second = shown(challenge)
    assert second != first
    removed(challenge / "scores.db")
    shutil.rmtree(challenge / "site")
    terminal.run("run", challenge)
    assert shown(challenge) not in (first, second)
