package pods

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
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
	// nadUnread matches an attachment that Multus could not read: it may exist (multus-cni pkg/k8sclient/k8sclient.go
	// getKubernetesDelegate, which begins every error with "cannot find").
	nadUnread = anyOf(`network-attachment-definition \([^)]*\) in namespace \([^)]*\): ` +
		`(?:Get "?https?:|client rate limiter|\S+ "[^"]*" is forbidden)`)
	isolation = anyOf(`pod is in namespace "?([^" ]+)"? but refers to target namespace "?([^" ]+)"?`)
	noAddress = anyCase(
		`failed to (assign|allocate|request|acquire)( for range \S+)?( an?| any| new| pod)* (IPv[46] |IP )?address`,
		`no available address pools`,
		`cannot find a qualified ippool`,
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
		`failed to (get|move|restore) RDMA devices?\b`,
		`more than one RDMA device`,
		`RDMA subsystem`,
		`sriov_numvfs`,
		`infiniband status`,
		`GUID is not valid`,
		`failed to (configure|set ?up|move|get|find|rename|release|reset|load) (netconf.*)?\b(vf|virtual function)\b`,
		`failed to set ?up pod interface .* from the device`,
		`\bvf \d+\b`,
		`host-device: `,
	)
	noPCI   = anyCase(`pci ?addr(ess)? is required`, `failed to get resourceMap`, `no device ?id`)
	busyVF  = anyCase(`resource busy`, `already (in use|allocated)`, `file exists`)
	sandbox = anyCase(
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
	switch {
	case slices.Contains(here, name):
		f.Status, f.Fix = check.Warn, check.ByUser("Wait: the kubelet tries again.", describePod(t))
		f.Summary = fmt.Sprintf("Multus did not find network attachment %s; namespace %s has it now", name, namespace)
	case len(elsewhere) > 0:
		slices.Sort(elsewhere)
		f.Summary += "; namespace " + elsewhere[0] + " has one"
		f.Fix.Commands[0] += " --networks-from " + elsewhere[0]
	default:
		if near := words.Nearest(name, here); len(near) > 0 {
			f.Summary += "; it has " + strings.Join(near, ", ")
		}
	}
	return f
}

// overloads are the kinds of calls of the kubelet that were not answered in time. It tries again.
var overloads = []kind{
	{
		// Multus waits for the file that the default network writes on a node once it works there (multus-cni
		// pkg/multus/multus.go: 45 s).
		words:   anyOf(`still waiting for readiness ?indicator ?file @ (\S+?)\.? `),
		summary: "the default network of {on} is not ready: Multus waits for its file {1}",
		fix: check.ByAdmin("Look at the pods of the default network on that node, such as ovnkube-node, "+
			"calico-node or cilium. A node that has just started needs some minutes.",
			"kubectl get pods -A -o wide --field-selector spec.nodeName={node}"),
		example: `have you checked that your default network is ready? still waiting for readinessindicatorfile @ ` +
			`/host/run/multus/cni/net.d/10-ovn.conf. pollimmediate error: timed out waiting for the condition`,
		waits: true,
	},
	{
		// Multus reads the pod from the API server before it does anything (multus-cni v4.2.3 pkg/multus/multus.go
		// GetPod: 2.5 s for all tries).
		words:   anyOf(`[Mm]ultus.*error (?:waiting for|getting) pod: Get "?https://([^/"]+)/`),
		summary: "Multus on {on} got no answer from the API server at {1} in time; the kubelet tries again",
		fix: check.ByAdmin("One such event means that the node is busy. If more follow, check that this is the "+
			"address of the API server, which Multus has from its own kubeconfig, and that the node reaches it.",
			"oc debug node/{node} -- chroot /host curl -k https://{1}/readyz"),
		example: `Multus: [train/h-kim-0/1]: error waiting for pod: Get "https://10.0.8.254:6443/api": context ` +
			`deadline exceeded`,
		waits: true,
	},
	{
		words:   timeout,
		summary: "the container runtime or the network of {on} did not answer in time; the kubelet tries again",
		fix: check.ByAdmin("Check the node's load, container runtime and network pods. If it continues, cordon the "+
			"node.",
			"kubectl describe node {node}", "kubectl get pods -A -o wide --field-selector spec.nodeName={node}"),
		example: `rpc error: code = DeadlineExceeded desc = context deadline exceeded`,
		waits:   true,
	},
}

const poolsOf = "kubectl -n {namespace} get network-attachment-definitions -o yaml | grep -A8 ipam"

