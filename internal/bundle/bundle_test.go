package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/rules/benchrules"
	"github.com/railhead/railhead/internal/rules/rulestest"
	"github.com/railhead/railhead/internal/workload"
)

// planted is a secret that must not leave the cluster.
const planted = "hunter2correcthorse"

// full returns a bundle with all parts, and secrets in all places where a cluster may have some.
func full() Bundle {
	taken := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	return Bundle{
		Manifest: Manifest{Version: "v1.0.0", Taken: taken, Subject: workload.Subject{Job: "h-kim",
			Namespace: "train"}},
		State: fullState(taken),
		Machines: []rules.Machine{
			{Ref: check.PodRef("train", "h-kim-0"), Node: "gpu-0", Group: "job/h-kim", Snapshot: fullSnapshot(taken)},
			{Ref: check.PodRef("train", "h-kim-1"), Node: "gpu-1", Unreached: "run railhead-pod: token=" + planted},
			{
				Ref:      check.NodeRef("gpu-0"),
				Node:     "gpu-0",
				Snapshot: host.Snapshot{SchemaVersion: 1, Node: host.Know("gpu-0")},
			},
		},
		Logs: []Log{{Name: "pod/train/h-kim-0", Container: "train", Text: "login with " + planted + "\n" +
			"gpu-0:1:1 [0] NCCL INFO Using network IB\n" +
			"gpu-0:1:1 [0] NCCL INFO HTTP_TOKEN set by environment to Bearer " + planted + "\n"}},
		Bench: fullBench(taken),
	}
}

// fullBench returns a bench of two pods with a link without data.
func fullBench(taken time.Time) *bench.Result {
	rails := []bench.PodRail{
		{
			Name:    "rail-1",
			Device:  "mlx5_6",
			Port:    1,
			GID:     3,
			Ceiling: bench.Ceiling{Rate: 392, By: bench.ByLink, Link: 392},
		},
	}
	r := bench.Result{
		SchemaVersion: bench.ResultVersion,
		Begun:         taken,
		Seconds:       12,
		Namespace:     "train",
		Job:           "h-kim",
		MinEfficiency: 0.9,
		Pods: []bench.Pod{
			{Name: "h-kim-0", Node: "gpu-0", IP: "10.128.2.10", Tools: bench.Tools{bench.IBWriteBW}, Rails: rails},
			{Name: "h-kim-1", Node: "gpu-1", Rails: rails},
		},
		Matrix: bench.NewMatrix(
			[]bench.MatrixPod{{Name: "h-kim-0", Node: "gpu-0"}, {Name: "h-kim-1", Node: "gpu-1"}},
			[]bench.MatrixRail{{Name: "rail-1", Ceiling: 392}},
		),
		Failures: []string{"h-kim-0 > h-kim-1, rail rail-1: the client was lost: token=" + planted},
		Skipped:  []string{"h-kim-2: exec: Authorization: " + planted},
		Machines: []host.Snapshot{fullSnapshot(taken)},
		Findings: []check.Finding{{Check: benchrules.Fabric, Summary: planted}},
	}
	r.Matrix.Set(0, 1, 0, 0)
	attribution := r.Matrix.Attribute(r.MinEfficiency)
	r.Attribution = &attribution
	return &r
}

func fullSnapshot(taken time.Time) host.Snapshot {
	return host.Snapshot{
		SchemaVersion: 1, Taken: taken, Node: host.Know("gpu-0"), Pod: host.Know("h-kim-0"),
		Cmdline: host.Know("root=UUID=" + planted + " intel_iommu=on iommu=pt ignition.token=" + planted),
		Devices: []host.Device{
			{
				Name: "mlx5_0",
				Ports: []host.Port{
					{
						Number: 1,
						GIDs: []host.GID{
							{Index: 3, Addr: netip.MustParseAddr("::ffff:10.1.0.5"), Type: host.Know("RoCE v2")},
						},
					},
				},
			},
		},
		Env: map[string]string{
			"NCCL_IB_HCA": "=mlx5_0:1", "RAILHEAD_API_KEY": planted, "NCCL_SOCKET_IFNAME": "eth0",
			"MASTER_ADDR":   "https://u:" + planted + "@h-kim-0",
			"FI_AUTH_TOKEN": planted,
		},
		Launched: map[string]string{
			"NCCL_NET":        "IB",
			"RAILHEAD_SECRET": planted,
			"NCCL_CONF_FILE":  "https://u:" + planted + "@x",
		},
		NCCL: host.NCCL{
			Config: []host.ConfigVar{
				{File: "/etc/nccl.conf", Name: "NCCL_TOKEN", Value: planted},
				{File: "/etc/nccl.conf", Name: "NCCL_DEBUG", Value: "INFO"},
			},
		},
		Problems: []host.Problem{{Path: "/sys/x", Op: "read", Err: "password: " + planted}},
		Wire:     moving(taken, 900),
		Earlier: &host.Snapshot{
			SchemaVersion: 1, Taken: taken, Wire: moving(taken, 100), Env: map[string]string{"TOKEN": planted},
		},
	}
}

