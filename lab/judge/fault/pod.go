package fault

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/machines/fabric"
	"github.com/railhead/railhead/lab/machines/guest"
	"github.com/railhead/railhead/lab/machines/image"
)

// Pod is the name of the pod that has a fault of pods, of its container, and of the job that it says it is of.
const Pod = "train"

// PodProgram is railhead-pod in such a pod.
const PodProgram = "/railhead/bin/railhead-pod"

// onPod is a fault of a pod that somebody wrote by hand: objects returns that pod and the objects that it needs, on a
// node. It is there as soon as shows says so of the pod.
func onPod(name, title string, objects func(ns, node string) []client.Object, shows func(podSeen) bool) Fault {
	ns := "fault-" + name
	return Fault{
		Name: name, Title: title, Nodes: true, Namespace: ns,
		make: func(ctx context.Context, m *Machine) error {
			all := append(
				[]client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}},
				objects(ns, m.Config.Name)...)
			for _, o := range all {
				if err := m.create(ctx, o); err != nil {
					return err
				}
			}
			return m.comes(ctx, ns, shows)
		},
		heal: func(ctx context.Context, m *Machine) error { return m.removeNamespace(ctx, ns) },
	}
}

// tick is the interval at which the cluster is asked about a pod, and patience the limit.
const (
	tick     = 200 * time.Millisecond
	patience = 3 * time.Minute
)

// create makes an object. A namespace that is new has no service account yet, and no range of user ids: until then
// its pods are refused.
func (m *Machine) create(ctx context.Context, o client.Object) error {
	return m.until(ctx, func() (bool, error) {
		err := m.Cluster.Create(ctx, o)
		switch {
		case err == nil, apierrors.IsAlreadyExists(err):
			return true, nil
		case apierrors.IsForbidden(err):
			return false, err
		}
		return true, fmt.Errorf("create %s/%s: %w", o.GetNamespace(), o.GetName(), err)
	})
}

// podSeen is the observed state of a pod.
type podSeen struct {
	corev1.Pod
	events []corev1.Event
}

// comes waits until the pod shows the symptom.
func (m *Machine) comes(ctx context.Context, ns string, shows func(podSeen) bool) error {
	return m.until(ctx, func() (bool, error) {
		var p podSeen
		if err := m.Cluster.Get(ctx, client.ObjectKey{Namespace: ns, Name: Pod}, &p.Pod); err != nil {
			return true, err
		}
		var events corev1.EventList
		if err := m.Cluster.List(ctx, &events, client.InNamespace(ns)); err != nil {
			return true, err
		}
		for _, e := range events.Items {
			if e.InvolvedObject.Name == Pod {
				p.events = append(p.events, e)
			}
		}
		if shows(p) {
			return true, nil
		}
		return false, fmt.Errorf("pod %s/%s is %s", ns, Pod, p.Status.Phase)
	})
}

// removeNamespace removes a namespace with all that is in it, and waits until that is gone: then its virtual
// functions are back. The pods go first: while there are some, the namespace controller lets half of a minute pass
// before it looks again.
func (m *Machine) removeNamespace(ctx context.Context, name string) error {
	if err := m.Cluster.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(name)); err != nil {
		return err
	}
	err := m.until(ctx, func() (bool, error) {
		var pods corev1.PodList
		if err := m.Cluster.List(ctx, &pods, client.InNamespace(name)); err != nil || len(pods.Items) == 0 {
			return true, err
		}
		return false, fmt.Errorf("%d pods of namespace %s are still there", len(pods.Items), name)
	})
	if err != nil {
		return err
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := m.Cluster.Delete(ctx, ns); client.IgnoreNotFound(err) != nil {
		return err
	}
	return m.until(ctx, func() (bool, error) {
		err := m.Cluster.Get(ctx, client.ObjectKey{Name: name}, ns)
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, fmt.Errorf("namespace %s is still there: %w", name, err)
	})
}

// until asks until it is done. The error is why it is not, or why it never will be.
func (m *Machine) until(ctx context.Context, ask func() (done bool, why error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for t := time.NewTicker(tick); ; {
		done, why := ask()
		if done {
			t.Stop()
			return why
		}
		select {
		case <-ctx.Done():
			t.Stop()
			return errors.Join(context.Cause(ctx), why)
		case <-t.C:
		}
	}
}

// trainer returns a pod on a node that requests everything for RDMA: a virtual function of each rail, IPC_LOCK as
// root, and shared memory of its own size; and it has railhead-pod, which the node lends it.
func trainer(ns, node string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: Pod,
			Labels: map[string]string{"app.kubernetes.io/instance": Pod, "app.kubernetes.io/component": "job"},
		},
		Spec: corev1.PodSpec{
			NodeSelector:                  map[string]string{corev1.LabelHostname: node},
			TerminationGracePeriodSeconds: new(int64(1)),
			AutomountServiceAccountToken:  new(false),
			Containers: []corev1.Container{{
				Name: Pod, Image: image.PerfImage, ImagePullPolicy: corev1.PullIfNotPresent,
				Command: []string{"sh", "-c", `trap "exit 0" TERM; while :; do sleep 3600 & wait $!; done`},
				SecurityContext: &corev1.SecurityContext{
					RunAsUser: new(int64(0)), Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"IPC_LOCK"}},
				},
			}},
		},
	}
	mount(p, "railhead", PodProgram, corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{
		Path: guest.ProgramFolder + "/" + filepath.Base(PodProgram), Type: new(corev1.HostPathFile),
	}})
	mount(p, "shm", sharedMemory,
		corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}})
	var networks []string
	for _, rail := range fabric.Rails() {
		networks = append(networks, metav1.NamespaceDefault+"/"+rail)
		ask(p, fabric.Resource(rail), "1")
	}
	attach(p, networks...)
	return p
}

const sharedMemory = "/dev/shm"

// train is the container of a pod that trains: the last one.
func train(p *corev1.Pod) *corev1.Container { return &p.Spec.Containers[len(p.Spec.Containers)-1] }

// mount mounts a volume into the container that trains.
func mount(p *corev1.Pod, name, at string, from corev1.VolumeSource) {
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: from})
	train(p).VolumeMounts = append(train(p).VolumeMounts, corev1.VolumeMount{Name: name, MountPath: at})
}

// ask has the container that trains ask for devices.
func ask(p *corev1.Pod, name, count string) {
	limits := train(p).Resources.Limits
	if limits == nil {
		limits = corev1.ResourceList{}
	}
	limits[corev1.ResourceName(name)] = resource.MustParse(count)
	train(p).Resources.Limits = limits
}

// attach names the network attachments that the pod gets, and no others.
func attach(p *corev1.Pod, networks ...string) {
	p.Annotations = map[string]string{"k8s.v1.cni.cncf.io/networks": strings.Join(networks, ",")}
}
