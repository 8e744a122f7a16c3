"""What a site publishes for participants, and what `scorer check` and `scorer submit` make of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from scorer.errors import ChallengeError
from scorer.lists.solution import Solution, read_ids
from scorer.settings.loading import read_challenge
from scorer.settings.published import downloaded
from tests.commands import here
from tests.live_challenges import Live


@contextmanager
def http(handler: Callable[..., Any]) -> Iterator[str]:
    """Serve with a handler; yields the address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


class Quiet(SimpleHTTPRequestHandler):
    """A static host that prints nothing."""

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def answering(files: Mapping[str, bytes]) -> type[Quiet]:
    """A handler that has these files."""

    class Files(Quiet):
        def do_GET(self) -> None:
            content = files.get(self.path)
            self.send_response(404 if content is None else 200)
            self.end_headers()
            self.wfile.write(content or b"")

    return Files


LISTS_OF = "q1:apple,pear\nq2:fig,fig\nq9:x\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A challenge with public lists of queries and items, and its site."""
    folder = tmp_path_factory.mktemp("challenge") / "live"
    assert here("init", folder).code == 0
    (folder / "items").mkdir()
    (folder / "items" / "main.txt").write_bytes(b"apple\r\npear\nplum\n\nfig\ngrape\nlemon\xe2\x80\xa8\n\ttab\n")
    settings = folder / "challenge.toml"
    settings.write_text(settings.read_text().replace("# items =", "items ="))
    assert here("run", folder).code == 0
    return folder


@pytest.fixture
def site(folder: Path) -> Iterator[str]:
    """The address of the site on a static host."""
    with http(partial(Quiet, directory=str(folder / "site"))) as address:
        yield address


def test_the_lists_of_the_site_are_those_of_the_challenge(folder: Path) -> None:
    """Also where they have blank lines and unusual line ends."""
    site, (track,) = folder / "site", read_challenge(folder).tracks
    queries = (Solution.read_queries(path) for path in (folder / "queries" / "main.txt", site / "main" / "queries.txt"))
    assert len({tuple(each.queries.to_pylist()) for each in queries}) == 1
    assert "items" in track.files
    items = (read_ids(path).to_pylist() for path in (folder / "items" / "main.txt", site / "main" / "items.txt"))
    assert len({tuple(each) for each in items}) == 1


def test_a_check_with_the_address_of_the_site_is_that_of_the_challenge(folder: Path, site: str, tmp_path: Path) -> None:
    """As an option and as an argument, with a copy of the site, and with errors."""
    for content, code in ((LISTS_OF, 0), ("q1:apple,,x\nq1:a\n", 1)):
        file = tmp_path / "run.txt"
        file.write_text(content)
        wanted = here("check", file, "-t", "main", "--challenge", folder)
        assert wanted.code == code
        for challenge in (site, site.rstrip("/"), f"{site}challenge.toml", str(folder / "site")):
            assert here("check", file, "-t", "main", "--challenge", challenge) == wanted
        assert here("check", file, site) == wanted


TRACK = """\
[tracks.{name}]
title = "{title}"
list_length = 2
primary = "AP"
solution = "none"
queries = "{name}.txt"

"""


def test_the_address_of_a_page_finds_the_site_and_its_track(tmp_path: Path) -> None:
    """The address that one copies from a board, also where others are below it."""
    file = tmp_path / "run.txt"
    file.write_text("q1:a\nq2:b\nq3:c\n")
    text = (
        'name = "x"\n' + TRACK.format(name="cold", title="Cold") + TRACK.format(name="pooled", title="Pooled sequences")
    )
    files = {
        f"/vl/{name}": value.encode()
        for name, value in (("challenge.toml", text), ("cold/queries.txt", "q1\nq7\nq8\n"))
    }
    files["/vl/pooled/queries.txt"] = b"q1\nq2\nq3\n"
    with http(answering(files)) as root:
        for page in ("vl/pooled/", "vl/pooled/index.html?sort=AP#team-x", "vl/pooled/teams/x.html"):
            answer = here("check", file, "--challenge", root + page)
            assert (answer.code, "valid for track pooled: 3 lists" in answer.out) == (0, True), answer.err
        assert here("check", file, "--challenge", f"{root}vl/index.html").code != 0  # which track?
        assert "expected the address of the site of a challenge" in here("check", file, "--challenge", root).err
        answer = here("check", file, "--challenge", f"{root}vl/cold/")
        expected = (
            "this looks like a file for Pooled sequences: it has lists for 3 of its 3 queries, and for 1 of this track"
        )
        assert (answer.code, f"{file}: {expected}" in answer.err) == (0, True), answer.err
        file.write_text("q2:b\nq3:c\n")
        answer = here("check", file, "--challenge", f"{root}vl/cold/")
        expected = (
            "this looks like a file for Pooled sequences: it has lists for 2 of its 3 queries, and for 0 of this track"
        )
        assert (answer.code, f"{file}: {expected}" in answer.err) == (1, True), answer.err
        assert "looks like" not in here("check", file, "--challenge", f"{root}vl/pooled/").err


