PYTHON ?= python3
VENV   := .venv
READY  := $(VENV)/ready
BIN    := $(VENV)/bin
OUT    ?= results
JOBS   ?= 2

# One thread for each process: on a few busy cores, more threads are slower.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help env reproduce test test-all test-shapes test-portable coverage fuzz mutants lint style format bench docs linkcheck clean

help: ## show these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

env: $(READY) ## build the environment in .venv

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Python 3.11 or later is needed; set PYTHON=...")'
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

reproduce: $(READY) ## run the studies, theory against simulation (quick profile), and write results/report.html
	$(BIN)/sparsetoken reproduce --profile quick --workers 2 --out $(OUT)

# The tests start many processes: compiled Python is kept, also where the user keeps none.
test test-shapes test-portable coverage fuzz mutants: export PYTHONDONTWRITEBYTECODE :=

# Compiled JAX code is kept in .cache, which processes and later runs share.
reproduce test coverage mutants: export JAX_COMPILATION_CACHE_DIR ?= $(CURDIR)/.cache/jax
reproduce test coverage mutants: export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS ?= 0
test: style ## check style, then types beside the tests
	@$(BIN)/mypy > .cache/types 2>&1 & types=$$!; \
	$(SUITE) $(CHOSEN) --durations 10; tests=$$?; \
	wait $$types; checked=$$?; \
	echo "Types:"; cat .cache/types; \
	if [ $$tests -ne 0 ]; then echo "The tests failed."; fi; \
	if [ $$checked -ne 0 ]; then echo "The types are wrong."; fi; \
	[ $$tests -eq 0 ] && [ $$checked -eq 0 ]

CHOSEN := -m "not slow"
test-all: CHOSEN :=
test-all: test ## the same with what is slow: the browser, clusters, trials of stated errors

SUITE := $(BIN)/python -m pytest -n $(JOBS) --dist worksteal -q
SHAPES := sparsetoken.estimators.fitting,sparsetoken.numerics,sparsetoken.losses,sparsetoken.theory,sparsetoken.simulation

test-shapes: $(READY) ## the tests, with the shape annotations of all numerical code executed
	$(SUITE) --jaxtyping-packages=$(SHAPES),shape_checker.checked

coverage: $(READY) ## the share of the lines of src/sparsetoken that the tests of make test run
	@mkdir -p .cache
	$(SUITE) $(CHOSEN) --cov --cov-report=term:skip-covered

# Other kernels of the linear algebra, and older instruction sets: the same results to rounding.
FOUND_FEATURES = $(shell $(BIN)/python -c "import numpy; print(*numpy.show_config('dicts')['SIMD Extensions']['found'])")

test-portable: export JAX_COMPILATION_CACHE_DIR ?= $(CURDIR)/.cache/jax
test-portable: export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS ?= 0
test-portable: $(READY) ## the tests under other linear-algebra kernels and instruction sets
	env -u OPENBLAS_CORETYPE $(SUITE)
	OPENBLAS_CORETYPE=Haswell $(SUITE)
	OPENBLAS_CORETYPE=Nehalem $(SUITE)
	NPY_DISABLE_CPU_FEATURES="$(FOUND_FEATURES)" XLA_FLAGS=--xla_cpu_max_isa=SSE4_2 $(SUITE)

fuzz: export FUZZ_CASES ?= 500
fuzz: $(READY) ## hostile options and files for every command, drawn at random
	$(SUITE) tests/cli/test_fuzz.py

mutants: $(READY) ## each number of tests/mutants.toml, 5% wrong, fails a test; NAMES="capacity joint-minimum" for some
	$(BIN)/python tests/mutants.py $(NAMES)

style: $(READY)
	@mkdir -p .cache
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lint: style ## check style and types
	$(BIN)/mypy

format: $(READY) ## format the source and mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY) ## speed, theory against simulation, bags, real tokens, forecasts and depth; speed in results/bench.json
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/agreement.py
	$(BIN)/python benchmarks/bags.py --sets made model tokens
	$(BIN)/python benchmarks/real_tokens.py --quick
	$(BIN)/python benchmarks/forecasts.py --quick
	$(BIN)/python benchmarks/depth.py --quick

SITE := $(OUT)/site
STATIC_EXPLORER := $(SITE)/explorer/index.html

docs: $(READY) ## build the documentation site (results/site); warnings are errors
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	@$(MAKE) --no-print-directory -j2 pages $(STATIC_EXPLORER)
	@echo "Open $(SITE)/index.html"

.PHONY: pages
pages:
	$(BIN)/python -m sphinx -W --keep-going -q docs $(SITE)

linkcheck: docs ## check the links of the site to other sites, which needs the network
	$(BIN)/python -m sphinx -b linkcheck -q -d $(SITE)/.doctrees docs $(OUT)/links

# The explorer as a page of the site, with results on a grid inside: four minutes of one core.
$(STATIC_EXPLORER): $(wildcard src/sparsetoken/explorer/static/*) $(shell find src/sparsetoken -name '*.py' -o -name '*.toml')
	$(BIN)/sparsetoken explore --export $(@D)

clean: ## remove what the other targets built
	rm -rf $(VENV) $(OUT) docs/examples docs/reference .cache .mypy_cache .ruff_cache .pytest_cache build src/*.egg-info
