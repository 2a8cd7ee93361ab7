package pods

import (
	"regexp"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/workload"
)

// retryTime is the patience with errors that the kubelet or a pod's controller retries. Both do so within seconds at
// first, then ever more slowly: the kubelet up to every two minutes for a volume (kubernetes
// pkg/util/goroutinemap/exponentialbackoff).
const retryTime = 2 * time.Minute

// cacheTime is the patience with a refusal by the SCCs: admission reads SCCs and grants from caches, so that it may not
// see a grant of a moment ago.
const cacheTime = 10 * time.Second

// anyOf matches one of several expressions.
func anyOf(expressions ...string) *regexp.Regexp {
	return regexp.MustCompile(strings.Join(expressions, "|"))
}

// anyCase is anyOf without regard to case.
func anyCase(expressions ...string) *regexp.Regexp {
	return regexp.MustCompile("(?i)" + strings.Join(expressions, "|"))
}

var (
	// starting matches a cluster, namespace or webhook that is only just starting. The status of a service account and
	// of a quota is set after the namespace is created (kubernetes plugin/pkg/admission/serviceaccount, apiserver
	// pkg/admission/plugin/resourcequota), and so are OpenShift's ranges (apiserver-library-go
	// pkg/securitycontextconstraints/sccmatching). An API server that has just started has not read all roles and
	// denies controllers their rights.
	starting = anyOf(
		`failed calling webhook`,
		`error looking up service account`,
		`status unknown for quota`,
		`unable to find annotation openshift\.io/`,
		`cache is missing`,
		`not yet ready to handle request`,
		`User "system:serviceaccount:[^"]+" cannot create resource`,
	)
	// neverFits matches a pod that is refused because of its own requests, not because others hold the resources.
	neverFits = anyOf(
		`TopologyAffinityError`,
		`Topology locality`,
		`not multiple cpus per core`,
		`EmptyPodSharedPool`,
		`too large: maximum request size`,
	)
)

// patience returns how long a fault of the pod may last: 0 if nothing retries it, or if a retry changes nothing.
func (t target) patience(f check.Finding, sym symptom) time.Duration {
	switch {
	case f.Status != check.Fail:
		return 0
	case isRetried(t, f.Check, sym):
		return retryTime
	case f.Check == SCCIPCLock || f.Check == SCCOther:
		return cacheTime
	}
	return 0
}

func isRetried(t target, id check.ID, sym symptom) bool {
	switch id {
	case VolumeNotReady, SandboxFailed, NoIP, ResourceClaim:
		return true
	case SriovCNI:
		k, _, _ := kindOf(sriovKinds, sym)
		return !k.lasts
	case DeviceInjection:
		k, _, _ := kindOf(injections, sym)
		return !k.lasts
	case NADMissing: // Multus reads attachments from a cache
		return sym.reason != "FailedCreate" && !isolation.MatchString(sym.text) && !ofKind(attachments)(sym)
	case AdmissionRefused, SCCOther:
		return starting.MatchString(sym.text)
	case DeviceAllocate:
		return isRecreated(t) && !neverFits.MatchString(sym.whole())
	case PodEvicted:
		return isRecreated(t)
	case ContainerStart: // the image stays the same
		return !asRoot.MatchString(sym.text) && !noProgram.MatchString(sym.text)
	case ImagePull: // the kubelet deletes unused images
		return pullDisk.MatchString(pullDetail(t, sym))
	case NodeSelection:
		return unnamedTaint.MatchString(sym.text)
	}
	return false
}

// isRecreated reports whether the pod's controller replaces it if it fails: a StatefulSet or a Deployment does, a job
// without retries does not.
func isRecreated(t target) bool { return workload.Recreated(t.pod) }
