#!/usr/bin/env bash
# Shows railhead-pod at work on a recorded pod with four RoCE virtual functions, then starts a command in that pod made
# real: its /sys, interfaces and environment in namespaces of their own. Its verbs nodes are stand-ins.
set -euo pipefail
cd "$(dirname "$0")/.."
pod=testdata/hosts/pod-roce-4vf.txtar

step() { printf '\n\033[1m$ %s\033[0m\n' "$*" | if [[ -t 1 ]]; then cat; else sed 's/\x1b\[[0-9;]*m//g'; fi; }

step "railhead-pod detect --topology --root $pod"
bin/railhead-pod detect --topology --root "$pod"

step "railhead-pod env --explain --root $pod"
bin/railhead-pod env --explain --root "$pod"

step "railhead-pod run -- sh -c 'echo started with NCCL_IB_HCA=\$NCCL_IB_HCA'   (in that pod, verbs nodes are stand-ins)"
code=0
go run ./tools/stage "$pod" -- "$PWD/bin/railhead-pod" run -- sh -c 'echo started with NCCL_IB_HCA=$NCCL_IB_HCA' || code=$?
if [[ $code -ne 0 ]]; then
	echo "The pod could not be made real here (exit $code: namespaces may not be permitted); the steps above do not need them."
fi

step "railhead-pod run --mode auto -- echo started   (on this machine)"
bin/railhead-pod run --mode auto -- echo started
