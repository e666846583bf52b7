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

# Twice the cores, because many tests wait for servers and clients.
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
WORKERS ?= $(shell echo $$((2 * $(CORES))))
PARALLEL = -n $(WORKERS) --dist worksteal
# Saved bytecode: without it each worker and each program that a test starts compiles all sources again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup demo test coverage e2e schemas test-pip test-pip-sslyze lint format docs bench clean

help:
	@echo "make demo    set up, start the demo listeners and scan them"
	@echo "make test    set up and run the tests in parallel (WORKERS=N processes)"
	@echo "make coverage    the same, and print which share of scanner/ the tests run"
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
	$(RUN)/pytest $(PARALLEL) -m "not e2e"

coverage: setup
	@mkdir -p .cache
	$(RUN)/pytest $(PARALLEL) -m "not e2e" --cov --cov-report=
	@echo "Coverage of scanner/: $$($(RUN)/coverage report --format=total) % of the lines"

# Stored outside the clone: without a cache they take eight minutes on two cores, and Go's modules take 880 MB.
e2e: setup
	$(RUN)/python -m tests.e2e.assets
	$(RUN)/pytest -m e2e tests/e2e

# Run it after a change of a pin in tests/e2e/crds or tests/e2e/servers; `make e2e` fails if the files differ.
schemas: setup
	$(RUN)/python -m tests.e2e.schemas

# What users of plain pip get: the newest cryptography, and with the extra the older one that sslyze requires. The real
# servers are tested with the lock. What reads only text, or uses no library, runs once.
TEXT := $(addprefix --ignore=tests/test_,language.py layers.py documents.py)
NO_LIBRARY := $(addprefix --ignore=tests/,expect discover kube files model) --deselect tests/serve/test_cycles.py::test_200_cycles_do_not_grow
NO_TLS := $(addprefix --ignore=tests/,cluster config lint node report serve)
test-pip: .cache/pip/.ready
	.cache/pip/bin/pytest $(PARALLEL) --quiet -m "not zoo and not e2e" $(TEXT) $(NO_LIBRARY)

test-pip-sslyze: .cache/pip-sslyze/.ready
	.cache/pip-sslyze/bin/pytest $(PARALLEL) --quiet -m "not zoo and not e2e" $(TEXT) $(NO_LIBRARY) $(NO_TLS)

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
