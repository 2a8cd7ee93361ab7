// Machine-config-controller runs the machine-config-operator's own render, node and drain controllers outside a
// cluster.
//
// The operator's whole binary wants templates, feature gates, certificates and twenty more CRDs. A rollout needs three
// of its controllers: render merges a pool's MachineConfigs, node rolls the result out within maxUnavailable, drain
// cordons, evicts and uncordons as the daemons on the nodes ask for it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/openshift/api/features"
	configclient "github.com/openshift/client-go/config/clientset/versioned"
	configinformers "github.com/openshift/client-go/config/informers/externalversions"
	mcfgclient "github.com/openshift/client-go/machineconfiguration/clientset/versioned"
	mcfginformers "github.com/openshift/client-go/machineconfiguration/informers/externalversions"
	"github.com/openshift/library-go/pkg/operator/configobserver/featuregates"
	"github.com/openshift/machine-config-operator/pkg/controller/drain"
	"github.com/openshift/machine-config-operator/pkg/controller/node"
	"github.com/openshift/machine-config-operator/pkg/controller/render"
	"github.com/openshift/machine-config-operator/pkg/version"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// resync is the period of the operator's own informers.
const resync = 20 * time.Minute

func main() {
	kubeconfig := flag.String("kubeconfig", "", "file that names the API server and the controller's identity")
	nodeDelay := flag.Duration("node-delay", 200*time.Millisecond,
		"pause of the node controller after a change; the operator's own is 5s")
	drainDelay := flag.Duration("drain-delay", 200*time.Millisecond,
		"pause of the drain controller after a change; the operator's own is 5s")
	drainRetry := flag.Duration("drain-retry", 2*time.Second,
		"pause before a drain that failed is tried again; the operator's own is 1m")
	drainTimeout := flag.Duration("drain-timeout", 5*time.Second,
		"how long one try may wait for evicted pods; the operator's own is 90s")
	// Render refuses a ControllerConfig of another operator version than its own, which the operator's build stamps.
	flag.StringVar(&version.Raw, "operator-version", version.Raw,
		"version of the operator that made the ControllerConfig")
	flag.StringVar(&version.Hash, "operator-hash", version.Hash,
		"commit of the operator, noted in rendered MachineConfigs")
	klog.InitFlags(nil)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	cfg, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		fmt.Fprintf(os.Stderr, "read kubeconfig %s: %v\n", *kubeconfig, err)
		os.Exit(1)
	}
	cfg.QPS, cfg.Burst = 1000, 1000

	draining := drain.DefaultConfig()
	draining.UpdateDelay = *drainDelay
	draining.DrainRequeueDelay = *drainRetry
	draining.DrainHelperTimeout = *drainTimeout
	draining.WaitUntil = 100 * time.Millisecond
	run(ctx, cfg, *nodeDelay, draining)
}

// run runs the controllers until ctx ends.
func run(ctx context.Context, cfg *rest.Config, nodeDelay time.Duration, draining drain.Config) {
	kube, mcfg := kubernetes.NewForConfigOrDie(cfg), mcfgclient.NewForConfigOrDie(cfg)
	kubeInformers := informers.NewSharedInformerFactory(kube, resync)
	mcfgInformers := mcfginformers.NewSharedInformerFactory(mcfg, resync)
	configInformers := configinformers.NewSharedInformerFactory(configclient.NewForConfigOrDie(cfg), resync)
	mc := mcfgInformers.Machineconfiguration().V1()
	nodes := kubeInformers.Core().V1().Nodes()
	// The controllers panic on a gate that is neither on nor off, so every gate that they ask for is named.
	gates := featuregates.NewHardcodedFeatureGateAccess(nil, []configv1.FeatureGateName{
		features.FeatureGatePinnedImages, features.FeatureGateMachineConfigNodes, features.FeatureGateOnClusterBuild,
	})

	renderer := render.New(mc.MachineConfigPools(), mc.MachineConfigs(), mc.ControllerConfigs(),
		mc.ContainerRuntimeConfigs(), mc.KubeletConfigs(), kube, mcfg)
	rollout := node.NewWithCustomUpdateDelay(mc.ControllerConfigs(), mc.MachineConfigs(), mc.MachineConfigPools(),
		nodes, kubeInformers.Core().V1().Pods(), mc.MachineOSConfigs(), configInformers.Config().V1().Schedulers(),
		kube, mcfg, nodeDelay, gates)
	drainer := drain.New(draining, nodes, mc.MachineConfigPools(), kube, mcfg, gates)

	kubeInformers.Start(ctx.Done())
	mcfgInformers.Start(ctx.Done())
	configInformers.Start(ctx.Done())
	go renderer.Run(2, ctx.Done())
	go rollout.Run(2, ctx.Done())
	// One worker: the controller's workers share a map of ongoing drains without a lock.
	drainer.Run(1, ctx.Done())
}
