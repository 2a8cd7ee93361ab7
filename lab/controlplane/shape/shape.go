// Package shape describes clusters: their nodes with NICs, and the networks made from them.
//
// A node here is an object with the labels, resources and versions that a real one reports. kwok keeps it ready.
package shape

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane/sriov"
)

// atOnce limits the nodes that are created at the same time.
const atOnce = 16

// Cluster describes a cluster, apart from the objects that its control plane creates by itself.
type Cluster struct {
	Nodes   []*corev1.Node
	Objects []client.Object // created after the nodes, in this order
}

// Create creates the cluster's objects. Those that exist are left as they are.
func (c Cluster) Create(ctx context.Context, api client.Client) error {
	if err := c.createNodes(ctx, api); err != nil {
		return err
	}
	for _, o := range c.Objects {
		wanted, ok := o.DeepCopyObject().(client.Object)
		if !ok {
			return fmt.Errorf("create %T: no object", o)
		}
		err := api.Create(ctx, wanted)
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create %s %s: %w", wanted.GetObjectKind().GroupVersionKind().Kind,
				client.ObjectKeyFromObject(o), err)
		}
		if err := createStatus(ctx, api, o, wanted); err != nil {
			return fmt.Errorf("status of %s: %w", client.ObjectKeyFromObject(o), err)
		}
	}
	return nil
}

func (c Cluster) createNodes(ctx context.Context, api client.Client) error {
	todo, failed := make(chan *corev1.Node), make(chan error, len(c.Nodes))
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for n := range todo {
				// A node keeps the status it is created with: there is no status subresource to a kubelet's own
				// creation.
				if err := api.Create(ctx, n.DeepCopy()); err != nil && !apierrors.IsAlreadyExists(err) {
					failed <- fmt.Errorf("create node %s: %w", n.Name, err)
				}
			}
		})
	}
	for _, n := range c.Nodes {
		todo <- n
	}
	close(todo)
	workers.Wait()
	close(failed)
	return <-failed // nil when there was none
}

// Born returns the cluster that the project was born on: an OpenShift with three masters and thirteen workers, of which
// two have eight H100 and four rails, ConnectX-7 PFs eno5np0 to eno8np0 with one VF each as openshift.io/eno5np0rdma to
// openshift.io/eno8np0rdma, whose attachments are in namespace default. Eleven workers have CPUs only.
func Born() Cluster {
	var c Cluster
	for i := range 3 {
		c.Nodes = append(c.Nodes, master(i))
	}
	rails := bornRails()
	// before the nodes' states: the operator makes VFs by the policies that it knows
	c.Objects = sriovNetworks(rails, "default")
	for i := range 2 {
		name := fmt.Sprintf("gpu-%d", i)
		c.add(gpuWorker(name, rails), append(railPFs(name, rails), managementPF(name)))
	}
	for i := range 11 {
		name := fmt.Sprintf("cpu-%02d", i)
		c.add(cpuWorker(name), []sriov.PF{managementPF(name)})
	}
	return c
}

// Scale returns an OpenShift with n GPU workers as in Born, for measuring. It has no node states: at a thousand nodes
// they are most of the data.
func Scale(n int) Cluster {
	rails := bornRails()
	var c Cluster
	for i := range n {
		c.Nodes = append(c.Nodes, gpuWorker(fmt.Sprintf("gpu-%04d", i), rails))
	}
	c.Objects = sriovNetworks(rails, "default")
	return c
}

// Plain returns a plain Kubernetes with n GPU nodes whose eight NICs are one resource, nvidia.com/mlnxnics, with one
// attachment rdma-net in namespace default.
func Plain(n int) Cluster {
	const resource = "nvidia.com/mlnxnics"
	c := Cluster{Objects: []client.Object{attachment(
		"rdma-net",
		resource,
		`{"cniVersion":"0.3.1","name":"rdma-net","type":"sriov",`+
			`"ipam":{"type":"whereabouts","range":"192.168.10.0/24"}}`,
	)}}
	for i := range n {
		c.Nodes = append(c.Nodes, plainNode(fmt.Sprintf("node-%d", i), resource, 8))
	}
	return c
}

// PlainShared returns a plain Kubernetes with n GPU nodes whose HCAs the shared device plugin offers to up to 63
// pods, as rdma/rdma_shared_device_a, with a macvlan attachment in namespace default that names no resource.
func PlainShared(n int) Cluster {
	c := Cluster{Objects: []client.Object{attachment(
		"rdma-shared",
		"",
		`{"cniVersion":"0.3.1","name":"rdma-shared","type":"macvlan","master":"ens2f0np0","mode":"bridge",`+
			`"ipam":{"type":"whereabouts","range":"192.168.20.0/24"}}`,
	)}}
	for i := range n {
		c.Nodes = append(c.Nodes, plainNode(fmt.Sprintf("node-%d", i), "rdma/rdma_shared_device_a", 63))
	}
	return c
}

// add adds an OpenShift worker with its SriovNetworkNodeState.
func (c *Cluster) add(n *corev1.Node, pfs []sriov.PF) {
	c.Nodes = append(c.Nodes, n)
	c.Objects = append(c.Objects, nodeState(n.Name, pfs))
}
