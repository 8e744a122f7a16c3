"""The templates and their sandbox, and what the organiser adds to the site: pages in Markdown, and files."""

from __future__ import annotations

import hashlib
import json
import marshal
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from posixpath import normpath
from traceback import walk_tb
from types import CodeType
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import jinja2
from jinja2 import (
    ChoiceLoader,
    Environment,
    FileSystemLoader,
    PrefixLoader,
    StrictUndefined,
    TemplateNotFound,
    TemplateSyntaxError,
)
from jinja2.bccache import Bucket, BytecodeCache
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup
from pydantic import BaseModel

from scorer.errors import Findings, ScorerError, need_libraries
from scorer.files import FileBelow, code_digest, shipped_templates
from scorer.files.writing import PART, create_private, replace_content
from scorer.measures import Measure
from scorer.rules.tables import split_url
from scorer.settings.tracks import PAGES, STATIC, Challenge, Track, is_link
from scorer.wording import (
    counted,
    day_and_month,
    exact_time,
    in_words,
    iso_time,
    long_time,
    printable,
    quoted,
    shortened,
    utc_time,
)

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_DEEPEST = 6
"""The lowest level of a heading in HTML."""

SUMMARY = 200
"""How many characters of a text describe a page elsewhere."""


@cache
def _parser() -> MarkdownIt:
    need_libraries("markdown_it")
    from markdown_it import MarkdownIt  # noqa: PLC0415 (an optional extra)

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    # By default the parser leaves links that it refuses as text, but here `check_text` reports them.
    parser.validateLink = lambda _: True  # type: ignore[assignment, method-assign]
    return parser


def check_text(text: str, where: str, first_line: int = 0) -> None:
    """Check the links and the images of a text, which comes from the file or the key `where`.

    Raises ScorerError if one leads elsewhere than `is_link` allows or a relative path in the site. The message has the
    line if `first_line`, that of the text in its file, is not 0.
    """
    for token, line in _all_tokens(_parser().parse(text)):
        name = {"link_open": "href", "image": "src"}.get(token.type)
        address = str(token.attrs.get(name, "")) if name else ""
        if not name or _is_relative(address) or (name == "href" and is_link(address)):
            continue
        place = f"{where}:{first_line + line}" if first_line else where
        what, allowed = (
            ("a link to", "http, https, mailto and relative links that stay in the site")
            if name == "href"
            else ("an image from", "relative paths in the site, such as static/picture.png")
        )
        raise ScorerError(f"{place}: found {what} {quoted(address)}; allowed: {allowed}")


def to_html(text: str, root: str = "", top: int = 2) -> Markup:
    """Return a text as HTML. HTML in it is shown as text.

    `check_text` accepts the text. Relative links start at `root`, the relative path from the page to the folder of the
    site: "" or "../". The highest heading of the text gets the level `top`, from 1 to 6.
    """
    return _rendered(_parser().parse(text), root, top)


def first_paragraph(text: str, root: str = "") -> Markup:
    """Return the paragraph that a text begins with, as HTML; empty if it begins otherwise."""
    tokens = _parser().parse(text)
    return _rendered(tokens[: _first_length(tokens)], root, top=2)


def further_paragraphs(text: str, root: str = "", top: int = 2) -> Markup:
    """Return what follows the first paragraph, as HTML; the whole text if it begins otherwise."""
    tokens = _parser().parse(text)
    return _rendered(tokens[_first_length(tokens) :], root, top)


def _first_length(tokens: Sequence[Token]) -> int:
    """How many tokens make the paragraph at the beginning: its start, its content and its end."""
    return 3 if tokens and tokens[0].type == "paragraph_open" else 0


def to_text(text: str) -> str:
    """Return the first paragraph of a text without its markup, on one line, shortened to `SUMMARY` characters."""
    tokens = _parser().parse(text)
    for before, token in pairwise(tokens):
        if before.type == "paragraph_open" and (plain := _plain(token)):
            return shortened(plain, SUMMARY)
    return ""


def split_title(text: str) -> tuple[str, str, int] | None:
    """Split off the heading of level 1 that a text begins with; None if the text begins otherwise.

    Return the heading without its markup, the text after it, and the number of lines before that text.
    """
    tokens = _parser().parse(text)
    if len(tokens) < 2 or tokens[0].tag != "h1" or tokens[0].map is None or not (title := _plain(tokens[1])):
        return None
    end = tokens[0].map[1]
    return title, "\n".join(text.split("\n")[end:]), end


