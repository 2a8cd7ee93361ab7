package job

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/manifests"
	"github.com/railhead/railhead/internal/plan/plantest"
	"github.com/railhead/railhead/internal/plan/podspec"
	"github.com/railhead/railhead/internal/workload"
)

// claimCluster has two nodes whose NICs dranet offers, each on a PCIe root of its own, and no attachment.
func claimCluster() cluster.State {
	s := plantest.Vanilla()
	s.Server.Groups = append(s.Server.Groups, cluster.ResourceGroup)
	s.Read = append(s.Read, cluster.DRADevices, cluster.DeviceClasses, cluster.ResourceClaims)
	s.Networks = nil
	s.DeviceClasses = []cluster.DeviceClass{
		{Name: "dranet", Selectors: []string{`device.driver == "dra.net"`}},
		{Name: "gpu.nvidia.com", Selectors: []string{"device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'"}},
	}
	for _, node := range []string{"gpu-1", "gpu-2"} {
		s.DRADevices = append(s.DRADevices, ports(node, "eth1", "eth2", "eth3", "eth4")...)
		s.DRADevices = append(s.DRADevices, cluster.DRADevice{Driver: cluster.DRANet, Pool: node, Node: node, Name: "eth0"})
	}
	return s
}

func ports(node string, names ...string) []cluster.DRADevice {
	var devices []cluster.DRADevice
	for _, name := range names {
		devices = append(devices, cluster.DRADevice{
			Driver: cluster.DRANet, Pool: node, Node: node, Name: name, RDMA: true,
			Attribute: map[string]string{"dra.net/ifName": name, cluster.PCIeRoot: "pci-of-" + name},
		})
	}
	return devices
}

// claimedGPUs offers GPUs through DRA only, n on the PCIe root of each port.
func claimedGPUs(s cluster.State, n int) cluster.State {
	for i := range s.Nodes {
		s.Nodes[i].Allocatable = cluster.Resources{"cpu": 64000, "memory": 1 << 40}
	}
	for _, node := range []string{"gpu-1", "gpu-2"} {
		for i := range 4 * n {
			s.DRADevices = append(s.DRADevices, cluster.DRADevice{
				Driver: cluster.DRAGPU, Pool: node, Node: node, Name: fmt.Sprintf("gpu-%d", i), GPU: true,
				Attribute: map[string]string{cluster.PCIeRoot: fmt.Sprintf("pci-of-eth%d", i%4+1)},
			})
		}
	}
	return s
}

// claimOf returns the ResourceClaimTemplate of a plan.
func claimOf(t *testing.T, p plan.Plan) resourcev1.ResourceClaimTemplate {
	t.Helper()
	var template resourcev1.ResourceClaimTemplate
	for _, c := range p.Changes() {
		if c.Object.GetKind() == "ResourceClaimTemplate" {
			plantest.Strictly(t, c.Object.Object, &template)
		}
	}
	if template.Name == "" {
		t.Fatal("the plan has no ResourceClaimTemplate")
	}
	return template
}

func TestDeployClaims(t *testing.T) {
	p, findings := Deploy(claimCluster(), jobOptions())
	plantest.Golden(t, "job/multi-claims.yaml", plantest.Manifests(t, p, findings))
	claimOf(t, p)
	if worst := check.Worst(findings); worst > check.Unknown {
		t.Error(plantest.Wording(findings))
	}
}

