# Everything runs in .venv, which the first target that needs it makes and fills.
# A stamp in it is older than pyproject.toml when it has to be filled again.
PYTHON ?= python3
PYTEST_ARGS ?=
# A test runs where others of its file do, one process per core; PYTEST_ARGS='-n 0' runs them in this one.
# Zarr, which comes with ArviZ, would load a plugin that takes seconds to import.
PYTEST := -m pytest -n auto --dist loadfile -p no:zarr --durations=10
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
EXAMPLES := $(sort $(wildcard examples/*/run.sh examples/*/run.py))
BENCHMARKS := $(filter-out bench/_% bench/soak.py,$(sort $(wildcard bench/*.py)))
AXE := .venv/axe/node_modules/axe-core/axe.min.js

.DEFAULT_GOAL := help
.PHONY: help demo examples labyrinth test test-all test-lowest package constraints bench docs gallery faults calibration trust-calibration reproduction-docs soak audit lint clean

help:  ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' Makefile
	@echo "Another Python (3.11 or newer): make test PYTHON=python3.13"
	@echo "Options for pytest:             make test PYTEST_ARGS='-n 0 -k solve'"

demo: .venv/installed  ## Two learners ask a simulated expert; report in journeyman-demo/.
	$(BIN)/journeyman demo

examples: .venv/compiled  ## Run every example of examples/, one after the other (some minutes).
	@set -e; PATH="$(CURDIR)/$(BIN):$$PATH"; export PATH; for example in $(EXAMPLES); do echo "== $$example"; \
	case "$$example" in *.py) (cd "$$(dirname "$$example")" && python run.py);; *) "$$example";; esac; done

labyrinth: .venv/compiled  ## The example with real data, from table to report: examples/labyrinth/mice.html.
	PATH="$(CURDIR)/$(BIN):$$PATH" examples/labyrinth/run.sh

test: .venv/compiled $(AXE)  ## Run the tests that are not marked slow, on all cores.
	$(BIN)/python $(PYTEST) -m "not slow" $(PYTEST_ARGS)

test-all: .venv/compiled $(AXE)  ## Run all tests, on all cores.
	$(BIN)/python $(PYTEST) $(PYTEST_ARGS)

# The package is installed, not linked: compiled code of other versions stays apart. Pages in a browser are left out, since
# the lowest Playwright knows only browsers of its day. Old packages use what new ones beneath them deprecate: that is
# theirs to fix.
test-lowest: .venv/installed  ## Run the tests with the lowest versions that pyproject.toml allows, in .venv-lowest (slow: it compiles anew).
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv-lowest
	$(BIN)/uv pip install --quiet --python .venv-lowest --resolution lowest-direct '.[all]' --group test
	.venv-lowest/bin/journeyman warmup
	.venv-lowest/bin/python -m pytest -n auto --dist loadfile -W ignore::DeprecationWarning:matplotlib._mathtext -W ignore::DeprecationWarning:matplotlib._fontconfig_pattern -W "ignore:'parseAll' argument:DeprecationWarning" -m "not slow" --ignore tests/browser $(PYTEST_ARGS)

package: .venv/installed  ## Build wheel and source archive into dist/; try the wheel in an environment of its own, with each extra.
	rm -rf dist
	$(BIN)/uv build --quiet --out-dir dist .
	$(BIN)/python -m pytest -p no:zarr --durations=10 tests/package tests/test_extras.py $(PYTEST_ARGS)

constraints: .venv/installed  ## Write the versions that are installed now into constraints.txt.
	$(BIN)/python tests/package/tested_versions.py > constraints.txt.new && mv constraints.txt.new constraints.txt

bench: .venv/installed-bench  ## Run the benchmarks of bench/, one after the other.
	@set -e; for benchmark in $(BENCHMARKS); do echo "== $$benchmark"; $(BIN)/python "$$benchmark"; done

docs: .venv/compiled .venv/installed-docs  ## Build the documentation, run its notebooks and check its links: docs/_build/html.
	rm -rf docs/_build/html  # so that no page of an earlier build stays
	$(BIN)/python -m sphinx -W --keep-going -n -q -j auto -d docs/_build/doctrees docs docs/_build/html
	$(BIN)/python docs/check.py docs/_build/html

# One style for the figures of the docs, whichever target makes them.
gallery soak calibration trust-calibration reproduction-docs: export MATPLOTLIBRC := $(CURDIR)/docs/gallery/matplotlibrc

gallery: .venv/compiled  ## Make the figures of the docs that take seconds, and docs/gallery/index.md.
	$(BIN)/python docs/gallery/make.py

faults: .venv/compiled  ## Attack everything in all ways (an hour), and make docs/trust/faults.md.
	JOURNEYMAN_FAULTS=docs/trust/faults.jsonl $(BIN)/python -m pytest -p no:zarr -m fault $(PYTEST_ARGS)
	$(BIN)/python docs/trust/faults.py

soak: .venv/installed  ## The studio for 30 minutes with 50 annotators and attackers, and make docs/trust/soak.md.
	$(BIN)/python bench/soak.py --out docs/trust/soak.json
	$(BIN)/python docs/trust/soak.py

audit: .venv/installed  ## Known vulnerabilities of what is installed (needs the network), and docs/trust/dependencies.md.
	@$(PIP) install --quiet --group audit
	@$(PIP) freeze --exclude-editable > .venv/audited.txt
	$(BIN)/pip-audit --strict --no-deps --disable-pip -r .venv/audited.txt  # strict: what could not be looked up is no pass
	$(BIN)/python docs/trust/dependencies.py

calibration: .venv/installed  ## Continue the calibration programme (hours), and make its tables and figures.
	@set -e; for programme in methods experts; do for task in run table; do \
	$(BIN)/python docs/calibration/run.py $$task --programme $$programme; done; done

trust-calibration: .venv/compiled  ## Continue the runs that show whether certificates keep their promise (hours), and make table and figures.
	$(BIN)/python docs/trust/calibration/run.py run
	$(BIN)/python docs/trust/calibration/run.py table

reproduction-docs: .venv/installed  ## Make docs/reproduction from its tables: claims, figures, advice (a minute or two).
	$(BIN)/python -m reproduction.build

lint: .venv/installed  ## Check format, style and types.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

clean:  ## Remove .venv, caches, builds and journeyman-demo/.
	rm -rf .venv .venv-lowest demo journeyman-demo build dist docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests $(wildcard bench) -type d -name __pycache__ -prune -exec rm -rf {} +

.venv/installed: pyproject.toml
	@command -v $(PYTHON) >/dev/null || { \
		echo "journeyman needs Python 3.11 or newer, and there is no $(PYTHON). Name one: make PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "journeyman needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) --version 2>&1). Name another: make PYTHON=python3.12" >&2; exit 1; }
	@echo "Installing journeyman and its tools into .venv (a few minutes the first time)"
# Debian's Python may have venv, but not the ensurepip that puts pip into it: then the pip outside does.
	@if $(PYTHON) -c 'import ensurepip' 2>/dev/null; then $(PYTHON) -m venv .venv; \
	else $(PYTHON) -m venv --without-pip .venv && $(PYTHON) -m pip --python $(BIN)/python install --quiet pip; fi
	@$(PIP) install --quiet 'pip>=25.1'  # 25.1: dependency groups
	@$(PIP) install --quiet --editable '.[all]' --group test
	@touch $@

# Once, before several processes would each compile the same.
.venv/compiled: .venv/installed $(shell find src -name kernels.py)
	$(BIN)/journeyman warmup
	@touch $@

# axe-core judges whether everyone can use the studio's page; tests/browser need it, and nothing else does.
$(AXE): | .venv/installed
	@command -v npm >/dev/null || { \
		echo "The tests of the studio's page need npm, to get axe-core. On Debian: apt-get install npm" >&2; exit 1; }
	@npm install --silent --no-audit --no-fund --no-save --prefix .venv/axe 'axe-core@>=4.10'

.venv/installed-bench: .venv/installed
	@$(PIP) install --quiet --group bench
	@touch $@

.venv/installed-docs: .venv/installed
	@$(PIP) install --quiet --group docs
	@touch $@
