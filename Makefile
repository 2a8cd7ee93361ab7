# Every target needs Go, make and a proxy of Go modules. Beyond that: race needs a C compiler, pictures needs Chromium, test-lab
# downloads Debian packages, vulncheck reads vuln.go.dev. Tests of pages use Chromium, release-check uses man, dpkg, rpm and ruby;
# without them those tests are skipped and say so. .ci/run installs the browser.

# One setting for all builds and tests, so that they share what is compiled.
export CGO_ENABLED = 0

VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
FUZZTIME ?= 10s
BUILD     = go build -trimpath -buildvcs=false -ldflags='-s -w -X main.version=$(VERSION)'
GOLANGCI  = go tool -modfile=$(CURDIR)/tools/lint/go.mod golangci-lint

.DEFAULT_GOAL := help
.PHONY: build release release-check release-programs image licenses push test test-local test-openshift test-workloads test-lab chaos lab race \
	lint vulncheck fuzz nightly bench demo demo-rdma pictures site site-check check fmt generate recipe clean help

build: bin/railhead-pod bin/railhead ## both programs, static and stripped, in bin; railhead for this machine or for GOOS and GOARCH

.PHONY: bin/railhead-pod bin/railhead embedded
bin/railhead-pod:
	GOOS=linux $(BUILD) -o $@ ./cmd/railhead-pod

bin/railhead: embedded
	$(BUILD) -o $@ ./cmd/railhead

embedded: # railhead-pod for every architecture of pods, where railhead embeds it
	@set -e; for arch in amd64 arm64; do \
		GOOS=linux GOARCH=$$arch $(BUILD) -o bin/railhead-pod-linux-$$arch ./cmd/railhead-pod; \
		gzip -9 -n < bin/railhead-pod-linux-$$arch > internal/podbinary/bin/railhead-pod-$$arch.gz; \
	done

PLATFORMS = linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
SBOM      = go tool -modfile=tools/sbom/go.mod cyclonedx-gomod bin -json -noserial -std -version '$(VERSION)'
SAME      = sed -e '/^    "timestamp":/d' -e '/^    "tools": \[/,/^    \],/d' # what differs from one run or machine to the next

COMMIT    = $(shell git describe --match= --always --abbrev=40 --dirty 2>/dev/null)
DIST      = $(CURDIR)/dist
RELEASE   = go run -C tools/release . $(1) --root $(CURDIR) --version '$(VERSION)' --commit '$(COMMIT)'
release image: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null)

release: SHELL = bash
release: .SHELLFLAGS = -e -o pipefail -c
release: ## everything to publish, in dist, for VERSION=v1.2.3: the same commit gives the same bytes (docs/install.md)
	$(call RELEASE,check)
	$(MAKE) --no-print-directory release-programs VERSION='$(VERSION)'
	rm -rf '$(DIST)' && mkdir -p '$(DIST)'
	@for program in bin/release/*/*; do \
		platform=$$(basename $$(dirname $$program)) name=$$(basename $$program .exe); \
		$(SBOM) $$program | $(SAME) > '$(DIST)'/$${name}_$(VERSION:v%=%)_$${platform/-/_}.cdx.json; \
	done
	$(call RELEASE,pack) --programs $(CURDIR)/bin/release --out '$(DIST)'

release-programs: embedded
	rm -rf bin/release
	@set -e; for platform in $(PLATFORMS); do \
		os=$${platform%/*} arch=$${platform#*/}; into=bin/release/$$os-$$arch; echo "railhead for $$platform"; \
		GOOS=$$os GOARCH=$$arch $(BUILD) -o $$into/railhead$$(if [ $$os = windows ]; then echo .exe; fi) ./cmd/railhead; \
		if [ $$os = linux ]; then cp bin/railhead-pod-linux-$$arch $$into/railhead-pod; fi; \
	done

image: ## the image of a release alone, in dist, for VERSION=v1.2.3
	$(call RELEASE,check)
	$(MAKE) --no-print-directory release-programs VERSION='$(VERSION)' PLATFORMS='linux/amd64 linux/arm64'
	$(call RELEASE,image) --programs $(CURDIR)/bin/release --out '$(DIST)'

release-check: ## make the release VERSION twice, compare every byte, and install it in each way that this machine can
	$(MAKE) --no-print-directory release VERSION='$(VERSION)'
	$(MAKE) --no-print-directory release VERSION='$(VERSION)' DIST=$(CURDIR)/bin/release-again
	diff -r dist bin/release-again
	cd tools/release && RELEASE_DIST='$(DIST)' RELEASE_VERSION='$(VERSION)' go test -count=1 -v ./...

licenses: ## refuse a module of the programs whose licence is not in the list of tools/release, as a release does
	$(call RELEASE,licenses) --platforms '$(PLATFORMS)'

push: ## upload the image of release VERSION in dist to a registry: IMAGE=registry.example/railhead
	go run -C tools/release . push --archive '$(DIST)/railhead_$(VERSION:v%=%)_image.tar' --to '$(IMAGE):$(VERSION)'

# -vet=off: lint runs go vet's analyzers, which read every dependency.
test: test-local ## test everything, also on a real control plane, which is built once (minutes) and then kept
	cd lab && go test -vet=off -timeout 40m ./...

test-local: ## test what needs no control plane
	go test -vet=off -timeout 30m ./...
	cd tools/release && go test -vet=off ./...
	cd tools/site && go test -vet=off ./...
	cd tools/vuln && go test -vet=off -count=1 ./... # a cached result would not see a change of the script

