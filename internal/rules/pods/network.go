package pods

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/words"
)

// The messages of Multus, of CNI and IPAM plugins, and of the network-resources-injector.
var (
	nadNamed = anyOf( // groups: name, namespace; name; name
		`cannot find (?:get )?(?:a )?network-attachment-definition \(([^)]*)\) in namespace \(([^)]*)\)`,
		`could not find network attachment definition '(?:[^'/]*/)?([^']*)'`,
		`network-?attachment-?definitions?(?:\.k8s\.cni\.cncf\.io)? "([^"]*)" (?:is )?not found`,
	)
	nadOther = anyCase(
		`NoNetworkFound`,
		`namespace isolation (?:is )?(?:enabled|enforced)`,
		`network-?attachment-?definitions?[^.]*(?:not found|forbidden)`,
		`failed getting the delegate`,
		`no networks found in`,
		`getCNIConfigFromSpec`,
	)
	isolation = anyOf(`pod is in namespace "?([^" ]+)"? but refers to target namespace "?([^" ]+)"?`)
	noAddress = anyCase(
		`failed to (assign|allocate|request|acquire)( for range \S+)?( an?| any| new| pod)* (IPv[46] |IP )?address`,
		`no (more |free |available )*(IP ?v?[46]? ?(addresses|address)|IPs|addresses)( are| is)?`+
			`( left| available| remaining| in| could|$|[,.;:])`,
		`could not allocate IP in range`,
		`not enough (free )?(IP|address)`,
		`(IP ?|address ?|IPAM ?)(address )?(pool|range|block|subnet)?s? ?(is |are )?exhausted`,
		`(range|pool|subnet) (is )?(full|exhausted)`,
		`subnet address pool exhausted`,
		`CIDR ranges are exhausted`,
		`InsufficientFreeAddresses`,
		`InsufficientCidrBlocks`,
		`Assigned 0 out of \d+ requested`,
		`no more tries`,
		`failed to allocate (new )?IP\b`,
		`out of IPs`,
		`no IP addresses available`,
	)
	deviceCNI = anyCase(
		`sri-?ov[- ]cni`,
		`ib-sriov`,
		`infiniband sri-?ov`,
		`(plugin type=|plugin:|DelegateAdd - )"?(sriov|ib-sriov|rdma|host-device)\b"?`,
		`/sys/bus/pci/devices/\S+/(physfn|virtfn)`,
		`VF pci addr`,
		`pci ?addr(ess)? is required`,
		`rdma[- ]cni`,
		`failed to (configure|set ?up|move|get|find|rename|release|reset|load) (netconf.*)?\b(vf|virtual function)\b`,
		`\bvf \d+\b`,
		`host-device: `,
	)
	noPCI     = anyCase(`pci ?addr(ess)? is required`, `failed to get resourceMap`, `no device ?id`)
	busyVF    = anyCase(`resource busy`, `already (in use|allocated)`, `file exists`)
	exclusive = anyCase(`rdma.*(exclusive|netns|namespace mode)`)
	// multusWaits matches Multus, which reads the pod from the API server before it does anything (multus-cni v4.2.3
	// pkg/multus/multus.go GetPod: 2.5 s for all tries). Group: the server.
	multusWaits = anyOf(`[Mm]ultus.*error (?:waiting for|getting) pod: Get "?https://([^/"]+)/`)
	sandbox     = anyCase(
		`FailedCreatePodSandBox`,
		`create pod sandbox`,
		`CreatePodSandbox`,
		`set ?up sandbox`,
		`setup network for sandbox`,
		`plugin type=`,
		`CNI request failed`,
		`cni plugin not initialized`,
		`NetworkNotReady`,
		`network is not ready`,
	)
	timeout = anyCase(
		`DeadlineExceeded`,
		`deadline exceeded`,
		`name is reserved`,
		`failed to reserve (sandbox|container) name`,
		`PLEG is not healthy`,
		`system load`,
		`RST_STREAM`,
		`timed out waiting for (the condition|annotations|OVS port)`,
		`stream terminated`,
		`client rate limiter`,
		`error reading from server: EOF`,
		`transport is closing`,
		`time limit exceeded while waiting to become leader`,
	)
)

// nadMissing explains a network attachment that does not exist, or not for this namespace.
func nadMissing(t target, sym symptom) check.Finding {
	whole := sym.whole()
	if m := isolation.FindStringSubmatch(whole); m != nil {
		return failure(NADMissing,
			fmt.Sprintf("Multus lets pods of namespace %s use only its attachments, not those of %s", m[1], m[2]),
			check.ByUser("Copy the attachments into the namespace.",
				"railhead setup namespace "+m[1]+" --networks-from "+m[2]))
	}
	if m := nadNamed.FindStringSubmatch(whole); m != nil {
		return t.noAttachment(m[1]+m[3]+m[4], cmp.Or(m[2], t.namespace()))
	}
	return failure(NADMissing, "a network attachment of "+t.name()+" cannot be used: "+quote(sym.text),
		check.ByUser("Compare the annotation k8s.v1.cni.cncf.io/networks with the attachments of the namespace.",
			t.kubectl("get network-attachment-definitions")))
}

