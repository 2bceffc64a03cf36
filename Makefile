# Two commands do all the set-up: `make run` and `make test`. `make help` lists the rest.
PYTHON ?= python3
PORT ?= 8000
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
# Tests write and sync thousands of small files: in memory, where there is plenty of it.
IN_MEMORY := $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 8 * 1024 * 1024 {print "TMPDIR=/dev/shm"}')

.DEFAULT_GOAL := help
.PHONY: help run install model test check lint types coverage corpora browser drill drill-short bench-overhead bench-chunking bench-quality bench-fusion bench-search bench-parsing bench-memory bench-validation bench-hostile bench-verdicts bench-http bench-upload bench-catalog bench-ingest bench-scale bench-page lock lock-peers clean

help:  ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: install  ## Install, ingest the sample documentation, serve API and page on http://localhost:$(PORT)
	@$(BIN)/surefind ingest docs
	@$(BIN)/surefind serve --port $(PORT)

install: $(VENV)/installed  ## Create .venv with surefind, from the hashed lock files

$(VENV)/python:
	@$(PYTHON) -c 'import sys; sys.exit("surefind needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Name another one: make run PYTHON=python3.12") if sys.version_info < (3, 11) else 0'
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
	@echo "installing the developers' tools"
	@$(PIP) --require-hashes -r requirements/dev.txt
	@touch $@

model: $(VENV)/installed  ## Fetch and verify the embedding model
	@$(BIN)/surefind model fetch

test: $(VENV)/dev model  ## Run the test suite: no root, no browser, no server needed
	@$(BIN)/coverage erase
	@$(IN_MEMORY) $(BIN)/coverage run -m pytest -n auto --dist loadfile --no-loadscope-reorder
	@$(BIN)/coverage combine --quiet

lint: $(VENV)/dev  ## Lint, formatting and architecture
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports --no-cache

types: $(VENV)/dev  ## Type-check everything, strictly
	@$(BIN)/mypy

coverage:  ## Branch coverage of the last test run: the core 98 %, all 95 %
	@$(BIN)/coverage report --fail-under=95
	@$(BIN)/coverage report --fail-under=98 --include='src/surefind/errors.py,src/surefind/model/*,src/surefind/text/*,src/surefind/evaluation/*,src/surefind/services/*,src/surefind/contracts/*'

corpora: $(VENV)/dev model  ## Tests on the real corpora (SUREFIND_DATA, default ../shared/data)
	@$(IN_MEMORY) $(BIN)/pytest -n auto --dist loadfile tests/corpora

browser: $(VENV)/dev model  ## Tests of the page in a real Chromium
	@$(IN_MEMORY) $(BIN)/pytest -n auto --dist loadfile tests/browser

drill: $(VENV)/dev model  ## Kill, fill, damage and overload surefind for minutes; count what readers notice
	@$(IN_MEMORY) PYTHONPATH=tests $(BIN)/python -m drill $(if $(SEED),--seed $(SEED)) $(if $(SECONDS),--seconds $(SECONDS)) $(if $(ONLY),--only '$(ONLY)')

drill-short:  ## Two cycles of each mishap of `make drill`, always the same
	@$(IN_MEMORY) $(BIN)/pytest -n auto --dist load tests/drill

check: lint types test coverage corpora browser drill-short  ## Everything CI runs

bench-overhead: $(VENV)/dev model  ## What surefind adds on top of its bare parts
	@$(BIN)/python bench/overhead.py

bench-chunking: $(VENV)/dev model  ## Strategies and sizes of chunks, on labelled questions
	@$(BIN)/python bench/chunking.py

# Each peer of the benchmarks, or each few that agree, in an environment of its own.
.venv-peers/%/installed: bench/peers/%.txt
	@echo "installing $* into .venv-peers"
	@$(PYTHON) -m venv .venv-peers/$*
	@.venv-peers/$*/bin/python -m pip --disable-pip-version-check install --quiet -r bench/peers/$*.txt
	@touch $@

