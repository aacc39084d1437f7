# make sweep      the default sweep: risks against n and L beside the bounds
# make test       lint, types and tests
# make test-long  the tests that take minutes: all mutants of the solver, long fuzzes
# make course     the assignments: student and solution notebooks, graders; SEMESTER=2027 for other data
# make theory     docs/theory.md and the pages that continue it, as results/theory.pdf
# make bench      benchmarks, AREA=erm, solver, methods, defaults or certificate
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= results/sweep
AREA ?= erm
SEMESTER ?= 0
READY := $(VENV)/ready
COURSE := $(VENV)/course

.PHONY: help sweep test test-long course theory bench clean

help:
	@sed -n 's/^# //p' Makefile

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; name one with: make PYTHON=python3.12"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,lint,course]'
	@touch $@

sweep: $(READY)
	$(BIN)/python -m leml_theory.sweep --out $(OUT)

test: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n auto

test-long: $(READY)
	$(BIN)/python -m pytest -m long

$(COURSE): pyproject.toml
	@[ -e $(READY) ] || $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; name one with: make PYTHON=python3.12"; exit 2; }
	@echo "Installing what builds the course: one to three minutes the first time."
	[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	[ -e $(READY) ] || $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[course]'
	@touch $@

course: $(COURSE)
	$(BIN)/python -m assignments.build --term $(SEMESTER)

theory: $(READY)
	@mkdir -p results
	$(BIN)/python -c 'from pathlib import Path; from documents import write_document; \
	  pages = [Path("docs/theory.md"), *sorted(Path("docs").glob("theory_*.md"))]; \
	  write_document("\n".join(p.read_text() for p in pages), "results/theory.pdf", title="Theory")'

bench: $(READY)
	$(BIN)/python -m benchmarks.$(AREA) --out benchmarks/results/$(AREA).json

clean:
	rm -rf $(VENV) results .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
