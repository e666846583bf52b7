# Installs everything that a new machine needs besides git, make and Python 3.11+ (with venv).
PYTHON ?= python3
UV := .tools/bin/uv
UV_VERSION := 0.13.8
export UV_PROJECT_ENVIRONMENT := .venv
export UV_PYTHON_DOWNLOADS := never
export UV_LINK_MODE ?= copy
RUN := .venv/bin
# The conformance tests build a server with Go: the installed one, else a wheel.
GO_GROUP := $(if $(shell command -v go 2>/dev/null),,--group go)

CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
WORKERS ?= $(CORES)
# What to run: files, directories or tests; without it everything that the command's lane has.
T ?=
PYTEST = $(RUN)/pytest -n $(WORKERS) --dist worksteal
QUICK := not slow and not browser and not e2e
# Saved bytecode: without it each worker and each program that a test starts compiles all sources again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup demo test test-all test-rest mutants coverage e2e e2e-setup schemas test-pip test-pip-sslyze lint format docs bench clean

help:
	@echo "make demo    set up, start the demo listeners and scan them"
	@echo "make test    set up and run the quick tests (T=tests/judge: only these; WORKERS=N processes)"
	@echo "make test-all    all tests but those of make e2e (T=, WORKERS= likewise)"
	@echo "make mutants change one line at a time and count what the tests notice (N=150 SEED=7)"
	@echo "make coverage    test-all, and print which share of scanner/ the tests run"
	@echo "make e2e     build a real etcd and API server once, and run the tests that need them"
	@echo "make schemas generate profiles/schemas from the pinned modules"
	@echo "make lint    ruff, mypy --strict and zizmor"
	@echo "make docs    build docs/ as a site in build/docs; a broken link is an error"
	@echo "make format  let ruff rewrite the sources"
	@echo "make bench   measure against other scanners: docs/benchmarks.md"
	@echo "make clean   remove what the others made"

setup: .venv/.ready

$(UV):
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "adhere needs Python 3.11 or newer: make PYTHON=python3.11")'
	$(PYTHON) -m venv .tools
	.tools/bin/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

.venv/.ready: pyproject.toml uv.lock $(UV)
	$(UV) sync --quiet --locked --python $(PYTHON) --extra sslyze --extra rules --extra s3 --group dev $(GO_GROUP)
	@touch $@

demo: setup
	$(RUN)/adhere demo

test: setup
	$(PYTEST) --hypothesis-profile=quick -m "$(QUICK)" $(T)

test-all: setup
	$(PYTEST) -m "not e2e" $(T)

# For CI, after `make test`: what that left out, and properties with all of their examples.
test-rest: setup
	$(PYTEST) -m "(slow or browser or hypothesis) and not e2e"

# A change that a test of its module notices takes three seconds of processor time, one that no test notices a minute.
N ?= 150
SEED ?= 7
mutants: setup
	$(RUN)/python -m tests.mutants $(N) $(SEED)

coverage: setup
	@mkdir -p .cache
	$(PYTEST) -m "not e2e" --cov --cov-report=
	@echo "Coverage of scanner/: $$($(RUN)/coverage report --format=total) % of the lines"

# Stored outside the clone: without a cache they take eight minutes on two cores, and Go's modules take 880 MB.
e2e-setup: setup
	$(RUN)/python -m tests.e2e.assets

e2e: e2e-setup
	$(RUN)/pytest -n $(WORKERS) --dist loadfile -m e2e $(or $(T),tests/e2e)

# Run it after a change of a pin in tests/e2e/crds or tests/e2e/servers; `make e2e` fails if the files differ.
schemas: setup
	$(RUN)/python -m tests.e2e.schemas

# What users of plain pip get: the newest cryptography, and with the extra the older one that sslyze requires. The real
# servers are tested with the lock.
CRYPTO := crypto and not zoo and not browser and not e2e
test-pip: .cache/pip/.ready
	.cache/pip/bin/pytest -n $(WORKERS) --dist worksteal --quiet -m "$(CRYPTO)"

test-pip-sslyze: .cache/pip-sslyze/.ready
	.cache/pip-sslyze/bin/pytest -n $(WORKERS) --dist worksteal --quiet -m "$(CRYPTO)"

.cache/pip/.ready: EXTRA := [rules]
.cache/pip-sslyze/.ready: EXTRA := [sslyze,rules,s3]
.cache/%/.ready: pyproject.toml
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/pip install --quiet --upgrade 'pip>=25.1'
	$(@D)/bin/pip install --quiet --editable '.$(EXTRA)' --group test
	$(@D)/bin/pip check
	@touch $@

lint: setup
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy
	$(RUN)/zizmor --offline --no-progress --quiet action.yml

format: setup
	$(RUN)/ruff check --fix-only .
	$(RUN)/ruff format .

# In an environment of its own, because only this step needs the theme: ten seconds.
docs: $(UV)
	NO_MKDOCS_2_WARNING=1 $(UV) run --quiet --locked --isolated --only-group docs mkdocs build --quiet
	@! grep -rlE --include="*.html" "<(script|link|img)[^>]* (src|href)=.?(https?:)?//" build/docs

bench: setup
	$(RUN)/python -m benchmarks

clean:
	rm -rf .venv .tools .cache build dist adhere-demo .mypy_cache .pytest_cache .ruff_cache .hypothesis