// moving has a queue pair that sent so many packets.
func moving(taken time.Time, packets uint32) host.Fact[host.Wire] {
	return host.Know(host.Wire{Taken: taken, Devices: []host.WireDevice{{
		Name: "mlx5_0", Taken: taken, QueuePairs: host.Know([]host.QueuePair{{
			Number: 17, Remote: host.Know(uint32(42)), Type: host.TypeRC, State: host.StateRTS, SendPSN: packets,
			PID: host.Know(71), Program: "python",
		}}),
	}}})
}

func fullState(taken time.Time) cluster.State {
	secrets := map[string]string{"vault.example.com/inject": planted, "railhead.dev/token": planted, "note": planted}
	code := 1
	return cluster.State{
		SchemaVersion: 1, Taken: taken, Read: []cluster.Kind{cluster.Nodes, cluster.Pods},
		Server: cluster.Server{
			URL:     "https://admin:" + planted + "@api.example.com:6443",
			Version: "v1.34.2",
			Groups:  []string{"apps"},
		},
		Nodes: []cluster.Node{{
			Name:   "gpu-0",
			Ready:  true,
			Labels: map[string]string{"node-role.kubernetes.io/worker": "", "site": planted},
			Arch:   "amd64",
			Taints: []cluster.Taint{
				{Key: "k", Value: planted, Effect: "NoSchedule"},
			}, Allocatable: cluster.Resources{"openshift.io/rail0": 8},
		}},
		Pods: []cluster.Pod{{
			Namespace: "train", Name: "h-kim-0", Node: "gpu-0", Phase: "Running",
			Labels: map[string]string{"app.kubernetes.io/instance": "h-kim", "owner": planted},
			Annotations: map[string]string{
				"k8s.v1.cni.cncf.io/networks": "rail0",
				"vault":                       planted,
				"kubectl.kubernetes.io/last-applied-configuration": planted,
			},
			Containers: []cluster.Container{{
				Name: "train", Image: "example.com/train:1", ExitCode: &code, Command: []string{"train", planted},
				Message: "railhead-pod: fail: memlock\nPASSWORD is " + planted + "\nTraceback: " + planted,
			}},
		}},
		Pools: []cluster.Pool{
			{
				Name:        "worker",
				Annotations: secrets,
				Conditions: []cluster.Condition{
					{Type: "Degraded", Status: "True", Message: "pull with token=" + planted},
				},
			},
		},
		MachineConfigs: []cluster.MachineConfig{
			{
				Name:            "99-x",
				KernelArguments: []string{"iommu=pt", "pw=" + planted},
				Files: []cluster.File{
					{
						Path:    "/etc/crio/a",
						Content: "[crio.runtime]\nproxy = \"" + planted + "\"\ndefault_ulimits = [\"memlock=-1:-1\"]\n",
					},
				},
			},
		},
		Networks: []cluster.Network{{
			Namespace: "train", Name: "rail0", Resource: "openshift.io/rail0", Type: "sriov",
			Config: `{"type":"sriov","mtu":9000,"ipam":{"type":"whereabouts","range":"10.1.0.0/24",` +
				`"etcd_password":"` + planted + `"}}`,
		}, {Namespace: "train", Name: "rail1", Config: "no JSON, but " + planted}},
		SriovNetworks: []cluster.SriovNetwork{{Kind: "SriovNetwork", Name: "rail0", Spec: map[string]any{
			"resourceName": "rail0", "ipam": `{"type":"whereabouts","etcd_password":"` + planted + `"}`,
			"metaPlugins": `{"type":"rdma","x":"` + planted + `"}`, "note": planted,
		}}},
		Workloads: []cluster.Workload{{
			Kind: "Job", Namespace: "train", Name: "h-kim",
			Templates:  []cluster.Pod{{Annotations: secrets, Labels: map[string]string{"team": planted}}},
			Conditions: []cluster.Condition{{Type: "Failed", Status: "True", Message: "pull with token=" + planted}},
		}},
		Namespaces: []cluster.Namespace{
			{Name: "train", Annotations: secrets, Labels: map[string]string{"team": planted}},
		},
		Events: []cluster.Event{
			{
				Namespace: "train",
				Object:    "Pod/h-kim-0",
				Type:      "Warning",
				Reason:    "FailedMount",
				Message:   "mount with --api-key " + planted + " failed",
				Last:      taken,
			},
			{
				Namespace: "train",
				Object:    "Pod/h-kim-0",
				Type:      "Warning",
				Reason:    "CustomReason",
				Message:   planted,
				Last:      taken,
			},
			{
				Namespace: "train",
				Object:    "Pod/h-kim-0",
				Type:      "Warning",
				Reason:    "Unhealthy",
				Message:   "Readiness probe failed: " + planted,
				Last:      taken,
			},
		},
		Objects: []cluster.Object{
			{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "train", Name: "h-kim", Fields: map[string]any{
				"metadata": map[string]any{
					"name":        "h-kim",
					"generation":  float64(2),
					"annotations": map[string]any{"vault": planted},
					"labels":      map[string]any{"owner": planted},
				},
				"spec": map[string]any{
					"replicas": float64(2),
					"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{
						"name": "train", "args": []any{"--token", planted}, "command": []any{planted},
						"env":       []any{map[string]any{"name": "WANDB_API_KEY", "value": planted}},
						"resources": map[string]any{"limits": map[string]any{"openshift.io/rail0": "1"}},
					}}}},
				},
			}},
			{
				APIVersion: "v1",
				Kind:       "ConfigMap",
				Name:       "script",
				Fields: map[string]any{
					"data":       map[string]any{"train.py": planted},
					"binaryData": map[string]any{"x": planted},
				},
			},
		},
		Problems: []cluster.Problem{{Kind: cluster.SCCs, Err: "Authorization: Bearer " + planted}},
	}
}

