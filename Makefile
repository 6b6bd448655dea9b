# What can be done here. Each target sets up what it needs (once) and says what it does; see CONTRIBUTING.md.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo test test-fast setup lint types extension vsix site pictures unit workbench training keras3 pythons programs bench corpus trials fuzz soak format clean

help: ## this list
	@grep -hE '^[a-z ]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z ]+):.*## /  make \1|/' | column -t -s '|'

demo: ## show what Horovodize does, on examples/ (no TensorFlow needed)
	@scripts/demo.sh

test: ## everything: lint, types, extension, unit tests, a real workbench, training under real Horovod with Keras 2 and 3
	@scripts/test.sh

test-fast: ## while at work: lint, types, most unit tests, a program of each kind, two stories in a workbench (some five minutes)
	@scripts/test.sh lint types quick_unit one_of_each two_stories

setup: ## .venv with all that developing needs
	@scripts/setup.sh dev

lint types extension unit workbench training keras3: ## one part of `make test`
	@scripts/test.sh $@

programs: ## every program of tests/programs trained, with Keras 2 and 3, before a release: make test trains a third of them
	@HOROVODIZE_TRAIN_ALL=1 scripts/test.sh training keras3

pythons: ## the wheel in Pythons 3.10, 3.12 and 3.13 (those of Pyodide, from npm)
	@scripts/pythons.sh

vsix: ## build/horovodize.vsix: the extension for Visual Studio Code, with the server in it
	@scripts/vsix.sh

site: ## build/site: the documentation, and a page that runs the engine in the browser
	@scripts/site.sh

pictures: ## docs/pictures, taken of the product as it is
	@scripts/pictures.sh

bench: ## how long things take, beside other language servers: make bench ARGS='--repetitions 40 server'
	@scripts/setup.sh dev
	@scripts/peers.sh
	@scripts/horovod.sh
	@.venv/bin/python -m tests.bench $(ARGS)

corpus: ## what becomes of the scripts of a folder: make corpus DIR=path/to/code
	@test -n "$(DIR)" || { echo "usage: make corpus DIR=path/to/code [ARGS='--json out.json']" >&2; exit 2; }
	@scripts/setup.sh dev
	@.venv/bin/python scripts/corpus.py $(ARGS) -- $(DIR)

trials: ## public scripts trained alone and on 1, 2 and 4 ranks, compared: make trials DIR=mirror [LIST=scripts.toml]
	@test -n "$(DIR)" || { echo "usage: make trials DIR=mirror [LIST=scripts.toml] [ARGS='--only NAME']" >&2; exit 2; }
	@scripts/setup.sh dev
	@scripts/horovod.sh
	@$(if $(findstring keras_3,$(LIST)),scripts/horovod.sh 2.21.0)
	@HOROVODIZE_TF_PYTHON=$(CURDIR)/.venv-horovod/bin/python HOROVODIZE_KERAS3_PYTHON=$(CURDIR)/.venv-horovod-2.21.0/bin/python nice .venv/bin/python -m tests.trials $(DIR) \
		$(if $(LIST),--list $(LIST)) $(ARGS)

fuzz: ## try to break it with new cases, many times as many as the tests do (TIMES=100)
	@scripts/setup.sh dev
	@scripts/fuzz.sh $(TIMES)

soak: ## a server through 100,000 changes (CHANGES=100000), and how its memory goes
	@scripts/setup.sh dev
	@nice .venv/bin/python -m tests.robustness.soak $(CHANGES)

format: ## put the code into its form, and write the pages of rules and findings from their docstrings
	@scripts/setup.sh dev
	@.venv/bin/ruff check --fix-only .
	@.venv/bin/ruff format .
	@.venv/bin/python scripts/pages.py

clean: ## remove what make made (not the Horovod wheel in the cache)
	rm -rf .venv .venv-horovod .venv-horovod-2.* .venv-site node_modules build .pytest_cache .mypy_cache .ruff_cache
