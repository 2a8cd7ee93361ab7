//go:build vm

package fabrictest

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/judge/fault"
	"github.com/railhead/railhead/lab/machines/guest"
	"github.com/railhead/railhead/lab/machines/image"
	"github.com/railhead/railhead/lab/machines/vm"
)

// released is the version of the image that the test makes. No other railhead-pod of the lab has one.
const released = "v0.0.0-lab"

// usesImage wants the image of a release to do on nodes what docs/install.md says it is for.
func (s site) usesImage(t *testing.T, ns string) {
	name, remove := s.importsImage(t)
	defer remove()
	t.Run("init container", func(t *testing.T) {
		pod := s.movesFromImage(t, ns, name)
		if len(pod.Spec.InitContainers) != 1 || pod.Spec.InitContainers[0].Image != name {
			t.Errorf("init containers %+v", pod.Spec.InitContainers)
		}
	})
	t.Run("image volume", func(t *testing.T) {
		pod := s.movesFromImage(t, ns, name, "--image-volume")
		if len(pod.Spec.InitContainers) > 0 {
			t.Errorf("init containers %+v", pod.Spec.InitContainers)
		}
	})
	defer s.setsUp(t) // what the rollback undoes, too
	defer s.does(t, "setup", "rollback", "--yes")
	t.Run("metrics", func(t *testing.T) { s.servesMetrics(t, name) })
	t.Run("webhook", func(t *testing.T) { s.servesWebhook(t, name) })
}

// importsImage makes the image as a release does, puts it on the nodes, and returns its name there and what removes it:
// images are in the memory of the machines. make leaves the programs in bin of this checkout.
func (s site) importsImage(t *testing.T) (name string, remove func()) {
	t.Helper()
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	share := s.Machines[0].Spec.Parts.Programs // of all machines
	cmd := exec.CommandContext(t.Context(), "make", "-C", filepath.Dir(root), "image", "VERSION="+released, "DIST="+share)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make image: %v\n%s", err, out)
	}
	name = "ghcr.io/railhead/railhead:" + released
	archive := guest.ProgramFolder + "/railhead_" + strings.TrimPrefix(released, "v") + "_image.tar"
	s.ctr(t, "images", "import", archive)
	for node, names := range s.ctr(t, "images", "ls", "-q") {
		if !strings.Contains(names, name+"\n") {
			t.Errorf("%s has the images %s", node, names)
		}
	}
	return name, func() { s.ctr(t, "images", "rm", name) }
}

// ctr runs a command of containerd on all nodes at once, and returns what each prints.
func (s site) ctr(t *testing.T, args ...string) map[string]string {
	t.Helper()
	var mu sync.Mutex
	all := map[string]string{}
	limited, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	g, ctx := errgroup.WithContext(limited)
	for _, v := range s.Machines {
		g.Go(func() error {
			r, err := fault.In(v)(ctx, append([]string{guest.ProgramFolder + "/ctr", "-n", "k8s.io"}, args...)...)
			if err == nil && r.Code != 0 {
				err = fmt.Errorf("it ends with %d: %s%s", r.Code, r.Stdout, r.Stderr)
			}
			mu.Lock()
			defer mu.Unlock()
			all[v.Spec.Config.Name] = r.Stdout
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatalf("ctr %q: %v", args, err)
	}
	return all
}

// movesFromImage wants the pods of a job to run the railhead-pod of the image, and to move bytes by what it finds. It
// returns the pod of rank 0.
func (s site) movesFromImage(t *testing.T, ns, name string, more ...string) (pod corev1.Pod) {
	t.Helper()
	defer s.does(t, "delete", "job", "-n", ns, "--yes")
	s.does(t, append([]string{
		"deploy", "job", "-n", ns, "--nodes=2", "--gpus=0", "--image=" + image.PerfImage, "--mode=rdma", "--yes",
		"--pod-image=" + name,
	}, more...)...).says(t, "job: 2 of 2 pods ready")
	if err := s.ControlPlane.Client().Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "job-0"}, &pod); err != nil {
		t.Fatal(err)
	}
	for rank, text := range s.ranks(t, "job", ns, "/railhead/bin/railhead-pod --version") {
		if text != "railhead-pod version "+released+"\n" {
			t.Errorf("rank %s runs %q", rank, text)
		}
	}
	s.moves(t, "job", ns)
	return pod
}

// servesMetrics wants the railhead-pod of the image to read the queue pairs of each node.
func (s site) servesMetrics(t *testing.T, name string) {
	t.Helper()
	s.does(t, "setup", "metrics", "--image="+name, "--nodes=kubernetes.io/os=linux", "--yes").
		says(t, "2 of 2 nodes serve metrics")
	for _, v := range s.Machines {
		text := output(t, fault.In(v), "wget", "-q", "-O-", "http://127.0.0.1:9440/metrics")
		if !strings.Contains(text, "\nrailhead_wire_up 1\n") {
			t.Errorf("%s serves %s", v.Spec.Config.Name, text)
		}
	}
}

// servesWebhook wants the railhead of the image to watch the cluster, with the rights of its account, and so to be ready
// to answer. The API server cannot ask it: it reaches no pods.
func (s site) servesWebhook(t *testing.T, name string) {
	t.Helper()
	defer s.leadsToAPI(t)()
	s.does(t, "setup", "webhook", "--image="+name, "--pod-image="+name, "--certificate=railhead", "--yes").
		says(t, "2 of 2 replicas")
}

// leadsToAPI leads the packets of pods that are for the Service of the API server to it, as kube-proxy does elsewhere,
// and returns what undoes that.
func (s site) leadsToAPI(t *testing.T) (undo func()) {
	t.Helper()
	const rules = `nft -f - <<'EOF'
table ip kubernetes {
  chain to { type nat hook prerouting priority dstnat; ip daddr 172.30.0.1 tcp dport 443 dnat to %[1]s:%[2]d; }
  chain from { type nat hook postrouting priority srcnat; ip daddr %[1]s masquerade; }
}
EOF`
	for m, v := range s.Machines {
		_, host := vm.Management(m + 1)
		script(t, v, fmt.Sprintf(rules, host, s.ControlPlane.Users.Port))
	}
	return func() {
		for _, v := range s.Machines {
			script(t, v, "nft delete table ip kubernetes")
		}
	}
}
