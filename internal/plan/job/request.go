package job

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/access"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/workload"
)

// Conditions for writing a job.
const (
	JobReplaced       check.ID = "job-replaced"
	RequiredResources check.ID = "required-resources"
	JobFound          check.ID = "job-found"
	ManifestSuitable  check.ID = "manifest-suitable"
)

// wrong refuses the value of a flag or an argument.
func (j *request) wrong(field, got, want, text string, commands ...string) {
	summary := fmt.Sprintf("%s is %s, but must be %s", field, got, want)
	if got == "" {
		summary = fmt.Sprintf("%s is missing: it must be %s", field, want)
	}
	j.Fail(plan.JobRequest, j.target().Ref(), summary,
		check.Observed(field, cmp.Or(got, "none"), want),
		check.ByUser(text, commands...))
}

// validate checks the options without the objects of the cluster.
func (j *request) validate() {
	j.oneOf("--mode", string(j.Mode), string(nccl.RDMA), string(nccl.Auto), string(nccl.TCP))
	j.oneOf("--type", j.Type, Single, Multi)
	j.oneOf("--kind", j.Kind, workload.Flags()...)
	j.oneOf("delivery", string(j.Delivery), string(delivery.ByConfigMaps), string(delivery.ByImage),
		string(delivery.ByImageVolume))
	j.oneOf("--memlock", cmp.Or(j.Memlock, access.MemlockByNode), access.MemlockByNode, access.MemlockByIPCLock)
	j.validateName()
	if errs := validation.IsDNS1123Label(j.Namespace); len(errs) > 0 {
		j.wrong("namespace", strconv.Quote(j.Namespace), "a DNS label", errs[0])
	}
	if j.Nodes < 1 {
		j.wrong("--nodes", strconv.Itoa(j.Nodes), "1 or more", "Set the number of nodes.",
			j.target().CommandWith("--nodes 2"))
	}
	if j.GPUs < NoGPUs {
		j.wrong("--gpus", strconv.Itoa(j.GPUs), "0 or more", "Set the number of GPUs of each pod.",
			j.target().CommandWith("--gpus 8"))
	}
	switch {
	case j.Image == "":
		j.wrong("--image", "", "the training image", "Set it.", j.target().CommandWith("--image IMAGE"))
	case strings.ContainsAny(j.Image, " \t\n"):
		j.wrong("--image", strconv.Quote(j.Image), "a reference without spaces", "Correct it.")
	}
	if j.Delivery != delivery.ByConfigMaps && j.PodImage == "" {
		j.wrong("--pod-image", "", "the image that contains railhead-pod", "Set it.",
			j.target().CommandWith("--pod-image IMAGE"))
	}
	j.validateScript()
	j.validateValues()
	j.validateGuaranteed()
	j.validateVolumes()
	j.validateScheduling()
	j.validateServer()
}

func (j *request) oneOf(field, got string, values ...string) {
	if !slices.Contains(values, got) {
		j.wrong(field, strconv.Quote(got), "one of "+strings.Join(values, ", "), "Choose one of them.")
	}
}

// validateName checks the job's name. Names and labels derived from it have at most 63 characters.
func (j *request) validateName() {
	longest := 63 - len(strings.ReplaceAll(j.workload().Suffix, "N", strconv.Itoa(max(j.Nodes-1, 0))))
	switch errs := validation.IsDNS1035Label(j.Name); {
	case j.Name == "":
		j.wrong("NAME", "", "the name of the job", "Choose one.", "railhead deploy NAME ...")
	case len(j.Name) > longest:
		j.wrong("NAME", fmt.Sprintf("%q, %d characters", j.Name, len(j.Name)),
			fmt.Sprintf("at most %d characters", longest),
			"Choose a shorter name: host names and labels of the pods contain it and have at most 63 characters.")
	case len(errs) > 0:
		j.wrong("NAME", strconv.Quote(j.Name), "a DNS label: lower-case letters, digits and -, with a letter first",
			"Choose such a name.")
	}
}

// configMapKey matches a valid key of a ConfigMap (apimachinery validation.IsConfigMapKey).
var configMapKey = regexp.MustCompile(`^[-._a-zA-Z0-9]+$`)

// maxScript keeps the script, with its base64, within a request of 1.5 MiB to etcd. The data of a ConfigMap have at
// most 1 MiB (kubernetes pkg/apis/core/validation ValidateConfigMap).
const maxScript = 900 << 10

func (j *request) validateScript() {
	s := j.Script
	if s == nil {
		return
	}
	switch {
	case !configMapKey.MatchString(s.Name) || s.Name == "." || strings.HasPrefix(s.Name, ".."):
		j.wrong("--script", strconv.Quote(s.Name), "a file name of letters, digits, -, _ and .", "Rename it.")
	case len(s.Content) > maxScript:
		j.wrong("--script", fmt.Sprintf("%d bytes", len(s.Content)), fmt.Sprintf("at most %d", maxScript),
			"Put the rest into the image or a volume; `railhead launch --copy` accepts larger files.")
	case len(j.Command) == 0 && s.command() == nil:
		j.wrong("--script", s.Name, ".py, .sh or a file that starts with #!, because no command is given",
			"Give the command.", j.target().CommandWith("--script "+s.Name+" -- COMMAND "+scriptFolder+"/"+s.Name))
	}
}

