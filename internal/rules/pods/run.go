package pods

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// The messages of the kubelet and of container runtimes about images, volumes and containers.
var (
	// execFormat matches the words of runc, crun and shells. Python's are not among them: it says the same of a script
	// without an interpreter line.
	execFormat = anyOf(`exec format error`, `exec container process .*: Exec format error`,
		`cannot execute binary file: Exec format error`)
	architecture = anyCase(
		`no match(ing manifest)? for (platform|linux|windows)`,
		`no supported platform found`,
		`no image found in (image index|manifest list) for architecture`,
		`image operating system`,
		`does not match the (expected|specified) platform`,
		`unknown architecture`,
	)
	pull = anyCase(
		`ErrImagePull`,
		`ImagePullBackOff`,
		`ErrImageNeverPull`,
		`InvalidImageName`,
		`ImageInspectError`,
		`RegistryUnavailable`,
		`SignatureValidationFailed`,
		`failed to pull image`,
		`back-off pulling image`,
		`couldn't parse image`,
		`failed to apply default image tag`,
		`failed to pull and unpack image`,
	)
	pullAuth = anyCase(
		`unauthorized`,
		`authentication required`,
		`access denied`,
		`is denied`,
		`denied:`,
		`403 Forbidden`,
		`no basic auth credentials`,
		`insufficient_scope`,
		`authorization failed`,
	)
	pullGone = anyCase(
		`manifest unknown`,
		`not found`,
		`name unknown`,
		`\b404\b`,
		`does not exist`,
		`InvalidImageName`,
		`couldn't parse`,
		`invalid reference format`,
		`NeverPull`,
	)
	pullNetwork = anyCase(
		`i/o timeout`,
		`no such host`,
		`connection refused`,
		`TLS handshake`,
		`x509`,
		`deadline exceeded`,
		`no route to host`,
		`network is unreachable`,
		`connection reset`,
		`server gave HTTP response`,
		`EOF`,
		`\b50[0-9] `,
	)
	pullRate = anyCase(`too ?many ?requests`, `rate limit`)
	pullDisk = anyCase(`no space left on device`, `disk quota exceeded`)
	volume   = anyCase(
		`FailedMount`,
		`FailedAttachVolume`,
		`FailedMapVolume`,
		`MountVolume`,
		`AttachVolume`,
		`unable to attach or mount volumes`,
	)
	ourParts = anyOf(
		`configmap "(railhead-pod-[^"]+)" not found`,
		`references non-existent config key`,
	)
	configGone = anyOf(
		`(configmap|secret) "([^"]+)" not found`,
		`couldn't find key (\S+) in (ConfigMap|Secret) (\S+)`,
	)
	startReason = anyOf(`^(CreateContainerConfigError|CreateContainerError|RunContainerError|StartError|` +
		`ContainerCannotRun|PostStartHookError|PreCreateHookError)$`)
	startText = anyCase(
		`runAsNonRoot`,
		`OCI runtime create failed`,
		`failed to (create|start) container(d task)?`,
		`(container|runc) create failed`,
		`unable to start container process`,
		`executable file not found`,
		`starting container process caused`,
		`CreateContainerConfigError`,
		`CreateContainerError`,
		`RunContainerError`,
	)
	asRoot = anyOf(`runAsNonRoot`)
	// noProgram matches the words of runc, whose quotes CRI-O escapes, and the words of crun.
	noProgram = anyOf(`exec:? [\\"]*([^\\":]+)[\\"]*: (?:stat [^:]+: )?`+
		`(?:no such file|executable file not found|not found|permission denied)`,
		"executable file `([^`]+)` not found")
	rlimit     = anyOf(`error setting rlimits?\b.*? type 8\b`) // RLIMIT_MEMLOCK
	oomKilled  = anyOf(`OOM-?[Kk]ill`, `memory limit too low`)
	evictedWhy = anyCase(
		`ephemeral local storage usage exceeds`,
		`exceeds (the|its) (total )?(local ephemeral storage )?limit`,
		`was low on resource`,
		`\bEvicted\b`,
		`emptyDir volume .* exceeds`,
		`DiskPressure`,
		`MemoryPressure`,
		overTime.String(),
	)
	overTime = anyOf(`active on the node longer than the specified deadline`) // pkg/kubelet/active_deadline.go
	tainted  = anyOf(`taint`)
	fullShm  = anyCase(`emptydir.*shm`, `shm.*emptydir`)
	fullDisk = anyCase(`storage`, `disk`)
	fullRAM  = anyCase(`memory`)
	lost     = anyOf(`^(NodeLost|NodeShutdown|Terminated|NodeAffinity|Shutdown|DeletionByTaintManager|` +
		`DeletionByPodGC|TerminationByKubelet|` +
		`PreemptionByScheduler|Preempted|Preempting|NodeNotReady|TaintManagerEviction)$`)
)

