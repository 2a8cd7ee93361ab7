#!/usr/bin/env bash
# systemd 252 of Debian 12, LimitMEMLOCK=, and github.com/docker/go-units 0.5.0, ParseUlimit: how does one write a limit
# of memory locks that is no limit?
#
# RDMA registers memory, so the limit has to be lifted for the container runtime: in its unit file for those that pass
# theirs on, and as an ulimit of each container for those that read one with go-units, such as CRI-O's default_ulimits.
#
# Guess: "unlimited", as ulimit and limits.conf have it, or -1; in both programs, and an error for any other word.
# Seen: the two share no word. systemd takes "infinity", also as the second of a pair, and sizes such as 1.5G;
# unlimited, -1, max and an empty value it ignores, with a warning. go-units takes -1 and refuses both infinity and
# unlimited.
set -euo pipefail
have=$(dpkg-query -W -f '${Version}' systemd 2>/dev/null || true)
[[ $have == 252.* ]] || {
	echo "it needs Debian 12: apt-get install systemd (here: ${have:-none})" >&2
	exit 2
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

failed=0
expect() { # NAME GOT WANT
	echo "$1: $2"
	[[ $2 == "$3" ]] || { echo "	it was: $3" >&2; failed=1; }
}

echo "systemd-analyze verify of systemd $have"
while IFS=: read -r want value; do
	printf '[Service]\nExecStart=/bin/true\nLimitMEMLOCK=%s\n' "$value" >memlock.service
	systemd-analyze verify ./memlock.service >out 2>&1 || true
	got=taken
	grep -q 'memlock.service:3: .*ignoring' out && got=ignored
	expect "LimitMEMLOCK=$value" "$got" "$want"
done <<'EOF'
ignored:unlimited
ignored:-1
ignored:max
ignored:
taken:infinity
taken:64K:infinity
taken:1.5G
EOF

cat >go.mod <<'EOF'
module example.invalid/memlock

go 1.26.0

require github.com/docker/go-units v0.5.0
EOF
cat >main.go <<'EOF'
// It parses each argument as an ulimit.
package main

import (
	"fmt"
	"os"

	"github.com/docker/go-units"
)

func main() {
	for _, a := range os.Args[1:] {
		u, err := units.ParseUlimit(a)
		fmt.Println(u, err)
	}
}
EOF
export GOFLAGS=-mod=mod GOWORK=off CGO_ENABLED=0
go build -o parse .
echo "go-units 0.5.0"
for v in -1:-1 -1; do expect "memlock=$v" "$(./parse memlock=$v)" "memlock=-1:-1 <nil>"; done
for v in infinity unlimited; do
	expect "memlock=$v" "$(./parse memlock=$v)" "<nil> strconv.ParseInt: parsing \"$v\": invalid syntax"
done
exit $failed
