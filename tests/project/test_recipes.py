"""docs/receiving.md and docs/publishing.md: their recipes run as far as this machine allows."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.commands import here
from tests.paths import DOCS
from tests.project.test_serving_docs import BLOCK, Shell, curl, nginx, readable_by_others
from tests.stores import Bucket, s3_bucket

RECEIVING = (DOCS / "receiving.md").read_text(encoding="utf-8")
PUBLISHING = (DOCS / "publishing.md").read_text(encoding="utf-8")
SCREEN = 80
"""The most lines of a recipe."""


def blocks(page: str, language: str) -> list[str]:
    """The blocks of a page in a language."""
    return [text for name, text in BLOCK.findall(page) if name == language]


@pytest.mark.parametrize("page", [RECEIVING, PUBLISHING], ids=["receiving", "publishing"])
def test_a_recipe_is_one_screen_long(page: str) -> None:
    """Each section."""
    sections = page.split("\n## ")
    assert len(sections) >= 5
    assert all(section.count("\n") <= SCREEN for section in sections)


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    """The bucket of the page."""
    with s3_bucket(tmp_path_factory.mktemp("s3") / "log") as opened:
        yield opened


@pytest.mark.ci
@pytest.mark.skipif(any(shutil.which(each) is None for each in ("bash", "rsync")), reason="needs bash and rsync")
def test_files_are_received_in_each_way(tmp_path: Path, bucket: Bucket) -> None:
    """From a folder, from a bucket, and from the folder of submissions; the packages are installed already."""
    install, make, upload, collect, install_s3, collect_s3, copy = blocks(RECEIVING, "bash")
    shell = Shell(tmp_path)
    bucket.store.pipe_file("challenge-inbox/main/blue-whale/run1.txt", b"q1:fig\nq2:fig\nq3:lemon\nq4:pear\n")

    for block in (make, upload):
        shell.run(block)
    collected = shell.run(collect)
    from_s3 = shell.run(collect_s3)
    shell.run(copy)

    assert install == "pip install 'challenge-scorer[serve]'\n"
    assert install_s3 == "pip install 'challenge-scorer[board,remote]' s3fs\n"
    assert "main/red-kite/run1.txt: received as entry 1 at " in collected
    assert "the file is empty" in collected
    assert "main/blue-whale/run1.txt: received as entry " in from_s3
    assert bucket.store.exists("challenge-inbox/main/blue-whale/run1.txt.receipt.txt")
    listed = here("entries", tmp_path / "my-challenge", "--format", "json").out
    for team in ("red-kite", "blue-whale", "green-lamp"):
        assert f'"{team}"' in listed
    board = here("leaderboard", tmp_path / "my-challenge", "--format", "csv").out
    assert all(team in board for team in ("red-kite", "blue-whale", "green-lamp"))


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a challenge that was run."""
    folder = tmp_path_factory.mktemp("rendered")
    assert here("init", folder / "my-challenge").code == 0
    assert here("run", folder / "my-challenge", "--executor", "serial").code == 0
    return folder


@pytest.mark.skipif(any(shutil.which(each) is None for each in ("bash", "rsync")), reason="needs bash and rsync")
def test_a_static_host_gets_the_pages_and_loses_old_ones(rendered: Path, tmp_path: Path) -> None:
    """And no file that only `scorer` needs."""
    (block,) = blocks(PUBLISHING, "bash")
    shutil.copytree(rendered, tmp_path, dirs_exist_ok=True)
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "old.html").write_text("old")

    Shell(tmp_path).run(block)

    site = tmp_path / "my-challenge" / "site"
    expected = {path.relative_to(site) for path in site.rglob("*") if not path.name.startswith(".")}
    assert {path.relative_to(tmp_path / "public") for path in (tmp_path / "public").rglob("*")} == expected
    assert Path("main/index.html") in expected


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_the_timer_is_valid(tmp_path: Path) -> None:
    """systemd finds no unknown line, the time means every five minutes, and the command has valid arguments."""
    service, timer = blocks(PUBLISHING, "ini")
    (start,) = re.findall(r"^ExecStart=(.+)$", service, re.MULTILINE)
    program, *arguments = shlex.split(start)
    (tmp_path / "challenge-run.service").write_text(service.replace(program, str(Path(sys.executable))))
    (tmp_path / "challenge-run.timer").write_text(timer)

    checked = analyze("verify", "--man=no", tmp_path / "challenge-run.service", tmp_path / "challenge-run.timer")

    assert "challenge-run" not in checked, checked
    (calendar,) = re.findall(r"^OnCalendar=(.+)$", timer, re.MULTILINE)
    assert "*-*-* *:00/5:00" in analyze("calendar", calendar)
    assert arguments == ["run", "--quiet", "--challenge", "/srv/challenge"]
    (before,) = re.findall(r"`ExecStartPre=-(.+?)`", PUBLISHING)
    assert shlex.split(before)[1:] == ["collect", "/srv/inbox", "/srv/challenge"]


