# All commands do their own set-up in .venv; nothing but Python 3.11+ and make is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
DOCS_STAMP := $(VENV)/.ready-docs
SERVE_STAMP := $(VENV)/.ready-serve
PORT ?= 8000

.PHONY: demo test docs bench serve setup clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip -c constraints.txt
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[train,dev,demo]"
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/polyglance demo --out demo

test: $(STAMP)
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

# Without torch, which serving does not need.
$(SERVE_STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[serve,library,demo]"
	touch $(SERVE_STAMP)

# make serve, or make serve DIR=~/Pictures PORT=8080
serve: $(SERVE_STAMP)
	$(BIN)/polyglance serve $(if $(DIR),"$(DIR)",--demo) --port $(PORT)

$(DOCS_STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[docs]"
	touch $(DOCS_STAMP)

docs: $(DOCS_STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Measures speed and writes docs/performance.md: about ten minutes on an idle core.
bench: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/performance.py

clean:
	rm -rf $(VENV) demo site .pytest_cache .mypy_cache .ruff_cache
