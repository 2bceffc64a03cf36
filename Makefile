# Start with `make run` or `make test`. `make help` lists all targets.
PYTHON ?= python3
PORT ?= 8000
VENV := .venv
BIN := $(VENV)/bin
# Python compiles what it imports. Compiling all of every package takes longer than installing it.
PIP_INSTALL := -m pip --disable-pip-version-check install --quiet --no-compile
PIP := $(BIN)/python $(PIP_INSTALL)
# Tests sync thousands of small files, so they use /dev/shm if it has 8 GB free.
IN_MEMORY := $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 8 * 1024 * 1024 {print "TMPDIR=/dev/shm"}')
# A third of the time, tests wait for processes and servers, so there are three workers for two cores. Threads of
# linear algebra would only wait for each other.
WORKERS := $(shell cores=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); echo $$((cores + (cores + 1) / 2)))
TESTING := $(IN_MEMORY) PYTEST_XDIST_AUTO_NUM_WORKERS=$(WORKERS) OPENBLAS_NUM_THREADS=1

# Without compiled files, each of the many processes that the tests start would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run install model test thorough check lint types coverage contract corpora sites assistants integrations action browser site tour drill drill-short mutants train-pairs train train-export bench-embedders environments bench-overhead bench-chunking bench-quality bench-fusion bench-languages bench-ranking bench-label-free bench-gaps bench-typing bench-confidence bench-rerank bench-search bench-parsing bench-memory bench-validation bench-hostile bench-verdicts bench-http bench-upload bench-catalog bench-ingest bench-scale bench-page docs-outputs integrations-outputs import-graph lock lock-peers clean

help:  ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: install  ## Install, ingest the documentation, serve it on http://localhost:$(PORT)
	@$(BIN)/surefind ingest docs
	@$(BIN)/surefind serve --port $(PORT)

install: $(VENV)/installed  ## Create .venv with surefind, from the hashed lock files

$(VENV)/python:
	@$(PYTHON) -c 'import sys; sys.exit("surefind needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Use another one: make run PYTHON=python3.12") if sys.version_info < (3, 11) else 0'
	@echo "creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/installed: $(VENV)/python pyproject.toml requirements/base.txt requirements/build.txt
	@echo "installing surefind into $(VENV)"
	@$(PIP) --require-hashes -r requirements/build.txt
	@$(PIP) --require-hashes -r requirements/base.txt
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/dev: $(VENV)/installed requirements/dev.txt
	@echo "installing the development tools"
	@$(PIP) --require-hashes -r requirements/dev.txt
	@touch $@

model: $(VENV)/installed  ## Download and verify the embedding model
	@$(BIN)/surefind model fetch

test: $(VENV)/dev model  ## Run the quick tests; needs no root, browser or server
	@$(TESTING) $(BIN)/pytest -n auto --dist worksteal -m "not thorough" --hypothesis-profile quick

thorough: $(VENV)/dev model  ## Run the quick and the thorough tests, with coverage
	@$(BIN)/coverage erase
	@$(TESTING) $(BIN)/coverage run -m pytest -n auto --dist worksteal
	@$(BIN)/coverage combine --quiet

lint: $(VENV)/dev  ## Check style, formatting and layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports --no-cache

types: $(VENV)/dev  ## Type-check with mypy in strict mode
	@$(BIN)/mypy

coverage:  ## Check the branch coverage of the last test run: core 98 %, overall 95 %
	@$(BIN)/coverage report --fail-under=95
	@$(BIN)/coverage report --fail-under=98 --include='src/surefind/errors.py,src/surefind/model/*,src/surefind/text/*,src/surefind/evaluation/*,src/surefind/services/*,src/surefind/contracts/*'

contract: $(VENV)/dev model  ## Test the stores, on servers named by SUREFIND_TEST_QDRANT_URL and SUREFIND_TEST_DATABASE_URL
	@$(TESTING) $(BIN)/pytest -n auto --dist loadfile tests/contract tests/interfaces/stores

