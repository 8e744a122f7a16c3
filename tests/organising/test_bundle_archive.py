"""The archive of a bundle: each changed byte is found, and hostile archives get one message and leave nothing."""

from __future__ import annotations

import random
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pytest
import tomlkit
from sqlalchemy import NullPool, create_engine, inspect

from scorer.errors import ScorerError
from scorer.organising.bundles import import_bundle, write_bundle
from scorer.verification.bundle import COMMENT_BYTES, DIRECTORY, EVENT_ROWS, MANIFEST, is_safe, opened_bundle
from tests.bundles import archive, edited, members, parts, sealed, with_manifest
from tests.commands import Terminal
from tests.live_challenges import day

NOW = day(27)


def refusal(content: bytes, folder: Path) -> str:
    """The message of an import of a file with this content, which leaves nothing."""
    file = folder / "b.zip"
    file.write_bytes(content)
    with pytest.raises(ScorerError) as refused:
        import_bundle(file, folder / "sub" / "new", clock=lambda: NOW)
    assert [path.name for path in folder.iterdir()] == ["b.zip"] or list((folder / "sub").iterdir()) == []
    message = str(refused.value)
    assert message.startswith(f"{file}: ") or str(folder / "sub" / "new") in message
    assert "\n" not in message
    assert message.isprintable()
    return message


# Changed bytes


def test_each_changed_byte_is_found_with_its_place(bundle: Path, tmp_path: Path) -> None:
    """All bytes of the directory, and some of each member."""
    content = bundle.read_bytes()
    chance = random.Random(12)
    file = tmp_path / "b.zip"
    tried = 0
    for name, start, end in parts(bundle):
        positions = range(start, end) if not name else chance.sample(range(start, end), min(end - start, 12))
        for position in positions:
            if position in range(2) or position >= len(content) - COMMENT_BYTES:
                continue  # see below
            changed = bytearray(content)
            changed[position] ^= 1 << chance.randrange(8)
            file.write_bytes(changed)
            with opened_bundle(file) as opened:
                assert opened.changed_part() == (name or DIRECTORY), position
            tried += 1
    assert tried > 4_000


def test_each_changed_byte_of_the_digest_is_found(bundle: Path, tmp_path: Path) -> None:
    """Also those that leave a text of the same form."""
    content = bundle.read_bytes()
    for position in range(len(content) - COMMENT_BYTES, len(content)):
        changed = bytearray(content)
        changed[position] ^= 1
        message = refusal(bytes(changed), tmp_path)
        assert "at its end" in message or "its end is not the SHA-256 of a bundle" in message


