"""An environment in which the wheel is installed, with what it requires and nothing else."""

from __future__ import annotations

import re
import subprocess
import sys
import venv
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path
from zipfile import ZipFile

from packaging.requirements import Requirement

from tests.paths import ROOT


def wheel(folder: Path) -> Path:
    """Build the wheel in a folder, without a network."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def installed(folder: Path, extras: Iterable[str]) -> Path:
    """Make an environment; returns the folder of its programs.

    The wheel is unpacked as pip does it. What it requires is linked from the environment of the tests, so nothing is
    downloaded, and a package that the wheel does not require is missing.
    """
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    with ZipFile(wheel(folder)) as archive:
        archive.extractall(packages)
    (metadata,) = packages.glob("*.dist-info")
    ours = PathDistribution(metadata)
    for needed in required(ours, extras):
        files = needed.files or []
        for top in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            (packages / top).symlink_to(str(needed.locate_file(top)))
    programs = folder / "bin"
    for point in ours.entry_points:
        program = programs / point.name
        start = f"if __name__ == '__main__':\n    sys.exit({point.attr}())\n"  # other processes import the program
        lines = f"#!{programs / 'python'}\nimport sys\nfrom {point.module} import {point.attr}\n{start}"
        program.write_text(lines, encoding="utf-8")
        program.chmod(0o755)
    return programs


def required(ours: Distribution, extras: Iterable[str]) -> list[Distribution]:
    """All distributions that one requires, directly or not, with some of its extras."""
    found: dict[str, Distribution] = {}
    left = list(_requirements(ours, extras))
    seen = set()
    while left:
        name, more = left.pop()
        if (name, more) not in seen:
            seen.add((name, more))
            found[name] = distribution(name)
            left += _requirements(found[name], more)
    return list(found.values())


def _requirements(needing: Distribution, extras: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What a distribution requires directly here: names, each with the extras of it."""
    for text in needing.requires or ():
        each = Requirement(text)
        if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield re.sub(r"[-_.]+", "-", each.name).lower(), tuple(sorted(each.extras))