// TestDeployClaimsAgain: a second run changes nothing, other rails replace the template, and delete removes it.
func TestDeployClaimsAgain(t *testing.T) {
	s := claimCluster()
	p, _ := Deploy(s, jobOptions())
	s.Pods = append(s.Pods, cluster.Pod{
		Namespace: "train", Name: "h-kim-0", Node: "gpu-1", Phase: "Running", Labels: plan.Labels("job", "h-kim"),
	})
	held := &s.DRADevices[0]
	s.ResourceClaims = []cluster.ResourceClaim{{
		Namespace: "train", Name: "c", Pod: "h-kim-0",
		Requests: []cluster.ClaimRequest{{Name: "rail-0", Selectors: []string{
			cluster.Rail{Attribute: "dra.net/ifName", Network: held.Name}.Selector(),
		}}},
		Devices: []cluster.ClaimedDevice{{Request: "rail-0", Driver: held.Driver, Pool: held.Pool, Name: held.Name}},
	}}
	held.Attribute = map[string]string{"dra.net/rdmaDevice": "mlx5_0"} // its interface is in the pod
	s.RestoreHeld()
	live := plantest.With(s, plantest.Live(p))
	if again, findings := Deploy(live, jobOptions()); len(again.Changes()) > 0 || check.Worst(findings) == check.Fail {
		t.Errorf("a second run writes:\n%s", plantest.Manifests(t, again, findings))
	}
	o := jobOptions()
	o.Networks = []string{"eth2", "eth3"}
	changed, findings := Deploy(live, o)
	var kinds []string
	for _, c := range changed.Changes() {
		kinds = append(kinds, string(c.Verb)+" "+c.Object.GetKind())
	}
	want := []string{"apply ResourceClaimTemplate", "apply StatefulSet", "delete ResourceClaimTemplate"}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("other rails (-want +got):\n%s%s", diff, plantest.Wording(findings))
	}
	removed, _ := Delete(live, "h-kim", "train")
	old := claimOf(t, p).Name
	if !slices.ContainsFunc(removed.Changes(), func(c plan.Change) bool { return c.Object.GetName() == old }) {
		t.Errorf("delete keeps ResourceClaimTemplate %s", old)
	}
}

// TestClaimedGPUs: GPU and rail are claimed on one PCIe root where the nodes have them so.
func TestClaimedGPUs(t *testing.T) {
	p, findings := Deploy(claimedGPUs(claimCluster(), 2), jobOptions())
	if check.Worst(findings) == check.Fail {
		t.Fatal(plantest.Wording(findings))
	}
	spec := claimOf(t, p).Spec.Spec.Devices
	var pairs []string
	for _, c := range spec.Constraints {
		pairs = append(pairs, strings.Join(c.Requests, " ")+" "+string(*c.MatchAttribute))
	}
	want := []string{
		"gpu-0 rail-0 " + cluster.PCIeRoot, "gpu-1 rail-1 " + cluster.PCIeRoot,
		"gpu-2 rail-2 " + cluster.PCIeRoot, "gpu-3 rail-3 " + cluster.PCIeRoot,
	}
	if diff := cmp.Diff(want, pairs); diff != "" {
		t.Errorf("constraints (-want +got):\n%s", diff)
	}
	if gpus := spec.Requests[4].Exactly; gpus.DeviceClassName != "gpu.nvidia.com" || gpus.Count != 2 {
		t.Errorf("the GPUs of a rail: %+v", gpus)
	}
	o := jobOptions()
	o.GPUs = 3
	p, _ = Deploy(claimedGPUs(claimCluster(), 2), o)
	spec = claimOf(t, p).Spec.Spec.Devices
	if last := spec.Requests[4]; len(spec.Constraints) > 0 || last.Name != "gpus" || last.Exactly.Count != 3 {
		t.Errorf("3 GPUs with 4 rails: %+v, constraints %v", last, spec.Constraints)
	}
}

func TestClaimsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*cluster.State, *Options)
		says   []string
	}{
		"an old server": {
			func(s *cluster.State, _ *Options) { s.Server.Version, s.Server.Minor = "v1.33.4", 33 },
			[]string{"server-support", "v1.33.4", "resource.k8s.io/v1"},
		},
		"no claims at all": {
			func(s *cluster.State, o *Options) { s.Server.Groups, o.Claims = nil, true },
			[]string{"server-support", "no resource claims"},
		},
		"no device has RDMA": {
			func(s *cluster.State, o *Options) {
				for i := range s.DRADevices {
					s.DRADevices[i].RDMA = false
				}
				o.Claims = true
			},
			[]string{"rails-attached", "0 devices with RDMA, 10 without"},
		},
		"no class": {
			func(s *cluster.State, _ *Options) { s.DeviceClasses = s.DeviceClasses[1:] },
			[]string{"no device class has the devices of dra.net", "railhead setup namespace train"},
		},
		"a rail that nothing offers": {
			func(_ *cluster.State, o *Options) { o.Networks = []string{"eth22"} },
			[]string{"no DRA driver offers a rail eth22", "Did you mean eth2"},
		},
		"slices unread": {
			func(s *cluster.State, o *Options) {
				*s = plantest.Unread(*s, cluster.DRADevices)
				s.DRADevices, o.Claims = nil, true
			},
			[]string{"cluster-readable", "resourceslices could not be read"},
		},
		"slices unread, and no attachment": {
			func(s *cluster.State, _ *Options) {
				*s = plantest.Unread(*s, cluster.DRADevices)
				s.DRADevices = nil
			},
			[]string{"whether DRA drivers offer rails could not be read"},
		},
		"devices in use": {
			func(s *cluster.State, _ *Options) {
				s.ResourceClaims = []cluster.ResourceClaim{{
					Namespace: "other", Devices: []cluster.ClaimedDevice{{Driver: cluster.DRANet, Pool: "gpu-2", Name: "eth3"}},
				}}
			},
			[]string{"free-nodes", "1 of 3 nodes qualify", "all RDMA devices of rail eth3 are claimed"},
		},
		"a quota of devices": {
			func(s *cluster.State, _ *Options) {
				s.Quotas = []cluster.Quota{{
					Namespace: "train", Name: "nics",
					Hard: cluster.Resources{"dranet.deviceclass.resource.k8s.io/devices": 7},
				}}
			},
			[]string{"quota nics of namespace train has 7 dranet.deviceclass.resource.k8s.io/devices left, but the job needs 8"},
		},
		"a driver that needs attachments": {
			func(s *cluster.State, _ *Options) {
				for i := range s.DRADevices {
					d := &s.DRADevices[i]
					d.Driver, d.Attribute = cluster.DRASriov, map[string]string{cluster.DRASriov + "/PFName": d.Name}
				}
				s.DeviceClasses[0].Selectors = []string{"device.driver == '" + cluster.DRASriov + "'"}
			},
			[]string{"the interface of rail eth1 cannot be set up"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, o := claimCluster(), jobOptions()
			test.change(&s, &o)
			p, findings := Deploy(s, o)
			wording := plantest.Wording(findings)
			for _, text := range test.says {
				if !strings.Contains(wording, text) {
					t.Errorf("does not say %q:\n%s", text, wording)
				}
			}
			if check.Worst(findings) != check.Fail || !p.Empty() {
				t.Errorf("it is not refused:\n%s", wording)
			}
		})
	}
}

// TestAutoWithoutClaims: mode auto deploys and injects without a claim where pods cannot have one, and says why.
func TestAutoWithoutClaims(t *testing.T) {
	noClass := claimCluster()
	noClass.DeviceClasses = noClass.DeviceClasses[1:]
	noRDMA := claimCluster()
	for i := range noRDMA.DRADevices {
		noRDMA.DRADevices[i].RDMA = false
	}
	unread := plantest.Unread(claimCluster(), cluster.DRADevices)
	unread.DRADevices = nil
	for name, test := range map[string]struct {
		s    cluster.State
		want check.Status
		says string
	}{
		"no class":          {noClass, check.Warn, "no device class has the devices of dra.net"},
		"no device of RDMA": {noRDMA, check.Warn, "pods cannot claim a rail"},
		"slices unread":     {unread, check.Unknown, "resourceslices could not be read"},
	} {
		t.Run(name, func(t *testing.T) {
			o := jobOptions()
			o.Mode, o.Claims = nccl.Auto, true
			p, findings := Deploy(test.s, o)
			text := plantest.Manifests(t, p, nil)
			if p.Empty() || strings.Contains(text, "ResourceClaimTemplate") || check.Worst(findings) != test.want ||
				!strings.Contains(plantest.Wording(findings), test.says) {
				t.Errorf("deploy:\n%s\n%s", text, plantest.Wording(findings))
			}
			m := manifest(t, podManifest)
			out, draft := InjectAll(manifests.List{m}, map[string]cluster.State{"train": test.s},
				Options{Programs: programs(), Mode: nccl.Auto, Claims: true, Namespace: "train"})
			named := func(kind string) bool {
				return slices.ContainsFunc(out, func(u unstructured.Unstructured) bool { return u.GetKind() == kind })
			}
			if !named("ConfigMap") || named("ResourceClaimTemplate") || check.Worst(draft.Findings) != test.want ||
				!strings.Contains(plantest.Wording(draft.Findings), test.says) {
				t.Errorf("inject:\n%v\n%s", out, plantest.Wording(draft.Findings))
			}
		})
	}
}

