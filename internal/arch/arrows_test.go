package arch

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// line is one line of the arrows: its packages may import only packages of lines below it, for the reason why.
type line struct {
	packages []string // patterns of path.Match
	why      string
}

// law is the arrows of docs/architecture.md; the outermost line is the first.
var law = []line{
	{[]string{"cmd/*"},
		"main is thirty lines that nothing can import"},
	{[]string{"internal/cli", "internal/podcli"},
		"the two programs meet only in JSON: what one links would burden the other"},
	{[]string{"internal/benchrun", "internal/serve"},
		"a bench runs commands in pods and looks at pods, a page shows what was examined: only the command line needs them"},
	{[]string{"internal/apply"},
		"carrying out a plan and waiting for its effect is one job, whichever command made the plan"},
	{[]string{"internal/collect"},
		"visiting pods and nodes is one job, whichever package judges what was seen there"},
	{[]string{"internal/launch", "internal/logsource", "internal/saved"},
		"running a command in all pods of a job knows nothing of what the command is for"},
	{[]string{
		"internal/kube",
		"internal/podrun",
		"internal/mcp",
		"internal/bundle",
		"internal/podbinary",
		"internal/webhook",
		"internal/scrape",
		"docs",
		"internal/report/help",
		"internal/report/html",
		"internal/report/text",
	},
		"an edge does one kind of I/O and knows no other edge and no command: the engines and commands join them"},
	{[]string{"internal/report"},
		"a report renders what was decided: it reads no machine, no cluster and no flags"},
	{[]string{"internal/plan/admission"},
		"the answer to a new pod is the plan of an injection: no plan needs the answer"},
	{[]string{
		"internal/plan/job",
		"internal/plan/probe",
		"internal/plan/setup",
		"internal/plan/namespace",
		"internal/plan/webhook",
		"internal/plan/metrics",
	},
		"a plan for one purpose shares with the others only what plan and plan/delivery have"},
	{[]string{"internal/plan/access", "internal/plan/claims"},
		"the rights and the claims of pods are decided for any pods: neither knows what the pods run"},
	{[]string{"internal/plan/delivery", "internal/plan/manifests", "internal/plan/podspec", "internal/plan/volume"},
		"how railhead-pod gets into pods does not depend on who makes the pods"},
	{[]string{"internal/rules", "internal/plan"},
		"what decides is tested from a file: it knows neither who asks nor how the answer is shown"},
	{[]string{"internal/rules/clusterrules", "internal/rules/fleet", "internal/rules/benchrules"},
		"a cluster, a fleet or a bench is judged by itself: package rules joins them"},
	{[]string{"internal/rules/pods", "internal/explain"},
		"a pod's status or a log is judged by itself: it knows no other"},
	{[]string{"internal/explain/causes"},
		"a cause asks the checks of machines: they know no log"},
	{[]string{"internal/rules/machine"},
		"a machine is judged by itself"},
	{[]string{"internal/explain/network"},
		"which network carried data is judged with the failures, and they without it"},
	{[]string{"internal/explain/failures"},
		"the failures of a run follow from its facts alone"},
	{[]string{"internal/explain/facts"},
		"facts about a run judge nothing"},
	{[]string{"internal/workload"},
		"a kind of workload is a row of facts: it knows no plan and no judge"},
	{[]string{"internal/wire/metrics"},
		"metrics count what the wire shows: they judge nothing"},
	{[]string{"internal/nccl", "internal/nccllog", "internal/story", "internal/bench", "internal/cluster",
		"internal/wire"},
		"each is one subject as plain values: rules and plan are where subjects meet"},
	{[]string{"internal/nccllog/event", "internal/nccllog/scan"},
		"what a line means and reading a log fast are two jobs: the one gives the other its words"},
	{[]string{"internal/bench/perftest", "internal/lines", "internal/nccllog/codes", "internal/nccllog/find",
		"internal/nccllog/prefix", "internal/wordsearch"},
		"what reads one tool's output knows no other tool and no fabric"},
	{[]string{"internal/rail"},
		"which rails a pod owns follows from its snapshot, never from what is done with them"},
	{[]string{"internal/host/sysfs"},
		"reading a machine gives a value: it judges nothing"},
	{[]string{"internal/host/replay", "internal/host/netlink", "internal/host/decode", "internal/host/topology"},
		"a recorded machine is files and a message of the kernel is bytes: they know nothing of what is read from them"},
	{[]string{"internal/check", "internal/enumflag", "internal/exit", "internal/host", "internal/words"},
		"the vocabulary stands alone, so that every program can read a recorded machine and a finding"},
}