func (t target) noAttachment(name, namespace string) check.Finding {
	f := failure(NADMissing, fmt.Sprintf("network attachment %s does not exist in namespace %s", name, namespace),
		check.ByUser("Create the namespace's attachments, or name one that it has.",
			"railhead setup namespace "+namespace,
			"kubectl -n "+namespace+" get network-attachment-definitions"))
	f.About = []check.Ref{{Kind: check.Attachment, Namespace: namespace, Name: name}}
	var here, elsewhere []string
	for _, n := range t.s.Networks {
		switch {
		case n.Namespace == namespace:
			here = append(here, n.Name)
		case n.Name == name:
			elsewhere = append(elsewhere, n.Namespace)
		}
	}
	if len(here) > 0 {
		f.Evidence = append(f.Evidence, check.Evidence{
			Source: "attachments of namespace " + namespace,
			Got:    words.Few(here, 4),
			Want:   name,
		})
	}
	if len(elsewhere) > 0 {
		slices.Sort(elsewhere)
		f.Summary += "; namespace " + elsewhere[0] + " has one"
		f.Fix.Commands[0] += " --networks-from " + elsewhere[0]
	} else if near := words.Nearest(name, here); len(near) > 0 {
		f.Summary += "; it has " + strings.Join(near, ", ")
	}
	return f
}

// noIP explains that the pod network, or the IPAM of an attachment, has no address left.
func noIP(t target, sym symptom) check.Finding {
	return failure(NoIP, "no IP address is left for "+t.name()+": "+quote(sym.text),
		check.ByAdmin("Widen the range of the network that the message names (ipam of the attachment, or the pod "+
			"network), or free addresses: whereabouts keeps those of failed pods until its reconciler runs.",
			t.kubectl("get network-attachment-definitions -o yaml | grep -A8 ipam"),
			"kubectl get overlappingrangeipreservations -A"))
}

// sriovCNI explains a failure of the plugin that moves the device into the pod.
func sriovCNI(t target, sym symptom) check.Finding {
	f := failure(SriovCNI, "the device of a network attachment could not be moved into "+t.name()+": "+quote(sym.text),
		check.ByAdmin("Read the plugin's message about the virtual function, and the state of the pod's node.",
			"oc -n openshift-sriov-network-operator get sriovnetworknodestates "+t.node()+" -o yaml"))
	switch {
	case noPCI.MatchString(sym.text):
		t.noDevice(&f)
	case busyVF.MatchString(sym.text):
		f.Status = check.Warn
		f.Fix.Text = "A pod that ended on this node still holds the virtual function; the kubelet tries again."
	case exclusive.MatchString(sym.text):
		f.Fix = check.ByAdmin("The rdma plugin of the attachment needs the node's RDMA subsystem in exclusive mode "+
			"(SriovNetworkPoolConfig rdmaMode: exclusive); otherwise remove it from the attachment's metaPlugins.",
			"oc -n openshift-sriov-network-operator get sriovnetworkpoolconfigs -o yaml")
	}
	return f
}

func (t target) noDevice(f *check.Finding) {
	f.Summary = "the SR-IOV plugin got no device for " + t.name() +
		": the attachment names no resource, or the pod does not request it"
	f.Fix = check.ByAdmin("Every attachment needs the annotation k8s.v1.cni.cncf.io/resourceName, and the pod must "+
		"request one of that resource for each.",
		t.kubectl("get network-attachment-definitions -o custom-columns="+
			`'NAME:.metadata.name,RESOURCE:.metadata.annotations.k8s\.v1\.cni\.cncf\.io/resourceName'`))
	for _, r := range t.s.Rails(t.pod.Namespace) {
		if !r.Usable() {
			attachment := check.Ref{Kind: check.Attachment, Namespace: r.Namespace, Name: r.Network}
			f.About = append(f.About, attachment)
			f.Evidence = append(f.Evidence, check.Evidence{Source: attachment.String(), Got: r.Reason})
		}
	}
}

// nodeOverload explains calls of the kubelet that were not answered in time.
func nodeOverload(t target, sym symptom) check.Finding {
	f := failure(NodeOverload,
		"the container runtime or the network of "+t.onNode()+" did not answer in time; the kubelet tries again",
		check.ByAdmin("Check the node's load, container runtime and network pods. If it continues, cordon the node.",
			"kubectl describe node "+t.node(), "kubectl get pods -A -o wide --field-selector spec.nodeName="+t.node()))
	f.Status = check.Warn
	if server := multusWaits.FindStringSubmatch(sym.text); server != nil {
		f.Summary = fmt.Sprintf("Multus on %s got no answer from the API server at %s in time; the kubelet tries again",
			t.onNode(), server[1])
		f.Fix = check.ByAdmin("One such event means that the node is busy. If more follow, check that this is the "+
			"address of the API server, which Multus has from its own kubeconfig, and that the node reaches it.",
			"oc debug node/"+t.node()+" -- chroot /host curl -k https://"+server[1]+"/readyz")
	}
	return f
}

// sandboxFailed quotes any other failure to create the pod's sandbox.
func sandboxFailed(t target, sym symptom) check.Finding {
	return failure(SandboxFailed, "the network of "+t.name()+" could not be set up on "+t.onNode()+": "+quote(sym.text),
		check.ByAdmin("Read the network plugin's message in the event.", t.describePod()))
}
