package prefix

import "regexp"

// labels matches the text of launchers, kubectl, compose and journald in front of a line: "[1,3]<stdout>:",
// "[pod/a/b] ", "(Worker pid=1, ip=10.0.0.1) ", "worker-3 | ", "Mar 02 10:00:00 node-1 podman[42]: ", "3: ",
// "pod-0: ", "pod-0 container " of stern, "train/0 " of torchx and NeMo-Run, "4f1c0a9d || " of Determined,
// "job.node-1 [stderr] " of milabench, "worker-3 >> ", "node-1 podman[42]: ", a time, "<stderr>:" of mpirun.
const labels = `(?:(?:` + mpirunTime + `)?(?:\[\d+,\d+\])?<std\w+>:\s*|` +
	`\[[^\[\]]*\](?:<std\w+>)?:?\s*|\([^()]*pid=[^()]*\)\s*|[\w.@-]+\s+\|\s+|` +
	`[\da-f]{8} (?:\[rank=\d+\] )?\|\| |[\w.-]+ \[std(?:err|out)\] |[\w.-]+ >> |[\w.-]+ [\w./-]+\[\d+\]: |` +
	`[a-z0-9][a-z0-9.-]*-(?:\d+|[a-z0-9]{5}) [a-z0-9][a-z0-9-]* |[a-z][\w.-]*/\d+ |` +
	`[A-Z][a-z][a-z] [ \d]\d [\d:]{8} \S+ \S+: |[\w.-]*\d: |\d{4}-\d\d-\d\d[T ]\S+\s+|\d\d:\d\d:\d\d[.,]\d+ )+`

var (
	atEnd   = regexp.MustCompile(labels + `$`)
	atBegin = regexp.MustCompile(`^\s*` + labels)
)

// Labels returns what launchers and collectors of logs print in front of a line.
func Labels(line string) string { return atBegin.FindString(line) }

// EndsInLabels returns the index of the labels at the end of a text, or its length.
func EndsInLabels(text []byte) int {
	if found := atEnd.FindIndex(text); found != nil {
		return found[0]
	}
	return len(text)
}