corpora: $(VENV)/dev model  ## Run the tests on real corpora (SUREFIND_DATA, default ../shared/data)
	@$(TESTING) $(BIN)/pytest -n auto --dist loadfile tests/corpora

.venv-sites/installed: $(VENV)/python requirements/sites.txt
	@echo "installing site generators into .venv-sites"
	@$(PYTHON) -m venv .venv-sites
	@.venv-sites/bin/python $(PIP_INSTALL) --require-hashes -r requirements/sites.txt
	@touch $@

# Without lifecycle scripts, npm runs no code of the packages. A second attempt continues with its cache.
# Generators from npm, each with its lock file; no lifecycle script of a package runs. `npm install` instead of `npm ci`,
# because it also accepts lock files that lack packages for other platforms, which registries publish later.
NODE_SITES := $(foreach site,docusaurus starlight vitepress,.venv-sites/$(site)/installed)
.venv-sites/%/installed: .venv-sites/installed requirements/%/package.json requirements/%/package-lock.json
	@echo "installing $* into .venv-sites"
	@mkdir -p .venv-sites/$*
	@cp requirements/$*/package.json requirements/$*/package-lock.json .venv-sites/$*
	@cd .venv-sites/$* && export PATH="$(CURDIR)/.venv-sites/bin:$$PATH" && for attempt in 1 2 3; do \
	  npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error --fetch-retries=5 && touch installed && break; done; test -f installed

.venv-website/installed: $(VENV)/python requirements/website.txt
	@echo "installing MkDocs Material into .venv-website"
	@$(PYTHON) -m venv .venv-website
	@.venv-website/bin/python $(PIP_INSTALL) --require-hashes -r requirements/website.txt
	@touch $@

site: .venv-website/installed  ## Build the documentation site in build/site; SEARCH=ADDRESS of a surefind server for its search box
	@NO_MKDOCS_2_WARNING=1 SUREFIND_SITE_SEARCH=$(SEARCH) .venv-website/bin/mkdocs build --quiet --strict -f website/mkdocs.yml

sites: $(VENV)/dev $(NODE_SITES)  ## Build small sites with MkDocs and others, and compare them with what surefind reads
	@$(TESTING) $(BIN)/pytest -n auto --dist loadfile tests/sites

.venv-assistants/installed: $(VENV)/python requirements/assistants.txt
	@echo "installing MCP clients into .venv-assistants"
	@$(PYTHON) -m venv .venv-assistants
	@.venv-assistants/bin/python $(PIP_INSTALL) --require-hashes -r requirements/assistants.txt
	@touch $@

.venv-assistants/conformance/installed: .venv-assistants/installed requirements/conformance/package.json requirements/conformance/package-lock.json
	@echo "installing the conformance tests of MCP into .venv-assistants"
	@mkdir -p .venv-assistants/conformance
	@cp requirements/conformance/package.json requirements/conformance/package-lock.json .venv-assistants/conformance
	@cd .venv-assistants/conformance && export PATH="$(CURDIR)/.venv-assistants/bin:$$PATH" && for attempt in 1 2 3; do \
	  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error --fetch-retries=5 && touch installed && break; done; test -f installed

assistants: $(VENV)/dev model .venv-assistants/conformance/installed  ## Run the conformance tests of MCP, and clients of other projects
	@$(TESTING) $(BIN)/pytest -n auto --dist loadfile tests/assistants