def _rendered(tokens: Sequence[Token], root: str, top: int) -> Markup:
    """Return tokens of the parser as HTML."""
    levels = [int(token.tag[1:]) for token in tokens if token.type == "heading_open"]
    shift = top - min(levels, default=top)
    for token, _ in _all_tokens(tokens):
        _adapt(token, root, shift)
    parser = _parser()
    # The renderer escapes text and attributes, and the parser passes on no HTML.
    return Markup(parser.renderer.render(tokens, parser.options, {}))  # noqa: S704


def _all_tokens(tokens: Sequence[Token], line: int = 0) -> Iterator[tuple[Token, int]]:
    """Each token and those in it, with the line that its block begins in, from 0."""
    for token in tokens:
        start = token.map[0] if token.map else line
        yield token, start
        yield from _all_tokens(token.children or (), start)


def _adapt(token: Token, root: str, shift: int) -> None:
    """Adapt a token to the page: relative links, levels of headings, and cells of tables without inline styles."""
    for name in ("href", "src"):
        address = str(token.attrs.get(name, ""))
        if address and not address.startswith("#") and _is_relative(address):
            token.attrs[name] = root + address
    if token.type in ("heading_open", "heading_close"):
        token.tag = f"h{min(int(token.tag[1:]) + shift, _DEEPEST)}"
    if token.type in ("th_open", "td_open"):
        side = str(token.attrs.pop("style", "")).removeprefix("text-align:")
        if side:
            token.attrs["class"] = side
    if token.type == "th_open":
        token.attrs["scope"] = "col"


def _plain(inline: Token) -> str:
    """Return the text of a paragraph or a heading."""
    parts = ("\n" if token.type.endswith("break") else token.content for token in inline.children or ())
    return " ".join("".join(parts).split())


def _is_relative(address: str) -> bool:
    """Whether an address is relative to the folder of the site and stays in it, on a server and on disk."""
    parts = split_url(address)
    if parts is None or parts.scheme or parts.netloc or address.startswith("/"):
        return False
    # To browsers, %2e is a dot; to some servers, a backslash is a slash.
    path = normpath(unquote(parts.path).replace("\\", "/"))
    return ":" not in parts.path.partition("/")[0] and not path.startswith("/") and path.split("/")[0] != ".."


_MOST_BYTES = 1_000_000
"""How large a page may be."""

TAKEN = frozenset({"404", "index", "measures", "timeline", "verification"})
"""Names of other pages."""

_NAME = re.compile(r"(?:(\d{1,9})[-_. ])?([a-z0-9][a-z0-9-]{0,59})\.md")

STATIC_FOLDER = "static"
"""The folder of the other files in the site."""

MOST_TOGETHER = 50_000_000
"""How large they may be together, so that a forgotten data set or film does not make every render slow."""


@dataclass(frozen=True, slots=True)
class MarkdownPage:
    """A page that the organiser wrote."""

    name: str
    """Of the file, without the number at its beginning and without ``.md``."""
    title: str
    """The first heading."""
    text: str
    """What follows the heading, in Markdown."""

    @property
    def path(self) -> str:
        """Of the page in the site."""
        return f"{self.name}.html"


def markdown_pages(root: Path) -> tuple[MarkdownPage, ...]:
    """Read the pages in the folder of a challenge, in the order of the names of their files.

    The number at the beginning of a name decides, then the rest; files without a number come last. Hidden files and
    symbolic links are left out. Raises ScorerError if a file cannot be read, has no heading or has a link that pages
    cannot have, or if its name is not possible.
    """
    pages: dict[str, tuple[tuple[float, str], MarkdownPage, Path]] = {}
    for file in sorted((root / PAGES).glob("*.md")):
        if file.name.startswith(".") or file.is_symlink():
            continue
        order, page = _page(file)
        if page.name in pages:
            raise ScorerError(f"{file}: has the name of {pages[page.name][2].name} without the number; rename one")
        pages[page.name] = order, page, file
    return tuple(page for _, page, _ in sorted(pages.values(), key=lambda item: item[0]))


def _page(file: Path) -> tuple[tuple[float, str], MarkdownPage]:
    """The page of a file, and where it comes among the others."""
    parts = _NAME.fullmatch(file.name)
    if parts is None or parts[2] in TAKEN:
        reason = "is the name of another page" if parts else "cannot be the name of a page"
        raise ScorerError(
            f"{file}: {reason}; expected a-z, 0-9 and -, with a number before them for the order, as in 10-rules.md"
        )
    text = _text(file)
    split = split_title(text)
    if split is None:
        raise ScorerError(f"{file}:1: found no heading; expected a page that begins with one, as in # Rules")
    title, rest, lines = split
    check_text(rest, str(file), lines + 1)
    number = float(parts[1]) if parts[1] else float("inf")
    return (number, parts[2]), MarkdownPage(parts[2], title, rest)