// otherProcessor reports whether a symptom is a program or an image for another processor.
func otherProcessor(s symptom) bool { return execFormat.MatchString(s.text) || inText(architecture)(s) }

// imageArchitecture explains a program or an image for another processor.
func imageArchitecture(t target, _ symptom) check.Finding {
	f := failure(ImageArchitecture, "the image of "+t.name()+" is not for the processor of "+onNodeOf(t),
		check.ByUser("Use an image for that architecture, or nodes with the architecture of the image.",
			t.deploy("--node-selector kubernetes.io/arch=amd64")))
	if n, ok := t.s.Node(t.pod.Node); ok {
		f.Summary += " (" + n.Arch + ")"
	}
	return f
}

func imagePull(t target, sym symptom) check.Finding {
	image := "the image of " + t.name()
	if sym.container != nil && sym.container.Image != "" {
		image = "image " + sym.container.Image
	}
	detail := pullDetail(t, sym)
	f := failure(ImagePull, image+" could not be pulled: "+quote(detail),
		check.ByUser("Read the message of the container runtime.", describePod(t)))
	switch {
	case pullAuth.MatchString(detail):
		f.Summary = "the registry refuses to serve " + image + ": no permission, or no such image"
		f.Fix = check.ByUser("Give the pods a pull secret.",
			t.kubectl("create secret docker-registry PULL "+
				"--docker-server=REGISTRY --docker-username=USER --docker-password=..."),
			t.deploy("--image-pull-secret PULL"))
	case pullRate.MatchString(detail):
		f.Status, f.Summary = check.Warn, "the registry limits how often "+image+" may be pulled"
		f.Fix = check.ByUser("Wait, or pull as a registered user or from a mirror.",
			t.deploy("--image-pull-secret PULL"))
	case pullDisk.MatchString(detail):
		f.Summary = onNodeOf(t) + " has no disk space left for " + image
		f.Fix = check.ByAdmin("Free disk space on the node.", "kubectl describe node "+t.node()+" | grep -i disk")
	case pullGone.MatchString(detail):
		f.Summary = image + " does not exist under that name"
		f.Fix = check.ByUser("Correct --image.")
	case pullNetwork.MatchString(detail):
		f.Status, f.Summary = check.Warn, onNodeOf(t)+" does not reach the registry of "+image+": "+quote(detail)
		f.Fix = check.ByAdmin("The kubelet tries again. If it continues, check the node's proxy, DNS and certificates.")
	default:
		f.Status = check.Warn
	}
	return f
}

// pullDetail joins all messages about pulling: "Back-off pulling image" alone does not give the reason.
func pullDetail(t target, sym symptom) string {
	detail := sym.whole()
	for _, other := range t.symptoms {
		if pull.MatchString(other.whole()) && other.text != sym.text {
			detail += " | " + other.text
		}
	}
	return detail
}

// volumeNotReady explains claims that are not bound and volumes that are not mounted.
func volumeNotReady(t target, sym symptom) check.Finding {
	whole := sym.whole()
	f := failure(VolumeNotReady, "a volume of "+t.name()+" cannot be mounted: "+quote(sym.text),
		check.ByUser("Read the messages about the volume.", describePod(t)))
	switch {
	case unfitVolume.MatchString(whole):
		f.Summary = "the volumes of " + t.name() + " cannot be mounted on the nodes: " + quote(sym.text)
		f.Fix = check.ByUser("A volume of one node or zone, or mounted by another pod, keeps pods off other nodes: "+
			"use a volume that every node can mount.", t.kubectl("get pvc"), "kubectl get pv -o yaml")
	case unboundVolume.MatchString(whole):
		f.Summary = "a PersistentVolumeClaim of " + t.name() + " has no volume: " + quote(sym.text)
		f.Fix = check.ByUser("Create the claim, or find out why no volume is bound to it.",
			t.kubectl("get pvc"), t.kubectl("describe pvc"))
	case ourParts.MatchString(whole):
		f.Summary = "a ConfigMap with railhead-pod is missing: " + quote(sym.text)
		f.Fix = check.ByUser("Deploy again: that creates missing objects.", "railhead deploy "+t.job()+" ...")
	case timeout.MatchString(whole):
		f.Status = check.Warn
	}
	return f
}

