# Everything that is done here, by name. Python 3.11 or newer and make are all that it needs: what else is
# wanted is installed into $(VENV), once.
#
#   make check      the main job: our own routers and py-libp2p, each beside the model
#   make test       the tests
#   make lint       ruff, and mypy on what ships and on the tools
#   make docs       the documentation as a site, in .quidnunc/site; a link that leads nowhere fails
#   make nightly    the long search of our own routers; goes on where it was stopped
#   make regenerate make each generated file that is not current: tables, statements, suite, mutants' cases, figures;
#                   CHECK=1 proves of the cheap ones that nothing changes, PARTS="suite line-cases" makes just these
#   make mutants, suite, edits, results   rebuild just that part, even if it is current
#   make mutation   a sample of mutants of the sources of our routers, made by operators on the syntax tree;
#                   SEED=, COUNT=, MINUTES=, PAIRS=, COMPARE=; goes on where it was stopped
#   make suite-power  how many planted bugs the fixed suite notices
#   make campaign   a campaign of 200 networks and 10,000 property tests on Spark and without, interrupted too; a
#                   cluster of two workers; twenty kills at random, and a hundred faults over two million events
#   make pipeline-bench  ten million trace events through the pipeline on Spark, with planted faults
#   make matrix    py-libp2p, js-libp2p and go-libp2p-pubsub under gossipsub 1.2, side by side; MATRIX_BUDGET= for each
#   make bench      how fast the machine plays, and how much of that is the driver of py-libp2p
#   make fuzz       bytes of strangers against every reader, for MINUTES
#   make memory     whether memory stays flat over half an hour of search
#   make clean      remove what was built, the installation included
#
# Whoever names an interpreter (make test PYTHON=...) has installed the kit there, and nothing is set up.

VENV ?= .venv
SYSTEM_PYTHON ?= python3
RUNS ?= 300
NIGHTLY_RUNS ?= 50000
PY_LIBP2P_RUNS ?= 240
SEED ?= 0
COUNT ?= 100
MINUTES ?= 60
PAIRS ?= 0
COMPARE ?= 10000
MATRIX ?= .quidnunc/matrix
MATRIX_BUDGET ?= 10m
PYTEST_ARGS ?=
# A log keeps every claim; who sits before it reads the summary.
CHECK_ARGS ?= $(if $(CI),--verbose)


ifeq ($(origin PYTHON),command line)
KIT :=
TESTS :=
LINTERS :=
SITE :=
else
PYTHON := $(VENV)/bin/python
KIT := kit py-libp2p
TESTS := kit py-libp2p prove spark $(VENV)/.tests
LINTERS := kit $(VENV)/.linters
SITE := kit $(VENV)/.docs
endif
PIP := $(PYTHON) -m pip --disable-pip-version-check --quiet
QUIDNUNC := $(PYTHON) -m quidnunc

.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: check main test lint docs nightly regenerate mutants suite suite-power edits results mutation campaign pipeline-bench bench matrix memory fuzz clean kit py-libp2p prove spark

check: $(KIT) main

# -- set-up, once -------------------------------------------------------------------------------------------

