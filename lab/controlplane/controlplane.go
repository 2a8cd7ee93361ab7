package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane/addon"
	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/controlplane/pki"
	"github.com/railhead/railhead/lab/controlplane/process"
	"github.com/railhead/railhead/lab/controlplane/scheme"
	"github.com/railhead/railhead/lab/controlplane/standin"
	"github.com/railhead/railhead/lab/controlplane/user"
)

// ControlPlane is a running control plane.
type ControlPlane struct {
	// Daemon stands for the machine-config-daemons of the nodes; nil without Options.MachineConfig.
	Daemon *standin.MachineConfigDaemon
	// Users issues credentials of the API server.
	Users user.Issuer
	// Addons are the controllers of training workloads and the network-resources-injector.
	Addons addon.Addons

	options   Options
	programs  assets.Programs
	dir       string
	lock      *os.File // of a temporary folder
	keep      bool     // Stop leaves the logs of a temporary folder
	authority *pki.Authority
	files     credentials
	group     *process.Group
	etcd      *server
	api       *server
	clients   []*program // the other ones, in the order of their start
	admin     *rest.Config
	client    client.Client
	standins  running
}

// running are the goroutines of the stand-ins.
type running struct {
	stop context.CancelFunc
	done sync.WaitGroup
	log  *os.File
}

// Build builds the programs that Start with these options would build. The first build takes far longer than a start.
func Build(ctx context.Context, o Options) error {
	_, err := o.build(ctx)
	return err
}

// build returns the programs by the names that they have outside of a demo.
func (o Options) build(ctx context.Context) (assets.Programs, error) {
	wanted := o.programs()
	if !o.Demo {
		return assets.Build(ctx, o.Progress, wanted...)
	}
	demo := make([]assets.Program, len(wanted))
	for i, p := range wanted {
		demo[i] = assets.InDemo(p)
	}
	built, err := assets.Build(ctx, o.Progress, demo...)
	if err != nil {
		return nil, err
	}
	programs := assets.Programs{}
	for i, p := range wanted {
		programs[p] = built[demo[i]]
	}
	return programs, nil
}

// Start builds missing programs, starts a control plane and waits until it serves: CRDs are installed and, where the
// options want it, SCC admission admits pods. ctx bounds the start only; Stop ends the control plane.
func Start(ctx context.Context, o Options) (*ControlPlane, error) {
	programs, err := o.build(ctx)
	if err != nil {
		return nil, err
	}
	p := &ControlPlane{options: o, programs: programs, dir: o.Dir}
	if p.dir == "" {
		if p.dir, p.lock, err = process.Folder(folders); err != nil {
			return nil, err
		}
	}
	if err := p.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start control plane: %w", err), p.Stop())
	}
	return p, nil
}

func (p *ControlPlane) start(ctx context.Context) error {
	if err := os.MkdirAll(p.Logs(), 0o755); err != nil {
		return err
	}
	p.group = process.NewGroup(p.Logs())
	for _, step := range []func(context.Context) error{
		p.issue, p.startEtcd, p.startAPIServer, p.connect, p.installCRDs,
		p.startControllerManager, p.startScheduler, p.startKwok,
		p.installOpenShift, p.startStandIns, p.startMachineConfig, p.startAddons, p.admits,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// connect makes the administrator's client.
func (p *ControlPlane) connect(context.Context) error {
	var err error
	if p.admin, err = p.Users.Config("system:admin", "system:masters"); err != nil {
		return err
	}
	own := rest.CopyConfig(p.admin)
	own.WarningHandler = rest.NoWarnings{} // CRDs of others have fields that the server warns about
	p.client, err = client.New(own, client.Options{Scheme: scheme.New()})
	p.Addons.Cluster = addon.Cluster{
		Port: p.api.port, Admin: p.admin, Client: p.client, Authority: p.authority,
		Programs: p.programs, Group: p.group, Folder: filepath.Join(p.dir, "pki"),
	}
	return err
}

// startAddons starts the addons of the options.
func (p *ControlPlane) startAddons(ctx context.Context) error {
	if err := p.Addons.StartWorkloads(ctx, p.options.Workloads); err != nil || !p.options.Injector {
		return err
	}
	return p.Addons.StartInjector(ctx)
}

// Admin returns the configuration of system:admin, to whom nothing is forbidden.
func (p *ControlPlane) Admin() *rest.Config { return rest.CopyConfig(p.admin) }

// Client returns an administrator's client that knows the types of package scheme.
func (p *ControlPlane) Client() client.Client { return p.client }

// Dir returns the folder with data, logs and credentials.
func (p *ControlPlane) Dir() string { return p.dir }

// Logs returns the folder with the programs' logs.
func (p *ControlPlane) Logs() string { return filepath.Join(p.dir, "log") }

// Stop ends everything that was started, and removes the folder if it was a temporary one. Nothing here holds anything
// that deserves a goodbye, so all programs are killed.
func (p *ControlPlane) Stop() error {
	if p.standins.stop != nil {
		p.standins.stop()
		p.standins.done.Wait()
		p.standins.log.Close()
	}
	p.Addons.Stop()
	for _, c := range slices.Backward(p.clients) {
		c.process.Kill()
	}
	for _, s := range []*server{p.api, p.etcd} {
		s.close()
	}
	if p.group != nil {
		p.group.Close()
	}
	return p.leave()
}