// outside are developers' programs, what tests share and this package: they may import anything and only tests import
// them.
var outside = []string{
	"tools/*", "internal/arch", "internal/plan/plantest", "internal/rules/rulestest", "internal/host/hosttest",
	"internal/launch/launchtest",
	"internal/schematest", "internal/corpustest",
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}

// lineOf returns the index in the law, -1 when the package has none.
func lineOf(name string) int {
	return slices.IndexFunc(law, func(l line) bool { return matches(l.packages, name) })
}

// ownPackages are the packages of this module that the arrows bind.
func ownPackages(packages []pkg) []pkg {
	return slices.DeleteFunc(slices.Clone(packages), func(p pkg) bool {
		return p.origin != own || matches(outside, p.path)
	})
}

// arrows asserts that every package imports only what lies below it.
func arrows(packages []pkg) []string {
	var broken []string
	origins := map[string]origin{}
	for _, p := range packages {
		origins[p.path] = p.origin
	}
	for _, p := range ownPackages(packages) {
		from := lineOf(p.path)
		if from < 0 {
			broken = append(broken, p.path+" has no line in docs/architecture.md: give it one, in a commit of its own")
			continue
		}
		for _, imported := range p.imports {
			if origins[imported] == own && lineOf(imported) <= from {
				broken = append(broken, p.path+" imports "+imported+": "+law[from].why)
			}
		}
	}
	return broken
}

// vocabulary asserts that host and check import the standard library and what lies below them, which is nothing.
func vocabulary(packages []pkg) []string {
	var broken []string
	origins := map[string]origin{}
	for _, p := range packages {
		origins[p.path] = p.origin
	}
	for _, p := range ownPackages(packages) {
		if lineOf(p.path) != len(law)-1 {
			continue
		}
		for _, imported := range p.imports {
			if origins[imported] == foreign {
				broken = append(broken, p.path+" imports "+imported+": the vocabulary is std only, so that it can be "+
					"read in every program for as long as there are recorded machines")
			}
		}
	}
	return broken
}

// objectPackages may import the API server's types.
var objectPackages = []string{"internal/plan", "internal/plan/*", "internal/workload"}

// kubernetes asserts that only kube, plan and workload know the API server's types, and only kube its client.
func kubernetes(packages []pkg) []string {
	var broken []string
	for _, p := range ownPackages(packages) {
		for _, imported := range p.imports {
			switch {
			case !strings.HasPrefix(imported, "k8s.io/") || p.path == "internal/kube":
			case !matches(objectPackages, p.path):
				broken = append(broken, p.path+" imports "+imported+": only kube, plan and workload do; all others "+
					"see a cluster as cluster.State, which a file can hold")
			case imported == "k8s.io/client-go" || strings.HasPrefix(imported, "k8s.io/client-go/"):
				broken = append(broken, p.path+" imports "+imported+": a plan is a value; "+
					"only kube talks to an API server")
			}
		}
	}
	return broken
}

// documented asserts that docs/architecture.md shows the arrows as the law has them.
func documented(document string) []string {
	_, text, _ := strings.Cut(document, "## Arrows\n")
	_, text, _ = strings.Cut(text, "```text\n")
	text, _, found := strings.Cut(text, "\n```")
	if !found {
		return []string{"docs/architecture.md has no ```text block under ## Arrows: readers look for the law there"}
	}
	var want []string
	for _, l := range law {
		want = append(want, strings.ReplaceAll(strings.Join(l.packages, " "), "internal/", ""))
	}
	var got []string
	for l := range strings.Lines(text) {
		got = append(got, strings.Join(strings.Fields(l), " "))
	}
	if !slices.Equal(got, want) {
		return []string{fmt.Sprintf("docs/architecture.md has the arrows %q, the law has %q: change both in one commit",
			got, want)}
	}
	return nil
}
