# Everything a person or CI calls. `make help` lists it.
export CGO_ENABLED = 0
GO ?= go

.PHONY: all build demo test race fuzz bench vet clean help

all: build

build: ## the four programs, into bin/
	$(GO) build -trimpath -o bin/ ./cmd/...

demo: build ## the whole road, in a temporary directory
	bin/countersign demo $(DEMO_FLAGS)

test: vet ## every test; those that need root run as root
	$(GO) test -count=1 ./...

race: export CGO_ENABLED = 1
race: ## every test under the race detector
	$(GO) test -race -count=1 ./...

FUZZTIME ?= 30s
fuzz: ## every fuzz target for FUZZTIME
	@set -e; for pkg in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "$$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg; done; done

bench: ## ratios, side by side in one run
	$(GO) test -run '^$$' -bench . -benchtime 3s ./tests/bench

vet: ## formatting and go vet
	@test -z "$$(gofmt -l cmd internal tests)" || { gofmt -l cmd internal tests; exit 1; }
	$(GO) vet ./...

clean: ## what was built
	rm -rf bin

help:
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'