// addresses are the kinds of messages of the pod network, or of the IPAM of an attachment, about addresses.
var addresses = []kind{
	{
		words: anyCase(`requested IP address\S* (?:\S+ )?is already in use`, `requested (?:IP )?address .* not `+
			`available`),
		summary: "the address that {pod} requests is not free: {quote}",
		fix:     check.ByUser("Request another address, or none.", poolsOf),
		example: `static IP allocation failed, requested IP address:10.0.0.7 is already in use`,
	},
	{
		words:   noAddress,
		summary: "no IP address is left for {pod}: {quote}",
		fix: check.ByAdmin("Widen the range of the network that the message names (ipam of the attachment, or the pod "+
			"network), or free addresses: whereabouts keeps those of failed pods until its reconciler runs.",
			poolsOf, "kubectl get overlappingrangeipreservations -A"),
		example: `Could not allocate IP in range: ip: 10.0.0.1 / - 10.0.0.6`,
	},
}

// attachments are the kinds of messages about the pod's annotation and about the configuration of the attachments that
// it names. The messages are from Multus (multus-cni pkg/k8sclient/k8sclient.go), from sriov-cni and ib-sriov-cni
// (pkg/config), from rdma-cni (cmd/rdma), from whereabouts (pkg/config), and from host-local and static
// (containernetworking plugins/ipam).
var attachments = []kind{
	{
		words:   anyOf(`failed to unmarshal Spec\.Config`),
		summary: "the configuration of a network attachment of {pod} is not valid JSON: {quote}",
		fix:     check.ByAdmin("Correct spec.config of the attachment.", configOf),
		example: `getKubernetesDelegate: failed to unmarshal Spec.Config: invalid character '}'`,
	},
	{
		words: anyCase(
			`LoadConf\(\): .*(?:must be|has to be)`,
			`invalid link_state value`,
			`"DeviceID" network configuration attribute is required`,
			`must be called as chained plugin|expected to be called as part of a plugin chain`,
			`LoadIPAMConfig - JSON Parsing Error`,
			`invalid (?:range start|gateway address|address \d)`,
			`couldn't parse gateway IP`,
			`IPAM config missing 'ipam' key`,
			`no IP ranges (?:specified|in whereabouts config)`,
			`invalid range set \d`,
			`range(?:Start|End) \S+ not in network`,
			`has host bits set`,
			`has no usable IP addresses, it is too small`,
			`invalid CIDR`,
			`(?:expected to be|NOT) in CIDR notation`,
			`ipam type dhcp is not supported`,
			`does not support more than 1 address per family`,
		),
		summary: "the configuration of a network attachment of {pod} is refused by its plugin: {quote}",
		fix: check.ByAdmin("Correct spec.config of the attachment. The SR-IOV operator writes that of a SriovNetwork "+
			"or SriovIBNetwork: correct this one, its ipam above all.", configOf),
		example: `SRIOV-CNI failed to load netconf: LoadConf(): vlan id 5000 invalid: value must be in the range ` +
			`0-4094`,
	},
	{
		words: anyOf(`Sysctl (\S+) is not allowed`),
		summary: "the plugin tuning may not set {1}, which an attachment of {pod} wants: the cluster's allowlist " +
			"does not have it",
		fix: check.ByAdmin("Give every rail its own subnet, and leave the setting out of the attachment: arp_ignore "+
			"and arp_announce are not needed then. Otherwise add it to the allowlist, on OpenShift a ConfigMap; the "+
			"pod then starts by itself.",
			configOf, "oc -n openshift-multus edit configmap cni-sysctl-allowlist"),
		example: `plugin type="tuning" failed (add): Sysctl net.ipv4.conf.IFNAME.arp_ignore is not allowed. Only the ` +
			`following sysctls are allowed: [^net.ipv4.conf.IFNAME.arp_notify$]`,
	},
	{
		words: anyOf(`interface name (\S+) already exists`),
		summary: "two attachments of {pod} would get the interface {1}: one asks for it, and another one gets it by " +
			"its place in the annotation",
		fix: check.ByUser("The n-th attachment without a name gets net<n>. Give each its own name, NAME@INTERFACE, or "+
			"none of them one.", networksOf),
		example: `validateIfName: interface name net2 already exists`,
	},
	{
		words: anyOf(`Failed to parse interface name: .*interface name '(.*)'`),
		summary: "the interface name {1}, which the annotation of {pod} asks for, is none: it has more than 15 " +
			"characters, a blank or a slash",
		fix: check.ByUser("Correct the part after @, or leave it out.", networksOf),
		example: `parsePodNetworkAnnotation: parsePodNetworkObjectName: Failed to parse interface name: must be less ` +
			`than 15 chars and not contain '/' or spaces. interface name 'net-of-rail-one1'`,
	},
	{
		words:   anyOf(`Annotation JSON format`),
		summary: "the annotation k8s.v1.cni.cncf.io/networks of {pod} is not valid JSON: {quote}",
		fix: check.ByUser("Correct it in the pod template: a JSON list of objects with name and namespace, or names "+
			"separated by commas.", networksOf),
		example: `parsePodNetworkAnnotation: failed to parse pod Network Attachment Selection Annotation JSON ` +
			`format: invalid character 'a' looking for beginning of value`,
	},
	{
		words: anyCase(`invalid network object`, `invalid network selection element`, `parsePodNetworkAnnotation`,
			`did not match comma-delimited format`, `network-attachment-definition \(\) in namespace`),
		summary: "the annotation k8s.v1.cni.cncf.io/networks of {pod} names a network in a wrong form: {quote}",
		fix: check.ByUser("Write NAME, NAMESPACE/NAME or NAME@INTERFACE, separated by commas, "+
			"without a comma at the end. A name with a dot can be written in JSON only: "+
			`[{"namespace": "NAMESPACE", "name": "NAME"}].`,
			networksOf),
		example: `parsePodNetworkObjectName: Invalid network object (failed at '/')`,
	},
}

