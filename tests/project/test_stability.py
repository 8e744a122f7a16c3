"""docs/stability.md: the public surface is the one that tests/public-surface.json lists.

If you add something, write the list again with ``python -m tests.project.test_stability``. Removing or renaming
something needs a deprecation first, as docs/stability.md says.
"""

from __future__ import annotations

import inspect
import json
import re
import tomllib
from typing import Any

import scorer
from scorer.cli import COMMANDS
from scorer.record.log import EVENT_KINDS
from scorer.store.schema import SCHEMA_VERSION
from scorer.verification import bundle, log
from tests.paths import ROOT

STORED = ROOT / "tests" / "public-surface.json"


def signature(value: Any) -> str:
    """The parameters of a function, with their defaults and without their types."""
    parameters = inspect.signature(value).parameters.values()
    plain = [each.replace(annotation=inspect.Parameter.empty) for each in parameters]
    return str(inspect.Signature(plain))


def arguments(name: str) -> list[str]:
    """The arguments of a command: its options, and the names of the others."""
    actions = COMMANDS[name].parser(name)._actions
    return sorted(option for action in actions for option in action.option_strings or [action.dest])


def keys(schema: Any, place: str = "") -> list[str]:
    """The keys that a JSON schema describes, with those around them."""
    found = []
    if isinstance(schema, dict):
        for key, inner in schema.get("properties", {}).items():
            found += [f"{place}{key}", *keys(inner, f"{place}{key}.")]
        for word in ("items", "anyOf", "oneOf", "$defs", "additionalProperties", "patternProperties"):
            inner = schema.get(word)
            nested = inner if isinstance(inner, list) else [inner]
            if word in {"$defs", "patternProperties"} and isinstance(inner, dict):
                nested = list(inner.values())
            found += [key for each in nested for key in keys(each, place)]
    return found


def surface() -> dict[str, Any]:
    """What docs/stability.md promises."""
    schema = ROOT / "scorer" / "board" / "reports" / "leaderboard-schema.json"
    read = json.loads(schema.read_text(encoding="utf-8"))
    templates = sorted((ROOT / "templates").glob("*.html"))
    blocks = {each.name: re.findall(r"{%-? block (\w+)", each.read_text(encoding="utf-8")) for each in templates}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    values = {name: getattr(scorer, name) for name in scorer.__all__}
    return {
        "versions": {
            "leaderboard.json": read["properties"]["version"]["const"],
            "schema": SCHEMA_VERSION,
            "bundle": bundle.BUNDLE_VERSION,
            "documents": log.READ_VERSION,
        },
        "names": {name: "class" if isinstance(value, type) else signature(value) for name, value in values.items()},
        "extras": sorted(project["optional-dependencies"]),
        "commands": {name: arguments(name) for name in COMMANDS},
        "exit codes": {name: list(command.exit_codes) for name, command in COMMANDS.items()},
        "leaderboard.json": sorted(set(keys(read))),
        "events": sorted(EVENT_KINDS[1] | EVENT_KINDS[2]),
        "blocks": {name: sorted(set(found)) for name, found in blocks.items() if found},
    }


def test_the_public_surface_is_the_stored_one() -> None:
    """Versions, names, commands, exit codes, keys, kinds of events and blocks."""
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    now = surface()

    for part in stored | now:
        assert now.get(part) == stored.get(part), f"{part}: {__doc__}"


if __name__ == "__main__":
    STORED.write_text(json.dumps(surface(), indent=1, sort_keys=True) + "\n", encoding="utf-8")
