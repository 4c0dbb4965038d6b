# One command for each thing a person does here. Needs make, Python 3.11 or newer, and the network the first time.
#
# Rule 1: everything lands in .venv; a stamp file in it says what is installed, so that a second run starts at once.
# Rule 2: versions come from constraints.txt; `make lock` writes it anew.

VENV ?= .venv
ARGS ?=
MINUTES ?= 10
COMPILED ?=
ifneq ($(COMPILED),)
VENV = .venv-compiled
endif
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
  "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$python" && break; done)
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Files of tests side by side; tests/conftest.py says how many, and that slow ones come first.
SIDE_BY_SIDE := -n auto --dist loadfile --no-loadscope-reorder --tb native
PYTEST := $(BIN)/python -m pytest $(SIDE_BY_SIDE)
SOURCES := $(shell find proxy -type f -not -name '*.pyc')
FORMATTED := proxy tests setup.py $(wildcard .ci/*.py)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help serve demo test test-clients test-replicas test-compiled check lint fuzz compiled bench bench-replicas \
  bench-rivals lock system-packages axe clean

help:
	@echo 'make serve   install and start the proxy (ARGS="--limit umans=4" passes options; PYTHON=/path picks one)'
	@echo '             COMPILED=1 compiles the busiest modules first, as `pip install .` does; it takes a minute or two'
	@echo 'make demo    simulated agents at a simulated provider, through a real proxy; needs no key (ARGS="--help")'
	@echo 'make test    install what the tests need and run them (ARGS="tests/core -k star" picks some)'
	@echo 'make test-clients   every agent and SDK that we know of, unchanged, through the proxy; installs them first'
	@echo 'make test-replicas   the system tests on Redis, with one replica and with three as if they were one'
	@echo 'make check   format and lint check, types, layers, tests with branch coverage'
	@echo 'make fuzz    hostile bytes against the parsers and a live proxy for minutes (MINUTES=10)'
	@echo 'make bench   what the proxy costs beside HAProxy and nginx (ARGS="--quick"; ARGS="--help" says more)'
	@echo 'make bench-replicas   what it costs to share a queue through Redis, beside one process'
	@echo 'make test-compiled   the tests of what can be compiled, compiled'
	@echo 'make bench-rivals   beside other proxies in Python, which it installs into $(VENV)-rivals'
	@echo 'make lock    write constraints.txt anew'
	@echo 'make clean   remove what was made'

serve: $(VENV)/installed
	@exec $(BIN)/slotgate serve $(ARGS)

demo: $(VENV)/installed
	@exec $(BIN)/slotgate demo $(ARGS)

test: $(VENV)/developing system-packages axe
	$(PYTEST) $(ARGS)

# Real agents and SDKs, all of them; `make test` runs a few. What cannot be installed is skipped, and its number said.
test-clients: $(VENV)/developing system-packages
	$(PYTEST) -m clients $(or $(ARGS),tests/clients)

# What holds for one process holds for several that share their state; `make test` runs a part of it.
test-replicas: $(VENV)/developing system-packages
	EVERY_TEST=1 SLOTGATE_TEST_REPLICAS=1 $(PYTEST) $(or $(ARGS),$(SYSTEM_TESTS))
	EVERY_TEST=1 SLOTGATE_TEST_REPLICAS=3 $(PYTEST) $(or $(ARGS),$(SYSTEM_TESTS))
SYSTEM_TESTS := tests/system --ignore tests/system/replicas

check: lint system-packages axe
	$(PYTEST) --cov --cov-report=term:skip-covered $(ARGS)

lint: $(VENV)/developing
	$(BIN)/ruff format --check $(FORMATTED)
	$(BIN)/ruff check $(FORMATTED)
	$(BIN)/mypy
	$(BIN)/lint-imports

# What is measured is what `pip install .` makes: compiled, where there is a compiler.
bench: $(VENV)/developing system-packages $(if $(findstring --plot,$(ARGS)),$(VENV)/drawing)
	@$(MAKE) --no-print-directory VENV=$(VENV) $(COPY)/built || echo 'Nothing can be compiled here: the sources are measured' >&2
	@$(BIN)/python -m tests.bench $$(test ! -e $(COPY)/built || echo --compiled $(COPY)) $(ARGS)

bench-replicas: $(VENV)/developing system-packages
	@$(BIN)/python -m tests.bench --only replicas $(ARGS)

bench-rivals: $(VENV)/developing $(VENV)-rivals/installed
	@$(BIN)/python -m tests.bench --only rivals $(ARGS)

# The compiled modules lie beside their sources, so this happens in a copy: a checkout with them would run what they were
# made of, whatever is changed since.
COPY = build/compiled
$(COPY)/built: $(VENV)/developing setup.py $(SOURCES)
	@echo 'Compiling into $(COPY); this takes a minute or two'
	@rm -rf $(COPY) && mkdir -p $(COPY)
	@cp -R Makefile README.md LICENSE pyproject.toml setup.py proxy $(COPY)
	@SLOTGATE_COMPILED=1 $(PIP) wheel --no-deps --wheel-dir $(COPY)/wheel ./$(COPY)
	@$(BIN)/python -m zipfile -e $(COPY)/wheel/*.whl $(COPY)
	@touch $@

compiled: $(COPY)/built
	@rm -rf $(COPY)/tests && cp -R tests systemd config docs $(COPY)

test-compiled: compiled
	cd $(COPY) && $(abspath $(BIN))/python -m pytest $(SIDE_BY_SIDE) -m 'not plain' \
	  $(or $(ARGS),tests/core tests/wire tests/web tests/service)

fuzz: $(VENV)/developing
	FUZZ_MINUTES=$(MINUTES) $(BIN)/python -m pytest tests/fuzz $(ARGS)

# Debian's python3 comes without ensurepip, and `python3 -m venv` then leaves half a venv behind.
$(BIN)/python:
	@test -n '$(PYTHON)' || { echo 'Python 3.11 or newer is needed; PYTHON=/path/to/python names one' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo '$(PYTHON) is no Python 3.11 or newer; PYTHON=/path/to/python names another' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null \
	  || { echo '$(PYTHON) cannot make a venv; on Debian and Ubuntu: apt install python3-venv' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(BIN)/python pyproject.toml constraints.txt $(SOURCES)
	@echo 'Installing into $(VENV); the first time this takes a minute'
	@SLOTGATE_COMPILED=$(or $(COMPILED),0) $(PIP) install --constraint constraints.txt '.[redis]'
	@touch $@

$(VENV)/developing: $(BIN)/python pyproject.toml constraints.txt
	@echo 'Installing what the tests need into $(VENV); the first time this takes a minute'
	@SLOTGATE_COMPILED=0 $(PIP) install --constraint constraints.txt --editable '.[dev,redis]'
	@touch $@ $(VENV)/installed

$(VENV)/drawing: $(VENV)/developing
	@SLOTGATE_COMPILED=0 $(PIP) install --constraint constraints.txt --editable '.[dev,redis,bench]'
	@touch $@

$(VENV)-rivals/installed: tests/bench/rivals.txt
	@echo 'Installing other proxies into $(VENV)-rivals; this takes minutes'
	@$(PYTHON) -m venv $(VENV)-rivals
	@$(VENV)-rivals/bin/python -m pip --disable-pip-version-check --quiet install --requirement $<
	@touch $@

# What is used beside Python, as command:package or file:package, where we may install it. Without them tests are skipped,
# and columns of the bench are empty.
SYSTEM = systemd-analyze:systemd haproxy:haproxy chromium:chromium npm:npm redis-server:redis-server promtool:prometheus \
  faketime:faketime ip:iproute2 /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf:fonts-dejavu-core
bench: SYSTEM = haproxy:haproxy nginx:nginx redis-server:redis-server
bench-replicas: SYSTEM = redis-server:redis-server
system-packages:
	@missing=; for pair in $(SYSTEM); do \
	  command -v "$${pair%:*}" >/dev/null || test -e "$${pair%:*}" || missing="$$missing $${pair#*:}"; done; \
	if [ -n "$$missing" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then apt-get update \
	  && for package in $$missing; do \
	    DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends $$package \
	      || echo "$$package could not be installed: its tests are skipped" >&2; done; fi

# What judges whether the page can be used by everybody (tests/browser). Without npm those tests are skipped.
AXE = axe-core@4.14.1
axe: $(BIN)/python system-packages
	@if ! grep -qsF '$(AXE)' $(VENV)/npm/installed && command -v npm >/dev/null; then \
	  npm install --prefix $(VENV)/npm --no-save --no-audit --no-fund --ignore-scripts --loglevel=error $(AXE) \
	    && echo '$(AXE)' > $(VENV)/npm/installed \
	    || echo '$(AXE) could not be installed: its tests are skipped' >&2; fi

lock:
	$(PYTHON) -m venv --clear $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet '.[dev,redis,bench]'
	{ echo '# Written by `make lock`: the versions that CI runs with, newest in the ranges of pyproject.toml.'; \
	  $(VENV)-lock/bin/python -m pip freeze --exclude slotgate; } > constraints.txt
	rm -r $(VENV)-lock

clean:
	rm -rf $(VENV) $(VENV)-lock $(VENV)-rivals build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis \
	  .import_linter_cache .coverage .coverage.* htmlcov
	find proxy tests -name __pycache__ -type d -prune -exec rm -r {} +
