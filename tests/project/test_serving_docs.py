"""docs/serving.md: its commands run in order with a real service, its script makes a server, its nginx passes files on,
its unit is valid.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from starlette.routing import Route

from scorer.service.accepting import STATUS
from scorer.service.app import application
from scorer.service.state import Metrics
from tests.commands import here
from tests.databases import KINDS, schema
from tests.live_challenges import Live
from tests.paths import DOCS
from tests.served import served

PAGE = (DOCS / "serving.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)

ADDRESS = "http://127.0.0.1:8000"
"""Where the service of the page is."""

DATABASE = "postgresql+psycopg://scorer@db.example.org/challenge"
NAME = "challenge.example.org"
LISTS = "q1:apple,pear\nq2:fig\nq3:lemon\nq4:pear\n"
WAIT = 30.0
"""Seconds until a process must be ready, or must have rendered."""

SEARCH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

pytestmark = pytest.mark.skipif(
    any(shutil.which(program) is None for program in ("bash", "curl", "openssl", "sha256sum", "tar")),
    reason="needs bash, curl, openssl, sha256sum and tar",
)


def blocks(language: str) -> list[str]:
    """The blocks of the page in a language."""
    return [text for name, text in BLOCK.findall(PAGE) if name == language]


def written_by_the_script(path: str) -> str:
    """The text that the script of the page writes into a file."""
    (script,) = blocks("sh")
    return script.partition(f"cat > {path} <<'END'\n")[2].partition("\nEND\n")[0] + "\n"


STUBS = {
    "python3": 'mkdir -p "$3/bin" && ln -s /bin/true "$3/bin/pip" && ln -s "$REAL_SCORER" "$3/bin/scorer"',
    "runuser": 'shift 3\nexec "$@"',
    **dict.fromkeys(("apt-get", "useradd", "chown", "certbot", "systemctl", "curl"), "true"),
}
"""What takes the place of programs that change the system, are slow, or need a network."""


def made_by_the_script(root: Path) -> tuple[Path, str]:
    """The challenge that the script of the page makes below another root, and what it printed."""
    (script,) = blocks("sh")
    for name in ("srv", "etc/systemd/system", "etc/nginx/conf.d", "usr/local/bin", "stubs"):
        (root / name).mkdir(parents=True)
    for name, text in STUBS.items():
        (root / "stubs" / name).write_text(f'#!/bin/sh\necho "$(basename $0) $*" >> {root}/log\n{text}\n')
        (root / "stubs" / name).chmod(0o755)
    script = re.sub(r"(?<![\w.:/])/(?=(srv|etc|usr/local)/)", f"{root}/", script).replace(f"={NAME}", "=x.example.net")
    scorer = str(Path(sys.executable).with_name("scorer"))
    path = os.pathsep.join([str(root / "stubs"), str(root / "usr" / "local" / "bin"), os.environ["PATH"]])
    done = subprocess.run(
        ["sh"],
        input=script,
        env={**os.environ, "PATH": path, "REAL_SCORER": scorer},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout
    return root / "srv" / "challenge", done.stdout


def readable_by_others(folder: Path) -> set[str]:
    """The files that other users can read, if they can reach them, and the folders that they can pass."""
    found = [folder, *folder.rglob("*")]
    return {each.relative_to(folder).as_posix() for each in found if each.stat().st_mode & (1 if each.is_dir() else 4)}


def within(seconds: float) -> Iterator[None]:
    """Go on from time to time until the time is over, then fail."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield
        time.sleep(0.05)
    pytest.fail(f"nothing after {seconds:g} seconds")


@contextmanager
def running(command: Sequence[str], log: Path, umask: int = -1) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program, and end it with SIGTERM; what it prints is in `log`."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PATH": SEARCH},
            umask=umask,
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


@contextmanager
def serving(folder: Path, *arguments: str, umask: int = -1) -> Iterator[str]:
    """Serve a challenge at a free port; yields the address once the board is there."""
    log = folder.parent / "serve.log"
    command = [sys.executable, "-m", "scorer", "serve", str(folder), "--port", "0", *arguments]
    with running(command, log, umask) as process:
        for _ in within(WAIT):
            assert process.poll() is None, log.read_text()
            found = re.search(r" (http://\S+)\n", log.read_text())
            if found and status(f"{found[1]}/main/index.html") == 200:
                yield found[1]
                break