// containerStart explains containers that could not be created or started.
func containerStart(t target, sym symptom) check.Finding {
	f := failure(ContainerStart, "a container of "+t.name()+" cannot be started: "+quote(sym.text),
		check.ByUser("Read the message of the container runtime.", describePod(t)))
	gone := configGone.FindStringSubmatch(sym.text)
	program := noProgram.FindStringSubmatch(sym.text)
	switch {
	case asRoot.MatchString(sym.text):
		f.Summary = "the image of " + t.name() + " runs as root or as a named user, and the pod must not run as root"
		f.Fix = check.ByUser("Give the pods a numeric user, or use an image with one.", t.deploy("--run-as-user 1000"))
	case gone != nil && gone[2] != "":
		f.Summary = fmt.Sprintf("%s %s, which %s needs, does not exist", gone[1], gone[2], t.name())
		f.Fix = check.ByUser("Create it, or deploy again if it is the job's own.", t.kubectl("get "+gone[1]+"s"))
	case rlimit.MatchString(sym.text):
		f.Summary = "the container runtime of " + onNodeOf(t) + " may not raise the locked-memory " +
			"limit (rlimit type 8) of " + t.name()
		f.Fix = check.ByAdmin("The runtime cannot give more than its own limit without CAP_SYS_RESOURCE: set "+
			"LimitMEMLOCK=infinity in its systemd unit.",
			"oc debug node/"+t.node()+" -- chroot /host systemctl show crio containerd -p LimitMEMLOCK")
	case program != nil:
		f.Summary = fmt.Sprintf("%s is not in the image of %s, or cannot be executed",
			cmp.Or(program[1], program[2]), t.name())
		f.Fix = check.ByUser("Use a command that the image has.")
	}
	return f
}

// installFailed explains a failed init container, such as the one that copies railhead-pod into the pod.
func installFailed(t target, sym symptom) check.Finding {
	c := sym.container
	f := failure(InstallFailed, fmt.Sprintf("init container %s of %s fails: %s", c.Name, t.name(), quote(sym.text)),
		check.ByUser("Read its output.", t.logs(*c)))
	noShell := noProgram.MatchString(sym.text) || c.ExitCode != nil && (*c.ExitCode == 126 || *c.ExitCode == 127)
	if c.Name == InstallContainer && noShell {
		f.Summary = "railhead-pod cannot be copied into " + t.name() + ": the image has no sh, cat or chmod"
		f.Fix = check.ByUser("Take railhead-pod from a separate image instead of ConfigMaps.",
			t.deploy("--pod-image IMAGE"))
	}
	return f
}

// ended reports whether a symptom is the exit code of a container other than an init container.
func ended(s symptom) bool {
	return s.container != nil && !s.container.Init && s.container.ExitCode != nil && hasRun(*s.container)
}

// initFailed reports whether a symptom is the state of an init container that does not only wait for its image.
func initFailed(s symptom) bool {
	c := s.container
	return c != nil && c.Init && !pull.MatchString(c.Waiting) && !notStarted(s) &&
		(c.ExitCode != nil || !harmless.MatchString(c.Waiting))
}

// notStarted reports whether railhead-pod run, or the shell, did not start the command, or refused to write its files.
func notStarted(s symptom) bool {
	c := s.container
	if !s.byProgram() || !hasRun(*c) {
		return false
	}
	switch *c.ExitCode {
	case 125: // a command may end with it, too
		return c.Name == FilesContainer || !c.Init && (c.Message == "" || refusalText.MatchString(c.Message))
	case 126, 127:
		return !c.Init
	}
	return false
}

// refusalText matches what railhead-pod run writes if it does not start a command: its errors or, if the kubelet kept
// only the end of the output, the check of a finding or the advice at the end of a reason.
var refusalText = regexp.MustCompile(`railhead-pod: |` + findingEnd.String() +
	`|RAILHEAD_RAILS=any|RAILHEAD_KEEP=true|--mode tcp`)

func startFailed(s symptom) bool {
	return !inText(timeout)(s) && (startReason.MatchString(s.reason) || inText(startText)(s))
}

// logs returns the command that prints what a container wrote before it ended. The kubelet refuses --previous for one
// that was not restarted (kubernetes pkg/kubelet/kubelet_pods.go, validateContainerLogStatus).
func (t target) logs(c cluster.Container) string {
	args := "logs " + t.name() + " -c " + c.Name
	if c.Restarts > 0 {
		args += " --previous"
	}
	return t.kubectl(args)
}