def analyze(*arguments: str | Path) -> str:
    """What systemd-analyze prints."""
    command = ["systemd-analyze", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    return done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
def test_nginx_serves_the_pages_and_no_hidden_file(rendered: Path, tmp_path: Path) -> None:
    """With the configuration of the page, over TLS."""
    (text,) = blocks(PUBLISHING, "nginx")
    site = {"/srv/challenge/site": str(rendered / "my-challenge" / "site")}
    with nginx(tmp_path, text, "board.example.org", site) as (address, certificate):
        answers = [curl(certificate, f"{address}{path}") for path in ("/", "/main/leaderboard.json", "/.manifest.json")]
        missing = page_of(certificate, f"{address}/main/nothing.html")
        scripts = headers_of(certificate, f"{address}/board.js", "Accept-Encoding: gzip")
        framing = [headers_of(certificate, f"{address}{path}") for path in ("/main/embed.html", "/main/index.html")]
    assert (rendered / "my-challenge" / "site" / ".manifest.json").exists()
    assert answers == [200, 200, 404]
    assert "<h1>Page not found</h1>" in missing
    assert re.search(r"(?im)^content-encoding: gzip", scripts)
    policies = [re.findall(r"(?im)^content-security-policy: (.+?)\s*$", each) for each in framing]
    assert policies == [["frame-ancestors *"], ["frame-ancestors 'none'"]]


def test_the_site_is_readable_and_nothing_else(tmp_path: Path) -> None:
    """After the lines of the page, also of what later runs write with the umask of the timer."""
    (lines,) = blocks(PUBLISHING, "sh")
    folder, umask = tmp_path / "srv" / "challenge", os.umask(0o022)
    try:
        assert here("init", folder).code == 0
        for _ in range(2):
            assert here("run", folder, "--executor", "serial").code == 0
            Shell(tmp_path).run(lines.replace("/srv/", f"{tmp_path}/srv/"))
            shutil.rmtree(folder / "site")
            os.umask(0o077)
        assert here("run", folder, "--executor", "serial").code == 0
    finally:
        os.umask(umask)
    open_to_all = readable_by_others(folder)
    published = {path.relative_to(folder).as_posix() for path in (folder / "site").rglob("*")}
    assert open_to_all - published == {".", "site"}
    assert all(path.rpartition("/")[2].startswith(".") for path in published - open_to_all)


def page_of(certificate: Path, address: str) -> str:
    """The text of an answer over TLS."""
    command = ["curl", "--silent", "--noproxy", "*", "--cacert", str(certificate), address]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout


def headers_of(certificate: Path, address: str, header: str = "Accept: */*") -> str:
    """The headers of an answer to a request with a header."""
    command = ["curl", "--silent", "--head", "--cacert", str(certificate), "--header", header, address]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout


def workflow() -> dict[Any, Any]:
    """The workflow of the page."""
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    (text,) = blocks(PUBLISHING, "yaml")
    read: dict[Any, Any] = yaml.safe_load(text)
    return read


def test_the_workflow_publishes_only_the_site() -> None:
    """One job runs the challenge and writes to the repository, the other publishes; neither may do both."""
    read = workflow()
    run, publish = read["jobs"].values()

    assert run["permissions"] == {"contents": "write"}
    assert publish["permissions"] == {"pages": "write", "id-token": "write"}
    assert read[True]["push"] == {"branches": ["main"]}  # YAML 1.1 reads `on` so
    assert read["concurrency"] == {"group": "board"}
    assert all(("uses" in step) != ("run" in step) for step in run["steps"])
    (upload,) = [step for step in run["steps"] if "upload-pages-artifact" in step.get("uses", "")]
    assert upload["with"] == {"path": "site"}
    (deploy,) = publish["steps"]
    assert deploy["id"] == "pages"
    assert "steps.pages.outputs.page_url" in publish["environment"]["url"]


@pytest.mark.ci
@pytest.mark.skipif(any(shutil.which(each) is None for each in ("bash", "git")), reason="needs bash and git")
def test_the_steps_of_the_workflow_record_what_arrived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a clone, as GitHub runs them: first without an entry, then with two; the site is not among it."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    work = tmp_path / "work"
    assert here("init", work).code == 0
    (work / ".gitignore").write_text("site/\n")
    git = "git -c user.name=a -c user.email=a@example.org"
    shell = Shell(work)
    shell.run(f"git init -q -b main\ngit add .\n{git} commit -q -m first\ngit clone -q --bare . ../origin.git")
    shell.run("git remote add origin ../origin.git\ngit push -q --set-upstream origin main")
    install, *steps = [step["run"] for step in workflow()["jobs"]["run"]["steps"] if "run" in step]
    assert install == "pip install 'challenge-scorer[board]'"

    entries = work / "submissions" / "main"
    entries.rename(tmp_path / "entries")
    for step in steps:
        shell.run(step)
    shutil.copytree(tmp_path / "entries", entries)
    for step in steps:
        shell.run(step)

    assert (work / "site" / "main" / "index.html").exists()
    assert shell.run("git status --porcelain --untracked-files=no") == ""
    assert shell.run("git rev-list --count origin/main") == "3\n"
    committed = set(shell.run("git ls-tree -r --name-only origin/main").split())
    assert "scores.db" in committed
    assert not any(name.startswith("site/") for name in committed)