// TestAutoNeedsClaimsForGPUs: pods over TCP would have no GPU if only claims bring GPUs.
func TestAutoNeedsClaimsForGPUs(t *testing.T) {
	s, o := claimedGPUs(claimCluster(), 2), jobOptions()
	o.Mode, s.DeviceClasses = nccl.Auto, s.DeviceClasses[:1]
	p, findings := Deploy(s, o)
	const want = "no device class has the devices of gpu.nvidia.com"
	if !p.Empty() || !strings.Contains(plantest.Wording(findings), want) {
		t.Errorf("it is not refused:\n%s", plantest.Manifests(t, p, findings))
	}
}

// TestAutoWhileClaimsAreHeld: pods over TCP claim no rails, for which they would wait.
func TestAutoWhileClaimsAreHeld(t *testing.T) {
	s, o := claimCluster(), jobOptions()
	o.Mode = nccl.Auto
	s.ResourceClaims = []cluster.ResourceClaim{{
		Namespace: "other", Devices: []cluster.ClaimedDevice{{Driver: cluster.DRANet, Pool: "gpu-2", Name: "eth3"}},
	}}
	p, findings := Deploy(s, o)
	if text := plantest.Manifests(t, p, findings); p.Empty() || strings.Contains(text, "resourceClaims") {
		t.Errorf("the pods wait for a claim:\n%s", text)
	}
}

// TestClaimsOfSriov: the driver sets up each interface by an attachment that is named like its rail.
func TestClaimsOfSriov(t *testing.T) {
	s, o := claimCluster(), jobOptions()
	o.Claims = true
	for i := range s.DRADevices {
		d := &s.DRADevices[i]
		d.Driver, d.Attribute = cluster.DRASriov, map[string]string{cluster.DRASriov + "/PFName": d.Name}
	}
	s.DeviceClasses[0].Selectors = []string{"device.driver == '" + cluster.DRASriov + "'"}
	for _, rail := range []string{"eth1", "eth2", "eth3", "eth4"} {
		s.Networks = append(s.Networks, cluster.Network{Namespace: "train", Name: "train-" + rail, Type: "sriov"})
	}
	p, findings := Deploy(s, o)
	if check.Worst(findings) == check.Fail {
		t.Fatal(plantest.Wording(findings))
	}
	config := claimOf(t, p).Spec.Spec.Devices.Config
	want := runtime.RawExtension{Raw: []byte(`{"apiVersion":"` + cluster.DRASriov + `/v1alpha1","ifName":"net2",` +
		`"kind":"VfConfig","netAttachDefName":"train-eth2"}`)}
	if len(config) != 4 || string(config[1].Opaque.Parameters.Raw) != string(want.Raw) {
		t.Errorf("config of the second rail: %s, want %s", config[1].Opaque.Parameters.Raw, want.Raw)
	}
}

// TestClaimsWithoutNodes: a user who may not list nodes gets the rails that most nodes with devices have.
func TestClaimsWithoutNodes(t *testing.T) {
	s, o := plantest.Unread(claimCluster(), cluster.Nodes), jobOptions()
	s.Nodes, o.GPUs = nil, 8
	p, findings := Deploy(s, o)
	if check.Worst(findings) == check.Fail {
		t.Fatal(plantest.Wording(findings))
	}
	if n := len(claimOf(t, p).Spec.Spec.Devices.Requests); n != 4 {
		t.Errorf("%d requests, want one for each of 4 rails", n)
	}
}

