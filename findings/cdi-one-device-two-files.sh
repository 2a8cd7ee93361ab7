#!/usr/bin/env bash
# CDI 1.0.1, tags.cncf.io/container-device-interface/pkg/cdi: two spec files of one node define the same device. Which
# of the two does a container get?
#
# The documentation says: "When two or more Spec files define the same device, conflict is resolved by choosing the
# definition from the Spec file with the highest priority." A device comes twice where an old file is left behind, or
# where two pools of devices share one.
#
# Guess: one of the two, such as the file that was read last where both have the same priority.
# Seen: in directories of different priority, the file of the higher priority. In one directory neither: the device is
# "unresolvable" for each container that asks for it, although the two files say the same of it. The other devices of
# the two files stay usable, so that it looks like a fault of that one device.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >go.mod <<'EOF'
module example.invalid/twofiles

go 1.26.0

require (
	github.com/opencontainers/runtime-spec v1.1.0
	tags.cncf.io/container-device-interface v1.0.1
)
EOF
cat >main.go <<'EOF'
// It injects the device that is the first argument from the directories that follow, whose priority rises.
package main

import (
	"fmt"
	"os"

	"github.com/opencontainers/runtime-spec/specs-go"
	"tags.cncf.io/container-device-interface/pkg/cdi"
)

func main() {
	cache, err := cdi.NewCache(cdi.WithAutoRefresh(false), cdi.WithSpecDirs(os.Args[2:]...))
	if err != nil {
		panic(err)
	}
	spec := &specs.Spec{}
	if _, err = cache.InjectDevices(spec, os.Args[1]); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(spec.Process.Env)
}
EOF
export GOFLAGS=-mod=mod GOWORK=off CGO_ENABLED=0
go build -o inject .

# spec_file DEVICE DEVICE prints a spec file with two devices, each of which sets a variable.
spec_file() {
	local device='{"name": "%s", "containerEdits": {"env": ["PORT=%s"]}}'
	printf '{"cdiVersion": "0.6.0", "kind": "example.com/rdma", "devices": ['"$device, $device]}" "$1" "$1" "$2" "$2"
}
mkdir one low high
spec_file port0 port1 >one/a.json
spec_file port1 port2 >one/b.json
sed s/PORT/LOW/ one/a.json >low/a.json
sed s/PORT/HIGH/ one/b.json >high/b.json

failed=0
expect() { # WANT DEVICE DIRECTORY...
	local got
	got=$(./inject "example.com/rdma=$2" "${@:3}")
	echo "$2 in ${*:3}: $got"
	[[ $got == "$1" ]] || { echo "	it was: $1" >&2; failed=1; }
}

echo "container-device-interface 1.0.1"
expect "[HIGH=port1]" port1 low high
expect "unresolvable CDI devices example.com/rdma=port1" port1 one
expect "[PORT=port0]" port0 one
expect "[PORT=port2]" port2 one
exit $failed
