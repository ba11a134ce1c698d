# One command each; `make help` lists them. The recipes take STUDY from the environment and never as text,
# so a name with spaces, quotes or $ reaches the program as it is and cannot become a command.

SHELL = /bin/sh
PY = .venv/bin/python

override STUDY := $(value STUDY)
export STUDY
export PYTHONPATH = workflow

override N := $(value N)
override LAB := $(value LAB)
override SEED := $(value SEED)
override RESULTS := $(value RESULTS)
override FROM := $(value FROM)
override OUT := $(value OUT)
export N LAB SEED RESULTS FROM OUT

.PHONY: help study env test test-slow test-cgroup2 lint images chaos bench selftest publish verify report clean clean-results

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## */\1|/p' Makefile | awk -F'|' '{printf "  make %-14s %s\n", $$1, $$2}'

study: env ## measure, analyse and report; STUDY=smoke takes another study than config/config.yaml names
	@if [ -n "$$STUDY" ]; then exec $$(sh scripts/scope.sh) $(PY) -m snakemake --cores 1 --config "study=$$STUDY"; fi; exec $$(sh scripts/scope.sh) $(PY) -m snakemake --cores 1

env: ## make .venv hold what requirements.lock names; PYTHON=... takes another Python
	@sh scripts/setup.sh

test: env ## all tests but the slow ones
	@$(PY) -m pytest -m "not slow" tests/unit tests/integration tests/workflow tests/report

test-slow: env ## the slow tests
	@$(PY) -m pytest -m slow tests/unit tests/integration tests/workflow tests/report

test-cgroup2: env ## the smoke study on cgroup v2 under systemd, in a small virtual machine; as root
	@PYTHON=$(PY) sh tests/cgroup2/run.sh

lint: env ## style, types, workflow and the generated reference
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy
	@$(PY) -m snakefmt --check Snakefile workflow
	@$(PY) -m snakemake --lint
	@$(PY) scripts/export_reference.py --check

images: env ## build the lab's container images for places without an image registry
	@PYTHON=$(PY) sh scripts/build_images.sh

chaos: env ## break a study off N times (default 30) in random ways; LAB=embedded, docker or both
	@$(PY) tests/chaos/run.py "$${N:-30}" "$${LAB:-embedded}" $${SEED:+"$$SEED"}

bench: env ## how much the instrument itself costs
	@$(PY) tests/bench/run.py

selftest: env ## does the instrument measure what it says, on this machine? half a minute
	@$(PY) scripts/selftest.py

publish: env ## copy report and data package to reports/published/; STUDY=... as above
	@$(PY) scripts/publish.py $${STUDY:+"--study=$$STUDY"} $${RESULTS:+"--results=$$RESULTS"}

verify: env ## check data packages against their checksums; STUDY=..., or FROM=folder
	@$(PY) scripts/verify.py $${STUDY:+"--study=$$STUDY"} $${FROM:+"--from=$$FROM"} $${RESULTS:+"--results=$$RESULTS"}

report: env ## make the report again from a data package, FROM=folder; goes to results/from-<study>/, or OUT=folder
	@$(PY) scripts/report_from.py $${FROM:+"--from=$$FROM"} $${OUT:+"--out=$$OUT"}

clean: env ## remove what a lab left behind on this machine; keeps all results
	@$(PY) scripts/clean.py

clean-results: env ## remove the results of STUDY=..., after asking
	@$(PY) scripts/clean_results.py $${STUDY:+"--study=$$STUDY"} $${RESULTS:+"--results=$$RESULTS"}
