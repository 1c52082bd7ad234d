# Two commands do everything: `make serve` and `make test`. Both set up what they need first.
PORT ?= 8000

.PHONY: help setup serve test check bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "%-8s%s\n", $$1, $$2 }' Makefile

setup: ## make .venv and install what the site needs
	@scripts/setup

serve: ## serve the site with its content at http://127.0.0.1:8000 (PORT= changes the port)
	@scripts/setup
	@.venv/bin/python build.py serve --port $(PORT)

test: ## set up with a browser, then run every check and test
	@scripts/setup test
	@scripts/test

check: ## lint, types, and the content
	@scripts/setup test
	@scripts/lint
	@.venv/bin/python build.py check

bench: ## measure, and print ratios
	@scripts/setup test
	@.venv/bin/python -m benchmarks

clean: ## remove what the other targets made
	@echo "clean: removing .venv, dist and caches"
	@rm -rf .venv dist .coverage .hypothesis .mypy_cache .ruff_cache .pytest_cache site_builder.egg-info