@dataclass
class Shell:
    """A terminal of the reader: variables stay from one block to the next."""

    folder: Path
    addresses: dict[str, str] = field(default_factory=dict)
    """What replaces a text of the page."""

    def run(self, block: str) -> str:
        """Run a block, which must succeed; returns the output."""
        done = self.tried(block)
        assert done.returncode == 0, f"{block}\n{done.stdout}"
        return done.stdout

    def tried(self, block: str) -> subprocess.CompletedProcess[str]:
        """Run a block; the first command that fails ends it."""
        for text, instead in self.addresses.items():
            block = block.replace(text, instead)
        kept = self.folder / ".kept"
        before = f". {kept}\n" if kept.exists() else ""
        return subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", f"{before}set -a\n{block}\nexport -p > {kept}\n"],
            cwd=self.folder,
            env={**os.environ, "PATH": SEARCH},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )


@pytest.mark.ci
def test_the_commands_of_the_page_run(tmp_path: Path) -> None:
    """In order, from the installation to the tokens; the next test runs those after them."""
    install, make, serve, *others = blocks("bash")[:-3]
    assert install == "pip install 'challenge-scorer[serve]'\n"
    assert serve == "scorer serve my-challenge\n"
    shell, outputs = Shell(tmp_path), []
    shell.run(make)

    with serving(tmp_path / "my-challenge") as address:
        shell.addresses = {ADDRESS: address}
        for block in others:
            if block.startswith("scorer verify"):  # once the site is rendered
                next(None for _ in within(WAIT) if shell.tried(block).returncode == 0)
            outputs.append(shell.run(block))

    tokens, submitted, verified, interface, listed, redeemed, invited = outputs
    assert f"{address}/invite#invite_" in tokens
    assert "preliminary nDCG@5 " in submitted
    assert "lists.txt: scored" in submitted
    assert "FAILED" not in verified
    assert '"state":"received"' in interface
    assert '"left":' in interface
    assert re.search(r"red-kite +token +valid +second computer ", listed)
    assert re.search(r"red-kite: token [0-9a-f]{12} is revoked\n", listed)
    assert '"team":"blue-whale","token":"scorer_' in redeemed
    assert invited == "invitations.csv: 1 new link; keep the file private\n"
    assert files_in_record(tmp_path / "my-challenge") == 3


def files_in_record(folder: Path) -> int:
    """How many entries a team has."""
    return len(re.findall(r" main/red-kite/\S+ ", here("entries", folder).out))


@pytest.mark.ci
def test_a_backup_is_restored_and_a_challenge_moves(tmp_path: Path) -> None:
    """Copied while it is served; moved to PostgreSQL if the tests have a server, otherwise to a file."""
    _, make, _, tokens, hand_in, *_, backup, restore, move = blocks("bash")
    folders = [tmp_path / name for name in ("my-challenge", "restored", "moved")]
    shell = Shell(tmp_path)
    shell.run(make)
    with serving(folders[0]) as address:
        shell.addresses = {ADDRESS: address, "sqlite3 ": f"{copying(tmp_path)} "}
        for block in (tokens, hand_in, backup):
            shell.run(block)
    checked = shell.run(restore)
    assert here("run", folders[0]).code == 0
    with schema() if "postgresql" in KINDS else nullcontext() as database:
        shell.addresses = {f" --database {DATABASE}": f" --database {shlex.quote(database)}" if database else ""}
        shell.run(move)

        assert set(re.findall(r"^(\w+)  ", checked, re.MULTILINE)) == {"ok"}
        assert [files_in_record(folder) for folder in folders] == [2, 2, 2]
        original, restored, moved = (tokens_in_record(folder) for folder in folders)
        assert "lab machine" in original
        assert original == restored == moved


def tokens_in_record(folder: Path) -> str:
    """The list of tokens, without the times of their last use, which are not in the record."""
    listed = here("teams", "tokens", "--format", "json", "--challenge", folder).out
    return re.sub(r'"last used": ".*"', "", listed.replace("last_used", "last used"))


def copying(folder: Path) -> str:
    """A program that copies a database as sqlite3 does, which not every machine has."""
    if shutil.which("sqlite3"):
        return "sqlite3"
    program = folder / "copy.py"
    program.write_text(
        "import sqlite3, sys\n"
        "source, target = sqlite3.connect(sys.argv[1]), sqlite3.connect(sys.argv[2].split()[1])\n"
        "source.backup(target)\n"
    )
    return f"{shlex.quote(sys.executable)} {program}"


