# The two commands of the README, each complete on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test lint types clean

# One environment for everything; made again when the declared dependencies change.
$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[test,dev]"
	touch $@

demo: $(VENV)/.ready
	$(BIN)/python -m marginwise.demo
	$(BIN)/marginwise study run --quick --redo --store sqlite:///marginwise-demo/quick.sqlite
	$(BIN)/marginwise study report --store sqlite:///marginwise-demo/quick.sqlite --output marginwise-demo/study

# Two workers with one BLAS thread each: more threads than cores would wait for each other.
test: $(VENV)/.ready
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --durations 15 $(TEST_ARGS)

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready
	$(BIN)/mypy

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
