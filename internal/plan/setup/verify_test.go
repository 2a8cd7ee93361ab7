package setup

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/plantest"
)

func hca(name string, group host.Fact[int], kind host.Fact[string]) host.Device {
	return host.Device{
		Name:     name,
		Function: host.Know(host.Function{Present: true, IOMMUGroup: group, IOMMUType: kind}),
	}
}

// booted returns a healthy node.
func booted() host.Snapshot {
	return host.Snapshot{
		Node:    host.Know("w12"),
		Cmdline: host.Know("BOOT_IMAGE=(hd0,gpt3)/ostree/vmlinuz ignition.platform.id=metal intel_iommu=on iommu=pt"),
		Devices: []host.Device{
			hca("mlx5_0", host.Know(12), host.Know("identity")),
			{Name: "rxe0", Parent: host.Know("eth0")},
		},
		Limits: host.Limits{MemlockSoft: host.Know(host.Unlimited), MemlockHard: host.Know(host.Unlimited)},
	}
}

func TestVerify(t *testing.T) {
	tests := map[string]struct {
		change func(*host.Snapshot)
		o      Options
		want   []string
	}{
		"healthy": {func(*host.Snapshot) {}, Options{}, nil},
		"arm64":   {func(s *host.Snapshot) { s.Cmdline = host.Know("ro iommu.passthrough=1") }, Options{}, nil},
		"argument not there": {
			func(s *host.Snapshot) { s.Cmdline = host.Know("ro intel_iommu=on iommu=ptx") },
			Options{},
			[]string{"fail kernel-arguments node/w12: the node did not boot with iommu=pt"},
		},
		"argument that contradicts": {
			func(s *host.Snapshot) { s.Cmdline = host.Know("iommu=pt intel_iommu=off") },
			Options{},
			[]string{
				"warn kernel-arguments node/w12: the node booted with intel_iommu=off, " +
					"which contradicts IOMMU passthrough",
			},
		},
		"command line not readable": {
			func(s *host.Snapshot) { s.Cmdline = host.Unread[string]("permission denied") },
			Options{},
			[]string{"unknown kernel-arguments node/w12: the kernel command line could not be read"},
		},
		"an HCA is translated": {func(s *host.Snapshot) {
			s.Devices = append(s.Devices, hca("mlx5_1", host.Know(13), host.Know("DMA-FQ")))
		}, Options{},
			[]string{"fail iommu-passthrough node/w12: the IOMMU translates for mlx5_1 (group type DMA-FQ)"}},
		"a group's type is not readable": {func(s *host.Snapshot) {
			s.Devices = []host.Device{hca("mlx5_0", host.Know(12), host.Unread[string]("EIO"))}
		}, Options{},
			[]string{"unknown iommu-passthrough node/w12: whether the IOMMU translates for mlx5_0 could not be read"}},
		"a PCI function is not known": {
			func(s *host.Snapshot) { s.Devices = []host.Device{{Name: "mlx5_0"}} },
			Options{},
			[]string{"unknown iommu-passthrough node/w12: whether the IOMMU translates for mlx5_0 could not be read"},
		},
		"no IOMMU": {func(s *host.Snapshot) {
			s.Devices = []host.Device{hca("mlx5_0", host.Fact[int]{}, host.Fact[string]{})}
		}, Options{}, nil},
		"no HCA, and no NIC known": {
			func(s *host.Snapshot) { s.Devices = nil },
			Options{},
			[]string{"skipped iommu-passthrough node/w12: the node has no HCA whose IOMMU group could be checked"},
		},
		"small limit": {func(s *host.Snapshot) { s.Limits.MemlockSoft = host.Know(host.Limit(8388608)) }, Options{},
			[]string{"fail node-memlock node/w12: the container runtime limits locked memory to 8388608 bytes"}},
		"limit not known": {
			func(s *host.Snapshot) { s.Limits = host.Limits{} },
			Options{},
			[]string{"unknown node-memlock node/w12: the locked-memory limit of containers could not be read"},
		},
		"opted out of the limit": {
			func(s *host.Snapshot) { s.Limits = host.Limits{} },
			Options{NoMemlock: true},
			nil,
		},
		"opted out of the arguments": {
			func(s *host.Snapshot) { s.Cmdline, s.Devices = host.Fact[string]{}, nil },
			Options{NoIOMMU: true},
			nil,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := booted()
			test.change(&s)
			if diff := cmp.Diff(test.want, plantest.Lines(Verify(cluster.State{}, test.o, CheckedNode{"w12", s}))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestVerifyWithoutHCA: a node without an HCA shows nothing about the IOMMU of those that have one.
func TestVerifyWithoutHCA(t *testing.T) {
	const skipped = "skipped iommu-passthrough node/w01: the node has no HCA whose IOMMU group could be checked"
	const unknown = "unknown iommu-passthrough node/w01: the check shows nothing about the IOMMU: " +
		"it saw no HCA on the node, and 2 nodes of pool worker have RDMA NICs or GPUs"
	without := booted()
	without.Devices = nil
	soft := booted()
	soft.Devices = soft.Devices[1:]
	first := CheckedNode{"w01", without}
	gpuPool := withGPUPool(openshift())
	none := openshift()
	for i := range none.Nodes {
		delete(none.Nodes[i].Allocatable, "nvidia.com/gpu")
	}
	tests := map[string]struct {
		s       cluster.State
		o       Options
		checked []CheckedNode
		want    []string
	}{
		"GPUs elsewhere in the pool":     {openshift(), Options{}, []CheckedNode{first}, []string{unknown}},
		"NICs elsewhere in the pool":     {withNICs(none), Options{}, []CheckedNode{first}, []string{unknown}},
		"another node has one":           {openshift(), Options{}, []CheckedNode{first, {"w12", booted()}}, nil},
		"GPUs in another pool only":      {gpuPool, Options{}, []CheckedNode{first}, []string{skipped}},
		"a node of another pool has one": {gpuPool, Options{}, []CheckedNode{first, {"w12", booted()}}, []string{skipped}},
		"no NIC and no GPU known":        {none, Options{}, []CheckedNode{first}, []string{skipped}},
		"Soft-RoCE":                      {openshift(), Options{}, []CheckedNode{{"w01", soft}}, []string{skipped}},
		"kernel arguments left alone":    {openshift(), Options{NoIOMMU: true}, []CheckedNode{first}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, plantest.Lines(Verify(test.s, test.o, test.checked...))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	commands := func(s cluster.State, node string, mode host.Fact[string]) []string {
		checked := CheckedNode{node, without}
		checked.RDMANetns = mode
		return Verify(s, Options{}, checked)[0].Fix.Commands
	}
	own := "railhead setup cluster --own-pool NAME --verify-first"
	want := [][]string{
		{withoutCheck, "railhead setup rollback", own},
		{"railhead doctor node/w01", withoutCheck, "railhead setup rollback", own},
		{withoutCheck, "railhead setup rollback"},
	}
	got := [][]string{
		commands(openshift(), "w01", host.Know("shared")),
		commands(openshift(), "w01", host.Know("exclusive")),
		commands(gpuPool, "w12", host.Know("shared")),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

// TestSkipVerify: a rollout that is paused for the check goes on without it when asked to, with the pool's settings.
func TestSkipVerify(t *testing.T) {
	m := simulate(openshift())
	poolOf(&m.State, "worker").MaxUnavailable = "3"
	p := mustPlan(t, m.State, Options{VerifyFirst: true})
	for _, step := range p.Steps {
		if step.ID == StepVerifyFirst {
			break
		}
		m.apply(t, plan.Plan{Steps: []plan.Step{step}}, -1)
	}
	if diff := cmp.Diff([]string{"machine-configs", "hold", StepVerifyFirst, "rollout"},
		plantest.StepIDs(mustPlan(t, m.State, Options{}))); diff != "" {
		t.Errorf("asked for nothing: steps (-want +got):\n%s", diff)
	}
	p = mustPlan(t, m.State, Options{SkipVerify: true})
	if diff := cmp.Diff([]string{"machine-configs", "rollout"}, plantest.StepIDs(p)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	m.apply(t, p, -1)
	worker := poolOf(&m.State, "worker")
	if worker.MaxUnavailable != "3" || worker.Paused || worker.InSetup() || len(m.reboots) != 13 {
		t.Errorf("pool %+v, reboots %v", worker, m.reboots)
	}
}

// TestFirstNodes: when the check is due, exactly one node of each pool has the configuration, and it is found.
func TestFirstNodes(t *testing.T) {
	m := simulate(situations()["both pools"])
	p := mustPlan(t, m.State, Options{VerifyFirst: true})
	for _, step := range p.Steps {
		if step.ID == StepVerifyFirst {
			break
		}
		m.apply(t, plan.Plan{Steps: []plan.Step{step}}, -1)
	}
	for range 5 {
		m.tick() // the others are held
	}
	if diff := cmp.Diff([]string{"w12", "w01"}, FirstNodes(m.State, p)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"w01": 1, "w12": 1}, m.reboots); diff != "" {
		t.Errorf("reboots (-want +got):\n%s", diff)
	}
}
