package job

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/workload"
)

// Conditions for writing a job.
const (
	JobReplaced       check.ID = "job-replaced"
	ServerSupport     check.ID = "server-support"
	ServiceAccount    check.ID = "service-account"
	FreeNodes         check.ID = "free-nodes"
	RailsAttached     check.ID = "rails-attached"
	PodMemlock        check.ID = "pod-memlock"
	RequiredResources check.ID = "required-resources"
	JobFound          check.ID = "job-found"
	ManifestSuitable  check.ID = "manifest-suitable"
)

// wrong says that something is asked for that cannot be.
func (j *request) wrong(field, got, want, text string, commands ...string) {
	summary := fmt.Sprintf("%s is %s, and must be %s", field, got, want)
	if got == "" {
		summary = fmt.Sprintf("%s is missing: it must be %s", field, want)
	}
	j.fail(plan.JobRequest, check.Named(check.Job, j.o.Name), summary, check.Evidence{
		Source: field,
		Got:    cmp.Or(got, "none"),
		Want:   want,
	}, check.Fix{Text: text, Who: check.User, Commands: commands})
}

// request judges the command line by itself.
func (j *request) validate() {
	o := j.o
	j.oneOf("--mode", string(o.Mode), string(nccl.RDMA), string(nccl.Auto), string(nccl.TCP))
	j.oneOf("--type", o.Type, Single, Multi)
	j.oneOf("--kind", o.Kind, workload.Flags()...)
	j.oneOf("delivery", string(o.Delivery), string(ByConfigMaps), string(ByImage), string(ByImageVolume))
	j.oneOf("--memlock", cmp.Or(o.Memlock, MemlockByNode), MemlockByNode, MemlockByIPCLock)
	j.name()
	if errs := validation.IsDNS1123Label(o.Namespace); len(errs) > 0 {
		j.wrong("namespace", fmt.Sprintf("%q", o.Namespace), "a DNS label", errs[0])
	}
	if o.Nodes < 1 {
		j.wrong("--nodes", fmt.Sprint(o.Nodes), "1 or more", "Say how many nodes train.", j.deploy("--nodes 2"))
	}
	if o.GPUs < NoGPUs {
		j.wrong(
			"--gpus", fmt.Sprint(o.GPUs), "1 or more, or -1 for none", "Say how many GPUs each pod has.",
			j.deploy("--gpus 8"),
		)
	}
	switch {
	case o.Image == "":
		j.wrong("--image", "", "the image to train in", "Name it.", j.deploy("--image IMAGE"))
	case strings.ContainsAny(o.Image, " \t\n"):
		j.wrong("--image", fmt.Sprintf("%q", o.Image), "a reference without blanks", "Correct it.")
	}
	if o.Delivery != ByConfigMaps && o.PodImage == "" {
		j.wrong("--pod-image", "", "the image that carries railhead-pod", "Name it.", j.deploy("--pod-image IMAGE"))
	}
	j.script()
	j.quantities()
	j.server()
}

func (j *request) oneOf(field, got string, words ...string) {
	if !slices.Contains(words, got) {
		j.wrong(field, fmt.Sprintf("%q", got), "one of "+strings.Join(words, ", "), "Take one of them.")
	}
}

// name judges the job's name with all that is made of it. Pods are named NAME-0, their names are host names (at most 63
// characters), and a StatefulSet's revision, NAME and a hash of 10, is a label's value (kubernetes
// pkg/controller/history ControllerRevisionName). A JobSet's pods are NAME-worker-0-N-abcde (sigs.k8s.io/jobset
// pkg/webhooks).
func (j *request) name() {
	name := j.o.Name
	longest := 63 - len("-0123456789")
	if j.o.Kind == JobSet {
		longest = 63 - len(fmt.Sprintf("-%s-0-%d-abcde", workload.Workers, max(j.o.Nodes-1, 0)))
	}
	switch errs := validation.IsDNS1035Label(name); {
	case name == "":
		j.wrong("NAME", "", "the job's name", "Give it one.", "railhead deploy NAME ...")
	case len(name) > longest:
		j.wrong(
			"NAME", fmt.Sprintf("%q, %d characters", name, len(name)),
			fmt.Sprintf("at most %d characters", longest),
			"Take a shorter name: the pods' host names and labels, which are made of it, end at 63 characters.",
		)
	case len(errs) > 0:
		j.wrong(
			"NAME", fmt.Sprintf("%q", name), "a DNS label that begins with a letter: small letters, digits and -",
			"Take such a name.",
		)
	}
}

// configMapKey matches a valid key of a ConfigMap (apimachinery validation.IsConfigMapKey).
var configMapKey = regexp.MustCompile(`^[-._a-zA-Z0-9]+$`)

func (j *request) script() {
	s := j.o.Script
	if s == nil {
		return
	}
	const most = partSize // a ConfigMap holds 1 MiB with its name and all
	switch {
	case !configMapKey.MatchString(s.Name) || s.Name == "." || strings.HasPrefix(s.Name, ".."):
		j.wrong("--script", fmt.Sprintf("%q", s.Name), "a file name of letters, digits, -, _ and .", "Rename it.")
	case len(s.Content) > most:
		j.wrong(
			"--script", fmt.Sprintf("%d bytes", len(s.Content)), fmt.Sprintf("at most %d", most),
			"Put the rest into the image or a volume; `railhead launch --copy` takes larger files.",
		)
	case len(j.o.Command) == 0 && s.command() == nil:
		j.wrong(
			"--script", s.Name, ".py, .sh or with #! in its first line, where no command is given",
			"Say how to run it.", j.deploy("--script "+s.Name+" -- COMMAND "+scriptFolder+"/"+s.Name),
		)
	}
}

