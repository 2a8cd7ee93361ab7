package cluster

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/railhead/railhead/internal/check"
)

// The words of the kubelet and of container runtimes about images, volumes and containers.
var (
	architecture = regexp.MustCompile(`(?i)exec format error|no matching manifest for|no image found in (image index|manifest list) for architecture|image operating system|does not match the (expected|specified) platform|unknown architecture`)
	pull         = regexp.MustCompile(`(?i)ErrImagePull|ImagePullBackOff|ErrImageNeverPull|InvalidImageName|ImageInspectError|RegistryUnavailable|SignatureValidationFailed|failed to pull image|back-off pulling image|couldn't parse image|failed to apply default image tag|failed to pull and unpack image`)
	pullAuth     = regexp.MustCompile(`(?i)unauthorized|authentication required|access denied|pull access denied|denied:|403 Forbidden|no basic auth credentials|insufficient_scope|authorization failed`)
	pullGone     = regexp.MustCompile(`(?i)manifest unknown|not found|name unknown|404|does not exist|InvalidImageName|couldn't parse|invalid reference format|NeverPull`)
	pullNetwork  = regexp.MustCompile(`(?i)i/o timeout|no such host|connection refused|TLS handshake|x509|deadline exceeded|no route to host|network is unreachable|connection reset|server gave HTTP response|EOF|too many requests|toomanyrequests|50[0-9] `)
	pullDisk     = regexp.MustCompile(`(?i)no space left on device|disk quota exceeded`)
	volume       = regexp.MustCompile(`(?i)FailedMount|FailedAttachVolume|FailedMapVolume|MountVolume|AttachVolume|unable to attach or mount volumes`)
	ourParts     = regexp.MustCompile(`configmap "(railhead-pod-[^"]+)" not found|references non-existent config key`)
	configGone   = regexp.MustCompile(`(configmap|secret) "([^"]+)" not found|couldn't find key (\S+) in (ConfigMap|Secret) (\S+)`)
	startReason  = regexp.MustCompile(`^(CreateContainerConfigError|CreateContainerError|RunContainerError|StartError|ContainerCannotRun|PostStartHookError|PreCreateHookError)$`)
	startText    = regexp.MustCompile(`(?i)runAsNonRoot|OCI runtime create failed|failed to (create|start) container(d task)?|executable file not found|starting container process caused|CreateContainerConfigError|CreateContainerError|RunContainerError`)
	noProgram    = regexp.MustCompile(`exec:? "?([^":]+)"?: (stat [^:]+: )?(no such file|executable file not found|not found|permission denied)`)
	evictedWhy   = regexp.MustCompile(`(?i)ephemeral local storage usage exceeds|exceeds (the|its) (total )?(local ephemeral storage )?limit|was low on resource|\bEvicted\b|emptyDir volume .* exceeds|DiskPressure|MemoryPressure`)
	lost         = regexp.MustCompile(`^(NodeLost|NodeShutdown|Terminated|NodeAffinity|Shutdown|DeletionByTaintManager|DeletionByPodGC|TerminationByKubelet|PreemptionByScheduler|Preempted|Preempting|NodeNotReady|TaintManagerEviction)$`)
)

// imageArchitecture explains a program or an image made for another processor.
func imageArchitecture(p patient, said symptom) (check.Finding, bool) {
	if !architecture.MatchString(said.text) {
		return check.Finding{}, false
	}
	f := check.Finding{Check: ImageArchitecture, Status: check.Fail, Summary: "the image of " + p.name() + " is not made for the processor of " + p.onNode()}
	if n, ok := p.s.Node(p.pod.Node); ok {
		f.Summary += " (" + n.Arch + ")"
	}
	f.Fix = &check.Fix{Text: "Take an image for that architecture, or nodes of the image's.", Who: check.User, Commands: []string{"railhead deploy " + p.job() + " --node-selector kubernetes.io/arch=amd64 ..."}}
	return f, true
}

