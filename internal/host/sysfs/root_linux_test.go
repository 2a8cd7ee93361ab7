package sysfs

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/railhead/railhead/internal/host"
)

// TestDevicesAreFoundAgain: a device that is made again, such as a virtual function, has a new folder under its old
// name. Each reading of a process that runs on reads the new one.
func TestDevicesAreFoundAgain(t *testing.T) {
	for name, read := range map[string]func(Machine){
		"wire":      func(m Machine) { m.Wire(host.Snapshot{}) },
		"snapshot":  func(m Machine) { m.Snapshot() },
		"recording": func(m Machine) { m.Record() },
	} {
		dir := filepath.Join(t.TempDir(), "mlx5_0")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		fd, err := syscall.Open(dir, oPath|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		m := live()
		root, ok := m.Root.(liveRoot)
		if !ok {
			t.Fatalf("the root is %T", m.Root)
		}
		m.Probes = Probes{Wire: func() (host.Wire, error) { return host.Wire{}, nil }}
		root.devices["mlx5_0"] = fd
		read(m)
		if _, kept := root.devices["mlx5_0"]; kept {
			t.Errorf("%s: the folder of a device that is gone is read again", name)
		}
	}
}
