# Everything starts from Python 3.11+ alone: the first target that needs .venv makes it from uv.lock.

PYTHON ?= python3
UV_VERSION := >=0.10,<1

BIN := .venv/bin
UV := $(BIN)/uv
# What is installed: the base, with the gateway, with the chat page as well, with everything for tests.
BASE := .venv/.base
GATEWAY := .venv/.gateway
CHAT := .venv/.chat
SYNCED := .venv/.synced
# No test waits for ever: the longest takes a minute of two busy processors.
SHARED_OUT := --dist worksteal --timeout 300
# What decides without I/O: all of it is covered by its own tests, and only there coverage costs its time.
PURE := core ledger compaction memory/documents wire
SESSION := examples/sessions/fix-invoice-rounding.jsonl
# What the gateway of `make run` keeps, also of the agents that are pointed at it; the example is where clients without a key have
# theirs.
KEPT := build/gateway.db
EXAMPLE := --db $(KEPT) --namespace anonymous
# Where `make run` and `make chat` listen.
PORT := 8787
# Serve until Ctrl-C, which is no error of make; $(1) is the target, $(2) how to serve.
serve = trap : INT; $(2) $(BIN)/autocompact serve --port $(PORT); code=$$?; test $$code -eq 130 && exit; \
	echo 'With another port: make $(1) PORT=8788' >&2; exit $$code

export UV_PYTHON_DOWNLOADS := never
export UV_SYSTEM_CERTS := true
export UV_PROJECT_ENVIRONMENT := .venv
# Some containers forbid it; every program that a test starts would compile all of our modules anew.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help run chat test test-long test-real test-frameworks test-adapters test-clients test-clients-newest clients clients-checked browser postgres check bench screenshots picture changelog wheel format docs site lint types layers clean

help:  ## Show the targets
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 16

run: $(BASE)  ## Compact the example session, then run the gateway on http://127.0.0.1:8787 (PORT=8788 takes another port)
	@mkdir -p build
	@$(BIN)/autocompact compact $(SESSION) --window 80k --to 12k --out build/compacted.md
	@echo
	@echo 'In short, from the summary:'
	@sed -n '/^> ## Rules/,/^> ## What was found/p' build/compacted.md | grep -E '^> (##|-)' | grep -v 'What was found' | cut -c3-100 | sed 's/^/  /'
	@echo
	@echo 'What to do next:'
	@echo '  read what the agent would go on with     less build/compacted.md'
	@echo '  see where the window had gone            $(BIN)/autocompact inspect $(SESSION)'
	@echo '  compact a session of your own            $(BIN)/autocompact compact SESSION --preview'
	@echo '  where agents keep their sessions         docs/guides/compact-a-session.md'
	@echo '  chat on a page, in which context is kept make chat'
	@echo
	@$(MAKE) --no-print-directory --silent $(GATEWAY)
	@$(MAKE) --no-print-directory --silent $(KEPT)
	@echo 'A gateway with that session in it, until Ctrl-C; its page says how to point an agent at it:'
	@$(call serve,run,AUTOCOMPACT_CHAT_PAGE=false AUTOCOMPACT_GATEWAY_DB=$(KEPT))

chat: $(CHAT)  ## Show a chat with an example in it on http://127.0.0.1:8787 (PORT=8788 takes another port)
	@mkdir -p build
	@echo 'A chat with an example in it, until Ctrl-C:'
	@$(call serve,chat,AUTOCOMPACT_CHAT_DB=build/chat.db AUTOCOMPACT_CHAT_WORKSPACE=examples AUTOCOMPACT_GATEWAY_DB=:memory:)

# Two at once for what only computes, four on two processors where many wait for a program, a browser or a server.
test: $(SYNCED) browser postgres test-frameworks  ## Run all tests; the pure packages must be covered branch by branch
	$(BIN)/coverage erase
	$(BIN)/pytest -n 2 $(SHARED_OUT) $(PURE:%=tests/%) --cov --cov-report=
	$(BIN)/coverage report --fail-under=100
	$(BIN)/pytest -n 4 $(SHARED_OUT) $(PURE:%=--ignore=tests/%) --ignore=tests/adapters

