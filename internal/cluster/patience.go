package cluster

import (
	"regexp"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/check"
)

// Obstacle is what keeps a pod, or whatever else is waited for, from getting on.
type Obstacle struct {
	check.Finding
	// Patience is how long it may last before it is believed, because whoever meets it tries again. 0: it does not pass.
	Patience time.Duration
}

// retrying is the patience with what the kubelet, or the controller of a pod, tries again. Both do so within seconds at first,
// and wait ever longer: the kubelet up to two minutes for a volume (kubernetes pkg/util/goroutinemap/exponentialbackoff).
const retrying = 2 * time.Minute

// settling is the patience with a refusal by the SCCs: admission reads them, and who may use them, from caches, and so may
// not know yet what was granted a moment ago.
const settling = 10 * time.Second

var (
	// unstarted is a cluster, a namespace or a webhook that is only just coming: a service account's and a quota's status are
	// made after the namespace (kubernetes plugin/pkg/admission/serviceaccount, apiserver pkg/admission/plugin/resourcequota),
	// the ranges of OpenShift as well (apiserver-library-go pkg/securitycontextconstraints/sccmatching).
	unstarted = regexp.MustCompile(`failed calling webhook|error looking up service account|status unknown for quota|unable to find annotation openshift\.io/|cache is missing|not yet ready to handle request`)
	// neverFits is a pod that is turned away by what it asks for, not by what others hold.
	neverFits = regexp.MustCompile(`TopologyAffinityError|Topology locality|not multiple cpus per core|EmptyPodSharedPool|too large: maximum request size`)
)

// patience is how long a fault of the pod may last: 0 where nobody tries again, or where trying again changes nothing.
func (p patient) patience(f check.Finding, said symptom) time.Duration {
	switch {
	case f.Status != check.Fail:
		return 0
	case p.triedAgain(f.Check, said):
		return retrying
	case f.Check == SCCIPCLock || f.Check == SCCOther:
		return settling
	}
	return 0
}

func (p patient) triedAgain(family check.ID, said symptom) bool {
	switch family {
	case VolumeNotReady, SandboxFailed, NoIP, ResourceClaim:
		return true
	case SriovCNI:
		return !noPCI.MatchString(said.text) && !exclusive.MatchString(said.text)
	case NADMissing:
		return said.reason != "FailedCreate" && !isolation.MatchString(said.text) // Multus reads attachments from a cache
	case AdmissionRefused, SCCOther:
		return unstarted.MatchString(said.text)
	case DeviceAllocate:
		return p.madeAgain() && !neverFits.MatchString(said.reason+": "+said.text)
	case PodEvicted:
		return p.madeAgain()
	case ContainerStart:
		return !strings.Contains(said.text, "runAsNonRoot") && !noProgram.MatchString(said.text) // the image stays as it is
	case ImagePull:
		return pullDisk.MatchString(p.pullDetail(said)) // the kubelet deletes images that nobody uses
	case NodeSelection:
		return unnamedTaint.MatchString(said.text)
	}
	return false
}

// madeAgain reports whether the pod's controller makes another when this one fails: a StatefulSet does, a job that may not be
// retried does not.
func (p patient) madeAgain() bool { return strings.HasPrefix(p.pod.Owner, "StatefulSet/") }
