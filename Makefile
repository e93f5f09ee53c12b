# Each target sets up what it needs; `make` alone lists them.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
BENCH := .venv-bench
OLDEST := .venv-oldest
OLDEST_CORE := .venv-oldest-core
SETUP := pyproject.toml $(wildcard setup.py)

.PHONY: help run test browser docs lint bench real paper kills interrupts fuzz-files search calibration test-oldest test-oldest-core fuzz lock dev-locked licences audit release-check mutation clean

help:
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "garrote needs $(PYTHON); set PYTHON=... to another 3.11 or newer."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(SETUP) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[test,lint,docs]'
	@touch $@

run: $(VENV)/.installed ## fit the embedded examples, show the result, write the report
	$(BIN)/garrote demo

browser:
	@tests/install_browser.sh

test: $(VENV)/.installed browser ## run the tests (they need Chromium or Chrome, and install it if they can)
	$(BIN)/python -m pytest --numprocesses auto

$(OLDEST)/.installed: $(SETUP) tests/oldest.py
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python tests/oldest.py > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip install --quiet --constraint $(OLDEST)/constraints.txt --editable '.[test,docs]'
	@touch $@

test-oldest: $(OLDEST)/.installed browser ## run the tests with the oldest supported versions (ARGS: pytest's, such as files)
	$(OLDEST)/bin/python -m pytest --numprocesses auto $(ARGS)

# The tests that need nothing but the library's own dependencies, pandas and mpmath, without the longest of them.
CORE := background bad_input block breiman conjugate covariates datasets energy estimators exact extreme_data extremes folds \
	garrote_against_theory invariance outside overfitting partners path pmf reproducible restarts search search_ends select slabs solve summary summary_tables tall theory
LONGEST := tests/test_path.py::test_free_energy_is_not_above_the_printed_algorithm

$(OLDEST_CORE)/.installed: $(SETUP) tests/oldest.py
	$(PYTHON) -m venv $(OLDEST_CORE)
	$(OLDEST_CORE)/bin/python tests/oldest.py > $(OLDEST_CORE)/constraints.txt
	$(OLDEST_CORE)/bin/python tests/oldest.py core > $(OLDEST_CORE)/requirements.txt
	$(OLDEST_CORE)/bin/python -m pip install --quiet --constraint $(OLDEST_CORE)/constraints.txt \
		--requirement $(OLDEST_CORE)/requirements.txt pandas mpmath pytest pytest-xdist hypothesis
	@touch $@

# The compiled loops are those that were built for $(VENV).
test-oldest-core: $(OLDEST_CORE)/.installed $(VENV)/.installed ## run the core's tests with the oldest supported versions
	PYTHONPATH=$(CURDIR)/src $(OLDEST_CORE)/bin/python -m pytest --numprocesses auto $(CORE:%=tests/test_%.py) --deselect $(LONGEST)

fuzz: $(VENV)/.installed ## up to ten thousand new examples of each test that Hypothesis drives (SECONDS=60: for each at most)
	$(if $(SECONDS),FUZZ_SECONDS=$(SECONDS)) $(BIN)/python -m pytest -m fuzz --hypothesis-profile nightly -vv --numprocesses auto --dist worksteal $(ARGS)

docs: $(VENV)/.installed ## build the site into docs/_build/html, warnings as errors, and check its links
	$(BIN)/python -m sphinx -b html -q -n -W --keep-going docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html

lint: $(VENV)/.installed ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(BENCH)/.installed: benchmarks/requirements.txt $(SETUP) $(wildcard src/garrote/*.pyx)
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python benchmarks/install.py
	$(BENCH)/bin/python -m pip install --quiet --constraint benchmarks/requirements.txt --editable .
	@touch $@

bench: $(BENCH)/.installed ## time VG and its peers, write results/bench (ARGS=--quick for a short run)
	$(BENCH)/bin/python benchmarks/bench.py $(ARGS)

real: $(VENV)/.installed ## test error on real data beside LassoCV, RidgeCV, ElasticNetCV (some minutes)
	$(BIN)/python -m pip install --quiet --requirement benchmarks/requirements-real.txt
	$(BIN)/python benchmarks/real.py $(ARGS)

paper: $(VENV)/.installed ## regenerate the paper's tables and figures, write results/paper (ARGS=--quick for minutes)
	$(BIN)/garrote paper --all $(ARGS)

kills: $(VENV)/.installed ## kill -9 fit and paper 50 times each, resume, compare every byte (a quarter of an hour)
	$(BIN)/python tests/kill_and_resume.py $(ARGS)

interrupts: $(VENV)/.installed ## how soon every long function returns after SIGINT
	$(BIN)/python tests/interrupts.py $(ARGS)

fuzz-files: $(VENV)/.installed ## 100,000 hostile files of each format: each is read, or refused in one sentence
	$(BIN)/python tests/fuzz_files.py $(ARGS)

search: $(VENV)/.installed ## how often random restarts find a lower F than the path (ARGS=--quick for a short run)
	$(BIN)/python benchmarks/search.py $(ARGS)

calibration: $(VENV)/.installed ## what inclusions and predictive intervals are worth, write results/paper (ARGS=--quick)
	$(BIN)/garrote paper calibration $(ARGS)

$(VENV)/.release: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[release]'
	@touch $@

lock: $(VENV)/.release ## resolve the development environment anew into requirements/dev.lock
	$(BIN)/python tools/lock.py

dev-locked: requirements/dev.lock ## install exactly the lock, hashes checked, into .venv-locked
	rm -rf .venv-locked
	$(PYTHON) -m venv .venv-locked
	.venv-locked/bin/python -m pip install --quiet --require-hashes --requirement requirements/dev.lock
	.venv-locked/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	.venv-locked/bin/python -m pip check

licences: $(VENV)/.installed ## write docs/licences.md; fails if a runtime dependency is under the GPL
	$(BIN)/python tools/licences.py

audit: $(VENV)/.release ## ask for known vulnerabilities of the locked packages, and say how many could be checked
	$(BIN)/python tools/audit.py

release-check: $(VENV)/.release ## build wheel and sdist, install each into empty environments, run the demo
	$(BIN)/python tools/release_check.py

mutation: $(VENV)/.installed ## change the mathematics in one place at a time: how many changes do the tests notice?
	$(BIN)/python -m pip install --quiet mutmut==3.8.0
	$(BIN)/python tools/mutation/run.py $(ARGS)

clean: ## remove the environments and caches
	rm -rf .venv* .mutation docs/_build docs/_generated docs/auto_gallery .mypy_cache .ruff_cache .pytest_cache .hypothesis build src/*.egg-info
