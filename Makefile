# Needs Python 3.11 or later and nothing more: `make PYTHON=python3.12 demo` picks another one.
PYTHON ?= python3
# Test workers; each starts its own Numba. Many tests wait for real servers, so that three keep two
# cores busy.
WORKERS ?= 3

DEMO := .venv
DEV := .venv-dev
LOW := .venv-lowest
BIN := $(DEV)/bin

# Streams of events for the engine: how many, and from which seed on.
SEEDS ?= 1000000
FIRST ?= 0

# What runs with the lowest versions that pyproject.toml allows: what touches other packages most.
LOWEST_TESTS ?= tests/test_versions.py tests/test_public_api.py tests/test_lazy.py tests/core/model tests/core/show \
  tests/logs tests/runs tests/core/commands/test_help.py tests/runs/commands/test_commands.py tests/core/commands/test_bad_input.py

# Damaged files: of which formats, from which seed on, how many of each (0: without end).
SEED ?= 1
COUNT ?= 0
FORMATS ?= all
# 1: kernels are compiled anew, and check each index.
BOUNDS ?=

.PHONY: help demo test site dist debian lint types imports unit lowest constraints seeds live-seeds vault-seeds lies ranks fuzz coverage clean

help:
	@echo "make demo      install into $(DEMO) and run the demonstration"
	@echo "make test      everything that must hold: style, types, imports, tests"
	@echo "make test ROOM=machines   the same, with the tests of one room alone"
	@echo "make debian lint types imports unit   the same, one at a time"
	@echo "make lowest    the quicker tests with the lowest versions that pyproject.toml allows"
	@echo "make constraints  look up newest and lowest versions anew: constraints.txt, constraints-lowest.txt"
	@echo "make seeds     a million streams of events against the engine: SEEDS=, FIRST=, WORKERS="
	@echo "make live-seeds  the same against the live controller on a modelled cluster"
	@echo "make vault-seeds  savers and collections of a vault, stopped at any request while hosts are lost"
	@echo "make lies      every lie about runs of every kind, told to the certifier"
	@echo "make ranks     MPI ranks killed in every collective, one and several at once"
	@echo "make fuzz      damaged files of every format, read by every command that takes them: SEED=,"
	@echo "               COUNT=, FORMATS=, WORKERS=, BOUNDS=1; finds are kept in fuzz-finds"
	@echo "make coverage  the tests with compilation off, and what they reach"
	@echo "make site      the documentation as pages: build/site/index.html"
	@echo "make dist      wheel and sdist in dist/, checked; with absolute links: REPOSITORY=https://HOST/OWNER/NAME"
	@echo "make clean     remove all environments and the caches"

demo: $(DEMO)/.installed
	$(DEMO)/bin/forestall demo

test: debian lint types imports unit

# A real Slurm, QEMU, libvirt, PostgreSQL, Chromium, and what makes a real HTCondor (Debian has it from its next release on:
# the tests put that into a folder of its own), for the tests that start them. Where they cannot be had the
# tests are skipped, and say so.
APT := DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 -o Acquire::http::Timeout=30
PACKAGES := $(shell cat $(addsuffix /debian-packages.txt, tests/slurm_cluster tests/qemu_machines \
  tests/condor_pool tests/postgresql_server tests/chromium_browser tests/sftp_server tests/libvirt_hosts tests/prometheus_rules))
debian:
	@missing=; for package in $(PACKAGES); do \
	  dpkg-query -W -f '$${Status}' $$package 2>/dev/null | grep -q ' ok installed' || \
	    missing="$$missing $$package"; \
	done; \
	if [ -z "$$missing" ]; then echo "Debian packages of a real Slurm, QEMU, libvirt, HTCondor, PostgreSQL, Chromium, OpenSSH and promtool: all there"; \
	elif [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
	  echo "tests with real servers or a browser will be skipped: no root or no apt-get to install$$missing"; \
	elif said=$$({ $(APT) update && \
	    $(APT) install -y --no-install-recommends $$missing; } </dev/null 2>&1); then \
	  echo "installed for the tests with real servers and a browser:$$missing"; \
	else echo "$$said" | tail -n 3; \
	  echo "tests with real servers or a browser will be skipped: could not install$$missing"; \
	fi

lint: $(DEV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEV)/.installed
	$(BIN)/mypy

imports: $(DEV)/.installed
	$(BIN)/lint-imports --no-cache

# What Python compiles for one worker or command is kept for the others, also where the environment
# says otherwise.
unit: export PYTHONDONTWRITEBYTECODE :=
unit: $(DEV)/.installed
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS) \
	  $(if $(ROOM),tests/$(ROOM) tests/test_architecture.py)

