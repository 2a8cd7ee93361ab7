package fabric

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/lab/controlplane"
	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/controlplane/process"
	"github.com/railhead/railhead/lab/machines/guest"
	"github.com/railhead/railhead/lab/machines/image"
	"github.com/railhead/railhead/lab/machines/segment"
	"github.com/railhead/railhead/lab/machines/vm"
)

// Fabric is a running lab.
type Fabric struct {
	Options      Options
	ControlPlane *controlplane.ControlPlane // nil without Kubernetes
	Machines     []*vm.VM
	RunBy        vm.Choice // KVM or emulation

	parts    image.Parts
	init     string
	group    *process.Group
	segments []*segment.Segment
	wires    map[string]string // sockets of the segments, by the MACs of the cards on them
	ports    []int             // of the host: two for each machine
}

// patience limits the start of the lab, for emulated machines on a busy host.
const patience = 5 * time.Minute

// Up builds missing parts and starts the lab. It returns when all machines are ready and every node
// offers its resources. ctx bounds the start only; Down ends the lab.
func Up(ctx context.Context, o Options) (*Fabric, error) {
	f := &Fabric{Options: o.withDefaults(), wires: map[string]string{}}
	if err := f.up(ctx); err != nil {
		return nil, errors.Join(err, f.Down())
	}
	return f, nil
}

func (f *Fabric) up(ctx context.Context) (err error) {
	o := f.Options
	programs := filepath.Join(o.Dir, "programs")
	var files map[string]string
	if f.parts, files, err = parts(ctx, o); err != nil {
		return err
	}
	if o.DevicePlugin != "" {
		files = maps.Clone(files)
		files[guest.RealDevicePlugin] = o.DevicePlugin
	}
	if err := gather(programs, f.parts.Programs, files); err != nil {
		return err
	}
	f.parts.Programs = programs
	if f.RunBy, err = vm.Choose(ctx, f.parts, o.Progress); err != nil {
		return err
	}
	o.Progress(f.RunBy.String())
	f.init = filepath.Join(o.Dir, "init")
	if err := assets.BuildOwn(ctx, "./cmd/guest", f.init); err != nil {
		return err
	}
	if err := assets.BuildPod(ctx, filepath.Join(programs, "railhead-pod")); err != nil {
		return err
	}
	if f.ports, err = process.FreePorts(2 * o.Machines); err != nil {
		return err
	}
	f.group = process.NewGroup(o.Dir)
	if err := f.wire(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	o.Progress("booting the machines: one to four minutes where they are emulated")
	if o.PodsOnly {
		if err := f.boot(nil); err != nil {
			return err
		}
	} else if err := f.startControlPlane(ctx); err != nil {
		return err
	}
	return f.ready(ctx)
}

// wire makes the segments: one for each rail, and one for the pods.
func (f *Fabric) wire() error {
	add := func(name string, macs ...string) error {
		path := filepath.Join(f.Options.Dir, name+".sock")
		s, err := segment.Listen(path)
		if err != nil {
			return err
		}
		f.segments = append(f.segments, s)
		for _, mac := range macs {
			f.wires[mac] = path
		}
		return nil
	}
	macs := func(kind, card byte) (all []string) {
		for m := range f.Options.Machines {
			all = append(all, vm.MAC(kind, card, byte(m+1)))
		}
		return all
	}
	err := add("pods", macs(podCard, 0)...)
	for rail, name := range Rails() {
		err = errors.Join(err, add(name, macs(railCard, byte(rail))...))
	}
	return err
}

// boot starts the machines; prepare may change the description of each, and put files into its folder.
func (f *Fabric) boot(prepare func(s *vm.Spec, machine int) error) error {
	for m := 1; m <= f.Options.Machines; m++ {
		s := vm.Spec{
			Parts:     f.parts,
			Init:      f.init,
			Dir:       filepath.Join(f.Options.Dir, name(m)),
			Config:    f.Options.config(m, rand.Text()),
			Accel:     f.RunBy.Accel,
			Memory:    f.Options.Memory,
			IOMMU:     f.Options.IOMMU,
			Arguments: f.Options.Arguments,
			Segments:  f.wires,
		}
		if err := os.MkdirAll(filepath.Join(s.Dir, vm.OwnFolder), 0o755); err != nil {
			return err
		}
		if prepare != nil {
			if err := prepare(&s, m); err != nil {
				return err
			}
		}
		v, err := vm.Start(f.group, s, f.ports[2*(m-1)])
		if err != nil {
			return err
		}
		f.Machines = append(f.Machines, v)
	}
	return nil
}

// ready waits for the machines, and for the nodes that they are.
func (f *Fabric) ready(ctx context.Context) error {
	var g errgroup.Group
	for _, v := range f.Machines {
		g.Go(func() error {
			if err := v.Ready(ctx); err != nil {
				return err
			}
			if f.ControlPlane == nil {
				return nil
			}
			return f.nodeReady(ctx, v)
		})
	}
	return g.Wait()
}

// Machine returns the machine of a name: node-a.
func (f *Fabric) Machine(name string) (*vm.VM, error) {
	var names []string
	for _, v := range f.Machines {
		if v.Spec.Config.Name == name {
			return v, nil
		}
		names = append(names, v.Spec.Config.Name)
	}
	return nil, fmt.Errorf("there is no machine %s; there are %q", name, names)
}

// Reboot boots a machine again, as change leaves it, and waits until it is ready again.
func (f *Fabric) Reboot(ctx context.Context, v *vm.VM, change func(*vm.Spec)) error {
	if err := v.Reboot(change); err != nil {
		return err
	}
	if err := v.Ready(ctx); err != nil || f.ControlPlane == nil {
		return err
	}
	return f.nodeReady(ctx, v)
}

// Down ends everything. What is in Options.Dir stays.
func (f *Fabric) Down() error {
	for _, v := range f.Machines {
		v.Kill()
	}
	var err error
	for _, s := range f.segments {
		err = errors.Join(err, s.Close())
	}
	if f.ControlPlane != nil {
		err = errors.Join(err, f.ControlPlane.Stop())
	}
	if f.group != nil {
		f.group.Close()
	}
	return err
}
