#!/bin/sh
# gate.sh NAMESPACE IMAGE COMMAND [ARG...]
#
# Says whether a cluster is good for multi-node training: it deploys a job, measures every rail between its pods
# (railhead bench), starts COMMAND in them, and proves from the kernel that the command uses RDMA (railhead wire). The
# job is deleted at the end. If the gate fails, railhead doctor names the cause.
#
# IMAGE has perftest. COMMAND keeps the network busy for some minutes, such as
#
#     gate.sh train registry.example.com/nccl-tests all_reduce_perf -b 1G -e 1G -n 20000 -g 8
#
# Variables: GATE_JOB       name of the job, which belongs to the gate     gate
#            GATE_NODES     number of pods, one on each node               2
#            GATE_PART      part of its ceiling that each link must reach  0.9
#            GATE_PATIENCE  seconds for COMMAND to send its first packets  300
#            GATE_RESULTS   folder for the results and the page gate.html  gate-results
#            GATE_DEPLOY    more flags of railhead deploy, such as "--gpus 0 --queue lab"
#
# Exit status: 0 the cluster is good; 1 it is not, or the job does not start; 2 the command line is wrong, or railhead is
# not installed; 3 something that matters could not be read: neither good nor bad.
set -eu

if [ $# -lt 3 ]; then
	echo "usage: gate.sh NAMESPACE IMAGE COMMAND [ARG...]" >&2
	exit 2
fi
if ! command -v railhead >/dev/null; then
	echo "gate.sh: railhead is not on the PATH" >&2
	exit 2
fi
namespace=$1 image=$2
shift 2
job=${GATE_JOB:-gate}
results=${GATE_RESULTS:-gate-results}
mkdir -p "$results"

# finish keeps the exit status, explains a failure, and deletes the job.
# shellcheck disable=SC2317 # a trap runs it
finish() {
	status=$?
	trap - EXIT
	if [ "$status" -ne 0 ] && [ "$status" -lt 128 ]; then # from 128 on: a signal
		railhead doctor "$job" -n "$namespace" --save "$results/doctor.tgz" || :
	fi
	railhead delete "$job" -n "$namespace" --yes --ignore-not-found || :
	exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# shellcheck disable=SC2086 # GATE_DEPLOY is several words
railhead deploy "$job" -n "$namespace" --nodes "${GATE_NODES:-2}" --image "$image" ${GATE_DEPLOY:-} --yes

railhead bench "$job" -n "$namespace" --matrix --min-efficiency "${GATE_PART:-0.9}" --save "$results/bench.json"

railhead launch "$job" -n "$namespace" --detach -- "$@"

# The first packets move when all ranks are connected. 1: no packet yet, or a broken connection.
deadline=$(($(date +%s) + ${GATE_PATIENCE:-300}))
while :; do
	status=0
	railhead wire "$job" -n "$namespace" --every 10s --save "$results/wire.json" || status=$?
	if [ "$status" -ne 1 ] || [ "$(date +%s)" -ge "$deadline" ]; then
		break
	fi
	sleep 5
done
railhead report "$results/bench.json" "$results/wire.json" -o "$results/gate.html" || :
exit "$status"
