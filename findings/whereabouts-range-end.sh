#!/usr/bin/env bash
# whereabouts 0.9.2, pkg/config and pkg/allocate: which addresses does a range give out if range_end is before
# range_start, if range_start isn't in the range, and if the gateway is?
#
# Guess: an error from the configuration for the first two; and no pod gets the address of the gateway, as the CNI
# plugins' host-local has it.
# Seen: no error. A range_end before range_start, and a range_start outside the range, are ignored: the addresses go on
# to the end of the range, or begin at its start, where others may be at home. And the first pod gets the address of the
# gateway of its own network, unless range_start or exclude keeps it out.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >go.mod <<'EOF'
module example.invalid/rangeend

go 1.26.0

require github.com/k8snetworkplumbingwg/whereabouts v0.9.2
EOF
cat >main.go <<'EOF'
// It reads a range of an IPAM configuration, and assigns its addresses until there are none.
package main

import (
	"fmt"
	"os"

	"github.com/k8snetworkplumbingwg/whereabouts/pkg/allocate"
	"github.com/k8snetworkplumbingwg/whereabouts/pkg/config"
	"github.com/k8snetworkplumbingwg/whereabouts/pkg/types"
)

func main() {
	network := `{"cniVersion":"0.3.1","name":"fabric","type":"sriov","ipam":{"type":"whereabouts",` + os.Args[1] + `}}`
	c, _, err := config.LoadIPAMConfig([]byte(network), "", "flat.conf")
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	var taken []types.IPReservation
	for {
		pod := fmt.Sprint("train/pod-", len(taken))
		_, now, err := allocate.AssignIP(c.IPRanges[0], taken, pod, pod, "net1")
		if err != nil {
			break
		}
		taken = now
	}
	if len(taken) == 0 {
		fmt.Println("none")
		return
	}
	fmt.Printf("%s to %s\n", taken[0].IP, taken[len(taken)-1].IP)
}
EOF
echo '{"kubernetes": {"kubeconfig": "none"}}' >flat.conf
export GOFLAGS=-mod=mod GOWORK=off CGO_ENABLED=0
go build -o assign .

failed=0
expect() { # WANT CONFIGURATION
	local got
	got=$(./assign "$2" 2>log) # which has each assignment
	echo "$2: $got"
	[[ $got == "$1" ]] || { echo "	it was: $1" >&2; failed=1; }
}

echo "whereabouts 0.9.2"
net='"range":"192.0.2.0/28"'
expect "192.0.2.5 to 192.0.2.8" "$net,\"range_start\":\"192.0.2.5\",\"range_end\":\"192.0.2.8\""
expect "192.0.2.8 to 192.0.2.14" "$net,\"range_start\":\"192.0.2.8\",\"range_end\":\"192.0.2.5\""
expect "192.0.2.8 to 192.0.2.14" '"range":"192.0.2.8-192.0.2.5/28"'
expect "192.0.2.1 to 192.0.2.14" "$net,\"range_start\":\"198.51.100.5\""
expect "192.0.2.1 to 192.0.2.14" "$net,\"gateway\":\"192.0.2.1\""
exit $failed