def test_a_changed_byte_is_refused_with_its_place_and_leaves_nothing(
    bundle: Path, tmp_path: Path, terminal: Terminal
) -> None:
    """`scorer import` and `scorer verify bundle` name the member."""
    content = bundle.read_bytes()
    for name, start, end in parts(bundle):
        if end == start:
            continue
        changed = bytearray(content)
        changed[(start + end) // 2] ^= 4
        assert f": changed in {name or DIRECTORY}; copy it again" in refusal(bytes(changed), tmp_path)
        answer = terminal.run("verify", "bundle", tmp_path / "b.zip")
        assert (answer.code, answer.err) == (1, "")
        assert answer.out.startswith("FAILED  no byte was changed")
        assert answer.out.endswith(f": changed in {name or DIRECTORY}\n")


def test_incomplete_and_longer_files_are_refused(bundle: Path, tmp_path: Path) -> None:
    """A copy that was interrupted, at any length, and one with bytes after its end."""
    content = bundle.read_bytes()
    for length in (0, 1, 30, COMMENT_BYTES, 100, len(content) // 2, len(content) - 1):
        message = refusal(content[:length], tmp_path)
        assert "is not the SHA-256 of a bundle" in message or "not a bundle" in message
    assert "is not the SHA-256 of a bundle" in refusal(content + b"\0", tmp_path)


# Hostile archives; that the builder gives bundles is tested in tests/verification/test_verify_tampering.py


@pytest.mark.parametrize(
    "name",
    [
        "../outside.txt",
        "challenge/../../outside.txt",
        "challenge/../outside.txt",
        "/etc/outside.txt",
        "challenge//outside.txt",
        "challenge/./outside.txt",
        "challenge/",
        "challenge/folder/",
        "challenge/..",
        "challenge/a\\..\\b",
        "challenge/c:b",
        "challenge/a\nb",
        "tables/../x.jsonl",
        "solutions/short",
        "submissions/" + "Z" * 64,
        "other/file",
        "challenge/\u202eb/../a",
    ],
)
def test_names_that_no_bundle_has_are_refused(name: str, bundle: Path, tmp_path: Path) -> None:
    """Absolute, with .., with separators of other systems, or in other folders."""
    message = refusal(archive(with_manifest(members(bundle) | {name: b"x"})), tmp_path)
    assert "has a member" in message
    assert not list(tmp_path.parent.glob("outside*"))


def test_a_name_is_safe_only_in_its_folder() -> None:
    """Whether a member may have it."""
    assert is_safe("challenge/templates/static/été.txt")
    assert not any(
        map(is_safe, ("", "a//b", "a/../b", "/a", "a/", ".", "a/.", "a\\b", "c:", "a\0b", "a/ ", "a\udcffb"))
    )


def link(made: ZipFile) -> None:
    """Add a symbolic link."""
    info = ZipInfo("challenge/link")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    made.writestr(info, "/etc/passwd")


def twice(made: ZipFile) -> None:
    """Add a second challenge.toml."""
    made.writestr(ZipInfo("challenge/challenge.toml"), "name = 1")


def bomb(made: ZipFile) -> None:
    """Add a member that grows to a thousand times its size."""
    made.writestr(ZipInfo("challenge/bomb"), bytes(10_000_000), compress_type=ZIP_DEFLATED)


def overlapping(made: ZipFile) -> None:
    """Let every member be the largest one."""
    largest = max(made.infolist(), key=lambda info: info.file_size)
    for number in range(100):
        info = ZipInfo(f"challenge/{number}")
        info.header_offset, info.file_size, info.CRC = largest.header_offset, largest.file_size, largest.CRC
        info.compress_size = info.file_size
        made.filelist.append(info)
        made.NameToInfo[info.filename] = info


def encrypted(made: ZipFile) -> None:
    """Mark a member as encrypted."""
    made.infolist()[0].flag_bits |= 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (link, "is a link or a special file"),
        (twice, 'has two members that are called "challenge/challenge.toml"'),
        (bomb, "is compressed or encrypted"),
        (overlapping, "its members overlap"),
        (encrypted, "is compressed or encrypted"),
    ],
)
def test_hostile_members_are_refused(
    change: Callable[[ZipFile], object], message: str, bundle: Path, tmp_path: Path
) -> None:
    """Links, repeated names, and members that grow when they are read."""
    content = members(bundle) if change is overlapping else with_manifest(members(bundle))
    assert message in refusal(archive(content, change), tmp_path)


def test_other_files_are_not_bundles(bundle: Path, tmp_path: Path) -> None:
    """One message says what was expected."""
    content = members(bundle)
    del content[MANIFEST]
    cases = {
        b"": "not a bundle",
        b"hello\n" * 100: "not a bundle",
        sealed(b"PK" + bytes(500)): "its directory cannot be read",
        archive(content): "has no member manifest.json",
        archive(with_manifest(members(bundle), format="other")): "manifest.json is not that of a bundle",
        archive({**members(bundle), MANIFEST: b"["}): "manifest.json is not JSON",
        archive({**members(bundle), MANIFEST: b"[" * 100_000}): "manifest.json is not JSON",
        archive({**members(bundle), MANIFEST: b"[]"}): "manifest.json is not that of a bundle",
        archive(with_manifest(members(bundle), events="3")): "lacks a value, or has one of another kind",
        archive(with_manifest(members(bundle), members=[])): "lacks a value, or has one of another kind",
        archive(with_manifest(members(bundle), members={})): "manifest.json differ in",
    }
    for data, message in cases.items():
        assert message in refusal(data, tmp_path)
    for path, message in ((tmp_path, "not a file"), (tmp_path / "none.zip", "no such file")):
        with pytest.raises(ScorerError, match=message):
            import_bundle(path, tmp_path / "new")


