#!/usr/bin/env bash
# Fuzzes every target of the modules in the given folders, all that have any by default, for FUZZTIME (10s) each, one after the
# other. A target that fails does not stop the others; they are listed at the end, and the exit status is 1.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folders=("$@")
((${#folders[@]})) || folders=(. lab)
failed=()
count=0

for folder in "${folders[@]}"; do
	# go test lists the targets of a package before the line "ok PACKAGE SECONDS".
	targets=$(cd "$folder" && go test -list '^Fuzz' ./... |
		awk '/^Fuzz/ { names[n++] = $1 } /^ok / { for (i = 0; i < n; i++) print $2, names[i]; n = 0 }')
	while read -r package target; do
		[[ -n "$target" ]] || continue
		count=$((count + 1))
		echo "== $package $target"
		(cd "$folder" && go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-10s}" -fuzzminimizetime 20x "$package") </dev/null ||
			failed+=("$package $target")
	done <<<"$targets"
done

if ((count == 0)); then
	echo "no fuzz target in ${folders[*]}" >&2
	exit 1
fi
echo "$count fuzz targets, ${FUZZTIME:-10s} each, ${#failed[@]} failed"
for what in "${failed[@]}"; do echo "FAILED: $what" >&2; done
((${#failed[@]} == 0))
