#!/usr/bin/env bash
# The demo: a log that hides a training over TCP, railhead-pod in a recorded pod with four RoCE virtual functions, the same
# pod made real (its /sys, interfaces and environment in namespaces; its verbs nodes are stand-ins), then railhead on a
# real control plane. Arguments are those of lab/cmd/demo. It builds each program when the story needs it, all of them with
# the flags of tools/gobuild, so that a package is compiled once, and for pods of amd64 alone, which the lab's are.
set -euo pipefail
cd "$(dirname "$0")/.."
pod=testdata/hosts/pod-roce-4vf.txtar
folder=$(mktemp -d)
downloads=()
trap 'rm -rf "$folder"; kill "${downloads[@]}" 2>/dev/null || true' EXIT
train=$folder/train.log
export CGO_ENABLED=0 GOWORK=off GOFLAGS=

# build FILE ARGUMENTS... builds a program of the repository.
build() { "$folder/build" -o "$@"; }

# download ARGUMENTS... downloads what a later build needs. An error is an error of that build, which says it.
download() {
	"$folder/build" -download "$@" >/dev/null 2>&1 &
	downloads+=($!)
}

plain() { if [[ -t 1 ]]; then cat; else sed 's/\x1b\[[0-9;]*m//g'; fi; }
step() { printf '\n\033[1m$ %s\033[0m\n' "$*" | plain; }

sed -n '/^-- job.log --$/,$ { /^-- /d; p }' testdata/logs/hca-filter.txtar >"$train"
echo "Two nodes train. The log of NCCL looks healthy:"
step "tail -n 4 train.log"
tail -n 4 "$train"
step "grep -ciE 'warn|error|fail' train.log"
grep -ciE 'warn|error|fail' "$train" || true
echo
echo "Yet it runs over TCP. With four 400 Gb/s rails such a run moved 0.98 GiB/s instead of 83 GiB/s."
echo "Building railhead-pod, which belongs in front of the training command; the first time this takes half a minute."
go build -trimpath -buildvcs=false '-gcflags=all=-l -dwarf=false' -o "$folder/build" ./tools/build
download -C lab ./cmd/demo
download -C lab/modules/controlplane ./demo
build bin/railhead-pod ./cmd/railhead-pod

step "railhead-pod detect --topology --root $pod"
bin/railhead-pod detect --topology --root "$pod"

step "railhead-pod env --explain --root $pod"
bin/railhead-pod env --explain --root "$pod"

step "railhead-pod run -- sh -c 'echo started with NCCL_IB_HCA=\$NCCL_IB_HCA'   (in that pod, verbs nodes are stand-ins)"
code=0
build "$folder/stage" ./tools/stage
"$folder/stage" "$pod" -- "$PWD/bin/railhead-pod" run -- sh -c 'echo started with NCCL_IB_HCA=$NCCL_IB_HCA' || code=$?
if [[ $code -ne 0 ]]; then
	echo "The pod could not be made real here (exit $code: namespaces may not be permitted); the steps above do not need them."
fi

step "railhead-pod run --mode auto -- echo started   (on this machine)"
bin/railhead-pod run --mode auto -- echo started

echo
echo "That was the pod's part. Building railhead; the first time this takes about a minute on two cores."
GOARCH=amd64 build bin/railhead-pod-linux-amd64 ./cmd/railhead-pod
gzip -9 -n <bin/railhead-pod-linux-amd64 >"$folder/packed"
mv "$folder/packed" internal/podbinary/bin/railhead-pod-amd64.gz
build bin/railhead -C lab github.com/railhead/railhead/cmd/railhead # from the lab's module, whose demo has its packages, too

step "railhead explain train.log   (the log above)"
(cd "$folder" && "$OLDPWD/bin/railhead" explain train.log) || [[ $? -eq 1 ]] # a fallback to TCP is a fault

echo
echo "Building the program that plays the rest."
build bin/demo -C lab ./cmd/demo
bin/demo "$@"