func (j *request) quantities() {
	for _, q := range [][2]string{
		{"--shm", j.o.Shm}, {"--cpu", j.o.CPU}, {"--memory", j.o.Memory},
		{"--ephemeral-storage", j.o.EphemeralStorage},
	} {
		if q[1] == "" {
			continue
		}
		if n, err := resource.ParseQuantity(q[1]); err != nil || n.Sign() <= 0 {
			j.wrong(q[0], fmt.Sprintf("%q", q[1]), "a quantity above 0, such as 64Gi", "Correct it.")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(j.o.Env)) {
		if errs := validation.IsEnvVarName(name); len(errs) > 0 {
			j.wrong("--env", fmt.Sprintf("%q", name), "a variable's name", "Correct it.")
		}
	}
}

// canonical is a quantity as the API server writes it, so that a second run finds it unchanged.
func canonical(quantity string) string {
	q, err := resource.ParseQuantity(quantity)
	if err != nil {
		return quantity // said before
	}
	return q.String()
}

// server judges the features of the API server.
func (j *request) server() {
	minor, version := j.s.Server.Minor, j.s.Server.Version
	if j.o.Kind == JobSet && !j.s.Server.Serves(cluster.JobSetGroup) {
		j.fail(ServerSupport, check.Ref{
			Kind: check.Server,
		}, "the cluster does not serve JobSets", check.Evidence{
			Source: "API groups",
			Got:    "no " + cluster.JobSetGroup,
			Want:   cluster.JobSetGroup,
		},
			check.Fix{
				Text:     "Take --kind statefulset, or let an administrator install the JobSet controller.",
				Who:      check.User,
				Commands: []string{j.deploy("--kind statefulset")},
			})
	}
	if j.o.Kind == StatefulSet && j.multi() && j.o.Nodes > 1 && minor > 0 && minor < podIndex {
		j.fail(ServerSupport, check.Ref{
			Kind: check.Server,
		}, fmt.Sprintf(
			"Kubernetes %s does not tell the pods of a StatefulSet their number: that began with 1.%d", version,
			podIndex,
		),
			check.Evidence{Source: "server version", Got: version, Want: fmt.Sprintf("v1.%d or newer", podIndex)},
			check.Fix{
				Text:     "Take --kind jobset, where the JobSet controller is there, or a newer cluster.",
				Who:      check.User,
				Commands: []string{j.deploy("--kind jobset")},
			})
	}
	if j.o.Delivery == ByImageVolume {
		if minor > 0 && minor < plan.ImageVolumesMinor {
			j.fail(ServerSupport, check.Ref{
				Kind: check.Server,
			}, fmt.Sprintf("Kubernetes %s has no image volumes: they began with 1.%d", version, plan.ImageVolumesMinor),
				check.Evidence{
					Source: "server version",
					Got:    version,
					Want:   fmt.Sprintf("v1.%d or newer", plan.ImageVolumesMinor),
				},
				check.Fix{
					Text:     "Let an init container bring railhead-pod.",
					Who:      check.User,
					Commands: []string{j.deploy("--pod-image IMAGE")},
				})
		}
		j.note("Image volumes need the feature gate ImageVolume, which is on from Kubernetes 1.35; some container runtimes mount them noexec, and then the container ends with exit code 126.")
	}
}

// place judges the namespace and the existing objects of the job.
func (j *request) place() {
	n, ok := j.s.Namespace(j.o.Namespace)
	subject := check.Named(check.Namespace, j.o.Namespace)
	switch {
	case ok && n.Terminating:
		j.fail(plan.NamespaceReady, subject, "namespace "+j.o.Namespace+" is being deleted", check.Evidence{
			Source: "status.phase",
			Got:    "Terminating",
			Want:   "Active",
		},
			check.Fix{
				Text:     "Wait until it is gone, then set it up again.",
				Who:      check.User,
				Commands: []string{"kubectl get namespace " + j.o.Namespace + " -o yaml", j.setUp()},
			})
	case !ok && j.s.Knows(cluster.Namespaces):
		j.fail(plan.NamespaceReady, subject, "there is no namespace "+j.o.Namespace, check.Evidence{
			Source: "namespaces",
			Got:    "not there",
			Want:   j.o.Namespace,
		},
			check.Fix{Text: "Set it up.", Who: check.Admin, Commands: []string{j.setUp()}})
	case !ok:
		j.unknown(
			plan.NamespaceReady, cluster.Namespaces,
			"whether namespace "+j.o.Namespace+" is there could not be read",
		)
	}
	j.replaced()
	if j.o.Kind == StatefulSet && (len(j.o.Command) > 0 || j.o.Script != nil) {
		j.note("A StatefulSet starts the command again whenever it ends, also after success; --kind jobset runs it once.")
	}
}
