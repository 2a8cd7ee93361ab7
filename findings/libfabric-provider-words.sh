#!/usr/bin/env bash
# libfabric 1.17.0 of Debian 12, FI_PROVIDER: what do TCP, all, ^tcp and "tcp, udp" select?
#
# Guess: TCP is no provider, as the providers' names are in lower case; "all" takes all, as in the variables of other
# libraries of the field; ^tcp takes away what goes over TCP; and blanks beside a comma don't matter.
# Seen: TCP is tcp. "all" takes nothing: "fi_getinfo: -61", which is "no data". ^tcp leaves net and sockets, which go
# over TCP, too. And in "tcp, udp" the second name is " udp" with the blank, which is no provider: only a warning tells
# it, which the default level of the log doesn't show.
set -euo pipefail
have=$(dpkg-query -W -f '${Version}' libfabric-bin 2>/dev/null || true)
[[ $have == 1.17.0-* ]] || {
	echo "it needs Debian 12: apt-get install libfabric-bin=1.17.0-3 (here: ${have:-none})" >&2
	exit 2
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# providers VALUE prints the core providers that FI_PROVIDER=VALUE selects, or the error, on one line.
providers() {
	FI_PROVIDER=$1 fi_info >"$folder/out" 2>&1 || true
	sed -n 's/^provider: \([^;]*\).*/\1/p; /^fi_getinfo:/p' "$folder/out" | sort -u | paste -sd ' '
}

failed=0
expect() { # VALUE WANT
	local got
	got=$(providers "$1")
	echo "FI_PROVIDER='$1': ${got:-nothing}"
	[[ $got == "$2" ]] || { echo "	it was: $2" >&2; failed=1; }
}

echo "fi_info of libfabric-bin $have"
expect tcp tcp
expect TCP tcp
expect all "fi_getinfo: -61"
expect tcp,udp "tcp udp"
expect "tcp, udp" tcp
FI_LOG_LEVEL=warn FI_PROVIDER="tcp, udp" fi_info 2>&1 | grep -o 'provider  udp is unknown.*' || {
	echo "no warning about the name ' udp'" >&2
	failed=1
}
got=$(providers ^tcp)
echo "FI_PROVIDER='^tcp': $got"
for p in net sockets; do
	[[ " $got " == *" $p "* ]] || { echo "	it had $p" >&2; failed=1; }
done
[[ " $got " != *" tcp "* ]] || { echo "	it had no tcp" >&2; failed=1; }
exit $failed
