//go:build chaos

package chaostest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane"
	"github.com/railhead/railhead/lab/controlplane/assets"
)

// reboot is the time that a node takes to reboot.
const reboot = 100 * time.Millisecond

// programs are built once for all tests.
var programs struct{ railhead, pod string }

// results are printed at the end.
var results tally

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "railhead-chaos-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	programs.railhead, programs.pod = filepath.Join(dir, "railhead"), filepath.Join(dir, "railhead-pod")
	ctx := context.Background()
	err = errors.Join(
		assets.BuildOwn(ctx, "github.com/railhead/railhead/cmd/railhead", programs.railhead),
		assets.BuildPod(ctx, programs.pod),
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	begun := time.Now()
	code := m.Run()
	results.write(os.Stdout, time.Since(begun))
	return code
}

// TestChaos disturbs each request of each story. $STORIES limits the stories: STORIES=deploy-job,cluster.
func TestChaos(t *testing.T) {
	names := strings.FieldsFunc(os.Getenv("STORIES"), func(r rune) bool { return r == ',' || r == ' ' })
	known := 0
	for _, l := range lanes() {
		stories := l.chosen(names)
		known += len(stories)
		if len(stories) == 0 {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			for _, story := range stories {
				t.Run(story.name, func(t *testing.T) { s.tell(t, story) })
			}
		})
	}
	if len(names) > 0 && known != len(slices.Compact(slices.Sorted(slices.Values(names)))) {
		t.Errorf("STORIES=%q: a name is unknown or repeated", names)
	}
}

// site is a cluster, and the proxy by which railhead reaches it.
type site struct {
	plane      *controlplane.ControlPlane
	proxy      *proxy
	reader     *reader
	boots      *boots
	kubeconfig string
}

func newSite(t *testing.T) *site {
	t.Helper()
	plane, err := controlplane.Start(t.Context(), options())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	c := plane.Client()
	pool := &machineconfigv1.MachineConfigPool{ObjectMeta: metav1.ObjectMeta{Name: "worker"}}
	before := pool.DeepCopy()
	two := intstr.FromInt32(2)
	pool.Spec.MaxUnavailable = &two
	err = errors.Join(c.Patch(t.Context(), pool, client.MergeFrom(before)), small().Create(t.Context(), c))
	if err == nil {
		err = plane.Settle(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	s := &site{plane: plane, proxy: newProxy(t, plane), kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	if err := os.WriteFile(s.kubeconfig, s.proxy.kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	s.reader, s.boots = newReader(t, s), newBoots(t, s)
	return s
}
