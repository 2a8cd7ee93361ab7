package rail

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/words"
)

var useOFI = check.ByUser("Start the command without railhead-pod, in an image with aws-ofi-nccl and libfabric; NCCL "+
	"then prints NET/OFI.", "fi_info -p efa")

// rejected returns the devices that were rejected for a reason.
func (r Resolution) rejected(why reason) (all []Rejected) {
	for i := range r.Rejected {
		if r.Rejected[i].reason == why {
			all = append(all, r.Rejected[i])
		}
	}
	return all
}

// efa returns the Elastic Fabric Adapters that this container can open.
func (r Resolution) efa() []Rejected { return r.rejected(elasticFabric) }

// OnlyEFA reports a pod whose RDMA devices are all Elastic Fabric Adapters: it is healthy for programs with libfabric,
// and has no rail for NCCL's own transport.
func (r Resolution) OnlyEFA() (f check.Finding, only bool) {
	adapters, relevant := r.efa(), r.relevant()
	if len(adapters) == 0 || len(r.Rails) > 0 || len(relevant) != len(adapters) {
		return check.Finding{}, false
	}
	f = check.Finding{
		Check: TransportSupported, Status: check.Warn, Subject: check.Ref{Kind: check.Pod},
		Summary: fmt.Sprintf("the pod's RDMA devices are %s, which it can open: healthy for NCCL with the plugin "+
			"aws-ofi-nccl. NCCL_NET=IB cannot use them, and Railhead cannot set them up",
			words.Count(len(adapters), "Elastic Fabric Adapter")),
		Fix: useOFI,
	}
	show(&f, adapters)
	return f, true
}

// mountedBesideEFA reports verbs nodes that a mount of /dev/infiniband shows next to the adapters of the pod. libfabric
// opens every verbs device to find those of its efa provider, and reports none if one cannot be opened
// (prov/efa/src/efa_device.c; aws-samples/aws-do-eks).
func (r Resolution) mountedBesideEFA() (f check.Finding, found bool) {
	adapters := r.efa()
	var denied []Rejected
	var names []string
	for _, x := range r.rejected(nodeDenied) {
		if len(x.Sources) == 0 {
			denied, names = append(denied, x), append(names, x.Device)
		}
	}
	if len(adapters) == 0 || len(denied) == 0 || len(r.Rails) > 0 {
		return check.Finding{}, false
	}
	f = check.Finding{
		Check: UverbsOpenable, Status: check.Fail, Subject: check.Ref{Kind: check.Pod},
		Summary: fmt.Sprintf("the pod has %s, and the verbs nodes of %s, which it may not open: libfabric opens every "+
			"device, and then reports none", words.Count(len(adapters), "Elastic Fabric Adapter"),
			strings.Join(names, ", ")),
		Fix: check.ByUser("Remove the mount of /dev/infiniband from the pod: the device plugin brings the nodes of "+
			"the adapters by itself.", "spec:\n  volumes:  # without hostPath: /dev/infiniband"),
	}
	show(&f, slices.Concat(denied, adapters))
	return f, true
}

// show adds devices with their reasons to a finding.
func show(f *check.Finding, devices []Rejected) {
	for _, d := range devices {
		f.About = append(f.About, d.ref())
		f.Evidence = append(f.Evidence, check.Evidence{Source: d.Name(), Got: d.Reason})
	}
}
