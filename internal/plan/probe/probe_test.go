package probe

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/plan/plantest"
	"github.com/railhead/railhead/internal/rules/pods"
)

func programs() []delivery.Program {
	return []delivery.Program{
		delivery.Packed("amd64", []byte("amd64 program")), delivery.Packed("arm64", []byte("arm64 program")),
	}
}

func TestProbe(t *testing.T) {
	p := Plan(Options{
		Node:      "w12.example.com",
		Namespace: "default",
		Image:     "quay.example.com/release@sha256:1",
		Arch:      "arm64",
		Programs:  programs(),
		ID:        "5e1f0a7c",
		Limit:     5 * time.Minute,
	})
	plantest.Golden(t, "probe.yaml", plantest.Manifests(t, p, nil))
	var undone []string
	for _, c := range p.Changes() {
		back := c.Undo()
		undone = append(undone, string(back.Verb)+" "+back.Object.GetKind()+" "+back.Object.GetNamespace()+"/"+back.Object.GetName())
	}
	want := []string{
		"delete ConfigMap default/railhead-pod-arm64-" + programs()[1].SHA256[:12] + "-0-5e1f0a7c",
		"delete Pod default/railhead-probe-w12.example.com-5e1f0a7c",
	}
	if !slices.Equal(undone, want) {
		t.Errorf("undone by %q, want %q", undone, want)
	}
}

func TestProbeOfHost(t *testing.T) {
	p := Plan(Options{
		Node:      "w12",
		Namespace: "default",
		Image:     "quay.example.com/release@sha256:1",
		Arch:      "amd64",
		Programs:  programs(),
		ID:        "5e1f0a7c",
		Limit:     5 * time.Minute,
		Host:      true,
	})
	plantest.Golden(t, "probe-host.yaml", plantest.Manifests(t, p, nil))
}

func TestProbeWatches(t *testing.T) {
	p := Plan(Options{
		Node:      "w12",
		Namespace: "default",
		Image:     "quay.example.com/release@sha256:1",
		Arch:      "amd64",
		Programs:  programs(),
		ID:        "5e1f0a7c",
		Limit:     5 * time.Minute,
		Host:      true,
		Watch:     90 * time.Second,
	})
	if text := plantest.Manifests(t, p, nil); strings.Count(text, "- --watch=1m30s\n") != 1 {
		t.Error(text)
	}
}

func TestName(t *testing.T) {
	domain := strings.Repeat("a", 20) + "." + strings.Repeat("b", 22) + ".example.com"
	for node, want := range map[string]string{
		"w12":        "railhead-probe-w12-5e1f0a7c",
		"a" + domain: "railhead-probe-a" + domain[:29] + "-6a51bd1d-5e1f0a7c",
		"b" + domain: "railhead-probe-b" + domain[:29] + "-6897cfc8-5e1f0a7c",
	} {
		if got := Name(node, "5e1f0a7c"); got != want {
			t.Errorf("%s: %q of %d, want %q", node, got, len(got), want)
		}
	}
}

func TestProbed(t *testing.T) {
	pod := func(phase string, c cluster.Container) cluster.State {
		return cluster.State{Pods: []cluster.Pod{
			{Namespace: "other", Name: "railhead-probe-w12", Phase: "Succeeded"},
			{
				Namespace:  "default",
				Name:       "railhead-probe-w12",
				Phase:      phase,
				Node:       "w12",
				Containers: []cluster.Container{c},
			},
		}}
	}
	refused := cluster.Container{
		Name:    "snapshot",
		Waiting: "CreateContainerConfigError",
		Message: "container has runAsNonRoot and image will run as root",
	}
	pulling := func(message string) cluster.Container {
		return cluster.Container{
			Name:    "railhead-pod-install",
			Init:    true,
			Image:   "quay.example.com/release",
			Waiting: "ErrImagePull",
			Message: message,
		}
	}
	code := 127
	for name, test := range map[string]struct {
		s     cluster.State
		done  bool
		text  string
		stuck check.ID
	}{
		"missing":      {cluster.State{}, false, "pod railhead-probe-w12 does not exist yet", ""},
		"no phase yet": {pod("", cluster.Container{}), false, "pod railhead-probe-w12 is Pending", ""},
		"its command succeeded, its phase is not updated": {
			pod("Running", cluster.Container{
				Name:     "snapshot",
				ExitCode: new(int),
			}), false, "pod railhead-probe-w12 is Running", "",
		},
		"succeeded":      {pod("Succeeded", cluster.Container{}), true, "pod railhead-probe-w12 is Succeeded", ""},
		"does not start": {pod("Pending", refused), false, "pod railhead-probe-w12 is Pending", pods.ContainerStart},
		"no such image": {
			pod("Pending", pulling("manifest unknown")),
			false,
			"pod railhead-probe-w12 is Pending",
			pods.ImagePull,
		},
		"no shell": {
			pod("Pending", cluster.Container{Name: pods.InstallContainer, Init: true, ExitCode: &code}),
			false,
			"pod railhead-probe-w12 is Pending",
			pods.InstallFailed,
		},
		"no route to the registry": {pod("Pending", pulling("dial tcp: lookup quay.example.com: no such host")), false,
			"pod railhead-probe-w12 is Pending: node w12 does not reach the registry of image quay.example.com/release: ErrImagePull: ErrImagePull: dial tcp: lookup quay.example.com: no such host; use --verify-image for another image", ""},
	} {
		got := probed("railhead-probe-w12", "default")(test.s)
		var stuck check.ID
		if got.Stuck != nil {
			stuck = got.Stuck.Check
			if diff := cmp.Diff([]string{
				"railhead setup cluster --verify-first --verify-image IMAGE",
			}, got.Stuck.Fix.Commands); diff != "" {
				t.Errorf("%s: fix (-want +got):\n%s", name, diff)
			}
		}
		if got.Done != test.done || got.Text != test.text || stuck != test.stuck {
			t.Errorf("%s: %+v, stuck %q", name, got, stuck)
		}
	}
}