func written(t *testing.T, b Bundle) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, b); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestNothingSecretIsWritten(t *testing.T) {
	zip, err := gzip.NewReader(bytes.NewReader(written(t, full())))
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(zip)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		for rest := string(content); ; {
			before, after, found := strings.Cut(rest, planted)
			if !found {
				break
			}
			t.Errorf("%s: ...%s<secret>", header.Name, before[max(0, len(before)-60):])
			rest = after
		}
	}
}

func TestRoundTrip(t *testing.T) {
	got, err := Read(bytes.NewReader(written(t, full())))
	if err != nil {
		t.Fatal(err)
	}
	want := Clean(full())
	if diff := cmp.Diff(want.State, got.State); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	addresses := cmp.Comparer(func(a, b netip.Addr) bool { return a == b })
	if diff := cmp.Diff(want.Machines, got.Machines, addresses); diff != "" {
		t.Errorf("machines (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Logs, got.Logs); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Bench, got.Bench); diff != "" || len(got.Bench.Findings) != 1 ||
		got.Bench.Machines != nil {
		t.Errorf("bench (-want +got):\n%s\n%+v", diff, got.Bench)
	}
	if got.Manifest.Version != "v1.0.0" || got.Manifest.Subject.Job != "h-kim" ||
		got.Manifest.SchemaVersion != SchemaVersion {
		t.Errorf("manifest %+v", got.Manifest)
	}
	if again := written(t, got); !bytes.Equal(again, written(t, full())) {
		t.Error("the archive is not written as it was read")
	}
}

// TestReadEachIsSmall asserts that the snapshots of judged machines are not kept: those of thousands need a gigabyte.
func TestReadEachIsSmall(t *testing.T) {
	const pods, most = 500, 16 << 10 // bytes for each pod
	in := bytes.NewReader(written(t, Bundle{Machines: rulestest.Job(t, pods)}))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	_, judged, err := ReadEach(in, rules.Judge)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if err != nil || len(judged) != pods {
		t.Fatalf("%d machines: %v", len(judged), err)
	}
	if each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / pods; each > most {
		t.Errorf("%d bytes are kept for each pod, more than %d", each, most)
	}
	runtime.KeepAlive(judged)
	if d := rules.Diagnose(rules.Case{Machines: judged}); d.Pods != pods || d.Unknown() {
		t.Errorf("%d pods: %+v", d.Pods, d.Problems)
	}
}

// TestCleanKeeps checks facts that a diagnosis needs.
func TestCleanKeeps(t *testing.T) {
	b := Clean(full())
	environment := map[string]string{
		"NCCL_IB_HCA":        "=mlx5_0:1",
		"NCCL_SOCKET_IFNAME": "eth0",
		"MASTER_ADDR":        "https://REDACTED@h-kim-0",
	}
	if diff := cmp.Diff(environment, b.Machines[0].Snapshot.Env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if got := b.Machines[0].Snapshot.Cmdline.Value; got != "intel_iommu=on iommu=pt" {
		t.Errorf("kernel command line %q", got)
	}
	earlier := b.Machines[0].Snapshot.Earlier
	if got := earlier.Wire.Value.Devices[0].QueuePairs.Value[0].SendPSN; got != 100 || earlier.Env != nil {
		t.Errorf("packets sent %d, environment %v", got, earlier.Env)
	}
	network := `{"ipam":{"range":"10.1.0.0/24","type":"whereabouts"},"mtu":9000,"type":"sriov"}`
	if got := b.State.Networks[0].Config; got != network {
		t.Errorf("network %s", got)
	}
	if got := b.State.MachineConfigs[0].Files[0].Content; !strings.Contains(got, "memlock=-1:-1") {
		t.Errorf("file %q", got)
	}
	if got := b.State.Pods[0].Containers[0].Message; got != "railhead-pod: fail: memlock\n" {
		t.Errorf("last words %q", got)
	}
	if got := b.State.Objects[0].Fields["spec"].(map[string]any)["replicas"]; got != float64(2) {
		t.Errorf("replicas %v", got)
	}
	log := "gpu-0:1:1 [0] NCCL INFO Using network IB\n" +
		"gpu-0:1:1 [0] NCCL INFO HTTP_TOKEN set by environment to REDACTED\n"
	if diff := cmp.Diff(log, b.Logs[0].Text); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestTruncated(t *testing.T) {
	whole := written(t, full())
	for n := 0; n < len(whole); n += 97 {
		if _, err := Read(bytes.NewReader(whole[:n])); !errors.Is(err, ErrTruncated) {
			t.Fatalf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
}

// packed returns an archive that Write would not create.
func packed(t *testing.T, files ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	archive := tar.NewWriter(zip)
	for _, f := range files {
		content := f.Linkname // the content of a regular file
		if f.Typeflag == 0 {
			f.Typeflag, f.Linkname, f.Size = tar.TypeReg, "", int64(len(content))
		} else {
			content = ""
		}
		if err := archive.WriteHeader(&f); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(archive, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestReadRefuses(t *testing.T) {
	const manifest = `{"schemaVersion":1,"tool":"railhead","version":"v1"}`
	of := func(name, content string) tar.Header { return tar.Header{Name: name, Linkname: content} }
	for name, test := range map[string]struct {
		archive []byte
		want    error
		says    string
	}{
		"another file format":        {[]byte("PK\x03\x04 a zip file of somebody"), ErrNoBundle, ""},
		"an empty file":              {nil, ErrTruncated, ""},
		"another archive":            {packed(t, of("README", "x")), ErrNoBundle, `begins with "README"`},
		"a foreign manifest":         {packed(t, of(manifestFile, "{}")), ErrNoBundle, ""},
		"a manifest that is no JSON": {packed(t, of(manifestFile, "{")), ErrNoBundle, ""},
		"a newer form": {
			packed(t, of(manifestFile, `{"schemaVersion":2,"tool":"railhead","version":"v9.1"}`)), ErrNewer,
			"by railhead v9.1",
		},
		"a path out of the archive": {
			packed(t, of(manifestFile, manifest), of("objects/../../etc/passwd", "x")), ErrUnsafe, "passwd",
		},
		"an absolute name": {packed(t, of(manifestFile, manifest), of("/etc/passwd", "x")), ErrUnsafe, ""},
		"a link": {
			packed(
				t, of(manifestFile, manifest),
				tar.Header{Name: "objects/pods.json", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink},
			),
			ErrUnsafe, "",
		},
		"a device": {
			packed(t, of(manifestFile, manifest), tar.Header{Name: "objects/x", Typeflag: tar.TypeChar}), ErrUnsafe, "",
		},
		"invalid objects": {
			packed(t, of(manifestFile, manifest), of("objects/nodes.json", "{")), ErrNoBundle, "",
		},
		"missing files": {
			packed(t, of(manifestFile, `{"schemaVersion":1,"tool":"railhead","files":3}`)), ErrTruncated,
			"0 of 3 files",
		},
		"an invalid bench result": {
			packed(t, of(manifestFile, manifest), of(benchFile, "{}")), ErrNoBundle,
			"bench.json: unknown schema version 0",
		},
		"a second file of one name": {
			packed(t, of(manifestFile, manifest), of("logs/a", ""), of("logs/a", "")), ErrUnsafe, `a second "logs/a"`,
		},
		"a file for two machines": {
			packed(
				t,
				of(manifestFile, `{"schemaVersion":1,"tool":"railhead",`+
					`"machines":[{"name":"pod/a/b","file":"x.json"},{"name":"pod/a/c","file":"x.json"}]}`),
			),
			ErrNoBundle, "two machines have x.json",
		},
		"an invalid snapshot": {
			packed(
				t,
				of(manifestFile, `{"schemaVersion":1,"tool":"railhead",`+
					`"machines":[{"name":"pod/a/b","file":"x.json"}]}`),
				of("x.json", "{"),
			),
			ErrNoBundle, "x.json",
		},
		"a missing snapshot": {
			packed(
				t,
				of(manifestFile, `{"schemaVersion":1,"tool":"railhead",`+
					`"machines":[{"name":"pod/a/b","file":"snapshots/pod/a/b.json"}]}`),
			),
			ErrTruncated, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(bytes.NewReader(test.archive))
			if !errors.Is(err, test.want) || !strings.Contains(fmt.Sprint(err), test.says) {
				t.Errorf("%v, want %v", err, test.want)
			}
		})
	}
}

// A small file that unpacks to more than any cluster has is not read to its end.
func TestBomb(t *testing.T) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	archive := tar.NewWriter(zip)
	headers := []tar.Header{{Name: manifestFile, Size: 52}, {Name: "objects/pods.json", Size: mostOfOneFile + 1}}
	for _, h := range headers {
		h.Typeflag = tar.TypeReg
		if err := archive.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size == 52 {
			_, _ = io.WriteString(archive, `{"schemaVersion":1,"tool":"railhead","version":"v1"}`)
		}
	}
	_ = zip.Close() // the archive is not ended: no reader gets there
	if _, err := Read(&out); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
}

// Parts that a later railhead adds are ignored.
func TestLaterParts(t *testing.T) {
	b, err := Read(bytes.NewReader(packed(
		t,
		tar.Header{
			Name:     manifestFile,
			Linkname: `{"schemaVersion":1,"tool":"railhead","version":"v9","later":true,"files":2}`,
		},
		tar.Header{
			Name:     "objects/novelties.json",
			Linkname: `[{"name":"x"}]`,
		},
		tar.Header{Name: "later/x.json", Linkname: "?"},
	)))
	if err != nil || b.Manifest.Version != "v9" {
		t.Errorf("%+v: %v", b.Manifest, err)
	}
}

func TestUnsafeNamesAreNotWritten(t *testing.T) {
	b := full()
	b.Machines[0].Ref = check.PodRef("..", "../x")
	if err := Write(io.Discard, b); !errors.Is(err, ErrUnsafe) {
		t.Errorf("%v", err)
	}
}

func FuzzRead(f *testing.F) {
	var out bytes.Buffer
	if err := Write(&out, full()); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := Read(bytes.NewReader(data))
		if err == nil && b.Manifest.SchemaVersion != SchemaVersion {
			t.Errorf("read without a known form: %+v", b.Manifest)
		}
	})
}