func imagePull(p patient, said symptom) (check.Finding, bool) {
	whole := said.reason + ": " + said.text
	if !pull.MatchString(whole) {
		return check.Finding{}, false
	}
	f := check.Finding{Check: ImagePull, Status: check.Fail, Fix: &check.Fix{Who: check.User}}
	image := "the image of " + p.name()
	if said.container != nil && said.container.Image != "" {
		image = "image " + said.container.Image
	}
	secret := p.kubectl("create secret docker-registry PULL --docker-server=REGISTRY --docker-username=USER --docker-password=...")
	switch detail := p.pullDetail(said); {
	case pullAuth.MatchString(detail):
		f.Summary = "the registry does not give " + image + " to whoever asks: no right, or no such image"
		f.Fix.Text, f.Fix.Commands = "Give the pods a pull secret.", []string{secret, "railhead deploy " + p.job() + " --image-pull-secret PULL ..."}
	case pullDisk.MatchString(detail):
		f.Summary = p.onNode() + " has no disk space left for " + image
		f.Fix = &check.Fix{Text: "Free disk space on the node.", Who: check.Admin, Commands: []string{"kubectl describe node " + orDefault(p.pod.Node, "NODE") + " | grep -i disk"}}
	case pullGone.MatchString(detail):
		f.Summary = image + " does not exist under that name"
		f.Fix.Text = "Correct --image."
	case pullNetwork.MatchString(detail):
		f.Status, f.Summary = check.Warn, p.onNode()+" does not reach the registry of "+image+": "+clip(detail)
		f.Fix = &check.Fix{Text: "The kubelet tries again. If it goes on, look at the node's proxy, DNS and certificates.", Who: check.Admin}
	default:
		f.Status, f.Summary = check.Warn, image+" could not be pulled: "+clip(detail)
		f.Fix.Text, f.Fix.Commands = "Read what the runtime says.", []string{p.kubectl("describe pod " + p.name())}
	}
	return f, true
}

// pullDetail joins all that was said of pulling: "Back-off pulling image" alone does not say why.
func (p patient) pullDetail(said symptom) string {
	detail := said.reason + ": " + said.text
	for _, s := range p.symptoms {
		if pull.MatchString(s.reason+": "+s.text) && s.text != said.text {
			detail += " | " + s.text
		}
	}
	return detail
}

// volumeNotReady explains claims that are not bound and volumes that are not mounted.
func volumeNotReady(p patient, said symptom) (check.Finding, bool) {
	whole := said.reason + ": " + said.text
	claim := unboundVolume.MatchString(whole)
	if !claim && !volume.MatchString(whole) {
		return check.Finding{}, false
	}
	f := check.Finding{Check: VolumeNotReady, Status: check.Fail, Summary: "a volume of " + p.name() + " cannot be mounted: " + clip(said.text)}
	f.Fix = &check.Fix{Text: "Read what is said of the volume.", Who: check.User, Commands: []string{p.kubectl("describe pod " + p.name())}}
	switch {
	case claim:
		f.Summary = "a PersistentVolumeClaim of " + p.name() + " has no volume: " + clip(said.text)
		f.Fix.Text, f.Fix.Commands = "Make the claim, or read why no volume is bound to it.", []string{p.kubectl("get pvc"), p.kubectl("describe pvc")}
	case ourParts.MatchString(whole):
		f.Summary = "a ConfigMap with railhead-pod is not there: " + clip(said.text)
		f.Fix.Text, f.Fix.Commands = "Deploy again: it writes what is missing.", []string{"railhead deploy " + p.job() + " ..."}
	case timeout.MatchString(whole):
		f.Status = check.Warn
	}
	return f, true
}

