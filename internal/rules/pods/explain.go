// Package pods explains why a pod stays Pending or fails, from its status and its events.
package pods

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// The reasons why pods stay Pending or fail.
const (
	InsufficientResource check.ID = "insufficient-resource"
	ResourceNameMismatch check.ID = "resource-name-mismatch"
	NodeSelection        check.ID = "node-selection"
	HostPort             check.ID = "host-port"
	QueueAdmission       check.ID = "queue-admission"
	DeviceAllocate       check.ID = "device-allocate"
	DeviceInjection      check.ID = "device-injection"
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

// InstallContainer is the init container that copies railhead-pod into a pod.
const InstallContainer = "railhead-pod-install"

// FilesContainer is the init container that writes the settings of commands which railhead-pod does not start.
const FilesContainer = "railhead-pod-files"

// Explain returns why a pod was not created, stays Pending or fails, from its status and from the events of it and its
// owner. ok is false if nothing is wrong so far. A finding that fails does not pass by itself, at once or after the
// obstacle's patience; one that warns may.
func Explain(pod cluster.Pod, events []cluster.Event, s cluster.State) (o check.Obstacle, ok bool) {
	return Of(s).Explain(pod, events)
}

// Explainer explains many pods of one State.
type Explainer struct {
	s    cluster.State
	room func() room
}

// Of returns the explainer of a State.
func Of(s cluster.State) Explainer {
	return Explainer{s, sync.OnceValue(func() room { return roomOf(s) })}
}

// Explain is the function of that name.
func (e Explainer) Explain(pod cluster.Pod, events []cluster.Event) (o check.Obstacle, ok bool) {
	t := target{pod: pod, s: e.s, room: e.room, symptoms: symptoms(pod, events)}
	if pod.Ready || pod.Deleted || pod.Phase == "Succeeded" || endedWell(pod) && !isRecreated(t) {
		return o, false
	}
	for _, family := range families {
		for _, sym := range t.symptoms {
			if !family.matches(sym) {
				continue
			}
			f := family.explain(t, sym)
			f.Subject = check.PodRef(pod.Namespace, pod.Name)
			if pod.Node != "" {
				f.About = append(f.About, check.NodeRef(pod.Node))
			}
			f.Evidence = slices.Insert(f.Evidence, 0, check.Evidence{Source: sym.source, Got: sym.text})
			return check.Obstacle{Finding: f, Patience: t.patience(f, sym)}, true
		}
	}
	f, ok := t.unexplained()
	return check.Obstacle{Finding: f}, ok
}

// family is one kind of reason, recognized by the words of Kubernetes, of its plugins, or by the state of a container.
type family struct {
	matches func(symptom) bool
	explain func(target, symptom) check.Finding
	id      check.ID
	example string // a message of a real cluster; "" if the state of a container decides, or each kind has its own
}

// inText matches the message of a symptom, without the words of the user's program.
func inText(forms ...*regexp.Regexp) func(symptom) bool {
	return func(s symptom) bool {
		return slices.ContainsFunc(forms, func(form *regexp.Regexp) bool { return form.MatchString(s.said()) })
	}
}

// inWhole matches the reason and the message of a symptom.
func inWhole(forms ...*regexp.Regexp) func(symptom) bool {
	return func(s symptom) bool { return inText(forms...)(symptom{text: s.whole()}) }
}

func all(matches ...func(symptom) bool) func(symptom) bool {
	return func(s symptom) bool {
		return !slices.ContainsFunc(matches, func(match func(symptom) bool) bool { return !match(s) })
	}
}

func not(a func(symptom) bool) func(symptom) bool {
	return func(s symptom) bool { return !a(s) }
}

// families are tried in this order: a cause before its consequences, certain words before common ones.
var families = []family{
	{
		inText(sccRefusal), sccRefused, SCCOther,
		`pods "h-kim-0" is forbidden: unable to validate against any security context constraint: []`,
	},
	{
		inText(podSecurity), podSecurityRefused, PodSecurity,
		`violates PodSecurity "restricted:latest": privileged (container "train")`,
	},
	{
		inText(quota, quotaOther), quotaExceeded, QuotaExceeded,
		`exceeded quota: gpus, requested: requests.nvidia.com/gpu=8, used: 8, limited: 8`,
	},
	{
		all(ofKind(queued), not(inText(insufficient))), notAdmitted, QueueAdmission, "",
	},
	{
		inWhole(allocate), deviceAllocate, DeviceAllocate,
		`Allocate failed due to requested number of devices unavailable for nvidia.com/gpu`,
	},
	{ofKind(injections), answer(DeviceInjection, injections), DeviceInjection, ""},
	{ // before the messages about attachments, with which Multus begins
		ofKind(noKubelet), answer(SandboxFailed, noKubelet), SandboxFailed,
		`getKubernetesDelegate: failed to get a ResourceClient instance: getKubeletClient: error getting pod resources`,
	},
	{ofKind(attachments), wrongAttachment, NADMissing, ""},
	{
		all(inWhole(isolation, nadNamed, nadOther), not(inText(nadUnread))), nadMissing, NADMissing,
		`cannot find a network-attachment-definition (rail0) in namespace (train): not found`,
	},
	{ofKind(addresses), answer(NoIP, addresses), NoIP, ""},
	{all(inText(deviceCNI), not(inText(timeout))), sriovCNI, SriovCNI, ""},
	{otherProcessor, imageArchitecture, ImageArchitecture, `exec /bin/sh: exec format error`},
	{inWhole(oomKilled), outOfMemory, OutOfMemory, `OOMKilled`},
	{initFailed, installFailed, InstallFailed, ""},
	{notStarted, railheadExit, LaunchRefused, ""},
	{all(inWhole(pull), not(inText(sandboxImage))), imagePull, ImagePull, `Failed to pull image "x": manifest unknown`},
	{
		startFailed, containerStart, ContainerStart,
		`OCI runtime create failed: exec: "train": executable file not found in $PATH`,
	},
	{ended, commandExit, CommandExit, ""},
	{
		// its volumes were mounted before, whatever events say about them
		all(inWhole(sandbox), inText(timeout)), answer(NodeOverload, overloads), NodeOverload,
		`Failed to create pod sandbox: rpc error: code = DeadlineExceeded desc = context deadline exceeded`,
	},
	{ofKind(sandboxes), answer(SandboxFailed, sandboxes), SandboxFailed, ""},
	{
		inWhole(unboundVolume, unfitVolume, volume), volumeNotReady, VolumeNotReady,
		`MountVolume.SetUp failed for volume "data" : hostPath type check failed`,
	},
	{
		all(inWhole(evictedWhy), not(inText(insufficient, tainted))), evicted, PodEvicted,
		`The node was low on resource: memory.`,
	},
	{func(s symptom) bool { return lost.MatchString(s.reason) }, nodeLost, NodeLost, ""},
	{noNodeFits, unscheduled, InsufficientResource, `0/3 nodes are available: 3 Insufficient nvidia.com/gpu.`},
	{ofKind(claims), claimNotMet, ResourceClaim, ""},
	{
		inText(noAccount, terminates, otherRefusal), admissionRefused, AdmissionRefused,
		`admission webhook "w.example.com" denied the request: no`,
	},
	{inText(timeout), answer(NodeOverload, overloads), NodeOverload, `error reading from server: EOF`},
}

// target is a pod that does not run, with its symptoms.
type target struct {
	pod      cluster.Pod
	s        cluster.State
	room     func() room
	symptoms []symptom
}

func (t target) name() string { return cmp.Or(t.pod.Name, "the pod") }

// endedWell reports whether every command of the pod exited with 0 by itself. The pod's phase changes a moment later.
func endedWell(p cluster.Pod) bool {
	if endedByKubelet(p) {
		return false
	}
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

// unexplained quotes a message that no family recognizes. Whether it passes is unknown.
func (t target) unexplained() (check.Finding, bool) {
	for _, sym := range t.symptoms {
		if harmless.MatchString(sym.text) || harmless.MatchString(sym.reason) {
			continue
		}
		f := failure(PodPending, t.name()+" is not ready for an unknown reason: "+quote(sym.text),
			check.ByUser("Read all events and conditions of the pod.", describePod(t)))
		f.Status, f.Subject = check.Unknown, check.PodRef(t.pod.Namespace, t.pod.Name)
		f.Evidence = []check.Evidence{{Source: sym.source, Got: sym.text}}
		return f, true
	}
	return check.Finding{}, false
}

func failure(id check.ID, summary string, fix *check.Fix) check.Finding {
	return check.Finding{Check: id, Status: check.Fail, Summary: summary, Fix: fix}
}

func (t target) kubectl(args string) string {
	if t.pod.Namespace == "" {
		return "kubectl " + args
	}
	return "kubectl -n " + t.pod.Namespace + " " + args
}

func describePod(t target) string { return t.kubectl("describe pod " + t.name()) }

// deploy returns the command that deploys the pod's job again.
func (t target) deploy(flags string) string {
	return "railhead deploy " + t.job() + " " + flags + " ..."
}

// namespace returns the pod's own, or a placeholder to replace.
func (t target) namespace() string { return cmp.Or(t.pod.Namespace, "NAMESPACE") }

// node returns the pod's node, or a placeholder to replace.
func (t target) node() string { return cmp.Or(t.pod.Node, "NODE") }

func onNodeOf(t target) string {
	if t.pod.Node == "" {
		return "the node"
	}
	return "node " + t.pod.Node
}

// job returns the name of the pod's job, or of its owner.
func (t target) job() string {
	if job := t.pod.Labels["app.kubernetes.io/instance"]; job != "" {
		return job
	}
	_, name, _ := strings.Cut(t.pod.Owner, "/")
	return cmp.Or(name, "NAME")
}
