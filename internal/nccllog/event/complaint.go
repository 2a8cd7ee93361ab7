package event

import (
	"regexp"
	"slices"

	"github.com/railhead/railhead/internal/nccllog/find"
	"github.com/railhead/railhead/internal/nccllog/prefix"
	"github.com/railhead/railhead/internal/wordsearch"
)

// levelWords are in lines with which programs, launchers and shells report an error, whatever it means for them.
var levelWords = []string{
	"Traceback (most recent call last)", "ERROR", "CRITICAL", "[error", "\terror\t", "[NeMo E ", "level=error",
	"slurmstepd: error:", "srun: error:", "Compute Failed", // Dask, which may try again
	"unschedulable", "FailedScheduling", "FailedCreatePodSandBox", "FailedMount", "FailedAttachVolume", // Kubernetes
	"BUG: soft lockup", " blocked for more than ", "got completion with error:", // the kernel, libmlx5
	"command not found", "can't open file", "Permission denied", "Broken pipe",
}

// toldWords are in lines with which torchrun and Slurm end processes.
var toldWords = []string{"closing signal SIG", "srun: Force Terminated", "_step_signal: Terminating "}

// endWords are in lines about a process that ended with an error.
var endWords = []string{
	"FATAL", "Fatal error", "fatal error", "panic: ", "panicked at ", "core dumped", "returned non-zero",
	"fatal signal", " via signal SIG", "level=fatal", "BackoffLimitExceeded", "group FAILED",
	"Memory access fault by GPU", "aborting with error", "fallen off the bus", "Unable to determine the device handle",
	"Illegal instruction", "Segfault encountered", "code=killed", "code=dumped",
	"sigkill_handler] Killing subprocess", "all training processes to terminate", // DeepSpeed, Composer
	// torch.multiprocessing
	"terminated with the following error",
	"No available node types can fulfill",                                                                  // Ray
	"Exception in thread ", "Stack dump without ", "cudaError", "Error while finding module specification", // python -m
}

// form is a form of complaint that a regular expression tells from other lines with one of the words.
type form struct {
	words []string
	form  *regexp.Regexp // nil: the words suffice
	also  []string       // the line has one of them, too, if there are any
	whole bool           // the form is of the line without what launchers print in front
}

type forms []form

// match reports whether a text has one of the forms.
func (all forms) match(text string, p *wordsearch.Pairs) bool {
	return slices.ContainsFunc(all, func(f form) bool {
		switch {
		case !p.HaveAny(text, f.words) || f.also != nil && !p.HaveAny(text, f.also):
			return false
		case f.form == nil:
			return true
		case f.whole:
			return f.form.MatchString(text[len(prefix.Labels(text)):])
		}
		return f.form.MatchString(text)
	})
}

func (all forms) words() (words []string) {
	for _, f := range all {
		words = append(words, f.words...)
	}
	return words
}

// endForms have the codes of processes, which are 0 where all is well, and words that must begin or fill a line.
var endForms = forms{
	{
		words: []string{
			"exit code", "exit status", "exited ", "exits with", "exit_code", "exitCode", "Exit code", "Exit status",
			"ExitCode", "Exited ", "EXIT CODE", "EXIT STATUS",
		},
		form: regexp.MustCompile(`(?i)\bexit(?:ed|s)?(?: with)?(?: an?)?(?: non-?zero)?[ _]?(?:exit )?(?:code|status)` +
			`['"]?[ :=]*['"]?-?[1-9]`),
	},
	{
		words: []string{"signal"},
		form:  regexp.MustCompile(`(?i)\b(?:terminated|killed|died|ended)\b.{0,12}\bsignal:? \d`),
	},
	{words: []string{"code=exited"}, form: regexp.MustCompile(`code=exited, status=[1-9]`)}, // systemd
	{words: []string{"SystemExit"}, form: regexp.MustCompile(`SystemExit: [^0]`)},
	{ // make
		words: []string{"*** ["}, form: regexp.MustCompile(`\*\*\* \[.*\] (?:Error \d|Terminated|Killed|Aborted)`),
	},
	{words: []string{"Error"}, form: regexp.MustCompile(`\s\d+/\d+\s+(?:Init:)?Error\s`)}, // kubectl get pods
	{ // bash, of the command that it waited for
		words: []string{"Aborted", "Hangup"}, whole: true,
		form: regexp.MustCompile(`^(?:.*: line \d+: +\d+ )?(?:Aborted|Hangup)\s*$`),
	},
}

// levelForms have the levels of loggers.
var levelForms = forms{
	{ // glog: "F1120 10:00:00.12 4242 x.cc:12] ..."; TensorFlow: "2026-03-02 10:00:00.1: F core/x.cc:12] ..."
		words: sourceLines(".cc", ".cpp", ".cu"), also: []string{"E0", "E1", "F0", "F1", ": E ", ": F "},
		form: regexp.MustCompile(`(?:^|[ :\]>])[EF]\d{4} \d\d:\d\d:\d\d|\d: [EF] \S+\.cc:\d+\]`),
	},
	{
		words: []string{`"error"`, `"fatal"`, `"critical"`, `"panic"`, `"level":50`, `"level":60`}, // numbers: pino
		form: regexp.MustCompile(`"(?:level|severity|levelname|lvl|log\.level)"\s*:\s*` +
			`(?:"(?:error|fatal|critical|panic)"|[56]0\b)`),
	},
	{words: []string{"error: "}, form: regexp.MustCompile(`(?:^|[:\])>] )error: [A-Za-z]`)},
}

// toldForms are the words of bash about a command that was ended.
var toldForms = forms{{
	words: []string{"Terminated"}, whole: true, form: regexp.MustCompile(`^(?:.*: line \d+: +\d+ )?Terminated\s*$`),
}}

// sourceLines returns the beginnings of places in sources, with the first digit of the line: a word of four bytes is
// found only if no digit follows.
func sourceLines(suffixes ...string) (words []string) {
	for _, suffix := range suffixes {
		for digit := '1'; digit <= '9'; digit++ {
			words = append(words, suffix+":"+string(digit))
		}
	}
	return words
}

// noComplaint matches what looks like a complaint and is none: the names of variables and codes, and counts of nothing.
var noComplaint = regexp.MustCompile(`\w+_ERROR\w*|\bERROR(?:_\w+|=\w*)|\b0 ERROR(?:S\b|\(S\))|` +
	`ERRORS?(?: SUMMARY)?: 0\b|exit status 0|^ *"?severity"?: "?[A-Z]+"?,?$|` +
	`slurmstepd: error: couldn't chdir to .*: going to /tmp instead`)

// readComplaint reads a line of level ERROR or worse, and the ending of a process in words that no launcher above uses.
func readComplaint(e *Event, text, _ string) bool {
	e.Number = rankIn(text)
	text = withoutCodes(text)
	p := wordsearch.PairsOf(text)
	switch {
	case p.HaveAny(text, endWords), endForms.match(text, p):
		e.Detail = ProcessEnd
	case p.HaveAny(text, toldWords), toldForms.match(text, p):
		e.Detail = Told
	default:
		return p.HaveAny(text, levelWords) || levelForms.match(text, p)
	}
	return true
}

// Complains reports whether a line has the level ERROR or worse, or reports the ending of a process.
func Complains(text string) bool { return readComplaint(&Event{}, text, "") }

// withoutCodes removes what looks like a complaint and is none.
func withoutCodes(text string) string {
	if find.Any(text, "_ERROR", "ERROR_", "ERROR=", "0 ERROR", ": 0", "exit status 0", " instead",
		"severity") {
		return noComplaint.ReplaceAllString(text, "")
	}
	return text
}