func TestClaimKinds(t *testing.T) {
	claims := []cluster.Kind{cluster.DRADevices, cluster.DeviceClasses, cluster.ResourceClaims}
	for name, test := range map[string]struct {
		change func(*cluster.State, *Options)
		want   []cluster.Kind
	}{
		"no attachment":      {func(*cluster.State, *Options) {}, claims},
		"over TCP":           {func(_ *cluster.State, o *Options) { o.Mode = nccl.TCP }, nil},
		"attachments unread": {func(s *cluster.State, _ *Options) { *s = plantest.Unread(*s, cluster.Networks) }, nil},
		"attachments":        {func(s *cluster.State, _ *Options) { s.Networks = plantest.Vanilla().Networks }, nil},
		"attachments, --claims": {
			func(s *cluster.State, o *Options) { s.Networks, o.Claims = plantest.Vanilla().Networks, true }, claims,
		},
		"no DRA": {func(s *cluster.State, o *Options) { s.Server.Groups, o.Claims = nil, true }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, o := claimCluster(), jobOptions()
			test.change(&s, &o)
			if diff := cmp.Diff(test.want, Needs(s, o)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestInjectClaims: the claim replaces attachments and resources; a second injection changes nothing.
func TestInjectClaims(t *testing.T) {
	m := manifest(t, `
apiVersion: batch/v1
kind: Job
metadata: {name: bert, namespace: train}
spec:
  template:
    spec:
      resourceClaims: [{name: own, resourceClaimName: mine}]
      containers:
      - {name: c, image: i, command: [x], resources: {claims: [{name: own}], limits: {nvidia.com/gpu: 4}}}
`)
	states := map[string]cluster.State{"train": claimCluster()}
	out, draft := InjectAll(manifests.List{m}, states, Options{Programs: programs()})
	if check.Worst(draft.Findings) == check.Fail {
		t.Fatal(plantest.Wording(draft.Findings))
	}
	var kinds []string
	for _, o := range out {
		kinds = append(kinds, o.GetKind())
	}
	if diff := cmp.Diff([]string{"ConfigMap", "ResourceClaimTemplate", "Job"}, kinds); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	template := Options{}.podTemplates(out[2])[0]
	spec := template["spec"].(map[string]any)
	claims := []any{
		map[string]any{"name": "own", "resourceClaimName": "mine"},
		map[string]any{"name": "rails", "resourceClaimTemplateName": out[1].GetName()},
	}
	if diff := cmp.Diff(claims, spec["resourceClaims"]); diff != "" {
		t.Errorf("claims of the pod (-want +got):\n%s", diff)
	}
	resources := podspec.Items(spec["containers"])[0]["resources"].(map[string]any)
	if diff := cmp.Diff([]any{map[string]any{"name": "own"}, map[string]any{"name": "rails"}}, resources["claims"]); diff != "" {
		t.Errorf("claims of the container (-want +got):\n%s", diff)
	}
	annotations := workload.Field(template, "metadata.annotations")
	if diff := cmp.Diff(any(map[string]any{workload.Injected: workload.ByCommand}), annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	again, _ := InjectAll(out, states, Options{Programs: programs()})
	if diff := cmp.Diff(out, again); diff != "" {
		t.Errorf("a second injection (-first +second):\n%s", diff)
	}
}

// TestInjectClaimsGenerated: a manifest whose name the server completes gives the template a valid name.
func TestInjectClaimsGenerated(t *testing.T) {
	m := manifest(t, `
apiVersion: batch/v1
kind: Job
metadata: {generateName: bert-, namespace: train}
spec:
  template:
    spec:
      containers:
      - {name: c, image: i, command: [x], resources: {limits: {nvidia.com/gpu: 4}}}
`)
	out, draft := InjectAll(manifests.List{m}, map[string]cluster.State{"train": claimCluster()}, Options{Programs: programs()})
	if check.Worst(draft.Findings) == check.Fail || len(out) != 3 {
		t.Fatal(plantest.Wording(draft.Findings))
	}
	if name := out[1].GetName(); !strings.HasPrefix(name, "bert-rails-") || out[1].GetLabels()[plan.LabelInstance] != "bert" {
		t.Errorf("ResourceClaimTemplate %s with labels %v", name, out[1].GetLabels())
	}
}
