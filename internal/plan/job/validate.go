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

// wrong refuses the value of a flag or an argument.
func wrong(job plan.Target, field, got, want, text string, commands ...string) check.Finding {
	summary := fmt.Sprintf("%s is %s, but must be %s", field, got, want)
	if got == "" {
		summary = fmt.Sprintf("%s is missing: it must be %s", field, want)
	}
	return plan.Failure(plan.JobRequest, job.Ref(), summary,
		check.Observed(field, cmp.Or(got, "none"), want), check.ByUser(text, commands...))
}

// flagCheck is a check of the options.
type flagCheck struct {
	Options
	draft  plan.Draft
	server cluster.Server
}

func (f *flagCheck) wrong(field, got, want, text string, commands ...string) {
	f.draft.Report(wrong(targetOf(&f.Options), field, got, want, text, commands...))
}

// checkFlags checks the options without the objects of the cluster.
func checkFlags(o Options, server cluster.Server) plan.Draft {
	f := flagCheck{Options: o, server: server}
	f.oneOf("--mode", string(f.Mode), string(nccl.RDMA), string(nccl.Auto), string(nccl.TCP))
	f.oneOf("--type", f.Type, Single, Multi)
	f.oneOf("--kind", f.Kind, workload.Flags()...)
	f.oneOf("delivery", string(f.Delivery), string(delivery.ByConfigMaps), string(delivery.ByImage),
		string(delivery.ByImageVolume))
	f.oneOf("--memlock", cmp.Or(f.Memlock, access.MemlockByNode), access.MemlockByNode, access.MemlockByIPCLock)
	f.name()
	if errs := validation.IsDNS1123Label(f.Namespace); len(errs) > 0 {
		f.wrong("namespace", strconv.Quote(f.Namespace), "a DNS label", errs[0])
	}
	if f.Nodes < 1 {
		f.wrong("--nodes", strconv.Itoa(f.Nodes), "1 or more", "Set the number of nodes.",
			targetOf(&f.Options).CommandWith("--nodes 2"))
	}
	if f.GPUs < NoGPUs {
		f.wrong("--gpus", strconv.Itoa(f.GPUs), "0 or more", "Set the number of GPUs of each pod.",
			targetOf(&f.Options).CommandWith("--gpus 8"))
	}
	switch {
	case f.Image == "":
		f.wrong("--image", "", "the training image", "Set it.", targetOf(&f.Options).CommandWith("--image IMAGE"))
	case strings.ContainsAny(f.Image, " \t\n"):
		f.wrong("--image", strconv.Quote(f.Image), "a reference without spaces", "Correct it.")
	}
	if f.Delivery != delivery.ByConfigMaps && f.PodImage == "" {
		f.wrong("--pod-image", "", "the image that contains railhead-pod", "Set it.",
			targetOf(&f.Options).CommandWith("--pod-image IMAGE"))
	}
	f.script()
	f.values()
	f.guaranteed()
	f.volumes()
	f.scheduling()
	f.serverFeatures()
	return f.draft
}

func (f *flagCheck) oneOf(field, got string, values ...string) {
	if !slices.Contains(values, got) {
		f.wrong(field, strconv.Quote(got), "one of "+strings.Join(values, ", "), "Choose one of them.")
	}
}

// name checks the job's name. Names and labels derived from it have at most 63 characters.
func (f *flagCheck) name() {
	longest := 63 - len(strings.ReplaceAll(workloadOf(&f.Options).Suffix, "N", strconv.Itoa(max(f.Nodes-1, 0))))
	switch errs := validation.IsDNS1035Label(f.Name); {
	case f.Name == "":
		f.wrong("NAME", "", "the name of the job", "Choose one.", "railhead deploy NAME ...")
	case len(f.Name) > longest:
		f.wrong("NAME", fmt.Sprintf("%q, %d characters", f.Name, len(f.Name)),
			fmt.Sprintf("at most %d characters", longest),
			"Choose a shorter name: host names and labels of the pods contain it and have at most 63 characters.")
	case len(errs) > 0:
		f.wrong("NAME", strconv.Quote(f.Name), "a DNS label: lower-case letters, digits and -, with a letter first",
			"Choose such a name.")
	}
}

