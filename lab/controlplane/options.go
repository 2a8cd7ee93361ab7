// Package controlplane runs a real Kubernetes or OpenShift control plane on this machine: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler, and controllers of OpenShift, all built from Go modules.
//
// Nodes are kwok's: pods are scheduled and become ready, but nothing runs in them. What OpenShift's operators would do
// besides is done by package standin. Everything listens on the loopback address only and ends with this process.
package controlplane

import (
	"context"
	"net/netip"
	"slices"
	"time"

	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"

	"github.com/railhead/railhead/lab/controlplane/addon"
	"github.com/railhead/railhead/lab/controlplane/assets"
)

// Options of the control plane. The zero value is etcd and kube-apiserver alone.
type Options struct {
	// SCC makes it an OpenShift as far as pods notice: SCC admission in force, the standard SCCs with their roles,
	// the cluster's configuration objects, and namespaces with ranges of user ids. Without it the server knows no SCC
	// at all.
	SCC bool
	// Controllers runs kube-controller-manager, each controller under its own ServiceAccount. Without it nothing makes
	// ServiceAccounts, and the server does not ask pods for one.
	Controllers bool
	// Scheduler runs kube-scheduler.
	Scheduler bool
	// Kwok makes nodes ready and pods run.
	Kwok bool
	// MachineConfig runs the machine-config-controller, with pools, MachineConfigs and stand-ins for the nodes'
	// daemons.
	MachineConfig bool
	// SRIOV runs the stand-in for the SR-IOV network operator. It implies the sets SRIOV and Networks.
	SRIOV bool
	// Workloads are the controllers of training workloads that run, with their webhooks. Each implies its CRDs.
	Workloads []assets.Program
	// Injector runs the network-resources-injector. It implies the set Networks.
	Injector bool
	// CRDs are installed besides those that the other options imply.
	CRDs []assets.CRDs

	// Demo leaves out what takes long to build and what a demo does not show: most controllers of
	// kube-controller-manager, and kube-scheduler and the machine-config-controller, for which stand-ins run.
	Demo bool

	// Addresses by which machines reach the API server, in addition to the loopback address.
	Addresses []netip.Addr
	// Early is called when users have credentials and the API server an address, at which it does not answer yet.
	Early func(*ControlPlane) error
	// Reboot is the initial time that a node takes to reboot in a rollout. Zero means 200 ms.
	Reboot time.Duration
	// Boot boots the machines that nodes are, instead: see standin.MachineConfigDaemon.
	Boot func(ctx context.Context, node string, config *machineconfigv1.MachineConfig) error
	// Dir is the folder for data, logs and credentials. "" means a new temporary folder that Stop removes.
	Dir string
	// Progress gets a line when something takes long, such as the first build of a program.
	Progress func(line string)
}

// OpenShift is a whole OpenShift with the SR-IOV operator.
func OpenShift() Options {
	return Options{SCC: true, Controllers: true, Scheduler: true, Kwok: true, MachineConfig: true, SRIOV: true}
}

// Plain is a plain Kubernetes with Multus' network attachments.
func Plain() Options {
	return Options{Controllers: true, Scheduler: true, Kwok: true, CRDs: []assets.CRDs{assets.Networks}}
}

// programs returns the programs that the options need.
func (o Options) programs() []assets.Program {
	all := []assets.Program{assets.Etcd, assets.APIServer}
	for _, p := range []struct {
		wanted  bool
		program assets.Program
	}{
		{o.Controllers, assets.ControllerManager}, {o.Scheduler && !o.Demo, assets.Scheduler}, {o.Kwok, assets.Kwok},
		{o.MachineConfig && !o.Demo, assets.MachineConfigController}, {o.Injector, assets.Injector},
		{o.Injector || len(o.Workloads) > 0, assets.InCluster},
	} {
		if p.wanted {
			all = append(all, p.program)
		}
	}
	return append(all, o.Workloads...)
}

// sets are the CRDs that the options need.
func (o Options) sets() []assets.CRDs {
	all := slices.Clone(o.CRDs)
	for _, s := range []struct {
		wanted bool
		sets   []assets.CRDs
	}{
		{o.SCC, []assets.CRDs{assets.Security, assets.Config}},
		{o.MachineConfig, []assets.CRDs{assets.MachineConfiguration, assets.Config}},
		{o.SRIOV, []assets.CRDs{assets.SRIOV, assets.Networks}},
		{o.Injector, []assets.CRDs{assets.Networks}},
	} {
		if s.wanted {
			all = append(all, s.sets...)
		}
	}
	all = append(all, addon.CRDs(o.Workloads)...)
	slices.Sort(all)
	return slices.Compact(all)
}
