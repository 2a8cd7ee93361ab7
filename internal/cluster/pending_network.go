package cluster

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
)

// The words of Multus, of CNI and IPAM plugins, and of the network-resources-injector.
var (
	nadNamed = []*regexp.Regexp{ // groups: name, namespace
		regexp.MustCompile(`cannot find (?:get )?(?:a )?network-attachment-definition \(([^)]*)\) in namespace \(([^)]*)\)`),
		regexp.MustCompile(`could not find network attachment definition '(?:[^'/]*/)?([^']*)'`),
		regexp.MustCompile(`network-?attachment-?definitions?(?:\.k8s\.cni\.cncf\.io)? "([^"]*)" (?:is )?not found`),
	}
	nadElse   = regexp.MustCompile(`(?i)NoNetworkFound|namespace isolation (?:is )?(?:enabled|enforced)|network-?attachment-?definitions?[^.]*(?:not found|forbidden)|failed getting the delegate|no networks found in|getCNIConfigFromSpec`)
	isolation = regexp.MustCompile(`pod is in namespace "?([^" ]+)"? but refers to target namespace "?([^" ]+)"?`)
	noAddress = regexp.MustCompile(`(?i)failed to (assign|allocate|request|acquire)( for range \S+)?( an?| any| new| pod)* (IPv[46] |IP )?address|no (more |free |available )*(IP ?v?[46]? ?(addresses|address)|IPs|addresses)( are| is)?( left| available| remaining| in| could|$|[,.;:])|could not allocate IP in range|not enough (free )?(IP|address)|(IP ?|address ?|IPAM ?)(address )?(pool|range|block|subnet)?s? ?(is |are )?exhausted|(range|pool|subnet) (is )?(full|exhausted)|subnet address pool exhausted|CIDR ranges are exhausted|InsufficientFreeAddresses|InsufficientCidrBlocks|Assigned 0 out of \d+ requested|no more tries|failed to allocate (new )?IP\b|out of IPs|no IP addresses available`)
	deviceCNI = regexp.MustCompile(`(?i)sri-?ov[- ]cni|ib-sriov|infiniband sri-?ov|(plugin type=|plugin:|DelegateAdd - )"?(sriov|ib-sriov|rdma|host-device)\b"?|/sys/bus/pci/devices/\S+/(physfn|virtfn)|VF pci addr|pci ?addr(ess)? is required|rdma[- ]cni|failed to (configure|set ?up|move|get|find|rename|release|reset|load) (netconf.*)?\b(vf|VF|virtual function)\b|\bvf \d+\b|host-device: `)
	noPCI     = regexp.MustCompile(`(?i)pci ?addr(ess)? is required|failed to get resourceMap|no device ?id`)
	busyVF    = regexp.MustCompile(`(?i)resource busy|already (in use|allocated)|file exists`)
	exclusive = regexp.MustCompile(`(?i)rdma.*(exclusive|netns|namespace mode)`)
	// multusWaits is Multus, which reads the pod from the API server before it does anything (multus-cni v4.2.3
	// pkg/multus/multus.go GetPod: 2.5 s for all tries). Group: the server.
	multusWaits = regexp.MustCompile(`[Mm]ultus.*error (?:waiting for|getting) pod: Get "?https://([^/"]+)/`)
	sandbox     = regexp.MustCompile(`(?i)FailedCreatePodSandBox|FailedCreatePodSandbox|create pod sandbox|CreatePodSandbox|set ?up sandbox|setup network for sandbox|plugin type=|CNI request failed|cni plugin not initialized|NetworkNotReady|network is not ready`)
	timeout     = regexp.MustCompile(`(?i)DeadlineExceeded|deadline exceeded|name is reserved|failed to reserve (sandbox|container) name|PLEG is not healthy|system load|RST_STREAM|timed out waiting for (the condition|annotations|OVS port)|stream terminated|client rate limiter|error reading from server: EOF|transport is closing|time limit exceeded while waiting to become leader`)
)

