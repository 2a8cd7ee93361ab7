package kube

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cluster"
)

func TestConvertPool(t *testing.T) {
	got := convertPool(from[machineConfigPool](t, `
metadata:
  name: worker
  generation: 7
  annotations: {railhead.dev/paused-by: railhead, kubectl.kubernetes.io/last-applied-configuration: "{}"}
spec:
  paused: true
  maxUnavailable: 10%
  machineConfigSelector:
    matchLabels: {machineconfiguration.openshift.io/role: worker}
    matchExpressions: [{key: machineconfiguration.openshift.io/role, operator: In, values: [worker, gpu]}]
  nodeSelector:
    matchLabels: {node-role.kubernetes.io/worker: ""}
    matchExpressions: [{key: node-role.kubernetes.io/infra, operator: DoesNotExist}]
  configuration:
    name: rendered-worker-2
    source: [{kind: MachineConfig, name: 00-worker}, {kind: MachineConfig, name: 99-worker-iommu-passthrough}]
status:
  configuration: {name: rendered-worker-1, source: [{name: 00-worker}]}
  machineCount: 13
  updatedMachineCount: 4
  readyMachineCount: 4
  unavailableMachineCount: 1
  degradedMachineCount: 0
  observedGeneration: 6
  conditions:
  - {type: Updated, status: "False", lastTransitionTime: "2026-01-05T10:00:00Z"}
  - type: RenderDegraded
    status: "True"
    reason: RenderFailed
    message: parsing Ignition config failed
    lastTransitionTime: "2026-01-05T10:01:00Z"
`))
	want := cluster.Pool{
		Name: "worker", NodeSelector: map[string]string{"node-role.kubernetes.io/worker": ""},
		NodeExpressions: []cluster.Requirement{{Key: "node-role.kubernetes.io/infra", Operator: "DoesNotExist"}},
		ConfigSelector: cluster.Selector{MatchLabels: map[string]string{
			"machineconfiguration.openshift.io/role": "worker",
		},
			MatchExpressions: []cluster.Requirement{
				{Key: "machineconfiguration.openshift.io/role", Operator: "In", Values: []string{"worker", "gpu"}},
			}},
		Annotations: map[string]string{"railhead.dev/paused-by": "railhead"},
		Paused:      true, MaxUnavailable: "10%", Target: "rendered-worker-2", Current: "rendered-worker-1",
		TargetSources: []string{"00-worker", "99-worker-iommu-passthrough"}, CurrentSources: []string{"00-worker"},
		Machines: 13, Updated: 4, Ready: 4, Unavailable: 1, Generation: 7, Observed: 6,
		Conditions: []cluster.Condition{
			{Type: "Updated", Status: "False", Since: time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)},
			{
				Type:    "RenderDegraded",
				Status:  "True",
				Reason:  "RenderFailed",
				Message: "parsing Ignition config failed",
				Since:   time.Date(2026, 1, 5, 10, 1, 0, 0, time.UTC),
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	number := convertPool(from[machineConfigPool](t, `{metadata: {name: gpu}, spec: {maxUnavailable: 2}}`))
	if diff := cmp.Diff(cluster.Pool{Name: "gpu", MaxUnavailable: "2"}, number); diff != "" {
		t.Error("maxUnavailable as a number:", diff)
	}
}

func TestConvertMachineConfig(t *testing.T) {
	for name, test := range map[string]struct {
		yaml string
		want cluster.MachineConfig
	}{
		"CRI-O's files of a rendered one": {`
metadata: {name: rendered-worker-0a1b}
spec:
  kernelArguments: ["iommu=pt intel_iommu=on"]
  osImageURL: quay.io/openshift-release-dev/ocp@sha256:0
  config:
    ignition: {version: 3.4.0}
    passwd: {users: [{name: core}]}
    storage:
      files:
      - {path: /etc/kubernetes/kubelet.conf, mode: 420, contents: {source: "data:,x"}}
      - path: /etc/crio/crio.conf.d/00-default
        mode: 420
        overwrite: true
        contents: {compression: "", source: "data:,%5Bcrio.runtime%5D%0A"}
      - {path: /etc/crio/../passwd, contents: {source: "data:,x"}}
`,
			cluster.MachineConfig{Name: "rendered-worker-0a1b",
				KernelArguments: []string{"iommu=pt", "intel_iommu=on"}, Rendered: true,
				Files: []cluster.File{{
					Path: "/etc/crio/crio.conf.d/00-default", Content: "[crio.runtime]\n",
					Compression: cluster.NotCompressed,
				}},
			}},
		"only units": {`
metadata: {name: 99-worker-x, labels: {machineconfiguration.openshift.io/role: worker}}
spec: {config: {ignition: {version: 3.2.0}, systemd: {units: [{name: a.service}]}}}
`, cluster.MachineConfig{
			Name:   "99-worker-x",
			Labels: map[string]string{"machineconfiguration.openshift.io/role": "worker"},
		}},
		"no config at all": {`{metadata: {name: 99-empty}, spec: {}}`, cluster.MachineConfig{Name: "99-empty"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, convertMachineConfig(from[machineConfig](t, test.yaml))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestKernelArguments(t *testing.T) {
	for name, test := range map[string]struct{ entries, want []string }{
		"one each":             {[]string{"intel_iommu=on", "iommu=pt"}, []string{"intel_iommu=on", "iommu=pt"}},
		"all in one":           {[]string{"intel_iommu=on iommu=pt"}, []string{"intel_iommu=on", "iommu=pt"}},
		"blanks of every kind": {[]string{"  iommu=pt\t nosmt\n"}, []string{"iommu=pt", "nosmt"}},
		"blanks in quotes": {
			[]string{`dyndbg="file ec.c +p" iommu=pt`},
			[]string{`dyndbg="file ec.c +p"`, "iommu=pt"},
		},
		"a quote that never ends": {[]string{`a="b c`, "iommu=pt"}, []string{`a="b c`, "iommu=pt"}},
		"nothing":                 {[]string{"", " "}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, kernelArguments(test.entries)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzKernelArguments splits whatever people write: nothing is lost but blanks, and what was split is not split again.
func FuzzKernelArguments(f *testing.F) {
	f.Add("intel_iommu=on iommu=pt")
	f.Add(`dyndbg="file ec.c +p" a`)
	f.Fuzz(func(t *testing.T, entry string) {
		arguments := kernelArguments([]string{entry})
		if diff := cmp.Diff(arguments, kernelArguments(arguments)); diff != "" {
			t.Errorf("%q is split again: %s", entry, diff)
		}
		solid := func(text string) string { return strings.Join(strings.Fields(text), "") }
		if utf8.ValidString(entry) && solid(strings.Join(arguments, "")) != solid(entry) {
			t.Errorf("%q became %q", entry, arguments)
		}
	})
}

func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(text))
	w.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func TestIgnitionFile(t *testing.T) {
	const text = "[crio.runtime]\ndefault_ulimits = [\n  \"memlock=-1:-1\",\n]\n"
	for name, test := range map[string]struct {
		yaml string
		want cluster.File
	}{
		"base64 with a media type": {
			`contents: {source: "data:text/plain;charset=utf-8;base64,` +
				base64.StdEncoding.EncodeToString([]byte(text)) + `"}`,
			cluster.File{Content: text},
		},
		"base64 without one":     {`contents: {source: "data:;base64,YWI="}`, cluster.File{Content: "ab"}},
		"base64 without padding": {`contents: {source: "data:;base64,YWI"}`, cluster.File{Content: "ab"}},
		"base64, itself escaped": {`contents: {source: "data:;base64,YWI%3D"}`, cluster.File{Content: "ab"}},
		"escaped": {
			`contents: {source: "data:,a%20%22b%22+%0A"}`,
			cluster.File{Content: "a \"b\"+\n"},
		},
		"gzip": {
			`contents: {compression: gzip, source: "data:;base64,` + zipped(text) + `"}`,
			cluster.File{Content: text, Compression: "gzip"},
		},
		"empty source": {`contents: {source: ""}`, cluster.File{}},
		"no contents":  {`mode: 420`, cluster.File{Inherits: true}},
		"no compression": {
			`contents: {compression: "", source: "data:,x"}`, cluster.File{Content: "x", Compression: "none"},
		},
		"fetched": {
			`contents: {source: "https://example.com/x"}`,
			cluster.File{Unread: "its content is fetched from https://example.com/x"},
		},
		"no comma": {`contents: {source: "data:x"}`, cluster.File{Unread: "its data URL has no comma"}},
		"bad escape": {
			`contents: {source: "data:,%zz"}`,
			cluster.File{Unread: `its data URL: invalid URL escape "%zz"`},
		},
		"bad base64": {
			`contents: {source: "data:;base64,?"}`,
			cluster.File{Unread: "its data URL: illegal base64 data at input byte 0"},
		},
		"not gzip": {
			`contents: {compression: gzip, source: "data:,x"}`,
			cluster.File{Unread: "its compressed content: unexpected EOF", Compression: "gzip"},
		},
		"larger than CRI-O's files are": {
			`contents: {compression: gzip, source: "data:;base64,` + zipped(strings.Repeat(" ", maxFile+1)) + `"}`,
			cluster.File{Unread: "its content has more than 1048576 bytes", Compression: "gzip"}},
		"unknown compression": {
			`contents: {compression: xz, source: "data:,x"}`,
			cluster.File{Unread: `its compression "xz" is unknown`, Compression: "xz"},
		},
		"appended to, Ignition 2": {
			`{append: true, contents: {source: "data:,x"}}`,
			cluster.File{Unread: "it is appended to an existing file"},
		},
		"appended, Ignition 3": {
			`append: [{source: "data:,x"}]`,
			cluster.File{Unread: "other content is appended to it", Inherits: true},
		},
		"nothing appended":         {`{append: [], contents: {source: "data:,x"}}`, cluster.File{Content: "x"}},
		"not appended, Ignition 2": {`{append: false, contents: {source: "data:,x"}}`, cluster.File{Content: "x"}},
		"source of no known scheme": {
			`contents: {source: "oem:///x"}`,
			cluster.File{Unread: "its content is fetched from oem:///x"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, from[ignitionFile](t, test.yaml).read()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzIgnition(f *testing.F) {
	f.Add("data:text/plain;charset=utf-8;base64,W2NyaW9d", "")
	f.Add("data:,%5Bcrio.runtime%5D", "")
	f.Add("data:;base64,"+zipped("x"), "gzip")
	f.Fuzz(func(t *testing.T, source, compression string) {
		file := ignitionFile{Path: "/etc/crio/x", Contents: ignitionResource{&source, &compression}}.read()
		if file.Content != "" && file.Unread != "" {
			t.Errorf("%q %q: both content and a reason why there is none: %+v", source, compression, file)
		}
		if compression == "gzip" && len(file.Content) > maxFile {
			t.Errorf("%d bytes came of a compressed file", len(file.Content))
		}
	})
}
