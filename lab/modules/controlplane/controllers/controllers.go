// Package controllers is a kube-controller-manager with ten of Kubernetes' own controllers.
//
// It accepts the flags of the real one and uses --kubeconfig, --root-ca-file, --kube-api-qps and --kube-api-burst. It
// elects no leader and serves nothing. Each controller acts as its own service account.
package controllers

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/controller-manager/pkg/clientbuilder"
)

// workers is the number of objects of a kind that are worked on at the same time. Kubernetes has 5 by default.
const workers = 5

// resync is the period after which every controller looks at every object again.
const resync = 12 * time.Hour

// Main runs the controllers until the process is told to stop, and returns its exit code.
func Main() int {
	flags := pflag.NewFlagSet("kube-controller-manager", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	kubeconfig := flags.String("kubeconfig", "", "file that names the API server and the identity")
	rootCA := flags.String("root-ca-file", "", "certificate of the API server, which every namespace gets")
	qps := flags.Float32("kube-api-qps", 20, "requests a second of each controller")
	burst := flags.Int("kube-api-burst", 30, "requests at once of each controller")
	if err := flags.Parse(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	cfg, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	cfg.QPS, cfg.Burst = *qps, *burst
	ca, err := os.ReadFile(*rootCA)
	if err == nil {
		err = run(ctx, cfg, ca)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// manager starts the controllers, which share its informers.
type manager struct {
	informers informers.SharedInformerFactory
	clients   clientbuilder.ControllerClientBuilder
	rootCA    []byte
	started   chan struct{} // is closed when the informers run
}

// loop runs a controller until ctx ends.
type loop func(ctx context.Context)

func run(ctx context.Context, cfg *rest.Config, rootCA []byte) error {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	m := manager{
		informers: informers.NewSharedInformerFactory(client, resync),
		clients: clientbuilder.NewDynamicClientBuilder(rest.AnonymousClientConfig(cfg), client.CoreV1(),
			metav1.NamespaceSystem),
		rootCA:  rootCA,
		started: make(chan struct{}),
	}
	var loops []loop
	for _, start := range []func(context.Context) (loop, error){
		m.serviceAccounts, m.rootCertificates, m.namespaces, m.nodes, m.replicaSets, m.deployments, m.statefulSets, m.jobs,
		m.endpointSlices, m.garbage,
	} {
		l, err := start(ctx)
		if err != nil {
			return err
		}
		loops = append(loops, l)
	}
	m.informers.Start(ctx.Done())
	close(m.started)
	for _, l := range loops {
		go l(ctx)
	}
	<-ctx.Done()
	return nil
}