// containerStart explains containers that could not be made or started.
func containerStart(p patient, said symptom) (check.Finding, bool) {
	if !startReason.MatchString(said.reason) && !startText.MatchString(said.text) || timeout.MatchString(said.text) {
		return check.Finding{}, false
	}
	f := check.Finding{Check: ContainerStart, Status: check.Fail, Summary: "a container of " + p.name() + " cannot be started: " + clip(said.text), Fix: &check.Fix{Who: check.User}}
	f.Fix.Text, f.Fix.Commands = "Read what the runtime says.", []string{p.kubectl("describe pod " + p.name())}
	gone := configGone.FindStringSubmatch(said.text)
	program := noProgram.FindStringSubmatch(said.text)
	switch {
	case strings.Contains(said.text, "runAsNonRoot"):
		f.Summary = "the image of " + p.name() + " runs as root or as a named user, and the pod must not run as root"
		f.Fix.Text, f.Fix.Commands = "Give the pods a user by its number, or take an image with one.", []string{"railhead deploy " + p.job() + " --run-as-user 1000 ..."}
	case gone != nil && gone[2] != "":
		f.Summary = fmt.Sprintf("%s %s, which %s needs, is not there", gone[1], gone[2], p.name())
		f.Fix.Text, f.Fix.Commands = "Make it, or deploy again where it is the job's own.", []string{p.kubectl("get " + gone[1] + "s")}
	case program != nil:
		f.Summary = fmt.Sprintf("%s is not in the image of %s, or cannot be executed", program[1], p.name())
		f.Fix.Text, f.Fix.Commands = "Name a command that the image has.", nil
	}
	return f, true
}

// installFailed explains the init container that puts railhead-pod into the pod.
func installFailed(p patient, said symptom) (check.Finding, bool) {
	c := said.container
	if c == nil || !c.Init || harmless.MatchString(c.Waiting) && c.ExitCode == nil || pull.MatchString(c.Waiting) {
		return check.Finding{}, false
	}
	f := check.Finding{Check: InstallFailed, Status: check.Fail, Summary: fmt.Sprintf("init container %s of %s fails: %s", c.Name, p.name(), clip(said.text))}
	f.Fix = &check.Fix{Text: "Read its output.", Who: check.User, Commands: []string{p.kubectl("logs " + p.name() + " -c " + c.Name)}}
	switch {
	case c.Name != InstallContainer:
	case noProgram.MatchString(said.text) || c.ExitCode != nil && (*c.ExitCode == 126 || *c.ExitCode == 127):
		f.Summary = "railhead-pod cannot be put into " + p.name() + ": the image has no shell, or not sh, cat and chmod"
		f.Fix.Text, f.Fix.Commands = "Take railhead-pod from an image of its own instead of ConfigMaps.", []string{"railhead deploy " + p.job() + " --pod-image IMAGE ..."}
	}
	return f, true
}

// railheadExit explains the exit codes that railhead-pod run leaves when it does not start the command.
func railheadExit(p patient, said symptom) (check.Finding, bool) {
	c := said.container
	if c == nil || c.Init || c.ExitCode == nil {
		return check.Finding{}, false
	}
	f := check.Finding{Status: check.Fail, Fix: &check.Fix{Who: check.User, Commands: []string{p.kubectl("logs " + p.name() + " -c " + c.Name + " --previous")}}}
	words := clip(oneLine(c.Message))
	switch *c.ExitCode {
	case 125:
		f.Check, f.Summary = LaunchRefused, "railhead-pod did not start the command of "+p.name()+", and said why: "+orDefault(words, "its output tells")
		f.Fix.Text = "Follow what it says; the pod over TCP would hide the fault."
	case 126, 127:
		what := "was not found"
		if *c.ExitCode == 126 {
			what = "cannot be executed"
		}
		f.Check, f.Summary = CommandNotStarted, strings.TrimSuffix("the command of "+p.name()+" "+what+" in the image: "+words, ": ")
		f.Fix.Text = "Correct the command, or take an image that has it."
	default:
		return f, false
	}
	return f, true
}

