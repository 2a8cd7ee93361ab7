package pods

import "github.com/railhead/railhead/internal/check"

var (
	sriovState = "oc -n {sriov} get sriovnetworknodestates {node} -o yaml"
	poolModes  = "oc -n {sriov} get sriovnetworkpoolconfigs -o yaml"
	ibPods     = "kubectl get pods -A | grep ib-kubernetes"
)

// sriovKinds are the kinds of messages of the plugins that move a device into a pod: sriov-cni (cmd/sriov, pkg/sriov,
// pkg/config), ib-sriov-cni (cmd/ib-sriov-cni), rdma-cni (cmd/rdma) and host-device.
var sriovKinds = []kind{
	{
		words: noPCI,
		summary: "the SR-IOV plugin got no device for {pod}: the attachment names no resource, " +
			"or the pod does not request it",
		fix: check.ByAdmin("Every attachment needs the annotation k8s.v1.cni.cncf.io/resourceName, and the pod must "+
			"request one of that resource for each.",
			"kubectl -n {namespace} get network-attachment-definitions -o custom-columns="+
				`'NAME:.metadata.name,RESOURCE:.metadata.annotations.k8s\.v1\.cni\.cncf\.io/resourceName'`),
		example: `SRIOV-CNI failed to load netconf: LoadConf(): VF pci addr is required`,
		lasts:   true,
	},
	{
		words:   anyCase(`rdma (?:sub)?system .*\bmode\b`, `rdma (?:netns|namespace)(?: awareness)? mode`),
		summary: "the attachment of {pod} needs the RDMA subsystem of {on} in another mode: {quote}",
		fix: check.ByAdmin("The rdma plugin of the attachment needs the node's RDMA subsystem in exclusive mode "+
			"(SriovNetworkPoolConfig rdmaMode: exclusive); otherwise remove it from the attachment's metaPlugins.",
			poolModes),
		example: `RDMA subsystem namespace awareness mode is set to shared, expecting it to be set to exclusive`,
		lasts:   true,
	},
	{
		words:   anyCase(`(VF \S+) GUID is not valid`, `no guid found`, `guid.*must be provided`),
		summary: "the InfiniBand virtual function of {pod} has no GUID: {quote}",
		fix: check.ByAdmin("ib-kubernetes gives GUIDs to the pods of an attachment with ibKubernetesEnabled. "+
			"Without it, let the SR-IOV operator set them on the virtual functions, or set one in the pod's "+
			"annotation (infiniband-guid).", ibPods, sriovState),
		example: `infiniBand SRI-OV CNI failed to configure VF "VF ib2 GUID is not valid"`,
	},
	{
		words:   anyCase(`infiniband status .* is not "?configured`),
		summary: "ib-kubernetes has not given {pod} its InfiniBand GUID: {quote}",
		fix: check.ByAdmin("Check that ib-kubernetes runs and reaches the subnet manager.",
			ibPods, "kubectl -n {namespace} get pod {pod} -o yaml | grep -i infiniband"),
		example: `InfiniBand SRIOV-CNI failed, InfiniBand status "mellanox.infiniband.app" is not "configured"`,
	},
	{
		words:   anyCase(`(failed to set .*): operation not supported`),
		summary: "the NIC of {on} does not support a setting of the attachment: {quote}",
		fix: check.ByAdmin("Remove the setting from the SriovNetwork. On an InfiniBand NIC use a SriovIBNetwork, "+
			"whose plugin is ib-sriov.", "kubectl -n {namespace} get network-attachment-definitions -o yaml"),
		example: `SRIOV-CNI failed to configure VF "failed to set vf 2 vlan: operation not supported"`,
		lasts:   true,
	},
	{
		words:   busyVF,
		summary: "the device of a network attachment could not be moved into {pod}: {quote}",
		fix: check.ByAdmin("A pod that ended on this node still holds the virtual function; the kubelet tries again.",
			sriovState),
		example: `failed to set up pod interface "net1" from the device "eno5np0": device or resource busy`,
		waits:   true,
	},
	{
		words: anyCase(`failed to find vf \d+`, `/physfn`, `/virtfn`, `sriov_numvfs`, `no such device`, `link not `+
			`found`,
			`failed to get RDMA devices for PCI device`, `no net directory under pci device`),
		summary: "the virtual function that {pod} was given is not as the plugin expects it on {on}: {quote}",
		fix: check.ByAdmin("The virtual functions were made again, or have another driver, since the device plugin "+
			"listed them. Check the state of the node, then restart the device plugin's pod there.",
			sriovState, "kubectl get pods -A -o wide --field-selector spec.nodeName={node} | grep device-plugin"),
		example: `SRIOV-CNI failed to load netconf: LoadConf(): failed to get VF information: "lstat ` +
			`/sys/bus/pci/devices/0000:03:01.6/physfn/net: no such file or directory"`,
	},
	{
		words:   deviceCNI,
		summary: "the device of a network attachment could not be moved into {pod}: {quote}",
		fix: check.ByAdmin("Read the plugin's message about the virtual function, and the state of the pod's node.",
			sriovState),
		example: `failed to move RDMA device mlx5_3 to namespace. invalid argument`,
	},
}

// sriovCNI explains a failure of the plugin that moves the device into the pod.
func sriovCNI(t target, sym symptom) check.Finding {
	f := answer(SriovCNI, sriovKinds)(t, sym)
	if noPCI.MatchString(sym.text) {
		t.noDevice(&f)
	}
	for _, n := range t.s.SriovNodes {
		if n.Node == t.pod.Node && n.RDMAMode != "" {
			f.Evidence = append(f.Evidence, check.Evidence{
				Source: "sriovnetworknodestate/" + n.Node + " status.system.rdmaMode",
				Got:    n.RDMAMode,
			})
		}
	}
	return f
}

// noDevice adds the attachments without a resource that nodes offer.
func (t target) noDevice(f *check.Finding) {
	for _, r := range t.s.Rails(t.pod.Namespace) {
		if !r.Usable() {
			attachment := check.Ref{Kind: check.Attachment, Namespace: r.Namespace, Name: r.Network}
			f.About = append(f.About, attachment)
			f.Evidence = append(f.Evidence, check.Evidence{Source: attachment.String(), Got: r.Reason})
		}
	}
}