@pytest.mark.ci
@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
def test_a_file_handed_in_through_nginx_is_scored(tmp_path: Path) -> None:
    """On the server that the script makes: `scorer submit`, signing in, too large a file, and what the proxy hides."""
    folder, printed = made_by_the_script(tmp_path / "root")
    assert "https://x.example.net/invite#invite_" in printed
    configuration = (tmp_path / "root" / "etc" / "nginx" / "conf.d" / "challenge.conf").read_text()
    assert NAME not in configuration
    assert configuration.count("server_name x.example.net;") == 2
    assert "systemctl enable --now challenge\n" in (tmp_path / "root" / "log").read_text()
    assert readable_by_others(folder) == {"."}
    with (folder / "challenge.toml").open("a") as settings:
        settings.write("\n[limits]\nfile_mb = 1\n")
    token = here("teams", "token", "red-kite", "--challenge", folder).out.strip()
    (tmp_path / "lists.txt").write_text(LISTS)
    (tmp_path / "large.txt").write_bytes(b"#" * 2_000_000)

    with (
        serving(folder, "--proxy", "127.0.0.1", umask=0o077) as behind,
        proxied(tmp_path, behind) as (address, certificate),
    ):
        sign_in = ("--data-urlencode", f"key={token}", "--data", "action=sign-in", "--header", f"Origin: {address}")
        assert curl(certificate, f"{address}/submit", *sign_in) == 303
        environment = {"SCORER_TOKEN": token, "SSL_CERT_FILE": str(certificate)}
        submit = ["-t", "main", "--server", address, "--wait"]
        shown = submitted(tmp_path / "lists.txt", submit, environment)
        large = submitted(tmp_path / "large.txt", [*submit, "--no-check"], environment)
        assert status(f"{behind}/metrics") == 200
        assert status(f"{behind}/metrics", {"X-Forwarded-For": "192.0.2.1"}) == 404
        assert curl(certificate, f"{address}/metrics") == 404
        assert curl(certificate, f"{address}/readyz") == 200
        for path in ("/main/index.html", "/style.css", "/board.js", "/main/leaderboard.json"):
            assert is_compressed(certificate, f"{address}{path}"), path

    assert shown.returncode == 0, shown.stderr
    assert "preliminary nDCG@5 " in shown.stdout
    assert "received as entry " in shown.stdout
    assert large.returncode == 1
    assert "the file is larger than 1,000,000 bytes (limits.file_mb)" in large.stderr
    open_to_all = readable_by_others(folder)
    assert {".", "site", "site/teams", "site/index.html", "site/main/leaderboard.json"} <= open_to_all
    assert all(name == "." or name.partition("/")[0] == "site" for name in open_to_all)
    (file,) = (folder / "submissions" / "main" / "red-kite").iterdir()
    assert file.read_text() == LISTS
    assert token not in "".join(path.read_text() for path in tmp_path.glob("*.log"))