def _text(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            content = stream.read(_MOST_BYTES + 1)
    except OSError as error:
        raise ScorerError(f"{file}: cannot be read ({error.strerror or error})") from error
    if len(content) > _MOST_BYTES:
        raise ScorerError(f"{file}: has more than {_MOST_BYTES:,} bytes, which no page may have")
    try:
        # Some editors write a byte order mark. Markdown knows no other line ends than these.
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ScorerError(f"{file}:{line}: found a byte that is not UTF-8; save the file as UTF-8") from error


# Other files


def static_files(root: Path) -> dict[str, bytes]:
    """Read the files below ``templates/static`` of a challenge: the content of each by its path in the site.

    Hidden files and symbolic links are left out, with what is below them. Raises ScorerError if a file cannot be read
    or has the name of a file that is being written, or if the files are too large.
    """
    folder = root / STATIC
    contents: dict[str, bytes] = {}
    size = 0
    for file in _files(folder):
        path = file.relative_to(folder).as_posix()
        if path.endswith(PART):
            raise ScorerError(f"{file}: files that end with {PART} are files of the site in progress; rename it")
        try:
            size += file.stat().st_size
            if size > MOST_TOGETHER:
                raise ScorerError(
                    f"{folder}: has more than {MOST_TOGETHER:,} bytes; every render copies these files, so put large "
                    "files elsewhere and link to them"
                )
            contents[f"{STATIC_FOLDER}/{path}"] = file.read_bytes()
        except OSError as error:
            raise ScorerError(f"{file}: cannot be read ({error.strerror or error})") from error
    return contents


def _files(folder: Path) -> Iterator[Path]:
    """The regular files below a folder that are not hidden, in a fixed order; none if the folder is a link."""
    if folder.is_symlink():
        return
    for name, folders, files in os.walk(folder, onerror=_refuse):
        parent = Path(name)
        folders[:] = sorted(child for child in folders if not child.startswith("."))  # os.walk does not follow links
        for child in sorted(files):
            file = parent / child
            if not child.startswith(".") and file.is_file() and not file.is_symlink():
                yield file


def _refuse(error: OSError) -> None:
    """Raise ScorerError for a folder that cannot be read, unless there is no such folder."""
    if not isinstance(error, FileNotFoundError):
        raise ScorerError(f"{error.filename}: cannot be read ({error.strerror or error})") from error


def state_of(values: object) -> str:
    """The SHA-256 of values with all that they are made of, in hexadecimal."""
    return hashlib.sha256(json.dumps(values, default=_made_of).encode("ascii")).hexdigest()


def _made_of(value: object) -> object:
    """What a value is made of, as far as JSON has no notation for it."""
    if isinstance(value, Measure):
        return value.full
    if (names := getattr(type(value), "__dataclass_fields__", None)) is not None:
        return [type(value).__name__, *(getattr(value, name) for name in names)]
    if isinstance(value, BaseModel):
        return [type(value).__name__, {name: getattr(value, name) for name in type(value).model_fields}]
    if isinstance(value, Mapping):
        return list(value.items())
    return sorted(value, key=repr) if isinstance(value, Set) else repr(value)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a site, before it is rendered."""

    path: str
    """In the site, with forward slashes."""
    template: str
    about: str
    """What the page shows, in one sentence or two, for search engines and for previews of links."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """What its template has, in addition to the navigation."""
    state: str = ""
    """A digest of all of these by `state_of`; empty for a page that is rendered each time."""


@dataclass(frozen=True)
class Navigation:
    """What the layout of every page needs: which pages there are, and what the organiser adds to each."""

    challenge: Challenge
    tracks: Sequence[Track]
    style_sheets: Sequence[str]
    """The paths of further style sheets, which come after those of the page."""
    site_pages: Sequence[MarkdownPage]
    """The organiser's pages, in their order."""
    has_timeline: bool
    """Whether there is a page with the timeline, and a feed."""
    has_log: bool
    """Whether there is a page of verification, and a log."""

    @property
    def logo(self) -> str:
        """The path of the logo in the site; empty without one."""
        logo = self.challenge.branding.logo
        return f"{STATIC_FOLDER}/{logo}" if logo else ""


_NO_SCORE = "–"


class TemplateFolder(FileSystemLoader):
    """A folder of templates; a template that cannot be read raises ScorerError."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        try:
            return super().get_source(environment, template)
        except TemplateNotFound:
            raise
        except (OSError, UnicodeDecodeError) as error:
            raise ScorerError(
                f"{self.searchpath[0]}/{template}: cannot be read ({error}); expected UTF-8 text"
            ) from error


class CompiledTemplates(BytecodeCache):
    """The templates that this process has compiled, by path and content: each is compiled once.

    With a `folder`, the shipped ones are kept there for later processes. Their code is executed, so the folder is used
    only if nobody else can write into it, and a file only for the versions and the template that it was made of.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._code: dict[tuple[str, str], CodeType] = {}
        self._folder = folder

    def load_bytecode(self, bucket: Bucket) -> None:
        place = bucket.key, bucket.checksum
        if place not in self._code and self._folder is not None and _is_private(self._folder):
            with suppress(OSError, ValueError, EOFError, TypeError):  # no file, or no code
                with FileBelow(self._folder, (bucket.key,)).open() as file:
                    name, code = file.read(hashlib.sha256().digest_size), file.read()
                if name == _name_of_code(bucket, code):
                    self._code[place] = marshal.loads(code)  # noqa: S302 (only this user can have written it)
        bucket.code = self._code.get(place)

    def dump_bytecode(self, bucket: Bucket) -> None:
        if bucket.code is None:
            return
        self._code[bucket.key, bucket.checksum] = bucket.code
        is_shipped = Path(bucket.code.co_filename).parent == shipped_templates()
        if self._folder is not None and is_shipped and not sys.dont_write_bytecode:
            with suppress(OSError):
                for each in (self._folder.parent, self._folder):
                    create_private(each, is_folder=True)
                if _is_private(self._folder):
                    code = marshal.dumps(bucket.code)
                    content = _name_of_code(bucket, code) + code
                    replace_content(self._folder / bucket.key, content, is_private=True)


def _is_private(folder: Path) -> bool:
    """Whether a folder, and no link, belongs to this user, and nobody else can use it."""
    if not hasattr(os, "geteuid"):  # other systems have no modes of files
        return False
    with suppress(OSError):
        status = folder.lstat()
        return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077
    return False


def _name_of_code(bucket: Bucket, code: bytes) -> bytes:
    """A name of the code of a template, by all that it was made of, and its bytes: no other code has it."""
    made_of = (jinja2.__version__, sys.version, code_digest(), bucket.key, bucket.checksum)
    return hashlib.sha256("\n".join(made_of).encode() + code).digest()


def _cache_folder() -> Path | None:
    """Where programs of this user keep what can be made again; None if that is not known."""
    with suppress(RuntimeError):
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return folder / "scorer" if folder.is_absolute() else None
    return None


COMPILED = {False: CompiledTemplates(_cache_folder()), True: CompiledTemplates()}
"""Those of environments with and without own templates, whose code differs; none of the former is kept."""


# The sandbox of templates that are not shipped: an imported bundle may contain them, too

VALUES = (str, bytes, int, float, list, tuple, dict, frozenset, datetime)
"""Types whose methods a template may call."""

MODULES = (
    "jinja2",
    "scorer.scoring.analysis",
    "scorer.board",
    "scorer.rules",
    "scorer.settings",
    "scorer.live",
    "scorer.measures",
    "scorer.store",
    "scorer.wording",
)
"""Where functions are defined that a template may call: macros, and what the context of a page offers."""


class Sandbox(ImmutableSandboxedEnvironment):
    """An environment whose templates read the values of their context, but no file, no network and no other object."""

    def is_safe_callable(self, called: Any) -> bool:
        """Whether a template may call this."""
        if not super().is_safe_callable(called):
            return False
        method = getattr(called, "__wrapped__", called)  # Jinja wraps the methods that format text
        if isinstance(getattr(method, "__self__", None), VALUES):
            return True
        module = getattr(called, "__module__", None) or type(called).__module__
        return any(module == name or module.startswith(f"{name}.") for name in MODULES)


# Environments

_TEMPLATES = (".html", ".xml")
"""End the names of templates: of pages, and of the feed."""

SHIPPED = "shipped"
"""The folder that a template names to extend a shipped template which it replaces."""


def environment_of(own: Path | None) -> Environment:
    """The environment of all templates: escapes HTML, refuses undefined names, and adds the filters.

    The templates in the folder `own` come before the shipped ones; None: there is no such folder. If it has any, all
    are rendered in the sandbox, which is slower.
    """
    is_own = (
        own is not None
        and own.resolve() != shipped_templates().resolve()
        and any(path.name.endswith(_TEMPLATES) for path in own.glob("*"))
    )
    shipped = TemplateFolder(shipped_templates())
    folders = [] if own is None else [TemplateFolder(own)]
    environment = (Sandbox if is_own else Environment)(
        loader=ChoiceLoader([PrefixLoader({SHIPPED: shipped}), *folders, shipped]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        bytecode_cache=COMPILED[is_own],
        auto_reload=False,
    )
    environment.filters |= FILTERS
    return environment


def source(environment: Environment, name: str) -> str:
    """The text of a file of the templates, which is not rendered. Raises TemplateNotFound without such a file."""
    if environment.loader is None:
        raise TemplateNotFound(name)
    return environment.loader.get_source(environment, name)[0]


def _number(score: float | None, decimals: int) -> str:
    """A score with this many decimals; a dash for None."""
    # + 0.0 turns -0.0 into 0.0.
    return _NO_SCORE if score is None else f"{score + 0.0:.{decimals}f}"


def _signed(difference: float, decimals: int) -> str:
    """A difference with its sign: ``+0.0123``, ``−0.0123``; ``0.0000`` without one."""
    text = f"{difference:+.{decimals}f}"
    return text[1:] if float(text) == 0.0 else text.replace("-", "−")


FILTERS: Mapping[str, Callable[..., str]] = {
    "counted": counted,
    "in_words": in_words,
    "printable": printable,
    "number": _number,
    "signed": _signed,
    "markdown": to_html,
    "first_paragraph": first_paragraph,
    "further_paragraphs": further_paragraphs,
    "stamp": utc_time,
    "iso": iso_time,
    "day": day_and_month,
    "date": lambda when: utc_time(when, "day"),
    "long": long_time,
    "long_day": lambda when: long_time(when).partition(",")[0],
    "exact": exact_time,
    "exact_text": lambda text: exact_time(datetime.fromisoformat(text)),
}
"""What templates can apply to a value, in addition to the filters of Jinja."""


def render_page(environment: Environment, navigation: Navigation, page: Page) -> str:
    """Render a page of a site. Raises ScorerError as `render_template`."""
    context = {
        **vars(navigation),
        "brand": navigation.challenge.branding,
        "logo": navigation.logo,
        "here": page.path,
        "root": "../" * page.path.count("/"),
        "about": page.about,
        **page.values,
    }
    return render_template(environment, page.template, context)


def render_template(environment: Environment, name: str, context: Mapping[str, object]) -> str:
    """Render a template.

    Raises ScorerError if the template, or one that it uses, has an error; the message gives the file and the line.
    """
    try:
        return environment.get_template(name).render(context)
    except TemplateSyntaxError as error:
        raise ScorerError(f"{error.filename}:{error.lineno}: {error.message}") from error
    except ScorerError:
        raise
    except Exception as error:
        # A template can raise anything; Jinja2 puts its file and line into the traceback.
        frames = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
        in_templates = [f"{file}:{line}" for file, line in frames if file.endswith(_TEMPLATES)]
        if not in_templates:
            raise
        raise ScorerError(f"{in_templates[-1]}: {error}") from error


# The page for handing in, which the service renders for a team


SUBMIT_ASSETS: Mapping[str, str] = {"submit.css": "text/css", "submit.js": "text/javascript"}
"""The files of the page, and their types."""


@dataclass(frozen=True)
class Held:
    """A file that was checked, and that the team may hand in."""

    id: str
    """In the address of its page."""
    token: str
    """The SHA-256 of the token of the session."""
    track: str
    name: str
    """As the team calls it."""
    path: Path
    digest: str
    size: int
    at: datetime
    is_valid: bool
    findings: Findings
    summary: str
    """How much the file has, or how many errors."""
    metadata: dict[str, str] = field(default_factory=dict)
    """What the team states about it, by the names of fields, as it was written last."""


def service_page(challenge: Challenge, template: str, **values: object) -> str:
    """Render a page of the service: the form to sign in, or the page for handing in.

    `values` are the names that only this template uses. Raises ScorerError if a template has an error.
    """
    site = challenge.site_path
    navigation = Navigation(
        challenge=challenge,
        tracks=challenge.tracks,
        style_sheets=[name for name in ("accent.css", "extra.css") if (site / name).is_file()],
        site_pages=markdown_pages(challenge.root),
        has_timeline=(site / "timeline.html").is_file(),
        has_log=(site / "verification.html").is_file(),
    )
    page = Page("submit", template, f"Hand in a file for {challenge.name}.", values)
    return render_page(environment_of(challenge.root / "templates"), navigation, page)


def asset(challenge: Challenge, name: str) -> str:
    """A style sheet or script of the page; the organiser's own comes first."""
    return source(environment_of(challenge.root / "templates"), name)
