#!/usr/bin/env bash
# Open MPI 4.1.4 of Debian 12, mpirun --tag-output: where are the tags in the output?
#
# "--tag-output: Tag all output with [job,rank]". The output of a job is then read by lines: the tag tells the rank, and
# the rest is the rank's line.
#
# Guess: one tag at the start of each line.
# Seen: one at the start of each piece that mpirun reads, of at most 4,096 bytes, often 4,095. So a longer line has tags
# inside it, and so has a short one that is written in two parts. A word that is cut there isn't found by grep.
set -euo pipefail
have=$(dpkg-query -W -f '${Version}' openmpi-bin 2>/dev/null || true)
[[ $have == 4.1.4-* ]] || {
	echo "it needs Debian 12: apt-get install openmpi-bin=4.1.4-3+b1 (here: ${have:-none})" >&2
	exit 2
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

tag='[1,0]<stdout>:'
tagged() { mpirun.openmpi --allow-run-as-root --tag-output -np 1 "$@"; }
words() { grep -o "$1" "$2" | wc -l; }

failed=0
expect() { # NAME GOT WANT
	echo "$1: $2"
	[[ $2 == "$3" ]] || { echo "	it was: $3" >&2; failed=1; }
}

echo "mpirun of openmpi-bin $have"
printf '%09d ' {1..1000} >long # one line of 10,001 bytes
echo >>long
tagged cat long >out
expect "lines of the output" "$(wc -l <out)" 1
awk -v tag="$tag" '{
	rest = $0
	while ((i = index(rest, tag)) > 0) {
		if (n++ > 0) printf " %d", i - 1
		rest = substr(rest, i + length(tag))
	}
	printf " %d\n", length(rest) + 1
}' out >pieces
echo "bytes between the tags, with the newline:$(<pieces)"
tags=$(grep -oF "$tag" out | wc -l)
((tags >= 3)) || { echo "	it was three tags or more, not $tags" >&2; failed=1; }
longest=$(tr ' ' '\n' <pieces | sort -n | tail -n 1)
((longest <= 4096)) || { echo "	no piece was longer than 4096, not $longest" >&2; failed=1; }
found=$(words '[0-9]\{9\} ' out)
echo "numbers that are found whole: $found of $(words '[0-9]\{9\} ' long)"
((found < 1000)) || { echo "	some were cut" >&2; failed=1; }
sed 's/\[1,0\]<stdout>://g' out | cmp - long || { echo "	without the tags it was the line" >&2; failed=1; }

got=$(tagged bash -c 'printf "rank rea"; sleep 1; echo "dy"')
expect "a line in two parts" "$got" "${tag}rank rea${tag}dy"
exit $failed