// commandExit explains a command that ended by itself.
func commandExit(p patient, said symptom) (check.Finding, bool) {
	c := said.container
	if c == nil || c.Init || c.ExitCode == nil {
		return check.Finding{}, false
	}
	f := check.Finding{
		Check: CommandExit, Status: check.Fail,
		Summary: strings.TrimSuffix(fmt.Sprintf("the command of %s ended with exit code %d%s: %s", p.name(), *c.ExitCode, signal(*c.ExitCode), clip(oneLine(c.Message))), ": "),
		Fix:     &check.Fix{Text: "Read the command's own output.", Who: check.User, Commands: []string{p.kubectl("logs " + p.name() + " -c " + c.Name + " --previous")}},
	}
	if *c.ExitCode == 0 {
		f.Status = check.Warn
		f.Summary = "the command of " + p.name() + " ended well, and a StatefulSet starts it again"
		f.Fix = &check.Fix{Text: "Delete the job, or deploy it as a JobSet, which runs the command once.", Who: check.User, Commands: []string{"railhead delete " + p.job() + " -n " + p.namespace()}}
	}
	return f, true
}

// signal names the signal of an exit code above 128, as shells count.
func signal(code int) string {
	if name, ok := map[int]string{130: "SIGINT", 134: "SIGABRT", 135: "SIGBUS", 136: "SIGFPE", 137: "SIGKILL", 139: "SIGSEGV", 143: "SIGTERM"}[code]; ok {
		return " (" + name + ")"
	}
	return ""
}

func outOfMemory(p patient, said symptom) (check.Finding, bool) {
	c := said.container
	if !strings.Contains(said.reason+" "+said.text, "OOMKill") && (c == nil || c.Ended != "OOMKilled") {
		return check.Finding{}, false
	}
	return check.Finding{
		Check: OutOfMemory, Status: check.Fail, Summary: "the kernel killed " + p.name() + " because it used more memory than its limit; what lies in /dev/shm counts",
		Fix: &check.Fix{Text: "Raise the memory, or load less at a time.", Who: check.User, Commands: []string{"railhead deploy " + p.job() + " --memory 512Gi ..."}},
	}, true
}

// evicted explains pods that the kubelet ended to keep its node alive.
func evicted(p patient, said symptom) (check.Finding, bool) {
	if !evictedWhy.MatchString(said.reason+": "+said.text) || insufficient.MatchString(said.text) || strings.Contains(said.text, "taint") {
		return check.Finding{}, false
	}
	f := check.Finding{Check: PodEvicted, Status: check.Fail, Summary: p.onNode() + " evicted " + p.name() + ": " + clip(said.text)}
	f.Fix = &check.Fix{Text: "Ask for what the pod uses, so that it comes to a node that has it.", Who: check.User}
	switch lower := strings.ToLower(said.text); {
	case strings.Contains(lower, "emptydir") && strings.Contains(lower, "shm"):
		f.Fix.Commands = []string{"railhead deploy " + p.job() + " --shm 128Gi ..."}
	case strings.Contains(lower, "storage") || strings.Contains(lower, "disk"):
		f.Fix.Commands = []string{"railhead deploy " + p.job() + " --ephemeral-storage 200Gi ..."}
	case strings.Contains(lower, "memory"):
		f.Fix.Commands = []string{"railhead deploy " + p.job() + " --memory 512Gi ..."}
	}
	return f, true
}

// nodeLost explains pods that ended with their node, or for another pod.
func nodeLost(p patient, said symptom) (check.Finding, bool) {
	if !lost.MatchString(said.reason) {
		return check.Finding{}, false
	}
	return check.Finding{
		Check: NodeLost, Status: check.Warn, Summary: p.name() + " was taken off " + p.onNode() + ": " + clip(said.text),
		Fix: &check.Fix{Text: "Its controller makes it again on a node that fits; look at what happened to this one.", Who: check.Admin, Commands: []string{"kubectl describe node " + orDefault(p.pod.Node, "NODE")}},
	}, true
}