# What a change by a recipe of CONTRIBUTING.md can break, besides its own package.
RECIPE_node-check    = ./internal/rules/... ./internal/explain/causes ./internal/arch ./docs
RECIPE_cluster-check = ./internal/rules/... ./internal/arch ./docs
RECIPE_log-line      = ./internal/nccllog/... ./internal/explain/... ./internal/arch ./docs
RECIPE_workload      = ./internal/workload ./internal/plan/... ./internal/arch ./docs

recipe: ## test what a new OF=node-check, cluster-check, log-line or workload can break, in one or two minutes, and in seconds when it is repeated
	@test -n '$(RECIPE_$(OF))' || { echo 'set OF to node-check, cluster-check, log-line or workload'; exit 2; }
	go test -vet=off -short $(RECIPE_$(OF))
	go test -vet=off ./internal/cli -run '^Test(Reference|Schemas|Explain|Reader|Administrator|Inventory|Doctor)'
	go test -vet=off ./internal/podcli -run '^Test(Reference|Schemas|Hosts|Outputs|Sessions)'

generate: ## write what follows from tables and help texts: docs/reference, docs/schemas, docs/rights and docs/causes.md
	go test -vet=off ./internal/cli ./internal/podcli -run '^Test(Reference|Schemas|ReaderWorkloads)$$' -update
	go test -vet=off ./internal/plan/namespace -run '^TestPublishedRights$$' -update
	go test -vet=off ./internal/explain -run '^TestCausesPage$$' -update

test-openshift: ## test railhead again where the JobSet controller and the network-resources-injector run, too
	cd lab && go vet -tags openshift ./... && go test -tags openshift -timeout 60m ./controlplane/full/... ./judge/e2e/...

test-workloads: ## test railhead with the real controllers of training workloads, which are built once (about 20 minutes)
	cd lab && go vet -tags workloads ./judge/e2e/... && go test -tags workloads -timeout 60m -run '^TestTrainingWorkloads$$' ./judge/e2e/...

test-lab: LIMIT ?= 60m
test-lab: ## test on virtual machines with SR-IOV, an IOMMU and RDMA; prints the table of faults
	cd lab && go vet -tags vm ./judge/fabrictest/... && go test -tags vm -count=1 -timeout $(LIMIT) -v -run "$(RUN)" ./judge/fabrictest/...

chaos: ## disturb setup, deploy and delete at each of their requests; STORIES=deploy-job,cluster limits it; 20 minutes
	cd lab && go vet -tags chaos ./judge/chaostest/... && \
		go test -tags chaos -count=1 -parallel 4 -timeout 60m -v ./judge/chaostest/...

lab: ## boot two nodes with RDMA in virtual machines, and leave them up: `go -C lab run . down` ends them
	go -C lab run . up

race: export CGO_ENABLED = 1
race: ## test everything under the race detector
	go test -race -timeout 30m ./...

lint: ## run golangci-lint, whose version tools/lint/go.mod pins
	$(GOLANGCI) run ./...
	cd lab && $(GOLANGCI) run ./...
	cd tools/pictures && $(GOLANGCI) run ./...
	cd tools/release && $(GOLANGCI) run ./...
	cd tools/site && $(GOLANGCI) run ./...
	cd tools/vuln && $(GOLANGCI) run ./...

vulncheck: ## look for known vulnerabilities in what the programs call; needs vuln.go.dev, or VULNDB=file:///path
	tools/vuln/vulncheck.sh

fuzz: ## fuzz every parser of foreign text for FUZZTIME (10s) each
	FUZZTIME=$(FUZZTIME) tools/fuzz/fuzz.sh

nightly: ## make check, the lab with more controllers and on machines, race, chaos, every fuzz target for FUZZTIME (5m): hours
	.ci/nightly

bench: build ## measure what railhead-pod costs a pod, and railhead on a cluster of 1000 nodes next to kubectl
	go run ./tools/bench
	go test -run '^$$' -bench BenchmarkInject -benchtime 30x ./internal/plan/job
	go test -run '^$$' -bench BenchmarkInject -benchtime 1000x ./internal/webhook
	go test -run '^$$' -bench 'Benchmark(BrowserHuge|EveryRankFails|LargeJob)' -benchtime 5x ./internal/report/html ./internal/explain ./internal/wire
	cd lab && go run ./cmd/bench

demo: ## show a training that hides on TCP, railhead-pod in a recorded pod, railhead on a real control plane; KEEP=1 leaves it up
	@./tools/demo.sh $(if $(KEEP),--keep)

demo-rdma: ## show RDMA proved, broken and repaired on two nodes in virtual machines; KEEP=1 leaves them up
	@echo "Building Railhead; the first time this takes about three minutes on two cores."
	@$(MAKE) --no-print-directory build
	go -C lab build -trimpath -o ../bin/demo ./cmd/demo
	@bin/demo --rdma $(if $(KEEP),--keep)

pictures: build ## make the pictures of the documentation, in docs/pictures; needs Chromium
	go -C tools/pictures run .

site: ## build the documentation as a site, in build/site; it needs no server
	go -C tools/site run . -root ../.. -out "$(CURDIR)/build/site" -version $(VERSION)

site-check: ## test the site: its links, and in Chromium its search, widths, colours and requests
	go test ./tools/reference ./docs
	cd tools/site && go test ./...

check: ## what a change must pass, as CI runs it: lanes of .ci/check beside one another, with a table at the end
	@env -u MAKEFLAGS -u MAKELEVEL .ci/lanes <.ci/check

fmt: ## fail when gofmt would change a file
	@files=$$(gofmt -l .); test -z "$$files" || { echo "run gofmt -w on:" >&2; echo "$$files" >&2; exit 1; }

clean: ## remove what was built
	rm -rf bin dist build/site internal/podbinary/bin/*.gz

help: ## print the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
