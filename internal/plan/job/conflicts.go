package job

import (
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/access"
	"github.com/railhead/railhead/internal/plan/claims"
	"github.com/railhead/railhead/internal/plan/podspec"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

// conflict is a flag that a pod template answers in another way. Settings of a manifest are kept, so the flag would
// have no effect.
type conflict struct{ flag, given, own string }

// injected is a pod template with the job and the flags that it is injected with.
type injected struct {
	job                  *job
	given                Options        // as the user gave them
	usable               []cluster.Rail // that attachments of the namespace bring
	template, spec, main map[string]any
}

// refuseConflicts fails for flags that a template contradicts. Most of these templates were injected before, with other
// flags.
func (j *request) refuseConflicts(manifest unstructured.Unstructured, template map[string]any, given Options) {
	spec, _ := template["spec"].(map[string]any)
	main := podspec.Main(spec, j.job.Container)
	if main == nil {
		return // add refuses it
	}
	p := injected{
		job:      j.job.withGPUsOf(main, given),
		given:    given,
		usable:   j.s.UsableRails(j.job.Namespace),
		template: template,
		spec:     spec,
		main:     main,
	}
	for _, c := range slices.Concat(p.ofGPUs(), p.ofResources(), p.ofPod(), p.ofSecurity(), p.ofSettings(),
		p.ofRails(), p.ofStart()) {
		fix := "Leave out " + c.flag + ", or change the manifest."
		if p.annotation(workload.Injected) != "" {
			fix = "It was injected before: inject the original manifest with " + c.flag + ", or leave it out."
		}
		j.draft.ReportOnce(plan.Failure(plan.JobRequest, objectRef(manifest),
			fmt.Sprintf("%s is %s, but container %v has %s, and settings of a manifest are kept",
				c.flag, c.given, main["name"], c.own),
			check.Observed("manifest", c.own, c.flag+" "+c.given), check.ByUser(fix)))
	}
}

func (p injected) annotation(name string) string {
	metadata, _ := p.template["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	value, _ := annotations[name].(string)
	return value
}

func (p injected) ofGPUs() []conflict {
	var all []conflict
	name, n := podspec.GPUs(p.main)
	given := max(p.given.GPUs, 0) // NoGPUs
	if p.given.GPUs != 0 && n > 0 && n != given {
		all = append(all, conflict{"--gpus", strconv.Itoa(given), fmt.Sprintf("%d %s", n, name)})
	}
	switch resource := p.given.GPUResource; {
	case resource == "" || resource == name:
	case n > 0:
		all = append(all, conflict{"--gpu-resource", resource, name})
	case given == 0:
		all = append(all, conflict{"--gpu-resource", resource, "no GPU without --gpus"})
	}
	return all
}

// ofResources returns the requests of the container that differ, and its own /dev/shm.
func (p injected) ofResources() []conflict {
	var all []conflict
	shape := podShape{job: p.job}
	for _, r := range []struct{ flag, name, given string }{
		{"--cpu", "cpu", p.job.CPU},
		{"--memory", "memory", p.job.Memory},
		{"--ephemeral-storage", "ephemeral-storage", p.job.EphemeralStorage},
	} {
		for _, kind := range []string{"requests", "limits"} {
			own := podspec.Amounts(p.main, kind)[r.name]
			withShm := r.name == "memory" && same(own, sum(r.given, shape.shmOf(p.spec, p.main)))
			if r.given != "" && own != nil && !same(own, r.given) && !withShm {
				all = append(all, conflict{r.flag, r.given, fmt.Sprintf("%s.%s %v", kind, r.name, own)})
				break
			}
		}
	}
	shm, volume := p.job.Storage.Shm, ownShm(p.main)
	if shm != "" && volume != "" && !same(shape.shmOf(p.spec, p.main), shm) {
		all = append(all, conflict{"--shm", shm, "volume " + volume + " on /dev/shm"})
	}
	return all
}

// same reports whether two amounts of a resource are equal.
func same(a any, b string) bool {
	x, err := resource.ParseQuantity(fmt.Sprint(a))
	y, second := resource.ParseQuantity(b)
	return err == nil && second == nil && x.Cmp(y) == 0
}

// ofPod returns fields of the pod.
func (p injected) ofPod() []conflict {
	var all []conflict
	for _, f := range []struct{ flag, given, field, own string }{
		{"--runtime-class", p.job.Scheduling.RuntimeClass, "runtimeClassName", field(p.spec, "runtimeClassName")},
		{"--service-account", p.job.ServiceAccount, "serviceAccountName", field(p.spec, "serviceAccountName")},
		{"--scc", p.job.SCC, "annotation " + access.RequiredSCC, p.annotation(access.RequiredSCC)},
	} {
		if f.given != "" && f.own != "" && f.own != f.given {
			all = append(all, conflict{f.flag, f.given, f.field + " " + f.own})
		}
	}
	return all
}

func field(object map[string]any, name string) string {
	value, _ := object[name].(string)
	return value
}

// ofSecurity returns what keeps a container from being privileged: the API server refuses a privileged one without
// privilege escalation (kubernetes pkg/apis/core/validation ValidateSecurityContext), and only root has capabilities.
func (p injected) ofSecurity() []conflict {
	if !p.job.Privileged {
		return nil
	}
	var all []conflict
	security := podspec.Security(p.spec, p.main)
	user, set := security["runAsUser"]
	for _, f := range []struct {
		name  string
		wrong bool
	}{
		{"privileged", security["privileged"] == false},
		{"allowPrivilegeEscalation", security["allowPrivilegeEscalation"] == false},
		{"runAsNonRoot", security["runAsNonRoot"] == true},
		{"runAsUser", set && fmt.Sprint(user) != "0"},
	} {
		if f.wrong {
			all = append(all, conflict{"--privileged", "given",
				fmt.Sprintf("securityContext.%s %v", f.name, security[f.name])})
		}
	}
	return all
}

// ofSettings returns the variables of railhead-pod that differ. In mode auto a pod uses the rails that it has.
func (p injected) ofSettings() []conflict {
	var all []conflict
	for _, f := range []struct{ flag, given, variable string }{
		{"--mode", string(p.job.Mode), "RAILHEAD_MODE"},
		{"--gdr-level", p.job.Startup.GDRLevel, "RAILHEAD_GDR_LEVEL"},
		{"--preflight", p.job.Startup.wantedPreflight(), "RAILHEAD_PREFLIGHT"},
	} {
		_, replaced := p.job.Env[f.variable]
		variable := podspec.Named(podspec.Items(p.main["env"]), f.variable)
		own := field(variable, "value")
		auto := f.flag == "--mode" && own == string(nccl.Auto)
		if f.given != "" && own != "" && own != f.given && !auto && !replaced {
			all = append(all, conflict{f.flag, f.given, "variable " + f.variable + "=" + own})
		}
	}
	return all
}

// ofRails returns the rails that the pod has and the flags leave out: attachments, or a claim.
func (p injected) ofRails() []conflict {
	var all []conflict
	listed, _ := podspec.NetworksOf(p.template) // add refuses what cannot be read
	var others []string
	for _, r := range p.usable {
		if listed.Has(p.job.Namespace, r.Network) && !slices.ContainsFunc(p.job.rails, r.Is) {
			others = append(others, r.Network)
		}
	}
	switch {
	case !usesRDMA(&p.job.Options):
	case len(p.job.claim.Rails) > 0 && len(others) > 0:
		all = append(all, conflict{"--claims", "the way to the rails", "attachments " + words.And(others)})
	case len(p.job.claim.Rails) == 0 && claims.Has(p.spec, p.job.Name):
		all = append(all, conflict{"--claims", "not given", "the claim " + claims.Name})
	case len(p.job.Networks) > 0 && len(others) > 0:
		all = append(all, conflict{"--network", words.And(p.job.Networks), "attachments " + words.And(others)})
	}
	return all
}

func (p injected) ofStart() []conflict {
	switch {
	case p.given.Wrap == WrapNever && starts(p.main):
		return []conflict{{"--wrap", WrapNever, "a command that railhead-pod starts"}}
	case p.given.Wrap == WrapAlways && writesFiles(p.spec):
		return []conflict{{"--wrap", WrapAlways, "an init container that writes files"}}
	}
	return nil
}

// needlessRights notes privileges that RDMA does not need if the pods can lock memory without them.
func needlessRights(o *Options, template map[string]any) (d plan.Draft) {
	spec, _ := template["spec"].(map[string]any)
	main := podspec.Main(spec, o.Container)
	security, _ := main["securityContext"].(map[string]any)
	if security["privileged"] == true && !o.Privileged {
		d.Note("Container %v is privileged. RDMA does not need it with railhead, and NCCL then sees the HCAs of "+
			"all pods of the node.", main["name"])
	}
	capabilities, _ := security["capabilities"].(map[string]any)
	added, _ := capabilities["add"].([]any)
	if slices.Contains(added, any("SYS_RESOURCE")) {
		d.Note("Container %v adds the capability SYS_RESOURCE. RDMA does not need it with railhead.", main["name"])
	}
	if slices.Contains(added, any(plan.CapIPCLock)) && o.Memlock == access.MemlockByNode {
		d.Note("Container %v keeps the capability IPC_LOCK. With --memlock node it does not need it.", main["name"])
	}
	return d
}
