// Package kube is the only one that talks to an API server: it reads a cluster into a cluster.State, carries out the
// changes of a plan, follows what becomes of them and runs commands in pods.
package kube

import (
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// Flags are kubectl's flags for reaching a cluster.
type Flags struct{ config *genericclioptions.ConfigFlags }

// NewFlags returns the flags at their defaults.
func NewFlags() *Flags { return &Flags{genericclioptions.NewConfigFlags(true)} }

// AddFlags adds --kubeconfig, --context, --namespace and their kin.
func (f *Flags) AddFlags(set *pflag.FlagSet) { f.config.AddFlags(set) }