# On top of .venv: only what is not there yet is installed.
.venv-integrations/installed: $(VENV)/dev requirements/integrations.txt
	@echo "installing LangChain, LlamaIndex and Haystack into .venv-integrations"
	@$(BIN)/python -m venv --without-pip .venv-integrations
	@$(BIN)/python -c 'import sysconfig; print("import site; site.addsitedir(%r)" % sysconfig.get_path("purelib"))' \
	  > $$(.venv-integrations/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/development.pth
	@.venv-integrations/bin/python $(PIP_INSTALL) --require-hashes -r requirements/integrations.txt
	@touch $@

integrations: .venv-integrations/installed model  ## Test the integrations with LangChain, LlamaIndex, Haystack and OpenAI's client
	@$(TESTING) .venv-integrations/bin/python -m coverage run --rcfile tests/integrations/coverage.ini -m pytest -p no:asyncio -p no:benchmark -p no:codspeed -p no:recording -p no:socket tests/integrations
	@$(BIN)/coverage combine --quiet --append

ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

.venv-action/bin/actionlint:
	@echo "installing actionlint into .venv-action"
	@GOBIN=$(CURDIR)/.venv-action/bin go install $(ACTIONLINT)

action: $(VENV)/dev model .venv-action/bin/actionlint  ## Test the GitHub Action; needs git and Go
	@$(TESTING) $(BIN)/pytest -n auto --dist worksteal tests/action

browser: $(VENV)/dev model  ## Test the search page in Chromium
	@$(TESTING) $(BIN)/pytest -n auto --dist loadfile tests/browser

tour: $(VENV)/dev model  ## Do what a new user does in the first hour, check every step, take the pictures in docs/images
	@$(IN_MEMORY) PYTHONPATH=tests $(BIN)/python -m tour --pictures docs/images

drill: $(VENV)/dev model  ## Kill, fill, damage and overload surefind for minutes, and count what readers notice
	@$(IN_MEMORY) PYTHONPATH=tests $(BIN)/python -m drill $(if $(SEED),--seed $(SEED)) $(if $(SECONDS),--seconds $(SECONDS)) $(if $(ONLY),--only '$(ONLY)')

drill-short:  ## Run two fixed cycles of each drill
	@$(IN_MEMORY) $(BIN)/pytest -n auto --dist load tests/drill

mutants: $(VENV)/dev model  ## Change random places of a room and count what its tests notice; ROOM=services/search COUNT=40 SEED=1
	@$(IN_MEMORY) $(BIN)/python tests/support/mutation.py src/surefind/$(or $(ROOM),services/search) --tests tests/unit/$(or $(ROOM),services/search) --count $(or $(COUNT),40) --seed $(or $(SEED),1)

ENVIRONMENTS := .venv-integrations/installed .venv-assistants/conformance/installed .venv-action/bin/actionlint \
  .venv-website/installed $(NODE_SITES)
environments: $(ENVIRONMENTS) model  # of all tests; downloading takes longer than unpacking

TOGETHER := @$(MAKE) --no-print-directory $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

check:  ## Run everything that CI runs
	$(TOGETHER) --jobs=3 environments lint types
	@$(MAKE) --no-print-directory thorough
	$(TOGETHER) --jobs=2 integrations sites browser corpora assistants action site
	@$(MAKE) --no-print-directory drill-short coverage  # the drill overloads a server, and needs the machine for itself

TRAINING := build/training
MODEL ?= $(TRAINING)/bge-small-en-v1.5.onnx
TOKENIZER ?= $(HOME)/.cache/surefind/models/bge-small-en-v1.5-int8/tokenizer.json

train-pairs: $(VENV)/dev model  ## Make the pairs that the embedder is tuned on; MODEL=bge-small-en-v1.5 as fp32 ONNX
	@$(BIN)/python -m training.trees $(TRAINING)/trees
	@$(BIN)/python -m training.pairs $(TRAINING)/trees $(TRAINING)/pairs --tokenizer $(TOKENIZER)
	@$(BIN)/python -m training.packing $(TRAINING)/pairs $(TRAINING)/folder --tokenizer $(TOKENIZER) --model $(MODEL)

train:  ## Tune the embedder on one GPU, with the PyTorch of PYTHON, in four minutes
	@$(PYTHON) -m training.train --data $(TRAINING)/folder --out $(TRAINING)/results

train-export: $(VENV)/dev  ## Make the model; SHARE=0.6 of the changes of SETTING=blocks
	@$(BIN)/python -m training.export $(MODEL) $(TRAINING)/model --tokenizer $(TOKENIZER) --results $(TRAINING)/results \
	  --settings $(or $(SETTING),blocks) --share $(or $(SHARE),0.6)

bench-embedders: $(VENV)/dev model  ## Tuned embedding models beside the default one; MODELS='NAME=FOLDER …'
	@$(BIN)/python -m bench.quality.embedders $(MODELS)

bench-overhead: $(VENV)/dev model  ## Overhead of surefind over its bare components
	@$(BIN)/python -m bench.speed.overhead

bench-chunking: $(VENV)/dev model  ## Chunking strategies and sizes, on labelled questions
	@$(BIN)/python -m bench.quality.chunking

# Each benchmarked tool has its own environment; tools with compatible dependencies share one.
.venv-peers/%/installed: bench/peers/%.txt
	@echo "installing $* into .venv-peers"
	@$(PYTHON) -m venv .venv-peers/$*
	@.venv-peers/$*/bin/python -m pip --disable-pip-version-check install --quiet -r bench/peers/$*.txt
	@touch $@

PAGE_PEERS := $(foreach peer,chroma lancedb txtai llamaindex haystack,.venv-peers/$(peer)/installed)
PEERS := .venv-peers/engines/installed $(PAGE_PEERS)

bench-search: $(VENV)/dev model $(PEERS)  ## Search against bare engine calls, Chroma, LanceDB and others
	@$(BIN)/python -m bench.speed.engine_calls $(if $(QUICK),--sizes 1000 --questions 100)
	@$(BIN)/python -m bench.speed.search $(if $(QUICK),--quick)

bench-ingest: $(VENV)/dev model $(PAGE_PEERS)  ## Ingest of a folder of Markdown against other tools, with the same embedder
	@$(BIN)/python -m bench.speed.ingest $(if $(QUICK),--quick)

bench-quality: $(VENV)/dev model .venv-peers/parsing/installed $(PAGE_PEERS)  ## Quality on judged questions, against single components and other tools
	@$(BIN)/python -m bench.quality.judged $(if $(QUICK),--quick)

bench-languages: $(VENV)/dev  ## Keyword search by language, beside English analysis, on small manuals in 15 languages
	@PYTHONPATH=tests $(BIN)/python -m bench.quality.languages

bench-fusion: $(VENV)/dev model  ## Quality of hybrid search by candidates per leg, on judged questions
	@$(BIN)/python -m bench.quality.fusion

bench-conversations: $(VENV)/dev model  ## Follow-up questions with and without the conversation before them
	@$(BIN)/python -m bench.quality.conversations $(if $(QUICK),--questions 50)

bench-rerank: $(VENV)/dev model  ## Quality and latency of a reranker, MODEL=FOLDER_OR_ID, beside searches without it
	@$(BIN)/python -m bench.quality.reranking $(if $(MODEL),--model $(MODEL)) $(if $(QUICK),--questions 50)

bench-ranking: $(VENV)/dev model  ## Rankings of pages and passages on all sets, by mechanism and parameters
	@$(BIN)/python -m bench.quality.ranking

bench-confidence: $(VENV)/dev model  ## Confidence for answerable questions and others, with and without the words
	@$(BIN)/python -m bench.quality.confidence

bench-typing: $(VENV)/dev model  ## Questions with typing mistakes and half-typed words, with and without corrections
	@$(BIN)/python -m bench.quality.typing_mistakes

bench-label-free: $(VENV)/dev model  ## Validity of tests without labels, and the time to make them
	@$(BIN)/python -m bench.quality.label_free

bench-gaps: $(VENV)/dev model  ## Gaps found in a query log after pages are deleted: precision and recall
	@$(BIN)/python -m bench.quality.gaps

bench-scale: $(VENV)/dev model  ## Building and searching as a collection grows, with and without quantization
	@$(BIN)/python -m bench.speed.scale $(if $(QUICK),--quick)

bench-page: $(VENV)/dev  ## Write docs/how-fast-how-good.md from the results
	@$(BIN)/python -m bench.support.page

docs-outputs: $(VENV)/dev model  ## Run the examples in README.md and docs/, and rewrite the outputs that changed
	@$(IN_MEMORY) PYTHONPATH=tests $(BIN)/python -m documentation $(PAGES)

integrations-outputs: .venv-integrations/installed model  ## Do the same for docs/integrations.md
	@$(IN_MEMORY) PYTHONPATH=tests HAYSTACK_TELEMETRY_ENABLED=False .venv-integrations/bin/python -m documentation docs/integrations.md

import-graph: $(VENV)/dev  ## Redraw the import graph in docs/how-it-works.md
	@PYTHONPATH=tests $(BIN)/python tests/support/import_graph.py

bench-parsing: $(VENV)/dev model .venv-peers/parsing/installed  ## Reading and chunking pages, against LangChain and others
	@$(BIN)/python -m bench.parsing.throughput

bench-memory: $(VENV)/dev model  ## Memory of an ingest, for one source and ten times as much
	@PYTHONPATH=tests $(BIN)/python -m bench.speed.memory

HTTP_PEERS := $(foreach peer,chroma txtai haystack,.venv-peers/$(peer)/installed)

bench-verdicts: $(VENV)/dev  ## How often comparisons detect planted changes, and whether their bounds hold
	@PYTHONPATH=tests $(BIN)/python tests/support/planted_changes.py

bench-http: $(VENV)/dev model $(HTTP_PEERS)  ## The server under load, against the library and other servers
	@$(BIN)/python -m bench.server.load_test $(if $(QUICK),--chunks 1000 --rounds 1 --seconds 2 --saturation 5)
	@$(BIN)/python -m bench.server.several_workers $(if $(QUICK),--chunks 1000 --rounds 1 --seconds 2)
	@$(BIN)/python -m bench.server.tool_calls $(if $(QUICK),--chunks 1000 --turns 3)
	@$(BIN)/python -m bench.server.peers $(if $(QUICK),--quick)

bench-upload: $(VENV)/dev  ## Bulk upload to a Qdrant server, against a bare client
	@PYTHONPATH=tests $(BIN)/python -m bench.speed.upload

bench-catalog: $(VENV)/dev model  ## The metadata join in PostgreSQL: its share of a search, and its growth
	@PYTHONPATH=tests $(BIN)/python -m bench.speed.catalog

bench-validation: $(VENV)/dev model  ## Validation against the bare embedding of its questions
	@$(BIN)/python -m bench.speed.validation

bench-hostile: $(VENV)/dev  ## Processor time for pages that are designed to be slow, at 1, 2 and 4 times the length
	@$(BIN)/python -m bench.parsing.growth

lock:  ## Update requirements/*.txt from pyproject.toml
	@test -x .venv-lock/bin/uv || ($(PYTHON) -m venv .venv-lock && .venv-lock/bin/pip install --quiet uv)
	@for part in base:pyproject.toml "build:--group build" "production:pyproject.toml --extra cohere --extra docx --extra mcp --extra pdf --extra postgres --extra qdrant -c requirements/base.txt" "dev:--group dev -c requirements/base.txt" "sites:--group sites" "website:--group website -c requirements/sites.txt" "assistants:--group assistants" "integrations:--group integrations -c requirements/base.txt -c requirements/dev.txt"; do \
	  env -u UV_INDEX_URL .venv-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
	    $${part#*:} -o requirements/$${part%%:*}.txt; done

lock-peers:  ## Update bench/peers/*.txt from the *.in files
	@test -x .venv-lock/bin/uv || ($(PYTHON) -m venv .venv-lock && .venv-lock/bin/pip install --quiet uv)
	@for peer in bench/peers/*.in; do \
	  env -u UV_INDEX_URL .venv-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --no-annotate --no-header \
	    $$peer -o $${peer%.in}.txt; done

clean:  ## Remove the environments, the caches and the sample index
	@rm -rf $(VENV) .venv-peers .venv-lock .venv-sites .venv-assistants .venv-integrations .venv-action .venv-website build .surefind .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
