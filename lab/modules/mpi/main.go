// Mpi-operator runs the controller of the mpi-operator. The operator's own program serves its health on port 8080 of
// every address, and becomes the leader first; both are left out.
package main

import (
	"context"
	"log"
	"os/signal"
	"syscall"

	jobs "github.com/kubeflow/mpi-operator/pkg/client/clientset/versioned"
	jobinformers "github.com/kubeflow/mpi-operator/pkg/client/informers/externalversions"
	"github.com/kubeflow/mpi-operator/pkg/controller"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	cfg, err := rest.InClusterConfig()
	if err != nil {
		log.Fatal(err)
	}
	kube, kubeflow := kubernetes.NewForConfigOrDie(cfg), jobs.NewForConfigOrDie(cfg)
	all, mpi := informers.NewSharedInformerFactory(kube, 0), jobinformers.NewSharedInformerFactory(kubeflow, 0)
	core := all.Core().V1()
	c, err := controller.NewMPIJobController(kube, kubeflow, nil, nil,
		core.ConfigMaps(), core.Secrets(), core.Services(), all.Batch().V1().Jobs(), core.Pods(),
		all.Scheduling().V1().PriorityClasses(), mpi.Kubeflow().V2beta1().MPIJobs(), "", "")
	if err != nil {
		log.Fatal(err)
	}
	all.Start(ctx.Done())
	mpi.Start(ctx.Done())
	if err := c.Run(2, ctx.Done()); err != nil {
		log.Fatal(err)
	}
}
