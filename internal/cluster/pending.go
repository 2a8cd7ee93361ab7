package cluster

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
)

// The families of reasons for which pods stay Pending or fail.
const (
	InsufficientResource check.ID = "insufficient-resource"
	ResourceNameMismatch check.ID = "resource-name-mismatch"
	NodeSelection        check.ID = "node-selection"
	HostPort             check.ID = "host-port"
	DeviceAllocate       check.ID = "device-allocate"
	ResourceClaim        check.ID = "resource-claim"
	SriovCNI             check.ID = "sriov-cni"
	NADMissing           check.ID = "nad-missing"
	NoIP                 check.ID = "no-ip"
	NodeOverload         check.ID = "node-overload"
	SandboxFailed        check.ID = "sandbox-failed"
	SCCIPCLock           check.ID = "scc-ipc-lock"
	SCCOther             check.ID = "scc-other"
	PodSecurity          check.ID = "pod-security"
	QuotaExceeded        check.ID = "quota-exceeded"
	AdmissionRefused     check.ID = "admission-refused"
	ImagePull            check.ID = "image-pull"
	ImageArchitecture    check.ID = "image-architecture"
	VolumeNotReady       check.ID = "volume-not-ready"
	ContainerStart       check.ID = "container-start"
	InstallFailed        check.ID = "install-failed"
	LaunchRefused        check.ID = "launch-refused"
	CommandNotStarted    check.ID = "command-not-started"
	CommandExit          check.ID = "command-exit"
	OutOfMemory          check.ID = "out-of-memory"
	PodEvicted           check.ID = "pod-evicted"
	NodeLost             check.ID = "node-lost"
	PodPending           check.ID = "pod-pending"
)

// InstallContainer is the init container that puts railhead-pod into a pod.
const InstallContainer = "railhead-pod-install"

// Explain says why a pod is not there, stays Pending or fails, from its status and from what was said of it and of its
// owner. ok is false when nothing is wrong so far. Fail means that it does not get better by itself, at once or when it has
// lasted for the obstacle's patience; Warn that it may.
func Explain(pod Pod, events []Event, s State) (o Obstacle, ok bool) {
	p := patient{pod: pod, s: s, symptoms: symptoms(pod, events)}
	if pod.Ready || pod.Deleted || pod.Phase == "Succeeded" || pod.endedWell() && !p.madeAgain() {
		return o, false
	}
	for _, fault := range faults {
		for _, said := range p.symptoms {
			if f, ok := fault(p, said); ok {
				f.Subject = p.subject()
				f.Evidence = slices.Insert(f.Evidence, 0, check.Evidence{Source: said.source, Got: said.text})
				return Obstacle{Finding: f, Patience: p.patience(f, said)}, true
			}
		}
	}
	f, ok := p.unexplained()
	return Obstacle{Finding: f}, ok
}

// faults are asked in this order: a cause before its consequences, what is certain before what is common.
var faults = []func(patient, symptom) (check.Finding, bool){
	sccRefused, podSecurityRefused, quotaExceeded, deviceAllocate, nadMissing, noIP, sriovCNI,
	imageArchitecture, outOfMemory, installFailed, railheadExit, imagePull, containerStart, commandExit,
	slowSandbox, sandboxFailed, volumeNotReady, evicted, unscheduled, resourceClaim, nodeLost, admissionRefused, nodeOverload,
}

// patient is a pod with what was said of it.
type patient struct {
	pod      Pod
	s        State
	symptoms []symptom
}

func (p patient) subject() check.Subject {
	return check.Subject("pod/" + strings.TrimPrefix(p.pod.Namespace+"/"+p.pod.Name, "/"))
}

// name is how sentences call the pod.
func (p patient) name() string { return orDefault(p.pod.Name, "the pod") }

// symptom is one thing that was said of a pod, on one line.
type symptom struct {
	source    string // "event FailedScheduling of Pod/h-kim-0", "status.reason", "container train"
	reason    string
	text      string
	container *Container // whose state it is
}

// endedWell reports whether every command of the pod has: its phase says so a moment later.
func (p Pod) endedWell() bool {
	ended := 0
	for _, c := range p.Containers {
		switch {
		case c.Init:
		case c.Running || c.Waiting != "" || c.ExitCode == nil || *c.ExitCode != 0:
			return false
		default:
			ended++
		}
	}
	return ended > 0
}

// stage is how far a pod has come. What was said of an earlier stage is over.
type stage int

const (
	asked   stage = iota // its controller asks for it
	created              // it has no node
	placed               // it has a node, and no container of it has run
	started
)

func (p Pod) stage() stage {
	switch {
	case slices.ContainsFunc(p.Containers, Container.hasRun):
		return started
	case p.Node != "":
		return placed
	case p.UID != "" || p.Phase != "":
		return created
	}
	return asked
}

// hasRun reports whether the container ran in the pod's present sandbox: after a node's reboot it waits for a new one.
func (c Container) hasRun() bool {
	waits := c.Waiting == "ContainerCreating" || c.Waiting == "PodInitializing"
	return c.Running || c.ExitCode != nil && !waits
}

// wrong reports whether the container's state says something: it waits, or ended in a way that it should not.
func (c Container) wrong() bool {
	finished := c.Init && c.ExitCode != nil && *c.ExitCode == 0
	return !c.Ready && !c.Running && (c.Waiting != "" || c.ExitCode != nil && !finished)
}

