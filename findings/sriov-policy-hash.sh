#!/usr/bin/env bash
# sriov-network-operator 1.6.0, api/v1, SriovNetworkNodePolicy.Apply: which virtual functions does the port name "eno5#"
# take, with a hash and no range? And what of a policy is left beside one of higher priority for the same port?
#
# The readme says: "Policies with same priority or non-overlapping VF groups (when #-notation is used in pfName field)
# are merged, otherwise only the highest priority policy is applied." Priority 0 is the highest.
#
# Guess: "eno5#" is an error, or selects no port. The policy of the highest priority sets the number of virtual
# functions and the MTU of the port, and a merged one only adds its group.
# Seen: "eno5#" selects port eno5 and takes all of its virtual functions, as "eno5" does. A merged policy of lower
# priority raises both numbers of the port, if its own are larger: the highest priority doesn't win there. And two
# groups that don't overlap aren't merged if their resource has the same name; then the higher one alone is applied.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >go.mod <<'EOF'
module example.invalid/policyhash

go 1.26.0

require github.com/k8snetworkplumbingwg/sriov-network-operator v1.6.0
EOF
cat >main.go <<'EOF'
// It applies policies, RESOURCE,PRIORITY,VFS,MTU,PORT, to port eno5 as the operator's controller does; then prints it.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"

	operator "github.com/k8snetworkplumbingwg/sriov-network-operator/api/v1"
)

func main() {
	var all []operator.SriovNetworkNodePolicy
	for _, a := range os.Args[1:] {
		var p operator.SriovNetworkNodePolicy
		f := strings.Split(a, ",")
		p.Name, p.Spec.ResourceName, p.Spec.NicSelector.PfNames = a, f[0], f[4:]
		fmt.Sscan(strings.Join(f[1:4], " "), &p.Spec.Priority, &p.Spec.NumVfs, &p.Spec.Mtu)
		all = append(all, p)
	}
	state := &operator.SriovNetworkNodeState{}
	state.Status.Interfaces = operator.InterfaceExts{{Name: "eno5", PciAddress: "0000:18:00.0"}}
	sort.Sort(operator.ByPriority(all))
	for i, p := range all {
		if err := p.Apply(state, i > 0 && all[i-1].Spec.Priority == p.Spec.Priority); err != nil {
			panic(err)
		}
	}
	for _, i := range state.Spec.Interfaces {
		fmt.Printf("%d VFs, MTU %d:", i.NumVfs, i.Mtu)
		for _, g := range i.VfGroups {
			fmt.Printf(" %s %s", g.ResourceName, g.VfRange)
		}
	}
}
EOF
export GOFLAGS=-mod=mod GOWORK=off CGO_ENABLED=0
go build -o apply .

failed=0
expect() { # WANT POLICY...
	local got
	got=$(./apply "${@:2}")
	echo "${*:2}: $got"
	[[ $got == "$1" ]] || { echo "	it was: $1" >&2; failed=1; }
}

echo "sriov-network-operator 1.6.0, policies as RESOURCE,PRIORITY,VFS,MTU,PORT:"
expect "8 VFs, MTU 1500: a 0-7" a,10,8,1500,eno5
expect "8 VFs, MTU 1500: a 0-7" "a,10,8,1500,eno5#"
expect "8 VFs, MTU 9000: a 0-3 b 4-7" "a,10,4,1500,eno5#0-3" "b,20,8,9000,eno5#4-7"
expect "4 VFs, MTU 1500: a 0-3" "a,10,4,1500,eno5#0-3" "b,20,8,9000,eno5#2-7"
expect "4 VFs, MTU 1500: a 0-3" "a,10,4,1500,eno5#0-3" "a,20,8,9000,eno5#4-7"
exit $failed
