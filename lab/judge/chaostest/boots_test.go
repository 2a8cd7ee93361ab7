//go:build chaos

package chaostest

import (
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/railhead/railhead/lab/controlplane/standin"
)

// boots counts the reboots of each node.
type boots struct {
	mu    sync.Mutex
	times map[string]int
}

func newBoots(t *testing.T, s *site) *boots {
	t.Helper()
	c, err := kubernetes.NewForConfig(s.plane.Admin())
	if err != nil {
		t.Fatal(err)
	}
	b := &boots{times: map[string]int{}}
	factory := informers.NewSharedInformerFactory(c, 0)
	nodes := factory.Core().V1().Nodes().Informer()
	if _, err := nodes.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: b.update}); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	factory.Start(stop)
	t.Cleanup(func() { close(stop); factory.Shutdown() })
	cache.WaitForCacheSync(stop, nodes.HasSynced)
	return b
}

func (b *boots) update(before, after any) {
	old, ok := before.(*corev1.Node)
	node, isNode := after.(*corev1.Node)
	if ok && isNode && !rebooting(old) && rebooting(node) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.times[node.Name]++
	}
}

func rebooting(n *corev1.Node) bool {
	return n.Annotations[standin.PostConfigAction] == standin.Rebooting
}

// take returns the reboots since the last take.
func (b *boots) take() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	times := b.times
	b.times = map[string]int{}
	return times
}

// becomes waits until the reboots since the last take are as wanted, and takes them.
func (b *boots) becomes(want map[string]int) error {
	ticks := time.NewTicker(50 * time.Millisecond)
	defer ticks.Stop()
	deadline := time.After(settleLimit)
	for {
		b.mu.Lock()
		same := maps.Equal(b.times, want)
		b.mu.Unlock()
		select {
		case <-deadline:
		case <-ticks.C:
			if !same {
				continue
			}
		}
		if got := b.take(); !maps.Equal(got, want) {
			return fmt.Errorf("reboots %v, undisturbed %v", got, want)
		}
		return nil
	}
}