// nadMissing explains a network attachment that is not there, or not for this namespace.
func nadMissing(p patient, said symptom) (check.Finding, bool) {
	whole := said.reason + ": " + said.text
	f := check.Finding{Check: NADMissing, Status: check.Fail}
	if m := isolation.FindStringSubmatch(whole); m != nil {
		f.Summary = fmt.Sprintf("Multus lets pods of namespace %s use only its own network attachments, not those of %s", m[1], m[2])
		f.Fix = &check.Fix{Text: "Copy the attachments into the namespace.", Who: check.User, Commands: []string{"railhead setup namespace " + m[1] + " --networks-from " + m[2]}}
		return f, true
	}
	for _, form := range nadNamed {
		m := form.FindStringSubmatch(whole)
		if m == nil {
			continue
		}
		namespace := p.namespace()
		if len(m) > 2 {
			namespace = m[2]
		}
		p.missingNAD(&f, m[1], namespace)
		return f, true
	}
	if !nadElse.MatchString(whole) {
		return f, false
	}
	f.Summary = "a network attachment of " + p.name() + " cannot be used: " + clip(said.text)
	f.Fix = &check.Fix{Text: "Compare the annotation k8s.v1.cni.cncf.io/networks with the attachments of the namespace.", Who: check.User,
		Commands: []string{p.kubectl("get network-attachment-definitions")}}
	return f, true
}

func (p patient) missingNAD(f *check.Finding, name, namespace string) {
	f.Summary = fmt.Sprintf("network attachment %s is not there in namespace %s", name, namespace)
	f.Fix = &check.Fix{Text: "Give the namespace its attachments, or name one that it has.", Who: check.User, Commands: []string{
		"railhead setup namespace " + namespace, "kubectl -n " + namespace + " get network-attachment-definitions"}}
	var here, elsewhere []string
	for _, n := range p.s.Networks {
		switch {
		case n.Namespace == namespace:
			here = append(here, n.Name)
		case n.Name == name:
			elsewhere = append(elsewhere, n.Namespace)
		}
	}
	if len(here) > 0 {
		f.Evidence = append(f.Evidence, check.Evidence{Source: "attachments of namespace " + namespace, Got: listed(here), Want: name})
	}
	if len(elsewhere) > 0 {
		slices.Sort(elsewhere)
		f.Summary += "; namespace " + elsewhere[0] + " has one"
		f.Fix.Commands[0] += " --networks-from " + elsewhere[0]
	} else if near := Nearest(name, here); len(near) > 0 {
		f.Summary += "; it has " + strings.Join(near, ", ")
	}
}

// noIP explains that the pod network, or the IPAM of an attachment, has no address left.
func noIP(p patient, said symptom) (check.Finding, bool) {
	if !noAddress.MatchString(said.text) {
		return check.Finding{}, false
	}
	return check.Finding{
		Check: NoIP, Status: check.Fail,
		Summary: "no IP address is left for " + p.name() + ": " + clip(said.text),
		Fix: &check.Fix{Text: "Widen the range of the network that the message names (ipam of the attachment, or the pod network), or free addresses: whereabouts keeps those of pods that ended badly until its reconciler runs.",
			Who: check.Admin, Commands: []string{p.kubectl("get network-attachment-definitions -o yaml | grep -A8 ipam"), "kubectl get overlappingrangeipreservations -A"}},
	}, true
}

