#!/usr/bin/env bash
# CNI plugins 1.9.1, host-local: two networks of one node have the same subnet and the same dataDir, but not the same
# name. Are their addresses distinct?
#
# The plugin keeps each address that is taken as a file in dataDir, so that two containers of a node don't get the same
# one. Two network attachments for one fabric, such as one for training and one for storage, are often written with the
# subnet of the fabric in both.
#
# Guess: the second container gets the second address, as both look into one folder.
# Seen: both get the first one, without an error. The addresses are kept in dataDir/NAME, so that the name of the
# network is what separates them, and nothing compares the subnets. Under one name the second address comes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOBIN=$folder/bin GOWORK=off CGO_ENABLED=0 GOFLAGS=
go install github.com/containernetworking/plugins/plugins/ipam/host-local@v1.9.1

# add NETWORK CONTAINER adds the container to the network and prints the address.
add() {
	CNI_COMMAND=ADD CNI_CONTAINERID=$2 CNI_NETNS=/proc/self/ns/net CNI_IFNAME=net1 CNI_PATH=$GOBIN \
		"$GOBIN/host-local" >out <<-EOF
		{"cniVersion": "1.0.0", "name": "$1", "type": "macvlan", "ipam": {"type": "host-local",
		"dataDir": "$folder/data", "ranges": [[{"subnet": "192.0.2.0/24"}]]}}
		EOF
	sed -n 's/.*"address": "\([^"]*\)".*/\1/p' out
}

failed=0
expect() { # NETWORK CONTAINER WANT
	local got
	got=$(add "$1" "$2")
	echo "network $1, container $2: $got"
	[[ $got == "$3" ]] || { echo "	it was: $3" >&2; failed=1; }
}

echo "host-local 1.9.1, subnet 192.0.2.0/24, one dataDir:"
expect training c1 192.0.2.2/24
expect storage c2 192.0.2.2/24
expect storage c3 192.0.2.3/24
exit $failed