// configMapKey matches a valid key of a ConfigMap (apimachinery validation.IsConfigMapKey).
var configMapKey = regexp.MustCompile(`^[-._a-zA-Z0-9]+$`)

// maxScript keeps the script, with its base64, within a request of 1.5 MiB to etcd. The data of a ConfigMap have at
// most 1 MiB (kubernetes pkg/apis/core/validation ValidateConfigMap).
const maxScript = 900 << 10

func (f *flagCheck) script() {
	s := f.Script
	if s == nil {
		return
	}
	switch {
	case !configMapKey.MatchString(s.Name) || s.Name == "." || strings.HasPrefix(s.Name, ".."):
		f.wrong("--script", strconv.Quote(s.Name), "a file name of letters, digits, -, _ and .", "Rename it.")
	case len(s.Content) > maxScript:
		f.wrong("--script", fmt.Sprintf("%d bytes", len(s.Content)), fmt.Sprintf("at most %d", maxScript),
			"Put the rest into the image or a volume; `railhead launch --copy` accepts larger files.")
	case len(f.Command) == 0 && s.command() == nil:
		f.wrong("--script", s.Name, ".py, .sh or a file that starts with #!, because no command is given",
			"Give the command.",
			targetOf(&f.Options).CommandWith("--script "+s.Name+" -- COMMAND "+scriptFolder+"/"+s.Name))
	}
}

// values checks the quantities, the variables and the settings of railhead-pod.
func (f *flagCheck) values() {
	f.startup()
	for _, flag := range []struct{ name, value string }{
		{"--shm", f.Storage.Shm},
		{"--cpu", f.CPU},
		{"--memory", f.Memory},
		{"--ephemeral-storage", f.EphemeralStorage},
	} {
		if q, err := resource.ParseQuantity(flag.value); flag.value != "" && (err != nil || q.Sign() <= 0) {
			f.wrong(flag.name, strconv.Quote(flag.value), "a quantity above 0, such as 64Gi", "Correct it.")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Env)) {
		if errs := validation.IsEnvVarName(name); len(errs) > 0 {
			f.wrong("--env", strconv.Quote(name), "the name of a variable", "Correct it.")
		}
	}
}

// serverFeatures checks the features of the API server.
func (f *flagCheck) serverFeatures() {
	k := workloadOf(&f.Options)
	// The groups of custom resources contain a dot (apiextensions-apiserver pkg/apis/apiextensions/validation).
	if group := k.GVK.Group; strings.Contains(group, ".") && !f.server.Serves(group) {
		f.draft.Fail(plan.ServerSupport, check.Ref{Kind: check.Server}, "the cluster has no "+k.GVK.Kind+" API",
			check.Observed("API groups", "no "+group, group),
			check.ByUser("Use --kind statefulset, or ask an administrator to install the "+k.GVK.Kind+" controller.",
				targetOf(&f.Options).CommandWith("--kind statefulset")))
	}
	if f.Nodes > 1 {
		f.draft.RequireVersion(f.server, k.RankSince, "does not give the pods of a "+k.GVK.Kind+" their rank",
			check.ByUser("Use --kind job, which tells its pods their rank since Kubernetes 1.21.",
				targetOf(&f.Options).CommandWith("--kind job")))
	}
	f.imageVolumes()
}

// imageVolumes checks whether the server mounts images.
func (f *flagCheck) imageVolumes() {
	if f.Delivery == delivery.ByImageVolume {
		f.draft.RequireVersion(f.server, plan.ImageVolumesMinor, "has no image volumes",
			check.ByUser("Copy railhead-pod with an init container instead.",
				targetOf(&f.Options).CommandWith("--pod-image IMAGE")))
		f.draft.Note("Image volumes need the feature gate ImageVolume, which is on by default from Kubernetes 1.35. " +
			"Some container runtimes mount them noexec; the container then exits with code 126.")
	}
}
