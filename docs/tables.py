"""The tables of pages that the code declares: the commands, their options, and the keys of challenge.toml.

``python -m docs.tables`` writes them into the Markdown, each between a comment such as ``<!-- options: run, score -->``
and ``<!-- end -->``. Only what a key of challenge.toml is, the page says itself: this cell stays as it is.
"""

from __future__ import annotations

import json
import re
from argparse import Action
from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from pathlib import Path

from pydantic.fields import FieldInfo

from scorer import options
from scorer.cli import COMMAND_GROUPS, COMMANDS
from scorer.limits import Limits
from scorer.rules.tables import SettingsTable
from scorer.settings.loading import LimitSettings

MODELS = {model.__name__: model for model in SettingsTable.__subclasses__()}
"""The tables of challenge.toml and teams.toml, by the names of their models."""

WORDS = {each.allowed: each for each in vars(options).values() if isinstance(each, options.Option)}
"""The settings whose values are a few words, by what their keys allow."""

LONG = 80
"""Characters of a help text that is not repeated for another command."""

TABLE = re.compile(r"(?<=<!-- )(commands|options|keys): (.+?) -->\n(.*?)(?=<!-- end -->)", re.DOTALL)

CODE = re.compile(
    r"""`[^`]*`
    |(?<=as\ in\ )(?:[a-z]+\ =\ )?(?:\{[^}]*\}|\[+[^]]*\]+|-\w\ [^\s;]+|"[^"]*"|(?:\(\S*?\)|[^\s;)])*[^\s;),.])
    |(?:[a-z_]+\ =\ )?"[^"]*"|(?<![\w-])--?[a-zA-Z][\w-]*""",
    re.VERBOSE,
)
"""What a text has as code: what is in backquotes or in quotes, examples, and options."""


def filled(page: str) -> str:
    """Return the text of a page with its tables as the code is now."""
    writers = {"commands": _commands, "options": _options, "keys": _keys}

    def table(found: re.Match[str]) -> str:
        marker, name, table = found.groups()
        return "\n".join([f"{marker}: {name} -->", "", *writers[marker](name, table), "", ""])

    return TABLE.sub(table, page)


def _commands(_names: str, _table: str) -> Iterator[str]:
    """The commands by what they are for, each with its arguments and the options that it requires."""
    yield from ("| command | what it does |", "|---|---|")
    for title, names in COMMAND_GROUPS.items():
        yield f"| **{title}** | |"
        for name in names:
            words = [_spelled(each)[-1] for each in _actions(name) if not each.option_strings or each.required]
            yield f"| {_code(' '.join(['scorer', name, *words]))} | {_marked(COMMANDS[name].summary)} |"


def _spelled(action: Action) -> list[str]:
    """The spellings of an option, the last one with what its value is called; or what an argument is called."""
    spellings, name = action.option_strings, str(action.metavar or "")
    if not spellings and not (name and action.choices):
        name = (name or action.dest).upper()
    name = {"?": f"[{name}]", "*": f"[{name}...]", "+": f"{name}..."}.get(str(action.nargs), name)
    return [*spellings[:-1], " ".join([*spellings[-1:], name]).strip()]


def _options(names: str, _table: str) -> Iterator[str]:
    """The options of one or several commands. A long text is there for the first command that has the option."""
    commands = names.split(", ")
    having: dict[tuple[str, str], list[str]] = {}
    for command in commands:
        for option, text in helps(command).items():
            first = next(name for name in COMMANDS if helps(name).get(option) == text)
            is_repeated = len(text) > LONG and first not in commands
            having.setdefault((f"as for `{first}`" if is_repeated else text, option), []).append(command)
    rows: dict[str, list[str]] = {}
    for (text, option), some in having.items():
        only = "" if some == commands else f"{', '.join(f'`{name}`' for name in some)}: "
        rows.setdefault(f"{only}{text}", []).append(option)
    yield from ("| option | |", "|---|---|")
    yield from (f"| {', '.join(alike)} | {text} |" for text, alike in rows.items())


@cache
def helps(command: str) -> dict[str, str]:
    """Return the help of each option of a command."""
    helps = {}
    for action in _actions(command):
        if action.option_strings:
            choices = ", ".join(map(str, action.choices or ()))
            helps[", ".join(map(_code, _spelled(action)))] = _marked(
                (action.help or "") % {**vars(action), "choices": choices}
            )
    return helps


def _actions(command: str) -> list[Action]:
    return [each for each in COMMANDS[command].parser(command)._actions if each.dest != "help"]


def _keys(name: str, table: str) -> Iterator[str]:
    """The keys of a table of challenge.toml: what each one is, which values are allowed, and the default."""
    kept = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", table, re.MULTILINE))
    model = MODELS[name]
    limits = Limits.about() if model is LimitSettings else {}
    yield from ("| key | what it is | allowed | default |", "|---|---|---|---|")
    for key in model.keys():  # noqa: SIM118 (no mapping)
        field = model.model_fields[key]
        allowed, words = str(field.description), WORDS.get(str(field.description))
        about = words.about if words else limits.get(key) or kept.get(key, "")
        if words:
            allowed = "; ".join(f'"{word}": {meaning}' for word, meaning in words.values.items())
        yield f"| `{key}` | {about} | {_marked(allowed.removesuffix(f': {about}'))} | {_default(field)} |"


def _default(field: FieldInfo) -> str:
    value = f"{field.default.seconds}s" if isinstance(field.default, timedelta) else field.default
    if field.is_required():
        return "required"
    if isinstance(value, bool | str):
        return f"`{json.dumps(value)}`" if value != "" else "none"
    return f"`{value:_}`" if isinstance(value, int) else "none"


def _marked(text: str) -> str:
    """The Markdown of a text, in the cell of a table."""
    code = [_code(found.strip("`")) for found in CODE.findall(text)]
    plain = [part.replace("*", r"\*").replace("|", r"\|") for part in CODE.split(text)]
    return "".join(part for both in zip(plain, [*code, ""], strict=True) for part in both)


def _code(text: str) -> str:
    return f"`{text}`".replace("|", r"\|")


if __name__ == "__main__":
    for path in Path(__file__).parent.glob("*.md"):
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
