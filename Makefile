# Everything but race and lint needs only Go and make; race needs a C compiler, lint downloads golangci-lint's source.

VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
FUZZTIME ?= 10s
GOLANGCI  = go tool -modfile=tools/lint/go.mod golangci-lint

.DEFAULT_GOAL := help
.PHONY: build test race lint fuzz bench demo check fmt clean help

build: ## build bin/railhead-pod: static and stripped, for this architecture or for GOARCH
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags='-s -w -X main.version=$(VERSION)' -o bin/railhead-pod ./cmd/railhead-pod

test: ## vet and test everything
	go vet ./...
	go test -timeout 10m ./...

race: ## test everything under the race detector
	go test -race -timeout 10m ./...

lint: ## run golangci-lint, whose version tools/lint/go.mod pins
	$(GOLANGCI) run ./...

fuzz: ## fuzz every parser of foreign text for FUZZTIME (10s) each
	@set -e; for package in $$(go list ./...); do \
		list=$$(go test -list '^Fuzz' $$package); \
		for target in $$(echo "$$list" | grep '^Fuzz'); do \
			echo "== $$package $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x $$package; \
		done; \
	done

bench: ## measure what railhead-pod costs a pod
	go run ./tools/bench

demo: build ## show railhead-pod on recorded machines
	./tools/demo.sh

check: fmt lint race ## all that a change must pass: format, lint, race tests with the architecture law

fmt: ## fail when gofmt would change a file
	@files=$$(gofmt -l .); test -z "$$files" || { echo "run gofmt -w on:" >&2; echo "$$files" >&2; exit 1; }

clean: ## remove what was built
	rm -rf bin

help: ## print the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "%-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
