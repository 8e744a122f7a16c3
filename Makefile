# make leaderboard   score the challenge in this folder and render its board
# make test          run the tests; `.ci/run` adds those in a browser, and of studies, benchmarks and documentation
# make endurance     run the tests of endurance, and the properties on more examples
# make fuzz          check mutated files of every format for SECONDS=60, from the seed SEED=...
# make check         check style, types and the order of imports
# make docs          build the documentation as HTML
# make studies       draw the figures of the papers that define the measures, and check their claims
# make example       generate the example challenge again
# make package       build the distributions twice, and check them and the files around them
# make clean         remove everything that these commands generate

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Groups of dependencies to install, with commas between them; `.ci/run` tests with more of them.
DEPENDENCIES ?= dev
INSTALLED := $(VENV)/installed-$(DEPENDENCIES)

.PHONY: leaderboard test endurance fuzz check docs studies example package clean

# Exit code 1 of `scorer score` is ignored: a rejected file does not prevent the board. `scorer render` prints the path
# of the site, and fails if the challenge itself is invalid.
leaderboard: $(INSTALLED)
	$(BIN)/scorer score || test $$? -eq 1
	$(BIN)/scorer render

MARKS ?= not endurance and not ci and not browser

test: $(INSTALLED)
	$(BIN)/python -m pytest -n auto --dist worksteal -m "$(MARKS)"

# Hypothesis marks its tests.
endurance: $(INSTALLED)
	SCORER_TEST_EXAMPLES=2 $(BIN)/python -m pytest -n auto --dist worksteal -m "endurance or ci or browser or hypothesis"

SECONDS ?= 60

fuzz: $(INSTALLED)
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

check: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(INSTALLED)
	$(BIN)/python -m sphinx -q -W -b html docs docs/_build/html
	@echo docs/_build/html/index.html

studies: $(INSTALLED)
	$(BIN)/python -m studies

example: $(INSTALLED)
	$(BIN)/python example/make.py

# SBOM: what an environment has into which the wheel was installed with all that users may add.
package: $(VENV)/installed-packaging
	rm -rf dist build
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m build --outdir build/again
	diff --recursive dist build/again
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	$(BIN)/validate-pyproject pyproject.toml
	$(BIN)/repo-review .
	$(BIN)/zizmor --offline --persona auditor .
	$(BIN)/hadolint Containerfile
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms $(filter-out %/config.yml,$(wildcard .github/ISSUE_TEMPLATE/*.yml))
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(PYTHON) -m venv build/installed
	build/installed/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt "$$(echo dist/*.whl)[board,compare,distributed,postgres,remote,serve,verify]"
	$(BIN)/uv pip compile --quiet --extra board --output-file build/together.txt pyproject.toml packaging/together.in
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --mc-type library --output-reproducible --output-file build/sbom.cdx.json build/installed

clean:
	rm -rf $(VENV) site scores.db scores.db-shm scores.db-wal scores.db.solutions scores.db.submissions scores.db.reported scores.db.exported scores.db.sessions scores.db.shown scores.db.statistics scores.db.*.backup build dist
	rm -rf docs/_build docs/api docs/fusion docs/measures studies/figures .pytest_cache .mypy_cache .ruff_cache .hypothesis .fuzz .import_linter_cache

# Install again whenever the dependencies change. Groups need pip 25.1, which is newer than that of some versions of Python.
comma := ,
$(VENV)/installed-%: pyproject.toml constraints.txt
	$(PYTHON) -m venv --upgrade-deps $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt $(patsubst %,--group %,$(subst $(comma), ,$*)) -e .
	touch $@