def test_a_huge_manifest_is_refused(bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read as a whole."""
    monkeypatch.setattr("scorer.verification.bundle.LARGEST_MANIFEST", 1_000)
    assert "manifest.json has" in refusal(bundle.read_bytes(), tmp_path)


def test_later_versions_name_the_scorer_that_is_needed(bundle: Path, tmp_path: Path) -> None:
    """Of the format, and of the tables."""
    content = members(bundle)
    later = archive(with_manifest(content, version=2, scorer="9.1.0"))
    assert "has version 2 of the format" in refusal(later, tmp_path)
    assert "install scorer 9.1.0 or later, which wrote it" in refusal(later, tmp_path)
    later = archive(with_manifest(content, schema=99, scorer="9.1.0"))
    assert "has tables of schema version 99" in refusal(later, tmp_path)
    assert "install scorer 9.1.0 or later" in refusal(later, tmp_path)


def with_settings(content: dict[str, bytes], changes: Mapping[tuple[str, ...], str]) -> bytes:
    """A sealed archive in which keys of challenge.toml have other values."""
    document: Any = tomlkit.parse(content[SETTINGS])
    for path, value in changes.items():
        table = document
        for name in path[:-1]:
            table = table[name]
        table[path[-1]] = value
    return archive(with_manifest({**content, SETTINGS: tomlkit.dumps(document).encode()}))


SETTINGS = "challenge/challenge.toml"


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (EVENT_ROWS, lambda rows: rows.pop(2), "event 3 is missing"),
        (EVENT_ROWS, lambda rows: rows.append(dict(rows[-1])), "this event is repeated"),
        (EVENT_ROWS, lambda rows: rows.pop(), "found 12 events"),
        (EVENT_ROWS, lambda rows: rows[0].update(track="other"), "its head is"),
        (EVENT_ROWS, lambda rows: rows[0].update(body="{"), "line 1: not an event"),
        (EVENT_ROWS, lambda rows: rows[0].pop("body"), "line 1: not an event"),
        (EVENT_ROWS, lambda rows: rows[0].update(index="1"), "line 1: not an event"),
        ("tables/scorer_schema.jsonl", lambda rows: rows[0].update(salt="z"), "does not have the salt of one database"),
        ("tables/scorer_schema.jsonl", lambda rows: rows.clear(), "does not have the salt of one database"),
        ("tables/scorer_schema.jsonl", lambda rows: rows[0].update(revision=2**70), "revision is"),
        ("tables/result.jsonl", lambda rows: rows[0].update(hits="***"), "hits is"),
        ("tables/result.jsonl", lambda rows: rows[0].update(hits="AAAA", status="scored"), "hits is"),
        ("tables/result.jsonl", lambda rows: rows[0].update(digest="0" * 64), "has the wrong key"),
        ("tables/result.jsonl", lambda rows: rows[0].update(status="x" * 9), "status is"),
        ("tables/result.jsonl", lambda rows: rows[0].update(status=None), "status is"),
        ("tables/result.jsonl", lambda rows: rows[0].update(more=1), "it does not have the columns of the table"),
        ("tables/solution.jsonl", lambda rows: rows[0].update(digest="\0"), "digest is"),
        ("tables/last_run.jsonl", lambda rows: rows[0].update(track=7), "track is"),
        ("submissions/index.jsonl", lambda rows: rows[0].update(path=["..", "x"]), "not a file of a submission"),
        ("submissions/index.jsonl", lambda rows: rows[0].update(path=["a/b"]), "not a file of a submission"),
        ("submissions/index.jsonl", lambda rows: rows[0].update(path=["a", "b", "c"]), "not a file of a submission"),
        ("submissions/index.jsonl", lambda rows: rows[0].update(track="none"), "not a file of a submission"),
        ("submissions/index.jsonl", lambda rows: rows[0].update(sha256="0" * 64), "not a file of a submission"),
        ("submissions/index.jsonl", lambda rows: rows[0].update(mtime_ns=2**64), "not a file of a submission"),
    ],
)
def test_invalid_rows_are_refused(
    name: str, change: Callable[[list[dict[str, Any]]], object], message: str, bundle: Path, tmp_path: Path
) -> None:
    """With a manifest that fits them: an author of a bundle is not trusted."""
    assert message in refusal(edited(members(bundle), name, change), tmp_path)


@pytest.mark.parametrize(
    "before_after",
    [
        ('name = "Live"', 'name = "Live"\ndatabase = "/tmp/x.db"'),
        ('"solutions/main.txt"', '"/etc/passwd"'),
        ('"public/queries.txt"', '"../../queries.txt"'),
        ("[site]", '[site]\nfolder = "/var/www"'),
    ],
)
def test_settings_that_lead_outside_are_refused(before_after: tuple[str, str], bundle: Path, tmp_path: Path) -> None:
    """An import writes into its folder only."""
    content = members(bundle)
    name = "challenge/challenge.toml"
    before, after = before_after
    changed = content[name].replace(before.encode(), after.encode())
    assert changed != content[name]
    message = refusal(archive(with_manifest({**content, name: changed})), tmp_path)
    assert "names a file outside of the challenge, or a database" in message or "there is no such file" in message


@pytest.mark.parametrize("key", ["solution", "queries", "items", "submissions"])
@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "FILE:///etc/passwd",
        "local:///etc/passwd",
        "memory://queries.txt",
        "zip://x::file:///etc/passwd",
        "filecache://x::file:///etc/passwd",
        "s3://bucket/x::file:///etc/passwd",
        "git:///etc:master@passwd",
        "reference://x",
    ],
)
def test_urls_of_local_files_are_refused(key: str, url: str, bundle: Path, tmp_path: Path) -> None:
    """A bundle names files in its folder, and stores that any machine reads."""
    message = refusal(with_settings(members(bundle), {("tracks", "main", key): url}), tmp_path)
    assert "is no URL of a remote store" in message or (key in ("queries", "items") and "names" in message)


def test_a_key_file_is_a_path(bundle: Path, tmp_path: Path) -> None:
    """Also if it looks like a URL: nothing outside of the new folder is read or made private."""
    outside = tmp_path / "outside.key"
    outside.write_text("mine")
    outside.chmod(0o644)
    steps = "/".join([".."] * 40)
    found = with_settings(members(bundle), {("tracks", "main", "split", "key_file"): f"xx://{steps}{outside}"})
    (tmp_path / "b").mkdir()
    assert "names a file outside of the challenge" in refusal(found, tmp_path / "b")
    assert stat.S_IMODE(outside.stat().st_mode) == 0o644


def test_a_page_that_is_refused_leaves_no_table(bundle: Path, tmp_path: Path, place: str) -> None:
    """The rows are stored before the site is rendered. The database can be used for another import."""
    address = place if "://" in place else f"sqlite:///{place}"
    name = "challenge/pages/10-data.md"
    other = with_manifest({**members(bundle), name: b"# Data\n\n![x](../../etc/passwd)\n"}, challenge="Other")
    (tmp_path / "b.zip").write_bytes(archive(other))

    with pytest.raises(ScorerError, match="found an image from"):
        import_bundle(tmp_path / "b.zip", tmp_path / "new", address, clock=lambda: NOW)

    assert not (tmp_path / "new").exists()
    assert "://" not in place or inspect(create_engine(address, poolclass=NullPool)).get_table_names() == []
    assert not Path(place).exists()
    import_bundle(bundle, tmp_path / "new", address, clock=lambda: NOW)


def test_two_members_cannot_be_the_same_file(bundle: Path, tmp_path: Path) -> None:
    """One is where the other needs a folder."""
    content = with_manifest(members(bundle) | {"challenge/a": b"x", "challenge/a/b": b"x"})
    assert "cannot be written" in refusal(archive(content), tmp_path)


# Writing


def test_members_are_written_in_order(tmp_path: Path) -> None:
    """So that the same members give the same bytes."""
    names = ["tables/b.jsonl", "tables/a.jsonl"]
    facts = {"scorer": "1", "schema": 1, "challenge": "x", "events": 0, "head": "0" * 64}
    for file, order in (("1.zip", names), ("2.zip", names[::-1])):
        write_bundle(tmp_path / file, {name: lambda: [b"1"] for name in order}, facts)
    assert (tmp_path / "1.zip").read_bytes() == (tmp_path / "2.zip").read_bytes()
    with ZipFile(tmp_path / "1.zip") as written:
        assert written.namelist() == ["tables/a.jsonl", "tables/b.jsonl", MANIFEST]
