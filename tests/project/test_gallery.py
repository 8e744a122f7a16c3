"""docs/gallery.md: each section runs in a folder that has only example/gallery.py, and its texts are true."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.blocks import run_blocks, shell
from tests.commands import Terminal
from tests.paths import DOCS, ROOT

PAGE = DOCS / "gallery.md"
SCRIPT = ROOT / "example" / "gallery.py"
_, *SECTIONS = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
NAMES = [re.findall(r"^\$ python gallery.py (\w+)$", section, re.MULTILINE) for section in SECTIONS]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the page has commands of a POSIX shell")


def write(name: str, folder: Path) -> None:
    """Write the data of a situation into a folder, as readers do."""
    shutil.copy(SCRIPT, folder)
    assert shell(f"cd '{folder}' && python gallery.py {name}", Path(sys.executable).parent) == (0, "")


def files(folder: Path) -> dict[str, bytes]:
    """The bytes of all files of a folder, without lines with dates of phases."""
    return {
        path.relative_to(folder).as_posix(): re.sub(rb"(?m)^(start|end) = .*$", b"", path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_each_situation_has_a_section() -> None:
    """The script writes exactly those of the page."""
    situations = re.findall(r"^def (\w+)\(\) -> None:", SCRIPT.read_text(encoding="utf-8"), re.MULTILINE)
    assert [[name] for name in situations] == NAMES
    assert len(NAMES) == 6


@pytest.mark.ci
@pytest.mark.parametrize(("section", "name"), [(text, name) for text, (name,) in zip(SECTIONS, NAMES, strict=True)])
def test_a_section_runs(
    section: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: Terminal
) -> None:
    """From top to bottom; a block of text has what the command before it prints."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(SCRIPT, tmp_path)
    assert run_blocks(section, PAGE.name, terminal, {}) > 2

    if name == "exercise":
        site = b"".join(files(tmp_path / "exercise" / "site").values())
        assert b"lecture-baseline" in site
        assert not [student for student in (b"desk-1", b"desk-7", b"desk-8") if re.search(rb"\b%s\b" % student, site)]


@pytest.mark.parametrize("name", [name for (name,) in NAMES])
def test_the_data_follow_from_the_seed(name: str, tmp_path: Path) -> None:
    """Two folders have the same files with the same bytes."""
    for folder in (tmp_path / "first", tmp_path / "second"):
        folder.mkdir()
        write(name, folder)
    assert files(tmp_path / "first" / name) == files(tmp_path / "second" / name)