// railheadExit explains the exit codes of railhead-pod run if it does not start the command. A shell ends with the same
// codes for a program that it does not start.
func railheadExit(t target, sym symptom) check.Finding {
	message := firstReason(oneLine(sym.container.Message))
	command := "the command of " + t.name()
	program := command + ", or a program that it runs,"
	f := failure(CommandNotStarted, "",
		check.ByUser("Correct the command, or use an image that has it.", t.logs(*sym.container)))
	switch *sym.container.ExitCode {
	case 125:
		f.Check = LaunchRefused
		f.Summary = "railhead-pod did not start " + command + ": " + message
		if message == "" {
			f.Summary = command + " ended with exit code 125, as railhead-pod does if it does not start a command: " +
				"see its output"
		}
		f.Fix.Text = "Follow its message; running the pod over TCP would hide the fault."
	case 126:
		f.Summary = strings.TrimSuffix(program+" cannot be executed in the image: "+message, ": ")
	case 127:
		f.Summary = strings.TrimSuffix(program+" was not found in the image: "+message, ": ")
	}
	return f
}

// firstReason returns the message of railhead-pod up to the first finding, which is the root cause. Lines before say
// what the pod was given, or how the preflight went.
func firstReason(message string) string {
	if _, reason, found := strings.Cut(message, "railhead-pod: not started: "); found {
		message = reason
	}
	if end := findingEnd.FindStringIndex(message); end != nil {
		return middleOut(strings.Replace(message[:end[1]], " fail: ", ": ", 1), 2*longestQuote)
	}
	return quote(message)
}

// findingEnd matches the check that ends the first line of a finding.
var findingEnd = regexp.MustCompile(`\[[a-z]+(-[a-z]+)+\]`)

// commandExit explains a command that ended by itself.
func commandExit(t target, sym symptom) check.Finding {
	code := *sym.container.ExitCode
	if code == 0 {
		f := failure(CommandExit, "the command of "+t.name()+" succeeded, and a StatefulSet starts it again",
			check.ByUser("Delete the job, or deploy it as a JobSet, which runs the command once.",
				"railhead delete "+t.job()+" -n "+t.namespace()))
		f.Status = check.Warn
		return f
	}
	summary := fmt.Sprintf("the command of %s ended with exit code %d%s: %s",
		t.name(), code, signal(code), quote(oneLine(sym.container.Message)))
	return failure(CommandExit, strings.TrimSuffix(summary, ": "),
		check.ByUser("Read the command's own output.", t.logs(*sym.container)))
}

// signal names the signal of an exit code above 128, as shells count.
func signal(code int) string {
	names := map[int]string{
		130: "SIGINT", 134: "SIGABRT", 135: "SIGBUS", 136: "SIGFPE", 137: "SIGKILL", 139: "SIGSEGV", 143: "SIGTERM",
	}
	if name, ok := names[code]; ok {
		return " (" + name + ")"
	}
	return ""
}

func outOfMemory(t target, _ symptom) check.Finding {
	return failure(OutOfMemory,
		"the kernel killed "+t.name()+" because it used more memory than its limit; files in /dev/shm count",
		check.ByUser("Raise the memory, or load less at a time.", t.deploy("--memory 512Gi")))
}

// evicted explains pods that the kubelet ended to keep its node alive, or because their time was over.
func evicted(t target, sym symptom) check.Finding {
	f := failure(PodEvicted, onNodeOf(t)+" evicted "+t.name()+": "+quote(sym.text),
		check.ByUser("Request as much as the pod uses, so that it is placed on a node that has it."))
	switch {
	case overTime.MatchString(sym.text):
		f.Fix = check.ByUser("Raise or remove activeDeadlineSeconds, or let the command end earlier.", describePod(t))
	case fullShm.MatchString(sym.text):
		f.Fix.Commands = []string{t.deploy("--shm 128Gi")}
	case fullDisk.MatchString(sym.text):
		f.Fix.Commands = []string{t.deploy("--ephemeral-storage 200Gi")}
	case fullRAM.MatchString(sym.text):
		f.Fix.Commands = []string{t.deploy("--memory 512Gi")}
	}
	return f
}

// nodeLost explains pods that ended with their node, or for another pod.
func nodeLost(t target, sym symptom) check.Finding {
	f := failure(NodeLost, t.name()+" was removed from "+onNodeOf(t)+": "+quote(sym.text),
		check.ByAdmin("Its controller creates it again on a node that fits; find out what happened to this one.",
			"kubectl describe node "+t.node()))
	f.Status = check.Warn
	return f
}
