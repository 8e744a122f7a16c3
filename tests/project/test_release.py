"""What surrounds the package: workflows, the container, the page on a package index, what names the project."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import scorer
from tests.commands import here
from tests.paths import DOCS, ROOT
from tests.project.test_extras import plain
from tests.project.test_serving_docs import serving

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]


def text_of(name: str) -> str:
    """A file of the project."""
    return (ROOT / name).read_text(encoding="utf-8")


def _workflows() -> Iterator[Any]:
    """The text of each workflow, of the project and of its documentation."""
    for file in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        yield pytest.param(file.read_text(encoding="utf-8"), id=file.name)
    for file in sorted(DOCS.glob("*.md")):
        for block in re.findall(r"^```yaml\n(.*?)^```", file.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            if "\njobs:\n" in block:
                yield pytest.param(block, id=file.name)


WORKFLOWS = list(_workflows())


@pytest.mark.parametrize("text", WORKFLOWS)
def test_a_workflow_may_do_only_what_it_needs(text: str) -> None:
    """It has no permissions, and each job has its own; an action is named by its commit, with its version."""
    read = yaml.safe_load(text)

    assert read["permissions"] == {}
    assert all(job["permissions"] for job in read["jobs"].values())
    used = re.findall(r"uses: (.*)", text)
    assert used
    assert [each for each in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)] == []


def test_an_action_has_one_version() -> None:
    """In all workflows and pages."""
    used = set(re.findall(r"uses: (\S+)@(\S+)", "".join(param.values[0] for param in WORKFLOWS)))
    assert len({action for action, _ in used}) == len(used)


def test_the_hook_is_the_check_of_the_makefile() -> None:
    """`make check` is the only list of checks, so a commit and a pull request have the same."""
    (repository,) = yaml.safe_load(text_of(".pre-commit-config.yaml"))["repos"]
    assert [hook["entry"] for hook in repository["hooks"]] == ["make check"]
    recipes = re.findall(r"^check: .*\n((?:\t.*\n)+)", text_of("Makefile"), re.MULTILINE)
    assert [re.findall(r"/(.*)", each) for each in recipes] == [
        ["ruff check", "ruff format --check", "mypy", "lint-imports"]
    ]
    assert re.search(r"^make .* check ", text_of(".ci/run"), re.MULTILINE)


def test_the_page_on_a_package_index_has_no_link_to_a_file() -> None:
    """Its files are not there. Words stay, and links to other sites."""
    page = text_of("README.md")
    for change in SETTINGS["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        page = re.sub(change["pattern"], change["replacement"], page)

    assert re.findall(r"\]\((?!https:)[^)]*\)", page) == []
    assert not page.count("](") - page.count("](https://")
    assert "The tutorial goes from an empty folder to a published board" in " ".join(page.split())
    assert len(page.splitlines()) > 50


def test_files_name_one_project() -> None:
    """The version, the description, the licence and the keywords are the same in each."""
    cited, described = yaml.safe_load(text_of("CITATION.cff")), json.loads(text_of("codemeta.json"))

    recipe = yaml.safe_load(text_of("packaging/conda/recipe.yaml"))

    versions = {PROJECT["version"], cited["version"], described["version"], recipe["context"]["version"]}
    assert versions == {scorer.__version__}
    assert PROJECT["keywords"] == cited["keywords"] == described["keywords"]
    assert PROJECT["license"] == cited["license"] == described["license"].rpartition("/")[2]
    assert PROJECT["description"] == described["description"]
    assert PROJECT["name"] == described["name"] == recipe["context"]["name"]
    assert PROJECT["description"] == recipe["about"]["summary"]
    extras = (PROJECT["optional-dependencies"][extra] for extra in ("board", "compare", "verify"))
    needed = [each for each in chain(PROJECT["dependencies"], *extras) if plain(each) != PROJECT["name"]]
    names = {each.lower().replace(">=", " >=").replace("tzdata", "python-tzdata") for each in needed}
    assert set(recipe["requirements"]["run"]) == names | {f"python {PROJECT['requires-python']}"}
    assert PROJECT["authors"] == cited["authors"] == [{"name": each["name"]} for each in described["author"]]


def test_the_changelog_lists_versions_with_dates() -> None:
    """Newest first, each in at most 60 lines; the first one is that of the package."""
    sections = [each.splitlines() for each in text_of("CHANGELOG.md").split("\n## ")[1:]]
    heads = [re.fullmatch(r"(\d+)\.(\d+)\.(\d+) \((\d{4}-\d\d-\d\d)\)", lines[0]) for lines in sections]
    numbers = [tuple(map(int, head.groups()[:3])) for head in heads if head]
    dates = [head[4] for head in heads if head]

    assert len(numbers) == len(sections) >= 2
    assert numbers == sorted(set(numbers), reverse=True)
    assert dates == sorted(dates, reverse=True)
    assert all(len(lines) <= 60 for lines in sections)
    assert ".".join(map(str, numbers[0])) == scorer.__version__
    assert dates[0] == yaml.safe_load(text_of("CITATION.cff"))["date-released"]
    assert dates[0] == json.loads(text_of("codemeta.json"))["datePublished"]


def test_a_change_takes_ten_lines() -> None:
    """The page for contributors has as many commands."""
    (commands,) = re.findall(r"(?:^    \S.*\n){3,}", text_of("CONTRIBUTING.md"), re.MULTILINE)
    assert len(commands.splitlines()) <= 10


def test_the_source_distribution_has_what_it_lists() -> None:
    """Each path exists; pages that link to each other are there together."""
    listed = SETTINGS["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert [path for path in listed if not (ROOT / path.lstrip("/")).exists()] == []
    for page in ROOT.glob("*.md"):
        links = re.findall(r"\]\(([\w./-]+)[#)]", page.read_text(encoding="utf-8"))
        assert all((ROOT / link).exists() for link in links), page.name


def test_dependencies_are_listed_once() -> None:
    """A package belongs to one extra or one group; bounds are in one place, and exact versions in constraints.txt."""
    groups = [each for each in chain(*SETTINGS["dependency-groups"].values()) if isinstance(each, str)]
    lists = [*PROJECT["dependencies"], *chain(*PROJECT["optional-dependencies"].values()), *groups]
    names = [plain(each) for each in lists if plain(each) != PROJECT["name"]]
    exact = {plain(line) for line in text_of("constraints.txt").splitlines()[1:]}

    assert len(names) == len(set(names))
    assert set(names) <= exact


def stages() -> list[str]:
    """The stages of the container."""
    return re.split(r"^(?=FROM )", text_of("Containerfile"), flags=re.MULTILINE)[1:]


def test_the_container_runs_without_rights() -> None:
    """As a user with a number, so that a cluster can check that it is not root, on a base that nobody can change."""
    assert all(re.match(r"FROM python:[\d.]+-slim@sha256:[0-9a-f]{64}\b", stage) for stage in stages())
    assert re.search(r"^USER [1-9]\d*:[1-9]\d*$", stages()[-1], re.MULTILINE)
    assert "ENTRYPOINT" in stages()[-1].partition("USER")[2]
    copied = set(re.findall(r"^!(.*)", text_of(".dockerignore"), re.MULTILINE))
    named = " ".join(re.findall(r"^COPY (?!--)(.*) \S+$", stages()[0], re.MULTILINE)).split()
    assert copied == set(named)


@pytest.mark.ci
def test_the_container_says_whether_the_service_answers(tmp_path: Path) -> None:
    """Its health check succeeds where the service answers, and fails where nothing listens."""
    (check,) = re.findall(r"^HEALTHCHECK .*\\\n\s+CMD (\[.*\])", stages()[-1], re.MULTILINE)
    python, option, code = json.loads(check)
    assert (python, option) == ("python", "-c")

    def healthy(address: str) -> bool:
        """Whether the check succeeds at an address."""
        assert "http://127.0.0.1:8000/" in code
        asked = [sys.executable, option, code.replace("http://127.0.0.1:8000", address)]
        return subprocess.run(asked, stderr=subprocess.DEVNULL, check=False).returncode == 0

    assert here("init", tmp_path / "made").code == 0
    with serving(tmp_path / "made") as address:
        assert healthy(address)
    assert not healthy(address)
