#!/usr/bin/env bash
# UCX 1.13.1 of Debian 12, UCX_NET_DEVICES: what do "all" beside a name, and ^ before a name, select?
#
# In the same version, UCX_TLS=^tcp takes each transport but tcp. The list of devices is the same kind of list to look
# at, and operators write UCX_NET_DEVICES=^eth0 to keep the network of management out.
#
# Guess: "all" is the word for all if it stands alone; and ^eth0 takes each device but eth0.
# Seen: "all" anywhere in the list takes every device, also beside a name that isn't there. And ^ is a letter of the
# name: "network device '^eth0' is not available", which is only a warning where another transport is left. UCX 1.21 has
# ^ here, too.
#
# It needs a second network device beside lo.
set -euo pipefail
have=$(dpkg-query -W -f '${Version}' ucx-utils 2>/dev/null || true)
[[ $have == 1.13.1-* ]] || {
	echo "it needs Debian 12: apt-get install ucx-utils=1.13.1-1 (here: ${have:-none})" >&2
	exit 2
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# select_with VARIABLE=VALUE... prints the transports and devices of a context, sorted, on one line.
select_with() {
	env "$@" ucx_info -p -u t >"$folder/out" 2>&1 || true
	sed -n 's/^# *resource .* -- //p' "$folder/out" | sort | paste -sd ' '
	sed -n 's/.*\(network device .* is not available\).*/\1/p' "$folder/out" | sort -u >"$folder/warned"
}

failed=0
expect() { # NAME GOT WANT
	echo "$1: ${2:-nothing}"
	[[ $2 == "$3" ]] || { echo "	it was: ${3:-nothing}" >&2; failed=1; }
}

echo "ucx_info of ucx-utils $have"
every=$(select_with UCX_TLS=tcp)
dev=$(tr ' ' '\n' <<<"$every" | sed -n 's,^tcp/,,p' | grep -vx lo | head -n 1)
[[ -n $dev && $every == *tcp/lo* ]] || { echo "no two network devices: $every" >&2; exit 2; }
echo "UCX_TLS=tcp: $every"
expect "UCX_TLS=tcp UCX_NET_DEVICES=lo" "$(select_with UCX_TLS=tcp UCX_NET_DEVICES=lo)" tcp/lo
expect "UCX_TLS=tcp UCX_NET_DEVICES=lo,all" "$(select_with UCX_TLS=tcp UCX_NET_DEVICES=lo,all)" "$every"
expect "UCX_TLS=tcp UCX_NET_DEVICES=none9,all" "$(select_with UCX_TLS=tcp UCX_NET_DEVICES=none9,all)" "$every"
expect "UCX_TLS=tcp UCX_NET_DEVICES=^$dev" "$(select_with UCX_TLS=tcp "UCX_NET_DEVICES=^$dev")" ""
expect "warning" "$(<"$folder/warned")" "network device '^$dev' is not available"
without=$(select_with "UCX_TLS=^tcp")
[[ -n $without && $without != *tcp/* ]] || { echo "UCX_TLS=^tcp took: $without" >&2; failed=1; }
expect "UCX_TLS=^tcp" "$without" "$without"
exit $failed
