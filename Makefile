# make leaderboard   score the challenge in this folder and render its board
# make test          the tests
# make check         style, types, and the order of imports
# make docs          the documentation, as pages
# make studies       the figures of the papers behind the measures, and what holds of them
# make example       write the example challenge anew
# make clean         remove what the above made

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed

.PHONY: leaderboard test check docs studies example clean

# A rejected file is no reason to have no board, so 1 of `scorer score` is let pass; `scorer render` ends with the
# path of the site, and fails where the challenge itself is at fault.
leaderboard: $(INSTALLED)
	$(BIN)/scorer score || test $$? -eq 1
	$(BIN)/scorer render

test: $(INSTALLED)
	$(BIN)/python -m pytest -n auto --dist worksteal

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

clean:
	rm -rf $(VENV) site scores.db scores.db-shm scores.db-wal build dist
	rm -rf docs/_build docs/measures studies/figures .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

# Anew whenever what is to be installed has changed.
$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@
