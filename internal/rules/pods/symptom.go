package pods

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/cluster"
)

// symptom is one message about a pod, on one line.
type symptom struct {
	source    string // "event FailedScheduling of Pod/h-kim-0", "status.reason", "container train"
	reason    string
	text      string
	container *cluster.Container // nil unless it is the state of one
}

// byProgram reports whether the message ends with the last words of the user's program, which may be any.
func (s symptom) byProgram() bool {
	c := s.container
	return c != nil && c.ExitCode != nil && !startReason.MatchString(c.Ended) && !startReason.MatchString(c.Waiting)
}

// said returns what Kubernetes, the container runtime or a plugin says.
func (s symptom) said() string {
	if s.byProgram() {
		return state(*s.container)
	}
	return s.text
}

func (s symptom) whole() string { return s.reason + ": " + s.said() }

// stage is the progress of a pod. Messages about an earlier stage are outdated.
type stage int

const (
	notCreated stage = iota
	created          // it has no node
	placed           // it has a node, and none of its containers has run
	started
)

func stageOf(p cluster.Pod) stage {
	switch {
	case slices.ContainsFunc(p.Containers, hasRun):
		return started
	case p.Node != "":
		return placed
	case p.UID != "" || p.Phase != "":
		return created
	}
	return notCreated
}

// hasRun reports whether the container ran in the pod's current sandbox: after a reboot of the node it waits for a new
// one.
func hasRun(c cluster.Container) bool {
	waits := c.Waiting == "ContainerCreating" || c.Waiting == "PodInitializing"
	return c.Running || c.ExitCode != nil && !waits
}

// faulty reports whether the container waits or ended unexpectedly.
func faulty(c cluster.Container) bool {
	finished := c.Init && c.ExitCode != nil && *c.ExitCode == 0
	return !c.Ready && !c.Running && (c.Waiting != "" || c.ExitCode != nil && !finished)
}

// endedByKubelet reports whether the kubelet refused or ended the whole pod, for a reason that the pod's status has.
// Its containers then end with SIGTERM or SIGKILL, or with 0 if the command handles SIGTERM.
func endedByKubelet(p cluster.Pod) bool { return p.Phase == "Failed" && p.Reason != "" }

// eventStages maps events to the last stage in which they mean something.
var eventStages = map[string]stage{
	"FailedCreate":                  notCreated,
	"FailedScheduling":              created,
	"Pending":                       created, // of Kueue
	"Unschedulable":                 created, // of Volcano
	"Preempted":                     created,
	"FailedCreatePodContainer":      placed, // the cgroups of the pod
	"FailedCreatePodSandBox":        placed,
	"NetworkNotReady":               placed,
	"NoNetworkFound":                placed,
	"FailedMount":                   placed,
	"FailedAttachVolume":            placed,
	"FailedMapVolume":               placed,
	"UnexpectedAdmissionError":      placed,
	"TopologyAffinityError":         placed,
	"SMTAlignmentError":             placed,
	"EmptyPodSharedPoolError":       placed,
	"FailedPrepareDynamicResources": placed,
	"FailedResourceClaimCreation":   created,
}

// containerEvents show that the kubelet has reached the pod's containers: before, it mounts volumes, prepares devices
// and sets up the network (pkg/kubelet/kubelet.go SyncPod, pkg/kubelet/events). The pod's status does not show it:
// while an image is pulled, which may take minutes, the containers wait as they did for the volumes.
var containerEvents = []string{"Pulling", "Pulled", "Created", "Started"}

// resolved reports whether later events show that the error of an event has passed.
func resolved(e cluster.Event, events []cluster.Event) bool {
	return eventStages[e.Reason] == placed && slices.ContainsFunc(events, func(later cluster.Event) bool {
		return slices.Contains(containerEvents, later.Reason) && later.Object == e.Object &&
			!later.Last.IsZero() && !e.Last.After(later.Last)
	})
}

// encoded matches the input of a plugin that Multus prints as numbers, one for each byte.
var encoded = regexp.MustCompile(`\[\d+(?: \d+){15,}\]`)

// longestMessage limits the part of a message that is read: twice the limit of a termination message (Kubernetes
// core/v1 ContainerStateTerminated).
const longestMessage = 8 << 10

// symptoms returns the messages about a pod: its own status first, then the events of its stage, the newest first.
func symptoms(pod cluster.Pod, events []cluster.Event) []symptom {
	var all []symptom
	add := func(source, reason, text string, c *cluster.Container) {
		text = oneLine(middleOut(encoded.ReplaceAllString(text, "[...]"), longestMessage))
		if reason != "" || text != "" {
			all = append(all, symptom{source: source, reason: reason, text: cmp.Or(text, reason), container: c})
		}
	}
	add("status of the pod", pod.Reason, strings.TrimPrefix(pod.Reason+": "+pod.Message, ": "), nil)
	for i := range pod.Containers {
		if c := &pod.Containers[i]; faulty(*c) && !endedByKubelet(pod) {
			add("container "+c.Name, cmp.Or(c.Waiting, c.Ended), describe(*c), c)
		}
	}
	add("condition PodScheduled", "", pod.Unscheduled, nil)
	newest := slices.Clone(events)
	slices.SortStableFunc(newest, func(a, b cluster.Event) int { return b.Last.Compare(a.Last) })
	for _, e := range newest {
		last, known := eventStages[e.Reason]
		if known && last < stageOf(pod) || e.Type == "Normal" && e.Reason != "BackOff" || resolved(e, events) {
			continue
		}
		add(strings.TrimSuffix(fmt.Sprintf("event %s of %s", e.Reason, e.Object), " of "), e.Reason, e.Message, nil)
	}
	return all
}

func describe(c cluster.Container) string {
	return strings.TrimSuffix(state(c)+": "+c.Message, ": ")
}

func state(c cluster.Container) string {
	text := c.Waiting
	if c.ExitCode != nil {
		text = strings.TrimPrefix(text+", ", ", ") + fmt.Sprintf("exit code %d", *c.ExitCode)
		if c.Ended != "" && c.Ended != "Error" {
			text += " (" + c.Ended + ")"
		}
	}
	if c.Restarts > 0 {
		text += fmt.Sprintf(", %d restarts", c.Restarts)
	}
	return text
}

var (
	blanks = regexp.MustCompile(`\s+`)
	hyphen = regexp.MustCompile(`(\w-)\s*\n\s*(\w)`)
)

// oneLine joins the lines of a text. People and terminals wrap messages anywhere, even after the hyphen of a name.
func oneLine(text string) string {
	return strings.TrimSpace(blanks.ReplaceAllString(hyphen.ReplaceAllString(text, "$1$2"), " "))
}

// harmless matches waiting states on the way to running, and events that keep no pod from running (kubernetes
// pkg/kubelet).
var harmless = anyOf(
	`^(ContainerCreating|PodInitializing|CrashLoopBackOff|Unhealthy|DNSConfigForming|Preempting|ProbeWarning|`+
		`FailedToRetrieveImagePullSecret|MissingClusterDNS|PossibleMemoryBackedVolumesOnDisk|`+
		`HostIPsIPFamilyMismatch)\b`,
	`Back-off restarting failed`,
)