$(VENV)/bin/python:
	@$(SYSTEM_PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("quidnunc needs Python 3.11 or newer, and $(SYSTEM_PYTHON) is " + sys.version.split()[0] + ": name another with make SYSTEM_PYTHON=...")'
	@echo "making $(VENV)" >&2
	@$(SYSTEM_PYTHON) -m venv $(VENV)

# An editable install, so that a change is seen at once. That the wheel is complete is a test of its own.
$(VENV)/.kit: pyproject.toml | $(VENV)/bin/python
	@echo "installing quidnunc into $(VENV)" >&2
	@$(PIP) install --editable .
	@touch $@

$(VENV)/.tests: pyproject.toml | $(VENV)/bin/python
	@echo "installing what the tests need" >&2
	@$(PIP) install --editable '.[test]'
	@$(PIP) install --editable '.[wire]' >$(VENV)/wire.log 2>&1 \
	  || echo "buf cannot be installed here (see $(VENV)/wire.log): going on without it" >&2
	@touch $@

$(VENV)/.linters: pyproject.toml | $(VENV)/bin/python
	@echo "installing the linters" >&2
	@$(PIP) install --editable '.[test,lint]'
	@touch $@

$(VENV)/.docs: pyproject.toml | $(VENV)/bin/python
	@echo "installing what makes the site" >&2
	@$(PIP) install --editable '.[docs]'
	@touch $@

kit: $(VENV)/.kit

# No stamp is left where it failed, so that the next make tries again.
py-libp2p: kit
	@test $(VENV)/.py-libp2p -nt pyproject.toml || { \
	  echo "installing py-libp2p into $(VENV)" >&2; \
	  if $(PIP) install --editable '.[py-libp2p]' >$(VENV)/py-libp2p.log 2>&1; \
	  then touch $(VENV)/.py-libp2p; \
	  else echo "py-libp2p cannot be built here (it needs gcc and libgmp-dev; see $(VENV)/py-libp2p.log): going on without it" >&2; \
	  fi; }

prove: kit
	@test $(VENV)/.prove -nt pyproject.toml || { \
	  echo "installing what explore and prove need into $(VENV)" >&2; \
	  if $(PIP) install --editable '.[prove]' >$(VENV)/prove.log 2>&1; \
	  then touch $(VENV)/.prove; \
	  else echo "z3 or numba cannot be installed here (see $(VENV)/prove.log): going on without them" >&2; \
	  fi; }

spark: kit
	@test $(VENV)/.spark -nt pyproject.toml || { \
	  echo "installing what the pipeline needs into $(VENV); it also needs Java 17" >&2; \
	  if $(PIP) install --editable '.[spark]' >$(VENV)/spark.log 2>&1; \
	  then touch $(VENV)/.spark; \
	  else echo "pyspark cannot be installed here (see $(VENV)/spark.log): going on without it" >&2; \
	  fi; }

# -- the main job -------------------------------------------------------------------------------------------

# Exit status 3 says that some claim never applied in a search of this length; the report names it.
SEARCH = sh -c '"$$@" || test $$? -eq 3' search $(QUIDNUNC) check
EXPECTED := counterexamples/routers/py-libp2p/expect.toml

main:
	@$(SEARCH) gossipsub-1.2 --against ours --suite $(CHECK_ARGS)
	@echo
	@$(SEARCH) gossipsub-1.2 --against ours --runs $(RUNS) --seed $(SEED) $(CHECK_ARGS)
	@echo
	@$(SEARCH) dog --against ours --suite $(CHECK_ARGS)
	@echo
	@$(SEARCH) dog --against ours --runs $(RUNS) --seed $(SEED) $(CHECK_ARGS)
	@echo
	@if $(PYTHON) -c 'import libp2p' >/dev/null 2>&1; then \
	  $(QUIDNUNC) check gossipsub-1.2 --against py-libp2p --profile spec --runs $(PY_LIBP2P_RUNS) --seed $(SEED) --expect $(EXPECTED) $(CHECK_ARGS); \
	else \
	  echo "SKIPPED: gossipsub-1.2 against py-libp2p, which is not installed (it needs gcc and libgmp-dev)"; \
	fi

# On all cores; a test is one core's.
test: $(TESTS)
	@$(PYTHON) -m pytest --numprocesses auto --dist worksteal $(PYTEST_ARGS)

# mypy does not see an editable install, so what would ship is laid out for it, and the tools are found from here.
lint: $(LINTERS)
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m ruff format --check .
	@rm -rf build $(VENV)/shipped
	@$(PIP) install --no-deps --target $(VENV)/shipped .
	@rm -rf build
	@cd $(VENV)/shipped && MYPYPATH=.:$(CURDIR) $(abspath $(PYTHON)) -m mypy --config-file $(CURDIR)/pyproject.toml -p quidnunc -p tools

docs: $(SITE)
	@NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --quiet --strict
	@echo "open .quidnunc/site/index.html"

# -- long campaigns -----------------------------------------------------------------------------------------

# What the journal has of this state of the code is not searched again.
nightly: $(KIT)
	@$(PYTHON) -m tools.nightly --runs $(NIGHTLY_RUNS) --seed $(SEED)

regenerate: $(KIT)
	@$(PYTHON) .ci/regenerate.py $(if $(CHECK),--check) $(PARTS)

mutants: PARTS = mutant-cases mutant-table
suite: PARTS = suite
edits: PARTS = single-edits
results: PARTS = first-networks-campaign first-networks
mutants suite edits results: regenerate

# A mutant whose sources and searches the journal has is not run again. The figures are of the seed that is given.
mutation: $(KIT)
	@$(PYTHON) -m tools.source_mutants --seed $(SEED) --count $(COUNT) --minutes $(MINUTES) --pairs $(PAIRS) \
	  --compare $(COMPARE) --table docs/mutation.md

suite-power: $(KIT)
	@$(PYTHON) -m tools.suite_power

campaign: $(TESTS)
	@QUIDNUNC_NIGHTLY=1 $(PYTHON) -m pytest -n0 --durations=0 -rA tests/pipeline/lake/test_spark_cluster.py \
	  tests/pipeline/lake/test_ingest_kills.py tests/pipeline/lake/test_ingest_faults.py \
	  tests/pipeline/sweep/test_file.py

pipeline-bench: $(TESTS)
	@$(PYTHON) bench/pipeline.py

bench: $(KIT)
	@$(PYTHON) bench/steps.py
	@$(PYTHON) bench/driver.py --against py-libp2p

matrix: $(KIT)
	@$(QUIDNUNC) routers build js-libp2p go-libp2p-pubsub
	@$(QUIDNUNC) matrix gossipsub-1.2 --against py-libp2p --against js-libp2p --against go-libp2p-pubsub \
		--budget $(MATRIX_BUDGET) -o $(MATRIX)

memory: $(KIT)
	@$(PYTHON) bench/memory.py --budget 30m

fuzz: $(TESTS)
	@QUIDNUNC_FUZZ_MINUTES=$(MINUTES) $(PYTHON) -m pytest -n0 tests/test_hostile_bytes.py

clean:
	rm -rf $(VENV) build dist quidnunc.egg-info .quidnunc .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
