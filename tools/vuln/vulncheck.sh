#!/usr/bin/env bash
# Looks for known vulnerabilities in what the shipped programs call, on every system of a release, and in the lab.
# SYSTEM FOLDER PACKAGE looks at one package of a module instead. VULNDB is another database, such as file:///path.
# Exit status: 0 none found, 75 nothing checked because the database cannot be read, otherwise vulnerabilities or an error.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
db=${VULNDB:-https://vuln.go.dev}
govulncheck=$(go tool -modfile=tools/vuln/go.mod -n govulncheck)
bad=()

# scan notes in bad if govulncheck fails: with 3 for vulnerabilities, otherwise because it could not look.
scan() {
	local code=0
	echo "== $3 of $2 for $1"
	GOOS=$1 "$govulncheck" -C "$2" -db "$db" "$3" || code=$?
	((code == 0)) || bad+=("$3 of $2 for $1: exit status $code")
}

# This query reads the index of the database and nothing of this repository.
if ! why=$("$govulncheck" -db "$db" -mode query -format json stdlib@v1.0.0 2>&1 >/dev/null); then
	echo "NOT CHECKED for vulnerabilities: the database $db cannot be read: $why" >&2
	exit 75 # EX_TEMPFAIL of sysexits.h
fi

if (($#)); then
	scan "$@"
else
	scan linux . ./cmd/railhead-pod
	for system in linux darwin windows; do scan $system . ./cmd/railhead; done
	scan linux lab ./...
fi
for what in "${bad[@]}"; do echo "NOT CLEAN: $what" >&2; done
((${#bad[@]} == 0))