def submitted(file: Path, arguments: Sequence[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Hand in a file."""
    return subprocess.run(
        [sys.executable, "-m", "scorer", "submit", file, *arguments],
        cwd=file.parent,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def status(address: str, headers: dict[str, str] | None = None) -> int:
    """The status of an answer; 0 without one."""
    client = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with client.open(urllib.request.Request(address, headers=headers or {}), timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except urllib.error.URLError:
        return 0


def is_compressed(certificate: Path, address: str) -> bool:
    """Whether an answer over TLS is compressed for a browser that accepts it."""
    options = ["--silent", "--noproxy", "*", "--cacert", str(certificate), "--header", "Accept-Encoding: gzip"]
    command = ["curl", *options, "--dump-header", "-", "--output", os.devnull, address]
    return (
        b"content-encoding: gzip" in subprocess.run(command, capture_output=True, check=True, timeout=20).stdout.lower()
    )


def curl(certificate: Path, address: str, *more: str) -> int:
    """The status of an answer over TLS."""
    options = ["--silent", "--noproxy", "*", "--cacert", str(certificate), "--output", os.devnull, *more]
    command = ["curl", *options, "--write-out", "%{http_code}", address]
    return int(subprocess.run(command, capture_output=True, check=True, timeout=20).stdout)


@contextmanager
def nginx(folder: Path, text: str, name: str, more: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    """The nginx of a page at a free port of the loopback; yields its address and its certificate.

    `name` is the host of the page; `more` maps other texts of the page to what replaces them.
    """
    port, plain = free_ports()
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    write_certificate(key, certificate)
    lines = {
        "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
        "listen 80;": f"listen 127.0.0.1:{plain};",
        f"/etc/letsencrypt/live/{name}/fullchain.pem": str(certificate),
        f"/etc/letsencrypt/live/{name}/privkey.pem": str(key),
        **more,
    }
    for line, instead in lines.items():
        assert text.count(line) == 1, line
        text = text.replace(line, instead)
    names = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{name}_temp_path {folder}/nginx-{name};\n" for name in names)
    configuration, log = folder / "nginx.conf", folder / "nginx.log"
    user = "user root;\n" if os.getuid() == 0 else ""
    configuration.write_text(
        f"{user}daemon off;\nmaster_process off;\npid {folder}/nginx.pid;\nevents {{}}\n"
        f"http {{\naccess_log {folder}/access.log;\n{temporary}{text}}}\n"
    )
    command = ["nginx", "-p", str(folder), "-e", str(log), "-c", str(configuration)]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    with running(command, folder / "nginx-output.log") as process:
        for _ in within(WAIT):
            assert process.poll() is None, log.read_text()
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    break
        yield f"https://localhost:{port}", certificate


def proxied(folder: Path, behind: str) -> AbstractContextManager[tuple[str, Path]]:
    """The nginx of the page before a service."""
    text = written_by_the_script("/etc/nginx/conf.d/challenge.conf")
    return nginx(folder, text, NAME, {ADDRESS: behind})


def free_ports() -> tuple[int, int]:
    """Two ports of the loopback that nobody uses."""
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


def write_certificate(key: Path, certificate: Path) -> None:
    """A certificate for localhost, which is its own issuer, and its key."""
    private, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(private, hashes.SHA256())
    )
    form = serialization.PrivateFormat.PKCS8
    key.write_bytes(private.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_the_unit_is_valid(tmp_path: Path) -> None:
    """systemd finds no unknown line in it, and the command that it starts has valid arguments."""
    text = written_by_the_script("/etc/systemd/system/challenge.service")
    (start,) = re.findall(r"^ExecStart=(.+)$", text, re.MULTILINE)
    program, *arguments = shlex.split(start)
    unit = tmp_path / "challenge.service"
    unit.write_text(text.replace(program, str(Path(sys.executable).with_name("scorer"))))

    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, check=False, timeout=30
    )

    assert "challenge.service" not in done.stderr, done.stderr
    assert arguments == ["serve", "/srv/challenge", "--proxy", "127.0.0.1"]
    image = (DOCS.parent / "Containerfile").read_text(encoding="utf-8")
    serve, folder, *options = json.loads(image.partition("\nCMD ")[2])
    assert (serve, folder, options[:3:2]) == ("serve", "/challenge", ["--host", "--proxy"])


def rows(header: str) -> list[list[str]]:
    """The cells of the table of the page with this header."""
    table = PAGE.partition(f"\n{header}\n")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[1:]]


def test_the_table_of_addresses_has_every_route(tmp_path: Path) -> None:
    """With its methods; those without a mark need a token."""
    documented = {
        (method, re.findall(r"`([^`]+)`", address)[0]): r"\*" not in address
        for methods, address, _ in rows("| method | address | answer |")
        for method in re.findall(r"`([A-Z]+)`", methods)
        if "`" in address
    }

    with served(Live.graded(tmp_path / "live")) as challenge:
        routes = [route for route in application(challenge.service).routes if isinstance(route, Route)]
        answers = {
            (method, address): challenge.client.request(
                method,
                address.format(track="main", which="all", entry="0" * 8 + "-0000-4000-8000-" + "0" * 12),
                content=b"{}",
            )
            for method, address in documented
        }
    needs_token = {key: answer.status_code == 401 for key, answer in answers.items()}
    assert documented.keys() == {
        (method, route.path) for route in routes for method in (route.methods or set()) - {"HEAD"}
    }
    assert documented == needs_token


def test_the_table_of_errors_has_every_code() -> None:
    """With its status, in the order of the statuses."""
    documented = {re.findall(r"`(.+)`", code)[0]: int(number) for code, number, _ in rows("| code | status | reason |")}

    assert documented == {code: int(number) for code, number in STATUS.items()}
    assert list(documented.values()) == sorted(documented.values())


def test_the_table_of_metrics_has_every_metric() -> None:
    """By the names that Prometheus reads."""
    documented = {re.findall(r"`(\w+)", name)[0] for name, _ in rows("| metric | |")}

    metrics = Metrics()
    metrics.refused.labels("closed").inc()
    shown = re.findall(r"^# TYPE (\w+) (\w+)$", metrics.text().decode(), re.MULTILINE)
    assert documented == {name for name, _ in shown if not name.endswith("_created")}
