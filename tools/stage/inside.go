//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/railhead/railhead/internal/host/sysfs"
)

// The stage is built in a tmpfs on /run, which the command's own /run covers in the end: no folder is left behind.
const (
	stageDir = "/run"
	treeDir  = stageDir + "/tree" // the recorded files, by their path on the root
	workDir  = stageDir + "/work" // overlayfs's own
	devDir   = stageDir + "/dev"
)

// stage is a machine on its way to becoming real.
type stage struct {
	machine sysfs.Machine
	devices []string // recorded device nodes, as dev/infiniband/uverbs0
	skipped []string // files that could not be placed, each with the reason
}

// errNotPermitted says that this process may not mount at all.
var errNotPermitted = errors.New("mounts are not permitted here")

// inside sets the stage and becomes the command.
func inside(args []string) int {
	o, err := parse(args)
	if err != nil {
		return complain(exitUsage, err)
	}
	machine, err := sysfs.Open(o.place)
	if err != nil {
		return complain(exitSetup, err)
	}
	cwd, _ := os.Getwd()
	s := &stage{machine: machine}
	if err := s.set(); errors.Is(err, errNotPermitted) {
		return complain(exitNotPermitted, err)
	} else if err != nil {
		return complain(exitSetup, err)
	}
	for _, line := range s.skipped {
		fmt.Fprintln(os.Stderr, "stage: not placed:", line)
	}
	_ = os.Chdir(cwd) // the same folder, seen through the stage
	return become(o.command, s.environment(o.keepEnv))
}

// become ends in the command, or returns the status of not having been able to.
func become(command, env []string) int {
	path, err := exec.LookPath(command[0])
	if errors.Is(err, fs.ErrPermission) {
		return complain(exitCannotRun, err)
	}
	if err != nil {
		return complain(exitNotFound, err)
	}
	err = syscall.Exec(path, command, env)
	return complain(exitCannotRun, fmt.Errorf("%s: %w", path, err))
}

func (s *stage) set() error {
	if err := mountStage(); err != nil {
		return err
	}
	steps := []func() error{s.writeTree, s.bindSys, s.bindProc, s.buildDev, s.overlay, s.network, s.bindRun}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func mountStage() error {
	err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, "")
	if err == nil {
		err = unix.Mount("stage", stageDir, "tmpfs", unix.MS_NOSUID, "mode=755")
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: %w", errNotPermitted, err)
	}
	if err != nil {
		return fmt.Errorf("mount tmpfs on %s: %w", stageDir, err)
	}
	return nil
}

func (s *stage) skip(name string, why any) {
	s.skipped = append(s.skipped, fmt.Sprintf("/%s: %v", name, why))
}

// bindSys makes /sys the recorded one, read-only as in a container.
func (s *stage) bindSys() error {
	if err := os.MkdirAll(treeDir+"/sys", 0o755); err != nil {
		return err
	}
	if err := bind(treeDir+"/sys", "/sys"); err != nil {
		return err
	}
	if err := unix.Mount("", "/sys", "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID, ""); err != nil {
		return fmt.Errorf("remount /sys read-only: %w", err)
	}
	return nil
}

// bindRun comes last: it covers the folders that the stage was built in.
func (s *stage) bindRun() error {
	if err := os.MkdirAll(treeDir+"/run", 0o755); err != nil {
		return err
	}
	return bind(treeDir+"/run", "/run")
}

func bind(from, to string) error {
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("bind %s on %s: %w", from, to, err)
	}
	return nil
}

// environment is the recorded one on top of a bare one or of the caller's.
func (s *stage) environment(keep bool) []string {
	var recorded []string
	if s.machine.Probes.Environ != nil {
		recorded = s.machine.Probes.Environ()
	}
	names := map[string]bool{}
	for _, entry := range recorded {
		name, _, _ := strings.Cut(entry, "=")
		names[name] = true
	}
	env := recorded
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if bare := name == "PATH" || name == "HOME" || name == "TERM"; (keep || bare) && !names[name] {
			env = append(env, entry)
		}
	}
	return env
}
