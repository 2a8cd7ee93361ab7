// Package standin replaces programs that cannot run here, with the objects, annotations and words of the real ones.
//
// A stand-in is named after the program it stands for. Its comment names its functions and its omissions: nothing
// here touches a machine, a NIC or a kernel.
package standin

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/railhead/railhead/lab/controlplane/scheme"
)

// StandIn is one of this package's stand-ins.
type StandIn interface {
	add(m manager.Manager) error
}

// Run runs stand-ins until ctx ends. They log to w.
func Run(ctx context.Context, cfg *rest.Config, w io.Writer, all ...StandIn) error {
	logger := logr.FromSlogHandler(slog.NewTextHandler(w, nil))
	log.SetLogger(logger) // controller-runtime's own logger is global; unset, it complains on stderr after 30 s
	unique := true        // names of controllers are of this process: several control planes may run in it
	m, err := manager.New(cfg, manager.Options{
		Scheme: scheme.New(), Logger: logger, Metrics: server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &unique},
	})
	if err != nil {
		return fmt.Errorf("start stand-ins: %w", err)
	}
	for _, s := range all {
		if err := s.add(m); err != nil {
			return fmt.Errorf("start stand-in %T: %w", s, err)
		}
	}
	return m.Start(ctx)
}
