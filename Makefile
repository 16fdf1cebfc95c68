# The one entry to building, running and testing; `make` alone lists what there is.

PREFIX ?= /usr/local
DESTDIR ?=
SWIFT_SOURCES = Package.swift Sources Migrations Plugins Tests $(wildcard Benchmarks examples)
SHELL_SOURCES = $(wildcard scripts/*.sh Benchmarks/*.sh examples/*/*.sh) .ci/run

.DEFAULT_GOAL := help
.PHONY: help bootstrap build run example test bench lint install clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

bootstrap: ## install what building and testing need
	@scripts/bootstrap.sh

build: bootstrap ## build everything for development
	swift build

# The development build: it is there in half the time, and make test builds on it.
run: bootstrap ## watch an import survive kill -9, in a database of its own
	swift build --product private-server
	swift build --product bulkhead
	@scripts/run-example.sh

example: bootstrap ## build and run the examples: a handler of your own, a table that shows what changes
	examples/own-handler/run.sh
	examples/live-table/run.sh

test: bootstrap ## run every test, against a PostgreSQL of its own
	swift test --parallel --disable-xctest

bench: bootstrap ## measure
	Benchmarks/run.sh

lint: ## check format and syntax
	swift format lint --strict -r -p $(SWIFT_SOURCES)
	for script in $(SHELL_SOURCES); do bash -n "$$script" || exit 1; done

install: bootstrap ## install the program and its systemd unit; PREFIX=/usr/local DESTDIR=
	swift build -c release --static-swift-stdlib --product bulkhead
	scripts/install.sh "$$(swift build -c release --show-bin-path)/bulkhead" "$(DESTDIR)" "$(PREFIX)"

clean: ## delete what was built
	rm -rf .build
