package controllers

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/certificates/rootcacertpublisher"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/controller/statefulset"
)

func (m manager) serviceAccounts(ctx context.Context) (loop, error) {
	client, err := m.clients.Client("service-account-controller")
	if err != nil {
		return nil, err
	}
	core := m.informers.Core().V1()
	c, err := serviceaccount.NewServiceAccountsController(klog.FromContext(ctx), core.ServiceAccounts(), core.Namespaces(),
		client, serviceaccount.DefaultServiceAccountsControllerOptions())
	return func(ctx context.Context) { c.Run(ctx, 1) }, err
}

func (m manager) rootCertificates(context.Context) (loop, error) {
	client, err := m.clients.Client("root-ca-cert-publisher")
	if err != nil {
		return nil, err
	}
	core := m.informers.Core().V1()
	c, err := rootcacertpublisher.NewPublisher(core.ConfigMaps(), core.Namespaces(), client, m.rootCA)
	return func(ctx context.Context) { c.Run(ctx, 1) }, err
}

func (m manager) namespaces(ctx context.Context) (loop, error) {
	client, err := m.clients.Client("namespace-controller")
	if err != nil {
		return nil, err
	}
	cfg, err := m.clients.Config("namespace-controller")
	if err != nil {
		return nil, err
	}
	objects, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	c := namespace.NewNamespaceController(ctx, client, objects, client.Discovery().ServerPreferredNamespacedResources,
		m.informers.Core().V1().Namespaces(), 5*time.Minute, corev1.FinalizerKubernetes)
	return func(ctx context.Context) { c.Run(ctx, workers) }, nil
}

// nodes has the defaults of kube-controller-manager.
func (m manager) nodes(ctx context.Context) (loop, error) {
	client, err := m.clients.Client("node-controller")
	if err != nil {
		return nil, err
	}
	core := m.informers.Core().V1()
	c, err := nodelifecycle.NewNodeLifecycleController(ctx, m.informers.Coordination().V1().Leases(),
		core.Pods(), core.Nodes(), m.informers.Apps().V1().DaemonSets(), client,
		5*time.Second, time.Minute, 50*time.Second, 0.1, 0.01, 50, 0.55)
	return c.Run, err
}

func (m manager) replicaSets(ctx context.Context) (loop, error) {
	client, err := m.clients.Client("replicaset-controller")
	if err != nil {
		return nil, err
	}
	c := replicaset.NewReplicaSetController(ctx, m.informers.Apps().V1().ReplicaSets(), m.informers.Core().V1().Pods(),
		client, replicaset.BurstReplicas)
	return func(ctx context.Context) { c.Run(ctx, workers) }, nil
}

func (m manager) deployments(ctx context.Context) (loop, error) {
	client, err := m.clients.Client("deployment-controller")
	if err != nil {
		return nil, err
	}
	apps := m.informers.Apps().V1()
	c, err := deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(),
		m.informers.Core().V1().Pods(), client)
	return func(ctx context.Context) { c.Run(ctx, workers) }, err
}

func (m manager) statefulSets(ctx context.Context) (loop, error) {
	client, err := m.clients.Client("statefulset-controller")
	if err != nil {
		return nil, err
	}
	core, apps := m.informers.Core().V1(), m.informers.Apps().V1()
	c := statefulset.NewStatefulSetController(ctx, core.Pods(), apps.StatefulSets(), core.PersistentVolumeClaims(),
		apps.ControllerRevisions(), client)
	return func(ctx context.Context) { c.Run(ctx, workers) }, nil
}

func (m manager) jobs(ctx context.Context) (loop, error) {
	client, err := m.clients.Client("job-controller")
	if err != nil {
		return nil, err
	}
	c, err := job.NewController(ctx, client, m.informers.Core().V1().Pods(), m.informers.Batch().V1().Jobs(), nil, nil)
	return func(ctx context.Context) { c.Run(ctx, workers) }, err
}

func (m manager) endpointSlices(ctx context.Context) (loop, error) {
	client, err := m.clients.Client("endpointslice-controller")
	if err != nil {
		return nil, err
	}
	core := m.informers.Core().V1()
	const most = 100 // endpoints in a slice
	c := endpointslice.NewController(ctx, core.Pods(), core.Services(), core.Nodes(),
		m.informers.Discovery().V1().EndpointSlices(), most, client, 0)
	return func(ctx context.Context) { c.Run(ctx, workers) }, nil
}

// garbage deletes objects whose owners are gone.
func (m manager) garbage(ctx context.Context) (loop, error) {
	const name, period = "generic-garbage-collector", 30 * time.Second
	client, err := m.clients.Client(name)
	if err != nil {
		return nil, err
	}
	cfg, err := m.clients.Config(name)
	if err != nil {
		return nil, err
	}
	objects, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	ignored := map[schema.GroupResource]struct{}{}
	for resource := range garbagecollector.DefaultIgnoredResources() {
		ignored[resource] = struct{}{}
	}
	all := informerfactory.NewInformerFactory(m.informers, metadatainformer.NewSharedInformerFactory(objects, resync))
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	c, err := garbagecollector.NewGarbageCollector(ctx, client, objects, mapper, ignored, all, m.started)
	return func(ctx context.Context) {
		go c.Sync(ctx, client.Discovery(), period)
		c.Run(ctx, workers, period)
	}, err
}
