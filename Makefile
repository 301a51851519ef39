# The usual tasks, one word each. `make demo` and `make test` do all the set-up on a bare Debian 12.
JOBS ?= $(shell nproc)
# More options for CMake, e.g. OPTIONS=-DPRIMSEL_WERROR=ON
OPTIONS ?=
CLANG ?= clang++-16
CLANG_FORMAT ?= clang-format-16
FUZZ_SECONDS ?= 60

.PHONY: demo test bench examples asan tsan fuzz tidy format check-format docs check-docs single-include compile-time setup setup-ci configure clean

configure: setup
	cmake --preset release -DPRIMSEL_TEST_UNITY=ON $(OPTIONS)

demo: configure
	cmake --build build/release --parallel $(JOBS) --target demo
	cd build/release && bin/demo

# The tests that read nothing but sources come first.
test: configure
	ctest --test-dir build/release --output-on-failure --parallel $(JOBS) --label-regex sources
	cmake --build build/release --parallel $(JOBS) --target tests
	ctest --test-dir build/release --output-on-failure --parallel $(JOBS) --label-exclude sources

# Every benchmark; one of them: build/release/bin/bench_<room>_<file>
bench: configure
	cmake --build build/release --parallel $(JOBS) --target benches
	for bench in build/release/bin/bench_*; do "$$bench" || exit 1; done

examples: configure
	cmake --build build/release --parallel $(JOBS) --target examples

asan: setup
	cmake --preset asan-ubsan $(OPTIONS)
	cmake --build build/asan-ubsan --parallel $(JOBS) --target tests
	ctest --preset asan-ubsan --parallel $(JOBS)

tsan: setup
	cmake --preset tsan $(OPTIONS)
	cmake --build build/tsan --parallel $(JOBS) --target tests
	ctest --preset tsan --parallel $(JOBS)

fuzz: setup-ci
	cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=$(CLANG) -DCMAKE_BUILD_TYPE=RelWithDebInfo \
	      -DPRIMSEL_FUZZ=ON -DPRIMSEL_TESTS=OFF -DPRIMSEL_BENCHES=OFF -DPRIMSEL_EXAMPLES=OFF $(OPTIONS)
	cmake --build build/fuzz --parallel $(JOBS) --target fuzz
	scripts/fuzz.sh build/fuzz $(FUZZ_SECONDS)

# clang-tidy over every test, and so over every header.
tidy: setup-ci configure
	run-clang-tidy-16 -quiet -p build/release '/test/[a-z_]*/'

format:
	$(CLANG_FORMAT) -i $$(git ls-files '*.hpp' '*.cpp' ':!single_include')

check-format:
	CLANG_FORMAT=$(CLANG_FORMAT) scripts/check_format.sh

# The site, in build/docs: open build/docs/index.html.
docs: build/docs-venv/made
	NO_MKDOCS_2_WARNING=1 build/docs-venv/bin/mkdocs build --strict --config-file docs/site/mkdocs.yml
	@echo "open build/docs/index.html"

# Walks it in headless Chromium.
check-docs: docs
	build/docs-venv/bin/python scripts/check_site.py build/docs --screenshots build/docs-screenshots

build/docs-venv/made: docs/site/requirements.txt
	@scripts/setup.sh docs
	python3 -m venv build/docs-venv
	build/docs-venv/bin/pip install --quiet --disable-pip-version-check --requirement docs/site/requirements.txt
	touch $@

single-include:
	python3 scripts/amalgamate.py

compile-time: setup
	python3 scripts/compile_time.py

setup:
	@scripts/setup.sh

setup-ci:
	@scripts/setup.sh ci

clean:
	rm -rf build