lowest: $(LOW)/.installed
	$(LOW)/bin/python -m pytest -n $(WORKERS) -m "not slow" $(PYTEST_ARGS) $(LOWEST_TESTS)

# The lowest ones keep to what the file has; without it the newest pydantic-core would pull pydantic up with it.
# libvirt-python and torch are in neither: the one must be built, the other is huge.
COMPILE := $(DEV)/uv/bin/uv pip compile -q pyproject.toml --extra all --extra mpi --extra dev --python-version 3.11 \
  --only-binary :all: --no-binary drain3 --no-annotate --custom-compile-command "make constraints"
constraints: $(DEV)/.installed
	$(PYTHON) -m venv $(DEV)/uv && $(DEV)/uv/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(COMPILE) --upgrade -o constraints.txt
	$(COMPILE) --resolution lowest-direct -o constraints-lowest.txt

seeds: $(DEV)/.installed
	PYTHONPATH=tests:. $(BIN)/python -m benchmarks.engine_seeds $(FIRST) $(SEEDS) $(WORKERS)

live-seeds: $(DEV)/.installed
	PYTHONPATH=tests:. $(BIN)/python -m benchmarks.live_seeds --first $(FIRST) --count $(SEEDS) \
	  --workers $(WORKERS) --kept live-seeds.jsonl

vault-seeds: $(DEV)/.installed
	PYTHONPATH=tests:. $(BIN)/python -m benchmarks.vault_seeds --first $(FIRST) --count $(SEEDS) \
	  --workers $(WORKERS) --kept vault-seeds.jsonl

lies: $(DEV)/.installed
	PYTHONPATH=tests:. $(BIN)/python -m benchmarks.lies

ranks: $(DEV)/.installed
	PYTHONPATH=tests:. $(BIN)/python -m benchmarks.lost_ranks

fuzz: $(DEV)/.installed
	PYTHONPATH=tests:. $(BIN)/python -m fuzz --seed $(SEED) --count $(COUNT) --formats $(FORMATS) \
	  --workers $(WORKERS) $(if $(BOUNDS),--bounds)

# Strict: a dead link or a page that is not in the navigation ends it.
site: $(DEV)/.installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo "open build/site/index.html"

dist: $(DEV)/.installed
	rm -rf dist
	FORESTALL_REPOSITORY=$(REPOSITORY) $(BIN)/python -m build --no-isolation
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	@[ -n "$(REPOSITORY)" ] || echo "links are relative: before publishing, make dist REPOSITORY=https://HOST/OWNER/NAME"

coverage: $(DEV)/.installed
	NUMBA_DISABLE_JIT=1 $(BIN)/coverage run -m pytest -m "not slow" $(PYTEST_ARGS)
	$(BIN)/coverage report

# Installed in place: an edit of the sources needs no new installation, only one of pyproject.toml does.
$(DEMO)/.installed: EXTRAS := plot,serve
$(DEV)/.installed: EXTRAS := all,dev
$(LOW)/.installed: EXTRAS := all,mpi,dev
$(LOW)/.installed: LIMITS := -c constraints-lowest.txt
$(LOW)/.installed: constraints-lowest.txt
$(DEMO)/.installed $(DEV)/.installed $(LOW)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is too old: Python 3.11 or later is needed (make PYTHON=... $(MAKECMDGOALS))"; exit 1; }
	@$(PYTHON) -m venv $(@D) || \
	  { echo "$(PYTHON) cannot make environments (on Debian: apt install python3-venv)"; exit 1; }
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check $(LIMITS) -e '.[$(EXTRAS)]'
	@[ $(@D) != $(DEV) ] || $(@D)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[libvirt]' \
	  >/dev/null 2>&1 || echo "tests with libvirt will be skipped: its Python package cannot be built here"
	@touch $@

clean:
	rm -rf $(DEMO) $(DEV) $(LOW) .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache .coverage