# In one process: the frameworks take 16 s of a processor to import in each that collects these tests, and three times that
# where nothing of them is compiled yet.
test-frameworks: $(SYNCED)  ## Run each adapter with the release of its framework that is locked
	$(BIN)/pytest --timeout 300 tests/adapters

test-long: $(SYNCED) browser postgres  ## Run all tests with 1,000 examples a property and hundreds of turns (an hour)
	HYPOTHESIS_PROFILE=long $(BIN)/pytest -n 2 --dist worksteal

# The shell is Chromium without its own windows, which take as much of a processor as a page; either will do.
browser:  ## Install Chromium's headless shell, for the tests of the page, where it is missing (Debian, as root)
	@command -v chromium-headless-shell >/dev/null \
		|| { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium-headless-shell; } >/dev/null 2>&1 \
		|| command -v chromium >/dev/null \
		|| { echo 'the tests of the page need chromium-headless-shell or chromium on the PATH: install it, then run this again' >&2; exit 1; }

# The package would make a cluster and start it: the tests make their own.
postgres:  ## Install PostgreSQL and PgBouncer, for the tests of the store on a server, where they are missing (Debian, as root)
	@{ command -v initdb || ls -d /usr/lib/postgresql/*/bin; } >/dev/null 2>&1 && { command -v pgbouncer || ls /usr/sbin/pgbouncer; } >/dev/null 2>&1 \
		|| { apt-get update -qq && mkdir -p /etc/postgresql-common && { grep -qs '^create_main_cluster' /etc/postgresql-common/createcluster.conf \
		|| echo 'create_main_cluster = false' >>/etc/postgresql-common/createcluster.conf; } \
		&& DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o Dpkg::Options::=--force-confold postgresql pgbouncer >/dev/null; } \
		|| { echo 'the tests of the store on PostgreSQL need initdb and pgbouncer: install them (without root: the folder pgserver/pginstall/bin of the wheel pgserver on the path), then run this again' >&2; exit 1; }

test-real: $(SYNCED)  ## Run the gateway before a real model server; compiles llama.cpp the first time
	$(BIN)/python tools/real_server.py

test-adapters: $(SYNCED)  ## Run each adapter with the lowest release of its framework; installs them the first time
	$(BIN)/python tools/adapters.py

test-clients: $(SYNCED)  ## Run real agents and SDKs through the gateway; installs them the first time
	$(BIN)/python tools/real_clients.py

test-clients-newest: $(SYNCED)  ## The same with the newest releases of all of them
	$(BIN)/python tools/real_clients.py --newest

# Two at once, since many tests wait for a program or a network; the longest first, so that nothing runs alone in the end.
check: $(SYNCED) browser postgres  ## The gate: format, lint, types, layers, tests, adapters, real clients
	$(MAKE) --no-print-directory --jobs 2 test lint layers types test-adapters clients-checked

clients-checked: clients
	$(BIN)/python tools/real_clients.py --no-table

clients: $(SYNCED)  ## Install the agents and SDKs of test-clients
	$(BIN)/python tools/real_clients.py --install

bench: $(SYNCED)  ## Measure speed, memory and retention
	$(BIN)/python -m benchmarks

screenshots: $(SYNCED) browser  ## Take the pictures of the chat page for the documents
	$(BIN)/python -m tools.documents.make_screenshots

picture: $(SYNCED)  ## Record the moving picture of the README from the program
	$(BIN)/python -m tools.documents.recording

changelog: $(SYNCED)  ## Show what is new; with VERSION=1.2.3, write it into CHANGELOG.md for that release
	$(BIN)/towncrier build $(if $(VERSION),--yes --version $(VERSION),--draft --version unreleased)

wheel: $(SYNCED)  ## Build wheel, archive and bill of materials in dist, the same for the same commit; with KEY=~/.ssh/id_ed25519, sign them
	rm -rf dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/hatchling build --directory $(CURDIR)/dist
	$(UV) export --quiet --frozen --no-default-groups --all-extras --preview-features sbom-export --format cyclonedx1.5 --output-file dist/sbom.cdx.json >/dev/null
	$(BIN)/python tools/katex.py dist/sbom.cdx.json
	cd dist && sha256sum *.whl *.tar.gz sbom.cdx.json >SHA256SUMS
	$(if $(KEY),ssh-keygen -q -Y sign -n autocompact-release -f $(KEY) dist/SHA256SUMS)

format: $(SYNCED)  ## Format the code and mend what the linter can mend
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

docs: $(SYNCED)  ## Write anew what documents take from the program (help, API, settings, example output)
	$(BIN)/python tools/documents/generate_reference.py
	$(BIN)/python tools/documents/generate_engine_reference.py
	$(BIN)/python tools/documents/gallery.py
	$(BIN)/python tools/documents/api_reference.py
	$(BIN)/python tools/documents/licences.py

site: $(SYNCED)  ## Build the documentation site in build/site, without the network
	$(BIN)/zensical build --clean --strict

lint: $(SYNCED)  ## Check format and style
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(SYNCED)  ## Check types
	$(BIN)/basedpyright

layers: $(SYNCED)  ## Check who may import whom
	$(BIN)/lint-imports

# The databases in build/ hold conversations of the agents that were pointed at `make run`: they are nobody's to make again.
clean:  ## Remove the environment and everything generated; kept conversations (build/*.db) stay
	rm -rf .venv dist .coverage .coverage.* .hypothesis .import_linter_cache .pytest_cache .ruff_cache
	test ! -d build || find build -mindepth 1 -maxdepth 1 ! -name '*.db' ! -name '*.db[-.]*' -exec rm -rf {} +
	test ! -d build || rmdir build 2>/dev/null || true

$(UV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo 'autocompact needs Python 3.11 or newer: make PYTHON=/path/to/python3 ...' >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv$(UV_VERSION)'

# --inexact leaves in the environment what one of the others installed, and uv and pip, which the lock does not name.
SYNC := $(UV) sync --quiet --frozen --inexact --python $(BIN)/python

$(BASE): pyproject.toml uv.lock | $(UV)
	@echo 'Installing autocompact into .venv: 28 packages, 43 MB, some 10 seconds'
	@$(SYNC) --no-default-groups
	@touch $@

$(KEPT):
	@{ $(BIN)/autocompact import $(SESSION) $(EXAMPLE) && $(BIN)/autocompact compact $(notdir $(SESSION:.jsonl=)) $(EXAMPLE) --window 80k; } \
		>build/gateway.log 2>&1 || { cat build/gateway.log >&2; rm -f $(KEPT) $(KEPT)-wal $(KEPT)-shm; exit 2; }

# What their packages name as dependencies, and a gateway and a page for one person never import: a faster event loop (asyncio
# does), reloading of changed code, configurations in YAML, reStructuredText. 21 MB; who installs the extras has them all.
UNUSED := uvloop watchfiles pyyaml docutils

$(GATEWAY): pyproject.toml uv.lock | $(UV)
	@echo 'Installing the gateway into .venv: 6 packages more, 4 MB, some 3 seconds'
	@$(SYNC) --no-default-groups --extra gateway $(UNUSED:%=--no-install-package %)
	@touch $@

$(CHAT): pyproject.toml uv.lock | $(UV)
	@echo 'Installing the chat page and the gateway into .venv: 64 packages with the base, 95 MB, some 10 seconds'
	@$(SYNC) --no-default-groups --extra chat --extra gateway $(UNUSED:%=--no-install-package %)
	@touch $@ $(BASE) $(GATEWAY)

$(SYNCED): pyproject.toml uv.lock | $(UV)
	@echo 'Installing everything that the tests need into .venv: a minute or two'
	@$(SYNC) --all-groups --all-extras --no-extra strands --no-extra openhands
	@touch $@ $(BASE) $(GATEWAY) $(CHAT)
