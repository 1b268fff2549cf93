# Bare `make` lists the targets. PYTHON may name the interpreter of another environment.
VENV ?= .venv
PYTHON ?= $(VENV)/bin/python
BIN := $(dir $(PYTHON))

.DEFAULT_GOAL := help
.PHONY: help setup build demo test test-rust test-python test-long lint fmt bench bench-gate ci clean

help: ## List the targets.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(VENV)/.ready: pyproject.toml
	python3 -m venv $(VENV)
	$(BIN)pip install -q --upgrade pip 'maturin>=1.9.4,<2'
	$(BIN)pip install -q --group dev --group bench
	touch $@

setup: $(VENV)/.ready ## Make the environment.

build: setup ## Build the extension (release) and install the package, editable.
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)maturin develop --release --quiet

demo: build ## The main job on real input: remember this machine's Python docs, answer questions.
	$(BIN)agentmem demo $(DEMO)

test: test-rust build test-python ## Every test.

test-rust: ## Tests of the pure crate: no Python needed.
	cargo test --quiet

test-python: ## Tests through Python; needs `make build`.
	$(PYTHON) -m pytest $(PYTEST)

test-long: build ## The long recovery and property suites as well.
	HYPOTHESIS_PROFILE=deep $(PYTHON) -m pytest --long

lint: setup ## Formatting, lints, types, the stub.
	cargo fmt --check
	cargo clippy --quiet --all-targets -- -D warnings
	cargo clippy --quiet --all-targets --features python -- -D warnings
	$(BIN)ruff format --check .
	$(BIN)ruff check .
	$(BIN)mypy
	$(PYTHON) -m mypy.stubtest agentmem._native

fmt: setup ## Format.
	cargo fmt
	$(BIN)ruff format .
	$(BIN)ruff check --fix .

bench: build ## Time everything, beside the peers; the README's table (PYTEST=--large: 100,000 too).
	mkdir -p target/bench
	$(PYTHON) -m pytest benches --benchmark-enable --benchmark-json=target/bench/run.json $(PYTEST)
	$(PYTHON) -m benches.report target/bench/run.json --into README.md

bench-gate: build ## Hold the ratios to the peers and the mission's bounds.
	$(PYTHON) -m pytest benches/bench_gates.py --gate=floor $(PYTEST)

ci: lint test bench-gate ## What .ci/run calls.

clean: ## Remove what was built.
	rm -rf target $(VENV) python/agentmem/_native*.so