const (
	configOf   = "kubectl -n {namespace} get network-attachment-definitions -o yaml"
	networksOf = "kubectl -n {namespace} get pod {pod} -o yaml | grep -A3 k8s.v1.cni.cncf.io/networks"
)

// sandboxImage matches the image of the process that holds a pod's sandbox (containerd
// internal/cri/server/podsandbox/sandbox_run.go).
var sandboxImage = anyOf(`failed to get sandbox image "([^"]+)"`)

// sandboxes are the kinds of other failures to create the pod's sandbox.
// noKubelet is Multus that cannot ask the kubelet which devices a pod was given (multus-cni pkg/kubeletclient).
var noKubelet = []kind{{
	words: anyOf(`getKubeletClient:`, `failed to get a ResourceClient instance`, `error getting pod resources`,
		`dial unix \S*pod-resources/kubelet\.sock`),
	summary: "Multus on {on} cannot ask the kubelet which devices {pod} was given: its socket of pod resources does " +
		"not answer",
	fix: check.ByAdmin("The attachment is not at fault. Mount the kubelet's folder pod-resources into the pods of "+
		"Multus. It is /var/lib/kubelet/pod-resources, unless the kubelet has another root (--root-dir; k0s: "+
		"/var/lib/k0s/kubelet, microk8s: /var/snap/microk8s/common/var/lib/kubelet). If the socket refuses "+
		"connections, look at the kubelet.",
		"kubectl get pods -A -o wide --field-selector spec.nodeName={node} | grep multus",
		"ls -l /var/lib/kubelet/pod-resources    # on the node"),
}}

var sandboxes = []kind{
	{
		words:   anyOf(`failed to find plugin "([^"]+)" in path`),
		summary: "the network plugin {1}, which an attachment of {pod} names, is not installed on {on}",
		fix: check.ByAdmin("Install it in the directory for network plugins of every node: the SR-IOV operator "+
			"installs sriov, ib-sriov and rdma, Multus and the platform the rest.",
			"kubectl get pods -A -o wide --field-selector spec.nodeName={node} | grep -E 'cni|multus'"),
		example: `failed to find plugin "rdma" in path [/opt/cni/bin]`,
	},
	{
		words:   anyOf(`Daemon not reachable over socketfile`, `dial unix \S*multus\.sock`),
		summary: "the daemon of Multus on {on} does not answer, so that no pod gets a network there: {quote}",
		fix: check.ByAdmin("Look at the pod of Multus on that node. A node that has just started has none yet; the "+
			"kubelet tries again.",
			"kubectl get pods -A -o wide --field-selector spec.nodeName={node} | grep multus"),
		example: `CmdAdd (shim): failed to send CNI request: Post "http://dummy/cni": dial unix ` +
			`/host/run/multus/multus.sock: connect: connection refused`,
	},
	{
		words:   sandboxImage,
		summary: "{on} cannot pull {1}, the image that the container runtime needs for every pod: {quote}",
		fix: check.ByAdmin("Set an image that the node reaches in the configuration of the container runtime "+
			"(containerd: sandbox or sandbox_image), or the mirror and credentials of its registry.",
			"oc debug node/{node} -- chroot /host containerd config dump"),
		example: `failed to get sandbox image "registry.k8s.io/pause:3.8": failed to do request: no such host`,
	},
	{
		words:   sandbox,
		summary: "the sandbox or network of {pod} could not be set up on {on}: {quote}",
		fix: check.ByAdmin("Read the message of the network plugin or the container runtime in the event.",
			"kubectl -n {namespace} describe pod {pod}"),
		example: `Failed to create pod sandbox: plugin type="multus" failed (add)`,
	},
}

// wrongAttachment explains an annotation that Multus cannot read, or an attachment whose configuration is wrong.
func wrongAttachment(t target, sym symptom) check.Finding {
	const key = cluster.NetworksAnnotation
	f := answer(NADMissing, attachments)(t, sym)
	if value := t.pod.Annotations[key]; value != "" {
		f.Evidence = []check.Evidence{{Source: "annotation " + key, Got: value}}
	}
	return f
}
