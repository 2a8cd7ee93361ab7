package cli

import "strings"

// Where things lie in a pod of a job.
const (
	podProgram = "/railhead/bin/railhead-pod"
	sharedDir  = "/dev/shm" // every pod of a job mounts it, and may write there
)

// launchMark is the variable by which the processes of a launch are known in a pod.
const launchMark = "RAILHEAD_LAUNCH"

// insistMark is the variable by which a command wants NCCL's log whatever the pod sets: without it nothing is proven.
const insistMark = "RAILHEAD_INSIST"

// markedFunction writes the ids of the processes whose environment has the mark $1; a dot in it stands for itself or not.
const markedFunction = `
marked() {
	for e in $(grep -ls "` + launchMark + `=$1" /proc/[0-9]*/environ 2>/dev/null); do
		e=${e#/proc/}
		printf ' %s' "${e%/environ}"
	done
}
`

// The scripts that a launch runs in a pod. They keep to what dash, bash and busybox have. $1 is the launch's id, $2 the
// value of its mark, $3 the shared directory; what each has beside them comes after.
const (
	// prepareScript looks whether a command can start here; $4 is railhead-pod, $5 not empty where files will be copied. It
	// answers with KEY=VALUE lines. An earlier launch that was not seen to its end has left its pid file; its processes are
	// known by their environment, which also those have that left its process group.
	prepareScript = markedFunction + `
[ -x "$4" ] || { echo "there is no $4: is this a pod of 'railhead deploy'?" >&2; exit 1; }
for f in "$3"/railhead-*.pid; do
	[ -e "$f" ] || continue
	other=${f##*/railhead-}
	other=${other%.pid}
	alive=$(marked "$other.")
	if [ -n "$alive" ]; then echo "running=$alive"; else rm -f "$3/railhead-$other".*; fi
done
: > "$3/railhead-$1.pid" || exit 1
echo "debug=${NCCL_DEBUG-}"
echo "file=${NCCL_DEBUG_FILE-}"
echo "mode=${RAILHEAD_MODE-}"
[ -z "$5" ] && exit 0
dir=${TMPDIR:-/tmp}/railhead-$1
mkdir -p "${TMPDIR:-/tmp}" 2>/dev/null
mkdir -m 700 "$dir" || exit 1
echo "dir=$dir"
`
	// copyScript puts its input into $4/$5, with the permissions $6, and answers with its size and its hash, if the image can
	// tell. What the file was is kept for finishScript.
	copyScript = `
cd "$4" && cat > "$5" && chmod "$6" "$5" && cksum "$5" >> "$3/railhead-$1.sums" || exit 1
wc -c < "$5"
if command -v sha256sum > /dev/null; then sha256sum < "$5"; fi
`
	// startScript becomes the command; $4 is railhead-pod, $5 the directory, then come variables, -- and the command. The
	// process keeps its id through both execs.
	startScript = `
id=$1 mark=$2 shared=$3 program=$4 dir=$5
shift 5
while [ "$1" != -- ]; do export "$1"; shift; done
shift
export ` + launchMark + `="$mark" PYTHONUNBUFFERED="${PYTHONUNBUFFERED-1}"
if [ -z "${NCCL_DEBUG+set}" ] || [ -n "${` + insistMark + `-}" ]; then
	export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,NET NCCL_DEBUG_FILE="$shared/railhead-$id.nccl.%h.%p"
fi
[ -z "$dir" ] || cd "$dir" || exit 125
echo $$ > "$shared/railhead-$id.pid" || exit 125
exec "$program" run -- "$@"
`
	// signalScript sends $4 to the command's process group, as a terminal does. Under crun the command leads none: the leader
	// is a process outside the pod that has ended (crun src/libcrun/linux.c, join_process: setsid, then fork), so that its
	// members are told one by one. After SIGKILL nothing of the launch is left: torchrun starts its workers in sessions of
	// their own.
	signalScript = markedFunction + `
[ -s "$3/railhead-$1.pid" ] || exit 3
read -r pid < "$3/railhead-$1.pid"
group() {
	read -r stat < "/proc/$1/stat" || return
	set -- ${stat##*) }
	echo "$3"
}
own=$(group "$pid" 2>/dev/null)
if [ "$own" = "$pid" ]; then
	kill "-$4" "-$pid"
elif [ -n "$own" ]; then
	others=$(marked "$2")
	kill "-$4" "$pid"
	for p in $others; do
		[ "$p" = "$pid" ] || [ "$(group "$p" 2>/dev/null)" != "$own" ] || kill "-$4" "$p" 2>/dev/null
	done
fi
[ "$4" != KILL ] || kill -KILL $(marked "$2") 2>/dev/null
exit 0
`
	// finishScript writes what NCCL logged, at most $6 bytes, and removes what the launch made; $4 is the directory, $5 not
	// empty where processes of the command that are left are killed. On its stderr it says left=PIDS of those that it leaves
	// and kept=DIR of a directory in which the command wrote.
	finishScript = markedFunction + `
left=$(marked "$2")
if [ -n "$left" ] && [ -z "$5" ]; then
	sleep 1
	left=$(marked "$2")
	[ -z "$left" ] || echo "left=$left" >&2
elif [ -n "$left" ]; then
	kill -KILL $left 2>/dev/null
fi
if [ -n "$4" ] && cd "$4"; then
	rm -rf __pycache__
	while IFS= read -r sum; do
		file=${sum#* }
		file=${file#* }
		[ "$(cksum "$file" 2>/dev/null)" != "$sum" ] || rm -f "$file"
	done < "$3/railhead-$1.sums"
	cd /
	rmdir "$4" 2>/dev/null || echo "kept=$4" >&2
fi
most=$6
id=$1 shared=$3
set -- "$shared/railhead-$id.nccl."*
if [ -e "$1" ]; then
	{ grep -hE 'NCCL WARN|Channel .* via |Using network|NET/(IB|Socket) : (Using|Made)|comm .* rank |NCCL version' "$@" 2>/dev/null || cat "$@"; } | head -c "$most"
fi
rm -f "$shared/railhead-$id".*
`
	// clearScript removes what a launch made that did not start; $4 is the directory.
	clearScript = `
[ -z "$4" ] || rm -rf "$4"
rm -f "$3/railhead-$1".*
`
)

// notStarted is signalScript's exit code when the command has not written its process id yet.
const notStarted = 3

// script is the command line that runs one of the scripts for a rank.
func (l *launch) script(r *rank, script string, args ...string) []string {
	return append([]string{"sh", "-c", strings.TrimSpace(script), "railhead", l.id, l.mark(r), sharedDir}, args...)
}

// startCommand is the command line that becomes the command.
func (l *launch) startCommand(r *rank) []string {
	args := append([]string{podProgram, r.dir}, l.env...)
	args = append(args, "--")
	return l.script(r, startScript, append(args, l.argv...)...)
}

// answers reads KEY=VALUE lines.
func answers(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			all[key] = strings.TrimSpace(value)
		}
	}
	return all
}