def test_the_site_follows_a_changed_list(folder: Path) -> None:
    """A run renders again."""
    items = folder / "items" / "main.txt"
    items.write_text(items.read_text() + "quince\n")
    assert here("run", folder).code == 0
    assert (folder / "site" / "main" / "items.txt").read_text().endswith("quince\n")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "challenge.toml: the server answers 404 Not Found; expected the address of the site of a challenge"),
        ({"/challenge.toml": b"<!doctype html>"}, "challenge.toml: not the public settings of a challenge"),
        ({"/challenge.toml": b"\xff"}, "challenge.toml: not the public settings of a challenge"),
        ({"/challenge.toml": b"name = 'x'\ntracks = 3"}, "not the public settings of a challenge"),
        ({"/challenge.toml": b"name = 'x'"}, "tracks: found {}; allowed: a table for each track"),
        ({"/challenge.toml": b"name = 'x'\n[tracks.'../../x']\nqueries = 'a'"}, "is no name of a track"),
        ({"/challenge.toml": b"name = 'x'\n[tracks.'.']\nqueries = 'a'"}, "is no name of a track"),
        ({"/challenge.toml": b"name = 'x'\n[tracks.'']\nqueries = 'a'"}, "is no name of a track"),
        ({"/challenge.toml": b"name = 'x'\n[tracks.a]\nqueries = 'a'"}, "a/queries.txt: the server answers 404"),
        ({"/challenge.toml": b"x = '" + b"y" * 210_000 + b"'"}, "challenge.toml: has more than 200,000 bytes"),
        ({"/challenge.toml": b"a = " + b"[" * 100_000}, "not the public settings of a challenge"),
    ],
)
def test_a_site_without_public_settings_is_reported(tmp_path: Path, files: Mapping[str, bytes], message: str) -> None:
    """In one message, regardless of what the server sends."""
    file = tmp_path / "run.txt"
    file.write_text(LISTS_OF)
    with http(answering(files)) as address:
        answer = here("check", file, "--challenge", address)
    assert answer.code == 1
    assert message in answer.err
    assert "Traceback" not in answer.err


def test_paths_that_a_site_names_are_not_read(tmp_path: Path) -> None:
    """Neither a list nor a solution outside of what was downloaded."""
    secret = tmp_path / "secret.txt"
    secret.write_text("secret-query\n")
    hostile = f"""
name = "x"
database = "{secret}"
[tracks.a]
title = "a"
list_length = 2
primary = "AP"
queries = "{secret}"
items = "{secret}"
solution = "{secret}"
submissions = "{secret}"
"""
    files = {"/challenge.toml": hostile.encode(), "/a/queries.txt": b"q1\n", "/a/items.txt": b"x\n"}
    with http(answering(files)) as address, downloaded(address) as (folder, _):
        challenge = read_challenge(folder, solutions=False)
        (track,) = challenge.tracks
        assert track.files["queries"] == folder / "a" / "queries.txt"
        assert track.files["items"] == folder / "a" / "items.txt"
        assert track.solution_path == folder / "not-published"
        assert str(challenge.database_address).startswith(str(folder))
    assert not folder.exists()


def test_a_redirection_leads_to_no_file_of_this_machine(tmp_path: Path) -> None:
    """Only HTTP is followed."""
    (tmp_path / "challenge.toml").write_text("name = 'x'")

    class Redirects(Quiet):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", f"file://{tmp_path}/challenge.toml")
            self.end_headers()

    with http(Redirects) as address, pytest.raises(ChallengeError, match="the server answers 302"), downloaded(address):
        pass


def test_an_address_where_nothing_answers_is_reported(tmp_path: Path) -> None:
    """In one message."""
    file = tmp_path / "run.txt"
    file.write_text(LISTS_OF)
    answer = here("check", file, "--challenge", "http://127.0.0.1:9/")
    assert (answer.code, "cannot be read: " in answer.err) == (1, True)


def test_other_commands_need_the_folder() -> None:
    """They work on files of the organiser."""
    answer = here("run", "--challenge", "https://lists.example/")
    assert answer.code == 1
    assert "no such file; a challenge is a folder with a challenge.toml" in answer.err


def test_the_team_option_needs_the_folder(site: str, tmp_path: Path) -> None:
    """What is left of a quota is in the database."""
    file = tmp_path / "run.txt"
    file.write_text(LISTS_OF)
    answer = here("check", file, "--team", "amber", "--challenge", site)
    assert (answer.code, "--team needs the folder of the challenge" in answer.err) == (2, True)


@pytest.mark.parametrize("entry", ["best", "picks"])
@pytest.mark.parametrize("service", ["", "https://lists.example/"])
def test_each_board_says_how_to_take_part(tmp_path: Path, entry: str, service: str) -> None:
    """With the commands of this challenge, which name a track only if there are several."""
    live = Live.graded(tmp_path / "live", rules=f'entry = "{entry}"\n', tracks=("main", "lists"))
    site = f'site = {{url = "https://site.example/", service = "{service}"}}\n' if service else ""
    live.edit('name = "Live"\n', f'name = "Live"\n{site}')
    live.run(live.now)
    live.render(live.now)
    for track in ("main", "lists"):
        page = (live.folder / "site" / track / "index.html").read_text()
        address = "https://site.example/" if service else "ADDRESS/"
        assert f"scorer check my-run.txt --track {track} --challenge {address}<" in page
        assert ("ADDRESS is the address of this site" in page) == (not service)
        assert (f"scorer submit my-run.txt --track {track} --server {service} --wait<" in page) == bool(service)
        assert ('href="https://lists.example/submit"' in page) == bool(service)
        assert ("scorer pick 4 7" in page) == (entry == "picks" and bool(service))
        assert ("Write to the organisers which of your entries" in page) == (entry == "picks" and not service)
        assert "scorer verify receipt" in page
