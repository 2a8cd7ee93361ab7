package pid1

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/railhead/railhead/lab/machines/guest"
	"github.com/railhead/railhead/lab/machines/guest/agent"
	"github.com/railhead/railhead/lab/machines/guest/boot"
	"github.com/railhead/railhead/lab/machines/guest/node"
	"github.com/railhead/railhead/lab/machines/guest/service"
)

// path lists the folders of a machine's programs: the lab's and the distribution's.
const path = guest.ProgramFolder + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// patience limits each stage.
const patience = 3 * time.Minute

// machine is the worker's state.
type machine struct {
	*journal
	service.Services
	config  guest.Config
	modules *boot.Modules
}

func newMachine() *machine {
	m := &machine{journal: newJournal(kernelLog{}, uptime)}
	m.Services = service.Services{Logs: guest.LogFolder, Pause: time.Second, Say: func(s string) { m.say("%s", s) }}
	return m
}

// PowerOff switches the machine off.
func (m *machine) PowerOff() { PowerOff() }

// Work sets up the machine as its Config describes and serves its agent forever. It reports a failure and leaves the
// machine up.
func Work() {
	m := newMachine()
	m.stage("init")
	if err := m.reachable(); err != nil {
		m.fail(err) // there is no agent that would tell it
	} else if err := m.make(); err != nil {
		m.fail(err)
	} else {
		m.ready()
	}
	Stay()
}

// Tell serves the agent of a machine whose worker has crashed.
func Tell() {
	m := newMachine()
	m.update(func(s *guest.Status) { s.Failed = os.Getenv(crashEnv) }) // the kernel's log has it already
	err := m.readConfig()
	if err == nil {
		err = m.listen()
	}
	if err != nil {
		m.say("%v", err)
	}
	Stay()
}

// Stay does nothing, for ever: the machine is to be looked at.
func Stay() {
	for {
		_ = unix.Pause()
	}
}

// step is a part of the way.
type step struct {
	stage string // "": it belongs to the one after it
	do    func(context.Context) error
}

// run takes the steps one after the other.
func (m *machine) run(steps []step) error {
	for _, s := range steps {
		ctx, cancel := context.WithTimeoutCause(context.Background(), patience, fmt.Errorf("not after %v", patience))
		err := s.do(ctx)
		cancel()
		if err != nil {
			return err
		}
		if s.stage != "" {
			m.stage(s.stage)
		}
	}
	return nil
}

// atOnce is a step that waits for nothing.
func atOnce(do func() error) func(context.Context) error {
	return func(context.Context) error { return do() }
}

// reachable makes the machine one that can be asked.
func (m *machine) reachable() error {
	return m.run([]step{
		{"", atOnce(boot.Mounts)},
		{"", atOnce(boot.Sysctls)},
		{"", atOnce(boot.Controllers)},
		{"", atOnce(boot.Loopback)},
		{"kernel", atOnce(m.loadModules)},
		{"", atOnce(boot.Shares)},
		{"", atOnce(m.readConfig)},
		{"shares", atOnce(func() error { return boot.Name(m.config.Name) })},
		{"", func(ctx context.Context) error { return boot.Link(ctx, m.config.Management) }},
		{"", atOnce(func() error { return boot.Gateway(m.config.Gateway) })},
		{"agent", atOnce(m.listen)},
	})
}

// make sets up the machine as its Config describes.
func (m *machine) make() error {
	if m.config.Node == nil {
		return m.network(context.Background())
	}
	node := &node.Node{Config: m.config, Services: &m.Services, Env: Environment(), Stage: m.stage, Init: self}
	return m.run([]step{
		{"", atOnce(func() error { return m.modules.Load("overlay", "bridge", "veth") })},
		// The runtime starts while the cards make the processor wait.
		{"", func(ctx context.Context) error { return together(ctx, node.Runtime, m.network) }},
		{"", node.Join},
	})
}

// together takes steps at once.
func together(ctx context.Context, steps ...func(context.Context) error) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, s := range steps {
		g.Go(func() error { return s(ctx) })
	}
	return g.Wait()
}

func (m *machine) loadModules() (err error) {
	if m.modules, err = boot.ReadModules(); err != nil {
		return err
	}
	return m.modules.Load("virtio_pci", "virtio_net", "9pnet_virtio", "9p")
}

func (m *machine) readConfig() error {
	text, err := os.ReadFile(filepath.Join(guest.OwnFolder, guest.ConfigFile))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &m.config); err != nil {
		return fmt.Errorf("read %s: %w", guest.ConfigFile, err)
	}
	return nil
}

// listen serves the agent on the management address.
func (m *machine) listen() error {
	address := net.JoinHostPort(m.config.Management.Address.Addr().String(), strconv.Itoa(guest.AgentPort))
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	a := agent.Agent{Machine: m, Token: m.config.Token, Env: Environment(), Cgroups: boot.Cgroups + "/lab"}
	server := http.Server{Handler: a.Handler(), ReadHeaderTimeout: time.Minute}
	go func() { m.fail(fmt.Errorf("serve the agent: %w", server.Serve(listener))) }()
	return nil
}