// sriovCNI explains a failure of the plugin that moves the device into the pod.
func sriovCNI(p patient, said symptom) (check.Finding, bool) {
	if !deviceCNI.MatchString(said.text) || timeout.MatchString(said.text) {
		return check.Finding{}, false
	}
	f := check.Finding{Check: SriovCNI, Status: check.Fail, Summary: "the device of a network attachment could not be moved into " + p.name() + ": " + clip(said.text)}
	f.Fix = &check.Fix{Text: "Read what the plugin says of the virtual function, and the state of the node that the pod is on.", Who: check.Admin,
		Commands: []string{"oc -n openshift-sriov-network-operator get sriovnetworknodestates " + orDefault(p.pod.Node, "NODE") + " -o yaml"}}
	switch {
	case noPCI.MatchString(said.text):
		f.Summary = "the SR-IOV plugin got no device for " + p.name() + ": the attachment names no resource, or the pod did not ask for it"
		f.Fix.Text = "Every attachment needs the annotation k8s.v1.cni.cncf.io/resourceName, and the pod one of that resource for each."
		f.Fix.Commands = []string{p.kubectl("get network-attachment-definitions -o custom-columns=" +
			`'NAME:.metadata.name,RESOURCE:.metadata.annotations.k8s\.v1\.cni\.cncf\.io/resourceName'`)}
		for _, r := range p.s.Rails(p.pod.Namespace) {
			if !r.Usable() {
				f.Evidence = append(f.Evidence, check.Evidence{Source: "network/" + r.Namespace + "/" + r.Network, Got: r.Reason})
			}
		}
	case busyVF.MatchString(said.text):
		f.Status, f.Fix.Text = check.Warn, "The virtual function is still held by a pod that ended on this node; kubelet tries again."
	case exclusive.MatchString(said.text):
		f.Fix.Text = "The rdma plugin of the attachment needs the node's RDMA subsystem in exclusive mode (SriovNetworkPoolConfig rdmaMode: exclusive); else take it out of the attachment's metaPlugins."
		f.Fix.Commands = []string{"oc -n openshift-sriov-network-operator get sriovnetworkpoolconfigs -o yaml"}
	}
	return f, true
}

// slowSandbox explains a sandbox that was not made in time: that comes after the volumes, whatever was said of those.
func slowSandbox(p patient, said symptom) (check.Finding, bool) {
	if !sandbox.MatchString(said.reason + ": " + said.text) {
		return check.Finding{}, false
	}
	return nodeOverload(p, said)
}

// nodeOverload explains calls of the kubelet that were not answered in time.
func nodeOverload(p patient, said symptom) (check.Finding, bool) {
	if !timeout.MatchString(said.text) {
		return check.Finding{}, false
	}
	if server := multusWaits.FindStringSubmatch(said.text); server != nil {
		return check.Finding{
			Check: NodeOverload, Status: check.Warn,
			Summary: fmt.Sprintf("Multus on %s got no answer from the API server at %s in time; the kubelet tries again", p.onNode(), server[1]),
			Fix: &check.Fix{Text: "One such event is the node's load. If they go on: is that the address of the API server, and does the node reach it? Multus has it of its own kubeconfig.", Who: check.Admin,
				Commands: []string{"oc debug node/" + orDefault(p.pod.Node, "NODE") + " -- chroot /host curl -k https://" + server[1] + "/readyz"}},
		}, true
	}
	return check.Finding{
		Check: NodeOverload, Status: check.Warn,
		Summary: "the container runtime or the network of " + p.onNode() + " did not answer in time; the kubelet tries again",
		Fix: &check.Fix{Text: "Look at the node's load and at its container runtime and network pods; if it goes on, cordon the node.", Who: check.Admin,
			Commands: []string{"kubectl describe node " + orDefault(p.pod.Node, "NODE"), "kubectl get pods -A -o wide --field-selector spec.nodeName=" + orDefault(p.pod.Node, "NODE")}},
	}, true
}

func (p patient) onNode() string {
	if p.pod.Node == "" {
		return "the node"
	}
	return "node " + p.pod.Node
}

// sandboxFailed quotes any other failure to make the pod's sandbox.
func sandboxFailed(p patient, said symptom) (check.Finding, bool) {
	if !sandbox.MatchString(said.reason + ": " + said.text) {
		return check.Finding{}, false
	}
	return check.Finding{
		Check: SandboxFailed, Status: check.Fail,
		Summary: "the network of " + p.name() + " could not be set up on " + p.onNode() + ": " + clip(said.text),
		Fix:     &check.Fix{Text: "Read the network plugin's own words in the event.", Who: check.Admin, Commands: []string{p.kubectl("describe pod " + p.name())}},
	}, true
}