// eventStages are those of events that cannot be said of a pod that has come further.
var eventStages = map[string]stage{
	"FailedCreate": asked, "FailedScheduling": created, "Preempted": created,
	"FailedCreatePodSandBox": placed, "NoNetworkFound": placed, "FailedMount": placed, "FailedAttachVolume": placed,
	"UnexpectedAdmissionError": placed, "TopologyAffinityError": placed, "SMTAlignmentError": placed, "EmptyPodSharedPoolError": placed,
	"FailedPrepareDynamicResources": placed,
}

// made are the events by which the kubelet says that it has come to the pod's containers: volumes are mounted and the network
// is set up before (pkg/kubelet/kubelet.go SyncPod, pkg/kubelet/events).
var made = []string{"Pulling", "Pulled", "Created", "Started"}

// before are those that a later one of made leaves behind. The pod's own status does not tell: while an image is pulled, which
// may take minutes, its containers wait as they did for the volumes.
var before = []string{"FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox", "NoNetworkFound"}

// overcome reports whether what an event says was got over since.
func overcome(e Event, events []Event) bool {
	return slices.Contains(before, e.Reason) && slices.ContainsFunc(events, func(later Event) bool {
		return slices.Contains(made, later.Reason) && later.Object == e.Object && !later.Last.IsZero() && !e.Last.After(later.Last)
	})
}

// longest is how much of a text is read: twice what a termination message may have (Kubernetes core/v1 ContainerStateTerminated).
const longest = 8 << 10

// symptoms are what was said of a pod: its own status first, then the events of its stage, the newest first.
func symptoms(pod Pod, events []Event) []symptom {
	var all []symptom
	say := func(source, reason, text string, c *Container) {
		if text = oneLine(text[:min(len(text), longest)]); reason != "" || text != "" {
			all = append(all, symptom{source: source, reason: reason, text: orDefault(text, reason), container: c})
		}
	}
	say("status of the pod", pod.Reason, strings.TrimPrefix(pod.Reason+": "+pod.Message, ": "), nil)
	for i := range pod.Containers {
		if c := &pod.Containers[i]; c.wrong() {
			say("container "+c.Name, orDefault(c.Waiting, c.Ended), describe(*c), c)
		}
	}
	say("condition PodScheduled", "", pod.Unscheduled, nil)
	newest := slices.Clone(events)
	slices.SortStableFunc(newest, func(a, b Event) int { return b.Last.Compare(a.Last) })
	for _, e := range newest {
		past, known := eventStages[e.Reason]
		if known && past < pod.stage() || e.Type == "Normal" && e.Reason != "BackOff" || overcome(e, events) {
			continue
		}
		say(strings.TrimSuffix(fmt.Sprintf("event %s of %s", e.Reason, e.Object), " of "), e.Reason, e.Message, nil)
	}
	return all
}

func describe(c Container) string {
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
	return strings.TrimSuffix(text+": "+c.Message, ": ")
}

var (
	blanks = regexp.MustCompile(`\s+`)
	hyphen = regexp.MustCompile(`(\w-)\s*\n\s*(\w)`)
)

// oneLine joins the lines of a text: people and terminals wrap messages anywhere, also behind the hyphen of a name.
func oneLine(text string) string {
	return strings.TrimSpace(blanks.ReplaceAllString(hyphen.ReplaceAllString(text, "$1$2"), " "))
}

// harmless are waiting states on the way to running, and events that explain nothing.
var harmless = regexp.MustCompile(`^(ContainerCreating|PodInitializing|CrashLoopBackOff|Unhealthy|DNSConfigForming|Preempting)\b|Back-off restarting failed`)

// unexplained quotes what no family recognizes: it is not known whether it gets better.
func (p patient) unexplained() (check.Finding, bool) {
	for _, said := range p.symptoms {
		if harmless.MatchString(said.text) || harmless.MatchString(said.reason) {
			continue
		}
		return check.Finding{
			Check: PodPending, Status: check.Unknown, Subject: p.subject(),
			Summary:  p.name() + " is not ready, for a reason that is not known here: " + clip(said.text),
			Evidence: []check.Evidence{{Source: said.source, Got: said.text}},
			Fix:      &check.Fix{Text: "Read everything that the cluster says of the pod.", Who: check.User, Commands: []string{p.kubectl("describe pod " + p.name())}},
		}, true
	}
	return check.Finding{}, false
}

// clip shortens a text to about a line; the evidence has it whole.
func clip(text string) string {
	const most = 160
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

func (p patient) kubectl(args string) string {
	if p.pod.Namespace == "" {
		return "kubectl " + args
	}
	return "kubectl -n " + p.pod.Namespace + " " + args
}

// namespace is the pod's own, or a placeholder to paste over.
func (p patient) namespace() string { return orDefault(p.pod.Namespace, "NAMESPACE") }

// job is the name of the job that the pod is of: that of its owner.
func (p patient) job() string {
	if job := p.pod.Labels["app.kubernetes.io/instance"]; job != "" {
		return job
	}
	_, name, _ := strings.Cut(p.pod.Owner, "/")
	return orDefault(name, "NAME")
}
