"""An S3 server in another process, for tests of files behind URLs."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

NAME = "challenge-inbox"
WAIT = 60.0
"""Seconds until the server must answer."""


@dataclass(frozen=True)
class Bucket:
    """A bucket, and the environment of the server's clients, which is also that of this process."""

    environment: Mapping[str, str]
    store: Any
    """The file system of fsspec."""


@contextmanager
def s3_bucket(log: Path) -> Iterator[Bucket]:
    """Run a server; what it prints is in `log`. Skips the test if a package is not installed."""
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    for package in ("s3fs", "moto", "flask_cors"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    environment = {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    program = f"from moto.server import main; main(['-H', '127.0.0.1', '-p', '{port}'])"
    with (
        log.open("wb") as output,
        subprocess.Popen([sys.executable, "-c", program], stdout=output, stderr=output) as server,
    ):
        try:
            _wait(f"{address}/moto-api/data.json", log)
            with pytest.MonkeyPatch.context() as patch:
                for name, value in environment.items():
                    patch.setenv(name, value)
                store = fsspec.filesystem("s3")
                store.clear_instance_cache()
                store = fsspec.filesystem("s3")
                store.mkdir(NAME)
                yield Bucket(environment, store)
                store.clear_instance_cache()
        finally:
            server.kill()


def _wait(address: str, log: Path) -> None:
    client = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        try:
            with client.open(address, timeout=5):
                return
        except OSError:
            time.sleep(0.05)
    pytest.fail(log.read_text())