// validateValues checks the quantities, the variables and the settings of railhead-pod.
func (j *request) validateValues() {
	j.validateStartup()
	for _, flag := range []struct{ name, value string }{
		{"--shm", j.Shm},
		{"--cpu", j.CPU},
		{"--memory", j.Memory},
		{"--ephemeral-storage", j.EphemeralStorage},
	} {
		if q, err := resource.ParseQuantity(flag.value); flag.value != "" && (err != nil || q.Sign() <= 0) {
			j.wrong(flag.name, strconv.Quote(flag.value), "a quantity above 0, such as 64Gi", "Correct it.")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(j.Env)) {
		if errs := validation.IsEnvVarName(name); len(errs) > 0 {
			j.wrong("--env", strconv.Quote(name), "the name of a variable", "Correct it.")
		}
	}
}

// validateServer checks the features of the API server.
func (j *request) validateServer() {
	k := j.workload()
	// The groups of custom resources contain a dot (apiextensions-apiserver pkg/apis/apiextensions/validation).
	if group := k.GVK.Group; strings.Contains(group, ".") && !j.s.Server.Serves(group) {
		j.Fail(plan.ServerSupport, check.Ref{Kind: check.Server}, "the cluster has no "+k.GVK.Kind+" API",
			check.Observed("API groups", "no "+group, group),
			check.ByUser("Use --kind statefulset, or ask an administrator to install the "+k.GVK.Kind+" controller.",
				j.target().CommandWith("--kind statefulset")))
	}
	if j.Nodes > 1 {
		j.RequireVersion(j.s.Server, k.RankSince, "does not give the pods of a "+k.GVK.Kind+" their rank",
			check.ByUser("Use --kind job, which tells its pods their rank since Kubernetes 1.21.",
				j.target().CommandWith("--kind job")))
	}
	j.imageVolumes()
}

// imageVolumes checks whether the server mounts images.
func (j *request) imageVolumes() {
	if j.Delivery == delivery.ByImageVolume {
		j.RequireVersion(j.s.Server, plan.ImageVolumesMinor, "has no image volumes",
			check.ByUser("Copy railhead-pod with an init container instead.",
				j.target().CommandWith("--pod-image IMAGE")))
		j.Note("Image volumes need the feature gate ImageVolume, which is on by default from Kubernetes 1.35. " +
			"Some container runtimes mount them noexec; the container then exits with code 126.")
	}
}

// place checks the namespace and the existing objects of the job.
func (j *request) place() {
	n, ok := j.s.Namespace(j.Namespace)
	switch {
	case ok && n.Terminating:
		j.Fail(plan.NamespaceReady, j.target().NamespaceRef(), "namespace "+j.Namespace+" is being deleted",
			check.Observed("status.phase", "Terminating", "Active"),
			check.ByUser("Wait until it is deleted, then set it up again.",
				"kubectl get namespace "+j.Namespace+" -o yaml", j.target().SetUpCommand()))
	case !ok && j.s.Knows(cluster.Namespaces):
		j.Fail(plan.NamespaceReady, j.target().NamespaceRef(), "namespace "+j.Namespace+" does not exist",
			check.Observed("namespaces", "not found", j.Namespace),
			check.ByAdmin("Set it up.", j.target().SetUpCommand()))
	case !ok:
		j.Unknown(j.s, plan.NamespaceReady, cluster.Namespaces,
			"whether namespace "+j.Namespace+" exists could not be read")
	}
	j.replaced()
	if j.workload().Recreates && j.hasCommand() {
		j.Note("A %s restarts the command whenever it ends, also after success; --kind job runs it once.",
			j.workload().GVK.Kind)
	}
}

// replaced refuses a job whose name another kind or type of job has.
func (j *request) replaced() {
	if j.s.Problem(cluster.JobObjects) != nil {
		j.Unknown(j.s, JobReplaced, cluster.JobObjects,
			"whether "+j.Name+" already exists as a job of another kind could not be read")
	}
	reason := ""
	k, live, exists := workload.Find(j.s, j.Name, j.Namespace)
	switch wanted := j.workload().GVK.Kind; {
	case !exists:
		return
	case k.GVK.Kind != wanted:
		reason = fmt.Sprintf("%s already exists as a %s, so it cannot be deployed as a %s", j.Name, k.GVK.Kind, wanted)
	case j.Kind == StatefulSet && (workload.Field(live.Fields, "spec.serviceName") == j.service()) != j.multi():
		reason = fmt.Sprintf("%s already exists with another --type, which cannot be changed in a StatefulSet", j.Name)
	default:
		return
	}
	j.replace(reason, check.Observed("namespace/"+j.Namespace, reason, ""))
}

// replace refuses a job that the existing one prevents.
func (j *request) replace(reason string, seen []check.Evidence) {
	j.Fail(JobReplaced, j.target().Ref(), reason, seen, check.ByUser("Delete it first, or choose another name.",
		fmt.Sprintf("railhead delete %s -n %s", j.Name, j.Namespace)))
}

// unchanged refuses a change of fields that the server rejects.
func (j *job) unchanged() {
	k := j.workload()
	live, exists := j.s.Object(k.GVK.Kind, j.Namespace, j.Name)
	if len(k.Fixed) == 0 || !exists {
		return
	}
	want := j.workloadObject(j.template(j.delivery())).Object
	for _, field := range k.Fixed {
		path := "spec." + field
		wanted := map[string]any{field: workload.Field(want, path)}
		if !plan.Covers(map[string]any{field: workload.Field(live.Fields, path)}, wanted, j.grows()...) {
			j.replace(fmt.Sprintf("%s exists with other settings, and a %s cannot be changed", j.Name, k.GVK.Kind),
				check.Observed(k.GVK.Kind+"/"+j.Name+" "+path,
					"immutable, and different from this request", "the same"))
			return
		}
	}
}
