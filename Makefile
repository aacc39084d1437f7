# make sweep      the default sweep: risks against n and L beside the bounds
# make test       lint, types and tests
# make test-long  the tests that take minutes: all mutants of the solver, long fuzzes
# make test-lowest  the tests with the lowest versions that pyproject.toml allows
# make fuzz       fuzzers with new seeds, SECONDS=600 in total
# make course     the assignments: student and solution notebooks, graders; SEMESTER=2027 for other data
# make docs       the site, results/docs/index.html: tutorials, gallery, reference, every statement
# make theory     docs/theory.md and the pages that continue it, as results/theory.pdf
# make lectures   the lecture notes of docs/lectures, as HTML and PDF in results/lectures
# make bench      benchmarks, AREA=erm, solver, methods, defaults, certificate or scale
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= results/sweep
AREA ?= erm
SEMESTER ?= 0
SECONDS ?= 600
LOWEST := .venv-lowest
READY := $(VENV)/ready
COURSE := $(VENV)/course
DOCS_READY := $(VENV)/docs-ready

.PHONY: help sweep test test-long test-lowest fuzz course docs theory lectures bench clean

help:
	@sed -n 's/^# //p' Makefile

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; name one with: make PYTHON=python3.12"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,lint,course,cluster]'
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

test-lowest:
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(LOWEST)/bin/uv pip compile --quiet --resolution lowest-direct --extra test --extra course pyproject.toml -o $(LOWEST)/lowest.txt
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python -r $(LOWEST)/lowest.txt --no-deps -e .
	$(LOWEST)/bin/python -m pytest -n auto

fuzz: $(READY)
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS)

$(COURSE): pyproject.toml
	@[ -e $(READY) ] || $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; name one with: make PYTHON=python3.12"; exit 2; }
	@echo "Installing what builds the course: one to three minutes the first time."
	[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	[ -e $(READY) ] || $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[course]'
	@touch $@

course: $(COURSE)
	$(BIN)/python -m assignments.build --term $(SEMESTER)

$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

docs: $(DOCS_READY)
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs results/docs
	@echo "The site is results/docs/index.html."

theory: $(READY)
	@mkdir -p results
	$(BIN)/python -c 'from pathlib import Path; from documents import write_document; \
	  pages = [Path("docs/theory.md"), *sorted(Path("docs").glob("theory_*.md"))]; \
	  write_document("\n".join(p.read_text() for p in pages), "results/theory.pdf", title="Theory")'

lectures: $(READY)
	$(BIN)/python docs/lectures/build.py --out results/lectures

bench: $(READY)
	$(BIN)/python -m benchmarks.$(AREA) --out benchmarks/results/$(AREA).json

clean:
	rm -rf $(VENV) $(LOWEST) results docs/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
