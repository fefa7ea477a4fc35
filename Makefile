# A few words in front of CMake, so that a fresh machine needs to know only `make demo` and `make test`.
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
CLANG_FORMAT ?= clang-format
build := build/release
# The preset `release`, for CMake before 3.21, which knows no presets.
release := -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE=-O2 -DRLX_WERROR=ON

.PHONY: help demo chat web check test soak bench docs format install package site clean build setup

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

setup: ## install what the build needs (Debian packages); quiet when nothing is missing
	@tools/setup build

build: setup ## the library, the rlx command, tests, benchmarks and examples, in build/release
	@echo "building $(or $(TARGET),everything) in $(build)"
	@cmake -G Ninja -S . -B $(build) $(release) >/dev/null
	@cmake --build $(build) -j $(JOBS) $(addprefix --target ,$(TARGET))

demo: TARGET := rlx_cli
demo: build ## build, fetch a small language model (98 MB, once) and ask it something; QUESTION="..." asks something else
	@tools/demo $(build)/rlx $(if $(QUESTION),"$(QUESTION)")

chat: TARGET := rlx_cli
chat: build ## the same model, to talk with
	@model=$$(tools/fetch_model smollm2) && $(build)/rlx chat "$$model"

check: ## the quick part of `make test`, for every day: layers, and the tests that take seconds
	@tools/setup test
	@python3 tools/test --quick -j $(JOBS)

test: ## everything that is checked before a change is accepted; last line: N passed, N failed, N skipped
	@tools/setup test
	@python3 tools/test -j $(JOBS)

web: ## rlx.js and the demo page: build WebAssembly, serve the page on this machine, print its address
	@tools/setup web
	@tools/needs wasm >/dev/null
	@for v in wasm wasm-relaxed wasm-threads wasm-relaxed-threads; do \
	  echo "building $$v" && cmake --preset $$v >/dev/null && cmake --build build/$$v -j $(JOBS) --target rlx_web || exit 1; done
	@node web/serve.mjs

soak: ## long campaigns: tests with RLX_SOAK=1 and each fuzz target for a while (SECONDS_EACH=60); BUDGET=600: fuzzing alone, in pieces that add up
	@tools/setup test
	@python3 tools/soak -j $(JOBS) --seconds $(or $(SECONDS_EACH),60) $(if $(BUDGET),--fuzz --budget $(BUDGET))

bench: TARGET := benches
bench: build ## every benchmark, one after another
	@for b in $$(find $(build)/bench -maxdepth 1 -type f -perm -u+x | sort); do echo "== $${b##*/}"; $$b || exit 1; done

docs: TARGET := rlx_cli
docs: build ## regenerate what is made from the op table, the command's options and the tables of measurements
	@tools/make_ops_doc $(build)/rlx > build/ops.md && mv build/ops.md docs/ops.md && echo "wrote docs/ops.md"
	@tools/make_cli_docs $(build)/rlx && echo "wrote packaging/rlx.1 and packaging/completions"
	@tools/draw_speed && echo "drew docs/speed-cpu.svg and docs/speed-cuda.svg"
	@$(build)/rlx plan models/shakespeare/shakespeare.gguf --context 64 --svg docs/plan.svg >build/plan.txt && echo "drew docs/plan.svg"

format: ## clang-format over the C files (tables, *.def, and what is made are left as they are)
	@find src include tests bench examples tools -name '*.[ch]' -not -path '*/gen/*' -not -name 'k_*.h' -print0 | \
	  xargs -0 $(CLANG_FORMAT) -i

install: TARGET := rlx rlx_cli
install: build ## install under PREFIX (/usr/local), below DESTDIR where that is set
	@DESTDIR='$(DESTDIR)' cmake --install $(build) --prefix '$(PREFIX)'

site: ## the documents and headers as web pages, in build/site
	@tools/make_site

package: TARGET := rlx rlx_cli
package: build ## .tar.gz and .zip, and .deb and .rpm where their tools are, in build/release/packages
	@cd $(build) && cpack

clean: ## remove everything that was built
	@rm -rf build
