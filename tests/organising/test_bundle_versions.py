"""The bundle of each released version is imported by this one, with the same boards."""

from __future__ import annotations

import json
from pathlib import Path

from scorer.organising.bundles import import_bundle, verified_whole
from scorer.settings.loading import read_challenge
from scorer.store.store import Store
from scorer.verification.bundle import verified_bundle
from tests.bundles import url_of
from tests.databases import NewPlace
from tests.organising import bundle_1
from tests.organising.bundle_1.make import BUNDLE, NOW
from tests.store import schema_5
from tests.strangers import members

FOLDER = Path(bundle_1.__file__).parent


def test_a_bundle_of_version_1_is_sound() -> None:
    """As `scorer verify bundle` finds."""
    assert not any(each.contradiction for each in verified_bundle(BUNDLE))


def test_a_bundle_of_schema_5_keeps_its_log(tmp_path: Path, new_place: NewPlace) -> None:
    """Its events have version 1 of the log, as before."""
    bundle = Path(schema_5.__file__).parent / "challenge.zip"
    archive = members((bundle.parent / "challenge-archive.zip").read_bytes())
    assert not any(each.contradiction for each in verified_whole(bundle))

    import_bundle(bundle, tmp_path / "new", url_of(new_place()), clock=lambda: NOW)

    assert (tmp_path / "new" / "site" / "log.jsonl").read_bytes() == archive["public/log.jsonl"]


def test_a_bundle_of_version_1_gives_the_same_boards(tmp_path: Path, new_place: NewPlace) -> None:
    """All columns that the version which wrote it had, but the ends of intervals, which had another method. Its entries
    have their results, so nothing is scored. The last look into each folder is the end of the last run.
    """
    import_bundle(BUNDLE, tmp_path / "new", url_of(new_place()), clock=lambda: NOW)

    for track in ("items", "lists"):
        with Store.open(read_challenge(tmp_path / "new").database_address) as store:
            last_run, look = store.read(lambda view: (view.last_run(track), view.last_scan(track)))  # noqa: B023
        assert look is not None
        assert look.at == last_run
        expected = json.loads((FOLDER / f"expected-{track}.json").read_text(encoding="utf-8"))["rows"]
        board = json.loads((tmp_path / "new" / "site" / track / "leaderboard.json").read_text(encoding="utf-8"))
        names = expected[0].keys() - {"low", "high"}
        found = [{name: row[name] for name in names} for row in board["rows"]]
        assert found == [{name: row[name] for name in names} for row in expected]
        assert any(row["rank"] == 1 for row in expected)
