# Every target works on a fresh clone with python3 >= 3.11 and git; tests need node too.

PYTHON ?= python3
JOBS ?= 2
BIN := .venv/bin
SETUP := .venv/.setup
export AMIRAL_CLIS ?= $(CURDIR)/clis

.DEFAULT_GOAL := help
.PHONY: help setup check format test coverage house system-packages clis bench fuzz soak chaos demo up lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(SETUP) ## make .venv with everything pinned, and .venv/bin/amiral

$(SETUP): requirements.lock pyproject.toml scripts/setup.sh
	@PYTHON="$(PYTHON)" scripts/setup.sh
	@touch $@

check: setup ## lint, format, types, import contracts: exactly what CI runs
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: setup ## sort, fix and format the code
	$(BIN)/ruff check --fix --exit-zero
	$(BIN)/ruff format

test: setup system-packages clis ## the whole suite, then the branches of the pure modules
	$(BIN)/pytest -n $(JOBS) --dist loadscope
	$(BIN)/python scripts/pure_coverage.py

coverage: setup ## the branches of the pure modules: 100 % or a list of what is missed
	$(BIN)/python scripts/pure_coverage.py

house: setup ## the house rules alone
	$(BIN)/pytest -q tests/test_house_rules.py

system-packages: ## what the tests need of the system (git, ip, unshare, bwrap, strace, tmux, ps, chromium)
	@scripts/system-packages.sh

clis: ## the agent CLIs of the end-to-end tests, pinned, into clis/node_modules
	@scripts/clis.sh

bench: setup ## measure what it costs beside its goals; BENCH="turns journal" for some of it
	$(BIN)/python -m benchmarks $(BENCH)

fuzz: setup ## the properties of the pure modules with many more examples, and broken sandboxes
	HYPOTHESIS_PROFILE=fuzz $(BIN)/pytest -q -n $(JOBS) --timeout 3600 $$($(BIN)/python scripts/pure_coverage.py --list-tests)
	$(BIN)/python scripts/mutate_sandbox.py

soak: setup ## SOAK_S seconds (120) of messages with kills in between; memory, lost and doubled ones
	$(BIN)/python -m benchmarks.soak

chaos: setup ## kill amiral 280 times in long runs; CHAOS="--kills 20 --seed 7" for some of it
	$(BIN)/python -m amiral.testbench.chaos $(CHAOS)

demo: setup ## the whole journey on a throw-away project, no account, no key
	$(BIN)/amiral demo

up: setup ## serve the project at PROJECT=path, or else a sample, until Ctrl-C
	$(BIN)/amiral up $(if $(PROJECT),"$(PROJECT)",--sample)

lock: ## pin what pyproject.toml asks for (scripts/lock.sh --upgrade takes the newest)
	@PYTHON="$(PYTHON)" scripts/lock.sh

clean: ## remove what the targets above made
	rm -rf .venv build dist clis/node_modules .coverage .coverage.* .hypothesis \
	  .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
