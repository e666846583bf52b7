# Everything a fresh machine needs beside git, make and Python 3.11+ (with venv).
PYTHON ?= python3
UV := .tools/bin/uv
UV_VERSION := 0.13.8
export UV_PROJECT_ENVIRONMENT := .venv
export UV_PYTHON_DOWNLOADS := never
export UV_LINK_MODE ?= copy
RUN := .venv/bin

.PHONY: help setup demo test lint format bench clean

help:
	@echo "make demo    set up, start the demo listeners and scan them"
	@echo "make test    set up and run the tests"
	@echo "make lint    ruff and mypy --strict"
	@echo "make format  let ruff rewrite the sources"
	@echo "make bench   measure against sslscan, nmap and sslyze"
	@echo "make clean   remove what the others made"

setup: .venv/.ready

$(UV):
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "adhere needs Python 3.11 or newer: make PYTHON=python3.11")'
	$(PYTHON) -m venv .tools
	.tools/bin/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

.venv/.ready: pyproject.toml uv.lock $(UV)
	$(UV) sync --quiet --locked --python $(PYTHON) --extra sslyze --group dev
	@touch $@

demo: setup
	$(RUN)/adhere demo

test: setup
	$(RUN)/pytest

lint: setup
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy

format: setup
	$(RUN)/ruff check --fix-only .
	$(RUN)/ruff format .

bench: setup
	$(RUN)/python -m benchmarks

clean:
	rm -rf .venv .tools .cache build dist adhere-demo .mypy_cache .pytest_cache .ruff_cache .hypothesis
