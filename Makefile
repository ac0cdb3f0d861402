# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PINNED := constraints.txt
export PIP_CONSTRAINT := $(CURDIR)/$(PINNED)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test test-fast test-slow fuzz lint types docs dist check-dist bench-toy clean

demo: $(VENV)/.run
	$(BIN)/nodewise demo

# As many processes as cores. `loadfile` would hang where a worker dies; `worksteal` goes on.
WORKERS ?= 2
PYTEST  := $(BIN)/pytest --durations=20

test: $(VENV)/.dev
	$(PYTEST) -n $(WORKERS) --dist worksteal -m "not slow"

test-fast: $(VENV)/.dev
	$(PYTEST) -n $(WORKERS) --dist worksteal -m "not slow and not medium"

# One after the other: some of these measure processor time.
test-slow: $(VENV)/.dev
	$(PYTEST) -m slow

# Damaged files of every kind that is read, until the time is over; what is found becomes a test.
MINUTES ?= 10
fuzz: $(VENV)/.dev
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES)

bench-toy: $(VENV)/.run
	$(BIN)/python benchmarks/toy_promise.py

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

docs: $(VENV)/.dev
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

# A wheel, made from the source distribution, and so a check that this one is complete.
dist: $(VENV)/.dev
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	tar tzf dist/*.tar.gz | grep -q /tests/conftest.py
	! $(BIN)/python -m zipfile -l dist/*.whl | grep -E '^(tests|results|docs|examples)/'

# The wheel in an empty environment, outside of the sources: the demo, and some of the tests in the
# source distribution, which then has no package to import.
CHECK := build/check-dist
CHECKED := tests/test_exports.py tests/test_io.py tests/nn/test_block.py tests/nn/test_edges.py \
	tests/ops/test_content.py tests/training/test_recipe.py
check-dist: dist
	rm -rf $(CHECK)
	$(PYTHON) -m venv $(CHECK)
	$(CHECK)/bin/pip install --quiet dist/*.whl hypothesis pytest pytest-timeout
	$(CHECK)/bin/pip check
	cd $(CHECK) && bin/nodewise demo --seeds 1 --out demo.html
	mkdir $(CHECK)/sources
	tar xzf dist/*.tar.gz -C $(CHECK)/sources --strip-components 1
	rm -r $(CHECK)/sources/src
	cd $(CHECK)/sources && ../bin/python -m pytest -q $(CHECKED)

# A stamp per set of packages: make installs again only when what is asked for has changed.
$(VENV)/.run: pyproject.toml $(PINNED) | $(BIN)/python
	$(BIN)/pip install --quiet --editable .
	touch $@

$(VENV)/.dev: pyproject.toml $(PINNED) | $(BIN)/python
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@ $(VENV)/.run

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

clean:
	rm -rf $(VENV) build dist docs/_build docs/_generated src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
