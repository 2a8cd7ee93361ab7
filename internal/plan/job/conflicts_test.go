package job

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan/access"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/plan/plantest"
	"github.com/railhead/railhead/internal/plan/podspec"
	"github.com/railhead/railhead/internal/workload"
)

const ownPod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: train}\nspec: {serviceAccountName: h-kim-sa, %s" +
	"containers: [{name: c, image: i, command: [x], %s resources: {limits: {nvidia.com/gpu: 8}}}]}"

// TestConflicts: a flag that the manifest contradicts is refused, and not ignored.
func TestConflicts(t *testing.T) {
	for name, c := range map[string]struct {
		ofPod, ofContainer string
		change             func(*Options)
		want               string
	}{
		"GPUs":          {"", "", func(o *Options) { o.GPUs = 4 }, "--gpus is 4, but container c has 8 nvidia.com/gpu"},
		"no GPUs":       {"", "", func(o *Options) { o.GPUs = NoGPUs }, "--gpus is 0, but container c has 8 nvidia.com/gpu"},
		"the same GPUs": {"", "", func(o *Options) { o.GPUs = 8 }, ""},
		"GPU resource":  {"", "", func(o *Options) { o.GPUResource = "amd.com/gpu" }, "--gpu-resource is amd.com/gpu, but container c has nvidia.com/gpu"},
		"shm": {"volumes: [{name: s, emptyDir: {medium: Memory, sizeLimit: 8Gi}}], ",
			"volumeMounts: [{name: s, mountPath: /dev/shm}],", func(o *Options) { o.Storage.Shm = "16Gi" },
			"--shm is 16Gi, but container c has volume s on /dev/shm"},
		"runtime class": {"runtimeClassName: kata, ", "", func(o *Options) { o.Scheduling.RuntimeClass = "nvidia" },
			"--runtime-class is nvidia, but container c has runtimeClassName kata"},
		"service account": {"", "", func(o *Options) { o.ServiceAccount = "default" }, "--service-account is default, but container c has serviceAccountName h-kim-sa"},
		"own mode":        {"", "env: [{name: RAILHEAD_MODE, value: tcp}],", func(*Options) {}, "--mode is rdma, but container c has variable RAILHEAD_MODE=tcp"},
		"own mode auto":   {"", "env: [{name: RAILHEAD_MODE, value: auto}],", func(*Options) {}, ""},
		"own mode, -e": {"", "env: [{name: RAILHEAD_MODE, value: tcp}],",
			func(o *Options) { o.Env = map[string]string{"RAILHEAD_MODE": "auto"} }, ""},
		"privileged": {"", "securityContext: {allowPrivilegeEscalation: false},", func(o *Options) { o.Privileged, o.SCC = true, "privileged" },
			"--privileged is given, but container c has securityContext.allowPrivilegeEscalation false"},
		"privileged user": {"securityContext: {runAsUser: 1000}, ", "", func(o *Options) { o.Privileged, o.SCC = true, "privileged" },
			"--privileged is given, but container c has securityContext.runAsUser 1000"},
	} {
		s := plantest.Training()
		s.SCCGrants = append(s.SCCGrants, cluster.SCCGrant{SCC: "privileged", Subject: "ServiceAccount/train/h-kim-sa", Namespace: "train"})
		o := Options{Programs: programs()}
		c.change(&o)
		before := manifest(t, fmt.Sprintf(ownPod, c.ofPod, c.ofContainer))
		after, findings := Inject(before, s, o)
		got := plantest.Wording(findings)
		if c.want == "" && check.Worst(findings) == check.Fail {
			t.Errorf("%s: refused:\n%s", name, got)
		}
		if c.want != "" && (strings.Count(got, "fail job-request pod/a: "+c.want) != 1 || !cmp.Equal(before.Object, after.Object)) {
			t.Errorf("%s: not %q:\n%s", name, c.want, got)
		}
	}
}

// TestConflictsOfResources: requests of the manifest are kept, also those of an earlier injection.
func TestConflictsOfResources(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: train}\nspec: {containers: [{name: c, image: i, " +
		"command: [x], resources: {requests: {cpu: 4}, limits: {nvidia.com/gpu: 8}}}]}"
	o := Options{Programs: programs(), Resources: Resources{CPU: "4000m", Memory: "128Gi", EphemeralStorage: "1Ti"}}
	once, findings := Inject(manifest(t, pod), plantest.Training(), o)
	twice, again := Inject(once, plantest.Training(), o)
	if diff := cmp.Diff(once, twice); diff != "" || len(findings)+len(again) > 0 {
		t.Errorf("the same flags (-once +twice):\n%s\n%s", diff, plantest.Wording(append(findings, again...)))
	}
	o.CPU, o.Memory, o.EphemeralStorage = "8", "256Gi", "2Ti"
	_, findings = Inject(once, plantest.Training(), o)
	got := plantest.Wording(findings)
	for _, want := range []string{
		"--cpu is 8, but container c has requests.cpu 4, and settings of a manifest are kept",
		"--memory is 256Gi, but container c has requests.memory 192Gi", "--ephemeral-storage is 2Ti",
		"It was injected before: inject the original manifest with --cpu, or leave it out.",
	} {
		if strings.Count(got, want) != 1 {
			t.Errorf("not once %q:\n%s", want, got)
		}
	}
}

// TestInjectAgain: an injected manifest has the settings of its first injection. Others are refused or take effect.
func TestInjectAgain(t *testing.T) {
	const image = "registry.example.com/railhead-pod:1"
	none := func(*Options) {}
	for name, c := range map[string]struct {
		first, second func(*Options)
		refused       string
		as            func(*Options) // the result of a single injection with these options
	}{
		"the same":    {none, none, "", none},
		"mode":        {none, func(o *Options) { o.Mode = nccl.TCP }, "--mode is tcp, but container c has variable RAILHEAD_MODE=rdma", nil},
		"mode, back":  {func(o *Options) { o.Mode = nccl.TCP }, none, "--mode is rdma, but container c has variable RAILHEAD_MODE=tcp", nil},
		"mode auto":   {none, func(o *Options) { o.Mode = nccl.Auto }, "", none},
		"fewer rails": {none, func(o *Options) { o.Networks = []string{"eno5np0-network"} }, "--network is eno5np0-network, but container c has attachments eno6np0-network, eno7np0-network and eno8np0-network", nil},
		"more rails":  {func(o *Options) { o.Networks = []string{"eno5np0-network"} }, none, "", none},
		"GDR level": {func(o *Options) { o.Startup.GDRLevel = "PHB" },
			func(o *Options) { o.Startup.GDRLevel = "SYS" },
			"--gdr-level is SYS, but container c has variable RAILHEAD_GDR_LEVEL=PHB", nil},
		"preflight": {func(o *Options) { o.Startup.Preflight = PreflightFail },
			func(o *Options) { o.Startup.Preflight = PreflightWarn }, "--preflight is warn", nil},
		"shm": {none, func(o *Options) { o.Storage.Shm = "16Gi" }, "",
			func(o *Options) { o.Storage.Shm = "16Gi" }},
		"variable":        {func(o *Options) { o.Env = map[string]string{"A": "1"} }, func(o *Options) { o.Env = map[string]string{"A": "2"} }, "", func(o *Options) { o.Env = map[string]string{"A": "2"} }},
		"files kept":      {func(o *Options) { o.Wrap = WrapNever }, none, "", func(o *Options) { o.Wrap = WrapNever }},
		"files, always":   {func(o *Options) { o.Wrap = WrapNever }, func(o *Options) { o.Wrap = WrapAlways }, "--wrap is always, but container c has an init container that writes files", nil},
		"command, never":  {none, func(o *Options) { o.Wrap = WrapNever }, "--wrap is never, but container c has a command that railhead-pod starts", nil},
		"by image":        {none, func(o *Options) { o.PodImage = image }, "", func(o *Options) { o.PodImage = image }},
		"by image volume": {none, func(o *Options) { o.PodImage, o.Delivery = image, delivery.ByImageVolume }, "", func(o *Options) { o.PodImage, o.Delivery = image, delivery.ByImageVolume }},
	} {
		with := func(change func(*Options)) Options {
			o := Options{Programs: programs()}
			change(&o)
			return o
		}
		before := manifest(t, fmt.Sprintf(ownPod, "", ""))
		once, findings := Inject(before, plantest.Training(), with(c.first))
		if check.Worst(findings) == check.Fail {
			t.Fatal(plantest.Wording(findings))
		}
		twice, findings := Inject(once, plantest.Training(), with(c.second))
		if got := plantest.Wording(findings); !strings.Contains(got, c.refused) || (c.refused != "") != (check.Worst(findings) == check.Fail) {
			t.Errorf("%s: want %q:\n%s", name, c.refused, got)
		}
		if c.as == nil {
			continue
		}
		want, _ := Inject(before, plantest.Training(), with(c.as))
		if diff := cmp.Diff(want.Object, twice.Object); diff != "" {
			t.Errorf("%s (-single +second):\n%s", name, diff)
		}
	}
}

// TestInjectAgainByClaims: rails come by attachments or by claims, not by both.
func TestInjectAgainByClaims(t *testing.T) {
	both := claimCluster()
	both.Networks = []cluster.Network{{Namespace: "train", Name: "roce0", Type: "macvlan", Resource: "rdma/roce"}}
	for i := range both.Nodes {
		both.Nodes[i].Allocatable = cluster.Resources{"cpu": 1000, "memory": 1 << 40, "nvidia.com/gpu": 8, "rdma/roce": 63}
	}
	before := manifest(t, fmt.Sprintf(ownPod, "", ""))
	attached, claiming := Options{Programs: programs()}, Options{Programs: programs(), Claims: true}
	for want, order := range map[string][]Options{
		"--claims is the way to the rails, but container c has attachments roce0": {attached, claiming},
		"--claims is not given, but container c has the claim rails":              {claiming, attached},
	} {
		once, findings := Inject(before, both, order[0])
		if check.Worst(findings) == check.Fail {
			t.Fatal(plantest.Wording(findings))
		}
		if _, findings = Inject(once, both, order[1]); !strings.Contains(plantest.Wording(findings), want) {
			t.Errorf("not %q:\n%s", want, plantest.Wording(findings))
		}
	}
}

// TestInjectEachTemplate: each template has its own GPUs, and what all have in common is said once.
func TestInjectEachTemplate(t *testing.T) {
	const text = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: pt, namespace: train}\nspec:\n  pytorchReplicaSpecs:\n" +
		"    Master: {template: {spec: {containers: [{name: pytorch, image: i, command: [x], env: [{name: NCCL_IB_HCA, value: mlx5_6}], resources: {limits: {nvidia.com/gpu: %s}}}]}}}\n" +
		"    Worker: {template: {spec: {containers: [{name: pytorch, image: i, command: [x], env: [{name: NCCL_IB_HCA, value: mlx5_6}], resources: {limits: {nvidia.com/gpu: %s}}}]}}}\n"
	for _, gpus := range [][2]string{{"2", "8"}, {"8", "2"}} {
		out, findings := Inject(manifest(t, fmt.Sprintf(text, gpus[0], gpus[1])), plantest.Training(), Options{Programs: programs()})
		if len(findings) != 1 || findings[0].Subject != check.EnvRef("NCCL_IB_HCA") {
			t.Errorf("findings:\n%s", plantest.Wording(findings))
		}
		k, _ := workload.Of("PyTorchJob")
		for _, template := range k.PodTemplates(out.Object) {
			spec := template["spec"].(map[string]any)
			_, n := podspec.GPUs(podspec.Main(spec, ""))
			size := workload.Field(podspec.Named(podspec.Items(spec["volumes"]), shmVolume), "emptyDir.sizeLimit")
			if want := fmt.Sprintf("%dGi", 8*n); size != want {
				t.Errorf("%d GPUs: /dev/shm %v, want %s", n, size, want)
			}
		}
	}
}

// TestInjectOnHostNetwork: a pod on the network of its node gets no rail, so none is promised.
func TestInjectOnHostNetwork(t *testing.T) {
	before := manifest(t, fmt.Sprintf(ownPod, "hostNetwork: true, ", ""))
	after, findings := Inject(before, plantest.Training(), Options{Programs: programs()})
	if diff := cmp.Diff([]string{"fail manifest-suitable"}, plantest.FindingIDs(findings)); diff != "" || !cmp.Equal(before, after) ||
		!strings.Contains(plantest.Wording(findings), "Remove hostNetwork: true") {
		t.Errorf("mode rdma (-want +got):\n%s\n%s", diff, plantest.Wording(findings))
	}
	for _, mode := range []nccl.Mode{nccl.Auto, nccl.TCP} {
		after, j := inject(before, plantest.Training(), Options{Programs: programs(), Mode: mode})
		if networks := after.GetAnnotations()[networksAnnotation]; networks != "" || j.draft.Failed() ||
			j.job.Mode != nccl.TCP {
			t.Errorf("mode %s: %q, mode %s\n%s", mode, networks, j.job.Mode, plantest.Wording(j.draft.Findings))
		}
		if said := strings.Contains(strings.Join(j.draft.Notes, "\n"), "hostNetwork"); said != (mode == nccl.Auto) {
			t.Errorf("mode %s: %q", mode, j.draft.Notes)
		}
	}
}

// TestInjectPathOfKnownKind: a path of templates says nothing about a kind whose templates are known.
func TestInjectPathOfKnownKind(t *testing.T) {
	_, j := inject(manifest(t, fmt.Sprintf(ownPod, "", "")), plantest.Training(), Options{Programs: programs(), TemplatePaths: []string{"spec.template"}})
	if want := "--template-path has no effect on a Pod: railhead knows its pod templates."; !slices.Contains(j.draft.Notes, want) {
		t.Errorf("notes %q, want %q", j.draft.Notes, want)
	}
}

// TestInjectNotesNeedless: privileges that RDMA does not need are kept, and named.
func TestInjectNotesNeedless(t *testing.T) {
	const privileged = "securityContext: {privileged: true, capabilities: {add: [SYS_RESOURCE, IPC_LOCK]}},"
	for name, c := range map[string]struct {
		ofContainer string
		s           cluster.State
		o           Options
		want        []string
	}{
		"privileged": {privileged, plantest.Training(), Options{}, []string{"Container c is privileged.", "capability SYS_RESOURCE"}},
		"memory by the nodes": {privileged, plantest.Training(), Options{Rights: access.Rights{Memlock: access.MemlockByNode}},
			[]string{"Container c is privileged.", "capability SYS_RESOURCE", "capability IPC_LOCK"}},
		"no way to lock memory": {privileged, func() cluster.State {
			s := memlockLimited()
			s.SCCGrants = nil
			return s
		}(), Options{}, nil},
		"none": {"", plantest.Training(), Options{}, nil},
	} {
		c.o.Programs = programs()
		_, j := inject(manifest(t, fmt.Sprintf(ownPod, "", c.ofContainer)), c.s, c.o)
		notes := slices.DeleteFunc(j.draft.Notes, func(note string) bool {
			return !strings.HasPrefix(note, "Container c ")
		})
		if len(notes) != len(c.want) {
			t.Errorf("%s: %q", name, notes)
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(notes[i], want) {
				t.Errorf("%s: %q, want %q", name, notes[i], want)
			}
		}
	}
}

// TestInjectRights: what --scc, --privileged, --toleration and --runtime-class ask for is checked and written.
func TestInjectRights(t *testing.T) {
	s := plantest.Training()
	s.SCCGrants = append(s.SCCGrants, cluster.SCCGrant{SCC: "privileged", Subject: "ServiceAccount/train/h-kim-sa", Namespace: "train"})
	o := Options{Programs: programs(), Rights: access.Rights{SCC: "privileged", Privileged: true}, Env: map[string]string{"MINE": "2", "NEW": "a,b"},
		Scheduling: Scheduling{Tolerations: []cluster.Taint{{Key: "gpu", Value: "yes"}, {Key: "spot"}}, RuntimeClass: "nvidia"}}
	before := manifest(t, fmt.Sprintf(ownPod, "tolerations: [{key: spot, operator: Exists}], ", "env: [{name: MINE, value: '1'}],"))
	once, findings := Inject(before, s, o)
	twice, again := Inject(once, s, o)
	if diff := cmp.Diff(once, twice); diff != "" || len(findings)+len(again) > 0 {
		t.Fatalf("twice (-once +twice):\n%s\n%s", diff, plantest.Wording(append(findings, again...)))
	}
	main := podspec.Main(once.Object["spec"].(map[string]any), "")
	got := map[string]any{
		"scc":         once.GetAnnotations()[access.RequiredSCC],
		"runtime":     workload.Field(once.Object, "spec.runtimeClassName"),
		"tolerations": workload.Field(once.Object, "spec.tolerations"),
		"privileged":  workload.Field(main, "securityContext.privileged"),
		"env":         main["env"],
	}
	want := map[string]any{
		"scc": "privileged", "runtime": "nvidia", "privileged": true,
		"tolerations": []any{
			map[string]any{"key": "spot", "operator": "Exists"},
			map[string]any{"key": "gpu", "operator": "Equal", "value": "yes"},
		},
		"env": []any{
			map[string]any{"name": "RAILHEAD_MODE", "value": "rdma"}, map[string]any{"name": "NEW", "value": "a,b"},
			map[string]any{"name": "MINE", "value": "2"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	claim := manifest(t, fmt.Sprintf(ownPod, "volumes: [{name: d, persistentVolumeClaim: {claimName: d}}], ", ""))
	for name, c := range map[string]struct {
		manifest unstructured.Unstructured
		change   func(*cluster.State, *Options)
		want     string
	}{
		"an SCC that does not exist": {before, func(_ *cluster.State, o *Options) { o.SCC = "nonesuch" }, "SCC nonesuch does not exist"},
		"an SCC of others": {before, func(s *cluster.State, o *Options) {
			s.SCCs, o.SCC = append(s.SCCs, cluster.SCC{Name: "others", Volumes: []string{"*"}}), "others"
		}, "may not use SCC others"},
		"a volume of the manifest": {claim, func(_ *cluster.State, o *Options) { o.SCC = "restricted-v2" },
			"SCC restricted-v2 does not allow persistentVolumeClaim volumes, which the pods need"},
		"an image volume": {before, func(_ *cluster.State, o *Options) {
			o.SCC, o.PodImage, o.Delivery = "restricted-v2", "i", delivery.ByImageVolume
		},
			"SCC restricted-v2 does not allow image volumes"},
		"a server without image volumes": {before, func(s *cluster.State, o *Options) {
			s.Server.Version, s.Server.Minor, o.PodImage, o.Delivery = "v1.32.1", 32, "i", delivery.ByImageVolume
		}, "Kubernetes v1.32.1 has no image volumes"},
		"privileged without a right": {before, func(_ *cluster.State, o *Options) { o.Privileged = true },
			"service account h-kim-sa may use no SCC that allows privileged containers"},
		"a runtime class that does not exist": {before, func(_ *cluster.State, o *Options) {
			o.Scheduling.RuntimeClass = "nvidai"
		}, "Did you mean nvidia?"},
		"railhead-pod for other nodes": {before, func(s *cluster.State, o *Options) { o.Programs = o.Programs[1:] },
			"railhead-pod is not available for nodes of architecture amd64"},
	} {
		s, o := plantest.Training(), Options{Programs: programs()}
		c.change(&s, &o)
		after, findings := Inject(c.manifest, s, o)
		if got := plantest.Wording(findings); check.Worst(findings) != check.Fail || !strings.Contains(got, c.want) || !cmp.Equal(c.manifest, after) {
			t.Errorf("%s: not %q:\n%s", name, c.want, got)
		}
	}
	s = memlockLimited() // of two SCCs with IPC_LOCK the one that allows the volumes of the manifest is meant
	s.SCCs = append(s.SCCs, cluster.SCC{Name: "site", RunAsUser: "RunAsAny", AllowedCapabilities: []string{"IPC_LOCK"}, Volumes: []string{"*"}})
	if _, findings := Inject(claim, s, Options{Programs: programs()}); !strings.Contains(plantest.Wording(findings), "does not allow persistentVolumeClaim") {
		t.Errorf("railhead-rdma:\n%s", plantest.Wording(findings))
	}
	s.SCCGrants = append(s.SCCGrants, cluster.SCCGrant{SCC: "site", Subject: "ServiceAccount/train/h-kim-sa", Namespace: "train"})
	if _, findings := Inject(claim, s, Options{Programs: programs()}); len(findings) > 0 {
		t.Errorf("with site:\n%s", plantest.Wording(findings))
	}
}
