# The two commands of the README, each complete on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
BASE ?= main

# Two workers with one BLAS thread each: more threads than cores would wait for each other.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

# The compiled form of modules is kept, whatever the environment says: the tests start hundreds of processes.
PYTEST := PYTHONDONTWRITEBYTECODE= $(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist worksteal --durations 15

.PHONY: demo test test-slow lint types docs coverage performance build release matrix clean

# One environment for everything; made again when the declared dependencies change.
$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[test,dev]"
	touch $@

# What only the site needs.
$(VENV)/.docs: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $@

# What only releases need.
$(VENV)/.release: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --editable ".[release]"
	touch $@

demo: $(VENV)/.ready
	$(BIN)/python -m marginwise.demo
	$(BIN)/marginwise study run --quick --redo --store sqlite:///marginwise-demo/quick.sqlite
	$(BIN)/marginwise study report --store sqlite:///marginwise-demo/quick.sqlite --output marginwise-demo/study

# What to wait for while working: every contract, formula, command and page, in four minutes on two cores.
test: $(VENV)/.ready
	$(PYTEST) -m "not slow" $(TEST_ARGS)

# The others: whole families, long chains, killed processes, fuzzing.
test-slow: $(VENV)/.ready
	$(PYTEST) -m slow $(TEST_ARGS)

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready
	$(BIN)/mypy

# The documentation as a site in build/docs, to be read from there; warnings and broken links are errors.
docs: $(VENV)/.docs
	rm -rf build/docs docs/reference/names
	$(ONE_THREAD) $(BIN)/python -m sphinx --fail-on-warning --keep-going --nitpicky --quiet docs build/docs
	$(BIN)/python tools/site.py build/docs

# Lines and branches that no test reaches; compiled functions are not seen by the interpreter, and left out.
coverage: $(VENV)/.release
	rm -f .coverage .coverage.*
	$(ONE_THREAD) $(BIN)/python -m coverage run -m pytest -q $(TEST_ARGS)
	$(BIN)/python -m coverage combine
	$(BIN)/python -m coverage report

# CPU seconds of a few calls beside those of the commit that this branch comes from; a few minutes.
performance: $(VENV)/.ready
	$(BIN)/python tools/performance.py --base $(BASE)

# The source distribution and the wheel, as the package index would take them.
build: $(VENV)/.release
	rm -rf dist
	$(BIN)/python -m build --quiet
	$(BIN)/python -m twine check --strict dist/*

# Whether this commit may be published: its tag, the changelog and the package name the same version.
release: build
	$(BIN)/python tools/release.py dist
	$(BIN)/python -m pytest -q --full tests/test_wheel.py

# The tests with the lowest stated and the newest versions of everything, on the interpreters at hand.
matrix: $(VENV)/.release
	$(BIN)/python tools/matrix.py $(MATRIX_ARGS)

clean:
	rm -rf $(VENV) .matrix dist build docs/examples docs/reference/names .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.*
