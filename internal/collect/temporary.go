package collect

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
)

// Creator creates, deletes and follows objects.
type Creator interface {
	Watch(ctx context.Context, w kube.Want) iter.Seq2[cluster.State, error]
	Carry(ctx context.Context, change plan.Change, dry kube.DryRun) (kube.Outcome, error)
}

// Temporary creates objects in a namespace for one command, and removes them before the command ends.
type Temporary struct {
	// ID is in the names of the command's pods, which tells them from the pods of other and killed commands.
	ID string

	cluster   Creator
	namespace string
	say       func(line string)
	created   []plan.Change
}

// NewTemporary returns a Temporary without objects. It calls say for objects that it cannot remove.
func NewTemporary(c Creator, namespace string, say func(line string)) *Temporary {
	var id [4]byte
	_, _ = rand.Read(id[:]) // it never fails
	return &Temporary{ID: hex.EncodeToString(id[:]), cluster: c, namespace: namespace, say: say}
}

// answerTime is the time that a request has to finish after an interrupt.
const answerTime = 5 * time.Second

// Create applies a change. An interrupt does not cancel the request, because it would be unknown then whether the
// object exists.
// Remove deletes objects with the ID in their name in any case, and others only if this request created them.
func (t *Temporary) Create(ctx context.Context, change plan.Change) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	own := strings.Contains(change.Object.GetName(), t.ID)
	if own {
		t.created = append(t.created, change)
	}
	request, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(answerTime, stop) })()
	outcome, err := t.cluster.Carry(request, change, false)
	if !own && err == nil && outcome == kube.Created {
		t.created = append(t.created, change)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// removeTime limits the removal, including the termination of pods.
const removeTime = 30 * time.Second

// Remove deletes the objects, the last one first, and waits until the pods have freed their devices, even after an
// interrupt. It reports every object that remains, with a command.
func (t *Temporary) Remove(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
	defer stop()
	pods := false
	for _, change := range slices.Backward(t.created) {
		o := change.Object
		outcome, err := t.cluster.Carry(ctx, change.Undo(), false)
		if err != nil {
			object := strings.ToLower(o.GetKind()) + "/" + o.GetName()
			t.say(fmt.Sprintf("Not removed: %s: %v\nRemove it with: kubectl delete -n %s %s",
				object, err, t.namespace, object))
		}
		pods = pods || outcome == kube.Deleted && o.GetKind() != "ConfigMap" && o.GetKind() != "Service"
	}
	t.created = nil
	if pods {
		t.awaitGone(ctx)
	}
}

// awaitGone waits until no pod has the ID in its name.
func (t *Temporary) awaitGone(ctx context.Context) {
	var left []string
	for s, err := range t.cluster.Watch(ctx, kube.Want{Kinds: []cluster.Kind{cluster.Pods}, Namespace: t.namespace}) {
		if err != nil || !s.Knows(cluster.Pods) {
			continue // until removeTime is over
		}
		left = nil
		for _, p := range s.Pods {
			if p.Namespace == t.namespace && strings.Contains(p.Name, t.ID) {
				left = append(left, p.Name)
			}
		}
		if len(left) == 0 {
			return
		}
	}
	if len(left) == 0 { // they could not be read
		t.say(fmt.Sprintf("The pods are deleted, but may still be terminating. "+
			"Check with: kubectl get pods -n %s | grep %s", t.namespace, t.ID))
		return
	}
	t.say(fmt.Sprintf("Still terminating after %v: %s. Devices stay in use until then. "+
		"Check with: kubectl get pods -n %s %s",
		removeTime, words.Count(len(left), "pod"), t.namespace, strings.Join(left, " ")))
}