PAGE_PEERS := $(foreach peer,chroma lancedb txtai llamaindex haystack,.venv-peers/$(peer)/installed)
PEERS := .venv-peers/engines/installed $(PAGE_PEERS)

bench-search: $(VENV)/dev model $(PEERS)  ## Search beside the bare engine calls, then beside Chroma, LanceDB and others
	@$(BIN)/python bench/engine_calls.py $(if $(QUICK),--sizes 1000 --questions 100)
	@$(BIN)/python bench/search.py $(if $(QUICK),--quick)

bench-ingest: $(VENV)/dev model $(PAGE_PEERS)  ## A folder of Markdown made searchable, beside others, with the same embedder
	@$(BIN)/python bench/ingest.py $(if $(QUICK),--quick)

bench-quality: $(VENV)/dev model .venv-peers/parsing/installed $(PAGE_PEERS)  ## The answers to judged questions, beside its parts alone and beside others
	@$(BIN)/python bench/quality.py $(if $(QUICK),--quick)

bench-fusion: $(VENV)/dev model  ## Hybrid search by how deep each leg is asked, on judged questions
	@$(BIN)/python bench/fusion.py

bench-scale: $(VENV)/dev model  ## Building and searching as a collection grows, with and without quantization
	@$(BIN)/python bench/scale.py $(if $(QUICK),--quick)

bench-page: $(VENV)/dev  ## Write docs/how-fast-how-good.md from the results
	@$(BIN)/python bench/page.py

bench-parsing: $(VENV)/dev model .venv-peers/parsing/installed  ## Reading and chunking pages, beside LangChain and others
	@$(BIN)/python bench/parsing.py

bench-memory: $(VENV)/dev model  ## Memory of an ingest, for a source and ten times as much
	@$(BIN)/python bench/memory.py

HTTP_PEERS := $(foreach peer,chroma txtai haystack,.venv-peers/$(peer)/installed)

bench-verdicts: $(VENV)/dev  ## What a comparison says of changes of known size, and whether its bounds hold
	@PYTHONPATH=tests $(BIN)/python tests/support/planted_changes.py

bench-http: $(VENV)/dev model $(HTTP_PEERS)  ## The service under load, beside the library, then beside other servers
	@$(BIN)/python bench/service.py $(if $(QUICK),--chunks 1000 --rounds 1 --seconds 2 --saturation 5)
	@$(BIN)/python bench/peers_http.py $(if $(QUICK),--quick)

bench-upload: $(VENV)/dev  ## Bulk upload into a Qdrant server, beside a bare client
	@$(BIN)/python bench/upload.py

bench-catalog: $(VENV)/dev model  ## The metadata join of a catalog in PostgreSQL: its share of a search, and its growth
	@$(BIN)/python bench/catalog.py

bench-validation: $(VENV)/dev model  ## A validation beside the embedding that it can't do without
	@$(BIN)/python bench/validation.py

bench-hostile: $(VENV)/dev  ## Processor time of pages made to be slow, for one, two and four times the length
	@$(BIN)/python bench/hostile.py

lock:  ## Recompile requirements/*.txt from pyproject.toml
	@test -x .venv-lock/bin/uv || ($(PYTHON) -m venv .venv-lock && .venv-lock/bin/pip install --quiet uv)
	@for part in base:pyproject.toml "build:--group build" "production:pyproject.toml --extra cohere --extra postgres --extra qdrant -c requirements/base.txt" "dev:--group dev -c requirements/base.txt"; do \
	  env -u UV_INDEX_URL .venv-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
	    $${part#*:} -o requirements/$${part%%:*}.txt; done

lock-peers:  ## Recompile the benchmarks' bench/peers/*.txt from the *.in beside them
	@test -x .venv-lock/bin/uv || ($(PYTHON) -m venv .venv-lock && .venv-lock/bin/pip install --quiet uv)
	@for peer in bench/peers/*.in; do \
	  env -u UV_INDEX_URL .venv-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --no-annotate --no-header \
	    $$peer -o $${peer%.in}.txt; done

clean:  ## Remove the environment, the caches and the sample index
	@rm -rf $(VENV) .venv-peers .venv-lock .surefind .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
