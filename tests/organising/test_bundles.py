"""Bundles: a challenge that is exported and imported has the same record and the same site, and goes on."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from scorer.board.site.folder import SITE_MANIFEST
from scorer.errors import ChallengeError, ScorerError, StoreError
from scorer.organising.run import plan
from tests.bundles import exported, imported, members, rich_challenge, run, url_of, without_flags
from tests.commands import Terminal
from tests.databases import NewPlace, changed
from tests.live_challenges import GOOD, OTHER, SOLUTION, Live, day
from tests.paths import tree

pytestmark = pytest.mark.usefixtures("no_pictures")

NOW = day(27)


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Live:
    """A challenge with everything that a render reads, in an open phase and with an open erratum."""
    return rich_challenge(tmp_path_factory.mktemp("rich") / "challenge")


@pytest.fixture(scope="module")
def bundle(rich: Live) -> Path:
    """The bundle of this challenge, with solutions and files."""
    target = rich.folder.parent / "challenge.zip"
    exported(rich, target, NOW)
    return target


# The same site


def test_an_imported_challenge_has_the_same_record_and_site(
    rich: Live, bundle: Path, tmp_path: Path, new_place: NewPlace
) -> None:
    """All bytes of all files of the site. Secrets are private, a bundle of it is the same, a run records nothing."""
    (tmp_path / "new").mkdir()
    new = imported(bundle, tmp_path / "new", NOW, url_of(new_place()))

    site = tree(new.folder / "site")
    assert site == tree(rich.folder / "site")
    assert new.events() == rich.events()
    exported(new, tmp_path / "again.zip", NOW)
    assert (tmp_path / "again.zip").read_bytes() == bundle.read_bytes()

    assert {"extra.css", "data.html", "static/logo.svg", "static/rules/été.txt"} <= site.keys()
    assert b"logo.svg" in site["index.html"]
    assert not {"challenge/pages/.draft.md", "challenge/pages/20-link.md"} & members(bundle).keys()

    folder = new.folder
    secret = [bundle, folder / "secret/main.key", folder / "solutions/main.txt", *folder.glob("*.solutions/*")]
    assert len(secret) == 6
    assert {stat.S_IMODE(path.stat().st_mode) for path in secret} == {0o600}

    run(new, NOW)
    assert new.events() == rich.events()


def test_a_bundle_without_solutions_and_files_has_the_same_site(
    rich: Live, tmp_path: Path, new_place: NewPlace
) -> None:
    """No solution and no submission is in it; missing files must be confirmed, so a run withdraws nothing."""
    exported(rich, tmp_path / "small.zip", NOW, solutions=False, files=False)
    new = imported(tmp_path / "small.zip", tmp_path / "new", NOW, url_of(new_place()))

    assert tree(new.folder / "site") == tree(rich.folder / "site")
    names = [name for name in members(tmp_path / "small.zip") if name.startswith("solutions/")]
    assert names == []
    assert not (new.folder / "solutions").exists()
    assert tree(new.folder / "submissions") == {}
    assert not any(GOOD.encode() in content for content in members(tmp_path / "small.zip").values())

    exported(rich, tmp_path / "solved.zip", NOW, files=False)
    new = imported(tmp_path / "solved.zip", tmp_path / "solved", NOW)
    before = new.events()

    run(new, NOW)

    assert new.events() == before


# Going on


def test_an_imported_challenge_goes_on_as_the_original_does(tmp_path: Path, new_place: NewPlace) -> None:
    """A new file is scored by the rules in force and by those of the open erratum, which is applied then: record, log
    and site are the same. Only the revision of the database differs: files were scanned before.
    """
    original = rich_challenge(tmp_path / "original")
    exported(original, tmp_path / "b.zip", NOW)
    copy = imported(tmp_path / "b.zip", tmp_path / "copy", NOW, url_of(new_place()))
    sites = []
    for live in (original, copy):
        live.put("dune/1.txt", OTHER, day(28))
        run(live, day(28, 14))
        live.apply(day(28, 15))
        live.render(day(28, 16))
        sites.append({name: text for name, text in tree(live.folder / "site").items() if name != SITE_MANIFEST})

    assert original.events() == copy.events()
    assert original.log() == copy.log()
    assert copy.events()[-1].kind == "basis"
    assert sites[0] == sites[1]
    assert "dune" in copy.page("main/index.html")


# Files outside of the folder


def moved_outside(live: Live) -> None:
    """Move the files of a challenge out of its folder, and its site and database, too."""
    outside = live.folder.parent / "elsewhere"
    outside.mkdir()
    for name in ("public", "secret", "solutions", "submissions"):
        (live.folder / name).rename(outside / name)
    text = (live.folder / "challenge.toml").read_text(encoding="utf-8")
    text = text.replace('"public/queries', '"../elsewhere/public/queries').replace(
        '"public/items', f'"{outside}/public/items'
    )
    text = text.replace('"secret/', f'"{outside}/secret/').replace('"solutions/', '"../elsewhere/solutions/')
    text = text.replace("list_length = 3\n", f'list_length = 3\nsubmissions = "{outside}/submissions/main"\n')
    text = text.replace("[site]\n", f'[site]\nfolder = "{outside}/site"\n')
    (live.folder / "challenge.toml").write_text(f'database = "../db.sqlite" # here\n{text}', encoding="utf-8")


def test_files_outside_of_the_folder_are_moved_into_it(tmp_path: Path) -> None:
    """The site is the same, and the imported challenge names nothing of the other machine."""
    live = rich_challenge(tmp_path / "challenge")
    (live.folder / "scores.db.solutions").rename(tmp_path / "db.sqlite.solutions")
    (live.folder / "scores.db").rename(tmp_path / "db.sqlite")
    moved_outside(live)
    run(live, NOW)
    exported(live, tmp_path / "b.zip", NOW)
    new = imported(tmp_path / "b.zip", tmp_path / "new", NOW)

    assert tree(new.folder / "site") == tree(tmp_path / "elsewhere" / "site")
    text = (new.folder / "challenge.toml").read_text(encoding="utf-8")
    assert not any(found in text for found in ("elsewhere", "database", str(tmp_path)))
    assert (new.folder / "outside/main/key_file/main.key").exists()
    assert (new.folder / "scores.db").exists()


def test_paths_are_no_rules(tmp_path: Path) -> None:
    """After a phase has started, files may be in other places: scores and rules in force are the same."""
    live = rich_challenge(tmp_path / "challenge")
    before = live.events()
    (live.folder / "secret/main.key").rename(live.folder / "moved.key")
    live.edit("secret/main.key", "moved.key")
    live.write_solution(without_flags(SOLUTION))

    notes = live.do(NOW, lambda challenge, store: plan(store, challenge, challenge.tracks[0]).notes)
    run(live, NOW)

    assert [note for note in notes if "the same bytes" not in note] == []
    assert [event.kind for event in live.events()[len(before) :]] == ["basis"]


# Refusals


def test_a_bundle_is_never_overwritten_nor_public(rich: Live, tmp_path: Path) -> None:
    """One message, and no file."""
    (tmp_path / "there.zip").write_text("mine")
    cases = {
        tmp_path / "there.zip": "exists; name a new file",
        rich.folder / "site" / "b.zip": "in the folder of the site, which is public",
        tmp_path / "no" / "b.zip": "there is no folder",
    }
    for target, message in cases.items():
        with pytest.raises(ChallengeError, match=message):
            exported(rich, target, NOW)
    assert (tmp_path / "there.zip").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["there.zip"]


def test_a_failed_export_leaves_nothing(tmp_path: Path) -> None:
    """A name that no other system may have, a URL that no other machine reads, a damaged archive, a damaged row."""
    live = rich_challenge(tmp_path / "challenge")
    target = tmp_path / "b.zip"
    (live.folder / "templates" / "static" / "a:b.txt").write_text("x")
    with pytest.raises(ChallengeError, match=r'"templates/static/a:b.txt": no other system may have .* rename it'):
        exported(live, target, NOW)
    (live.folder / "templates" / "static" / "a:b.txt").unlink()
    for url in ("file:///tmp/lists", "memory://lists", "zip://a::file:///tmp/lists.zip"):
        key = f'list_length = 3\nsubmissions = "{url}"\n'
        live.edit("list_length = 3\n", key)
        with pytest.raises(ChallengeError, match=r"tracks\.main\.submissions: names .* is no URL of a remote store"):
            exported(live, target, NOW)
        live.edit(key, "list_length = 3\n")
    archive = {stored: stored.read_bytes() for stored in (live.folder / "scores.db.solutions").iterdir()}
    for stored in archive:
        stored.write_text("changed")
    with pytest.raises(ChallengeError, match="changed while it was exported, or is damaged"):
        exported(live, target, NOW)
    for stored, content in archive.items():
        stored.write_bytes(content)
    changed(str(live.folder / "scores.db"), "UPDATE result SET counts = '{}' WHERE status = 'scored'")
    with pytest.raises(StoreError, match="is damaged"):
        exported(live, target, NOW)
    assert [path.name for path in tmp_path.iterdir()] == ["challenge"]


@pytest.mark.parametrize(
    "make", [lambda path: path.write_text("x"), lambda path: path.joinpath("a").mkdir(parents=True)]
)
def test_an_import_overwrites_nothing(make: Callable[[Path], object], bundle: Path, tmp_path: Path) -> None:
    """The folder is new or empty."""
    target = tmp_path / "new"
    make(target)
    with pytest.raises(ChallengeError, match="exists and is not empty"):
        imported(bundle, target, NOW)


def test_a_database_in_use_is_refused(bundle: Path, tmp_path: Path, place: str, terminal: Terminal) -> None:
    """Its rows stay, and no folder is left."""
    address = place if "://" in place else f"sqlite:///{place}"
    other = Live.graded(tmp_path / "other")
    other.edit('name = "Live"\n', f'name = "Live"\ndatabase = "{address}"\n')
    other.run(NOW)
    before = other.events()

    with pytest.raises(ScorerError, match="is in use by another challenge; name an empty database"):
        imported(bundle, tmp_path / "new", NOW, address)

    assert other.events() == before
    assert not (tmp_path / "new").exists()


def test_a_repeated_import_finds_its_rows_unless_the_challenge_has_gone_on(
    bundle: Path, tmp_path: Path, place: str
) -> None:
    """A kill after the rows were stored leaves a database with the same record."""
    address = place if "://" in place else f"sqlite:///{place}"
    first = imported(bundle, tmp_path / "first", NOW, address)
    second = imported(bundle, tmp_path / "second", NOW, address)
    assert tree(second.folder / "site") == tree(first.folder / "site")

    second.put("dune/1.txt", OTHER, day(28))
    run(second, day(28))

    with pytest.raises(ScorerError, match="has gone on since it was imported"):
        imported(bundle, tmp_path / "third", NOW, address)


# The commands


def test_a_database_of_an_import_is_a_url(bundle: Path, tmp_path: Path, terminal: Terminal) -> None:
    """The default is a file in the folder."""
    answer = terminal.run("import", bundle, tmp_path / "new", "--database", "scores.db")
    assert answer.code == 2
    assert "expected a URL" in answer.err


def test_verify_compares_the_record_with_the_public_log(
    rich: Live, bundle: Path, tmp_path: Path, terminal: Terminal
) -> None:
    """The log may end before the record, as during a freeze, or after it."""
    public = tmp_path / "log.jsonl"
    lines = [f"{line}\n" for line in rich.log()]
    for count in (1, len(lines) - 1, len(lines)):
        public.write_text("".join(lines[:count]))
        answer = terminal.run("verify", "bundle", bundle, "--log", public)
        assert (answer.code, answer.err) == (0, "")
        assert f"until event {count}" in answer.out

    answer = terminal.run("verify", "bundle", bundle, "--log", rich.folder / "site" / "log.jsonl")
    assert (answer.code, answer.err) == (0, "")

    other = Live.graded(tmp_path / "other")
    other.run(day(5))
    other.put("amber/1.txt", GOOD, day(11))
    other.run(day(12))
    public.write_text("".join(f"{line}\n" for line in other.log()))
    answer = terminal.run("verify", "bundle", bundle, "--log", public)
    assert answer.code == 1
    assert "event 1 differs" in answer.out
