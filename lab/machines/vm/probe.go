package vm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/u-root/u-root/pkg/cpio"
	"golang.org/x/sys/unix"

	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/controlplane/process"
	"github.com/railhead/railhead/lab/machines/image"
)

// Choice says how the machines run on this host, and why.
type Choice struct {
	Accel Accel  `json:"accel"`
	Why   string `json:"why"`
}

func (c Choice) String() string {
	if c.Accel == KVM {
		return "the machines run on KVM: " + c.Why
	}
	return "the machines are emulated: " + c.Why
}

// kvmDevice is the kernel's device for KVM.
const kvmDevice = "/dev/kvm"

// enough limits the boot of a kernel with KVM: a slower one is no faster than emulation. KVM within
// virtual machines of some providers emulates most instructions, or fails at those that it does not know.
const enough = 10 * time.Second

// Choose takes KVM where it boots the machines' kernel, which is tried once in the time between two boots of the
// host: that the device is there proves nothing.
func Choose(ctx context.Context, parts image.Parts, progress func(line string)) (Choice, error) {
	if err := usable(kvmDevice); err != nil {
		return Choice{TCG, err.Error()}, nil
	}
	cache, err := assets.Cache()
	if err != nil {
		return Choice{}, err
	}
	unlock, err := assets.Lock(ctx, "kvm", progress, "waiting for another process that tries KVM")
	if err != nil {
		return Choice{}, err
	}
	defer unlock()
	booted, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Choice{}, err
	}
	file, key := filepath.Join(cache,
		"kvm.json"), strings.TrimSpace(string(booted))+" "+strings.Join(append(parts.QEMU, parts.Kernel), " ")
	if c, ok := remembered(file, key); ok {
		return c, nil
	}
	progress(fmt.Sprintf("trying whether KVM boots a kernel: at most %s, once after each boot of this host", enough))
	c := Choice{Accel: KVM}
	if took, err := Boots(ctx, parts, KVM, enough); err != nil {
		c = Choice{TCG, fmt.Sprintf("%s is there, and boots no kernel: %v", kvmDevice, err)}
	} else {
		c.Why = fmt.Sprintf("it boots a kernel in %s", took.Round(100*time.Millisecond))
	}
	if ctx.Err() != nil {
		return Choice{}, context.Cause(ctx)
	}
	return c, remember(file, key, c)
}

// usable says why a device is no KVM that this user may use.
func usable(device string) error {
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no %s", device)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s is not for this user: the group kvm may use it, where there is one", device)
	case err != nil:
		return err
	}
	defer f.Close()
	const (
		getVersion = 0xae00 // KVM_GET_API_VERSION of linux/kvm.h
		version    = 12     // of every kernel since 2007
	)
	got, err := unix.IoctlRetInt(int(f.Fd()), getVersion)
	if err != nil {
		return fmt.Errorf("%s is no KVM: %w", device, err)
	}
	if got != version {
		return fmt.Errorf("%s is KVM of version %d, and QEMU wants %d", device, got, version)
	}
	return nil
}

// note is the stored result of an attempt.
type note struct {
	Key    string `json:"key"` // of the host's boot, QEMU and kernel
	Choice Choice `json:"choice"`
}

func remembered(file, key string) (Choice, bool) {
	var n note
	text, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(text, &n) != nil {
		return Choice{}, false
	}
	return n.Choice, n.Key == key
}

func remember(file, key string, c Choice) error {
	text, err := json.Marshal(note{key, c})
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".part", text, 0o644); err != nil {
		return err
	}
	return os.Rename(file+".part", file)
}

// cameUp is the output of the program vm/hello.
const cameUp = "hello from user space"

// Boots boots the machines' kernel up to its first program, and returns how long that took.
func Boots(ctx context.Context, parts image.Parts, a Accel, within time.Duration) (time.Duration, error) {
	dir, err := os.MkdirTemp("", "lab-kvm-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	initrd, console := filepath.Join(dir, "initrd"), filepath.Join(dir, "console")
	if err := helloInitrd(ctx, filepath.Join(dir, "hello"), initrd); err != nil {
		return 0, err
	}
	group := process.NewGroup(dir)
	defer group.Close()
	begun := time.Now()
	args := append(append([]string{}, parts.QEMU[1:]...), a.arguments(codeOfMachine)...)
	qemu, err := group.Start(process.Command{
		Name: "qemu", Program: parts.QEMU[0], Env: parts.QEMUEnv,
		Args: append(args, "-M", "q35", "-smp", "1", "-m", "256", "-nodefaults", "-no-user-config", "-display", "none",
			"-no-reboot", "-serial", "file:"+console, "-kernel", parts.Kernel, "-initrd", initrd, "-append",
			strings.Join(a.kernelArguments(), " ")),
	})
	if err != nil {
		return 0, err
	}
	defer qemu.Kill()
	select {
	case <-qemu.Exited():
	case <-time.After(within):
	case <-ctx.Done():
	}
	took := time.Since(begun)
	if text, err := os.ReadFile(console); err == nil && strings.Contains(string(text), cameUp) {
		return took, nil
	}
	first, _, _ := strings.Cut(qemu.Tail(40), "\n") // then come registers
	if first == "" {
		first = "it says nothing"
	}
	return 0, fmt.Errorf("%s (after %s)", first, took.Round(100*time.Millisecond))
}

// helloInitrd makes an initial file system of one program, which says that it runs and ends the machine.
func helloInitrd(ctx context.Context, program, initrd string) error {
	if err := assets.BuildOwn(ctx, "./machines/vm/hello", program); err != nil {
		return err
	}
	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	f, err := os.Create(initrd)
	if err != nil {
		return err
	}
	defer f.Close()
	archive := cpio.Newc.Writer(f)
	// The kernel gives its first program this console (init/main.c, console_on_rootfs).
	records := []cpio.Record{
		cpio.Directory("dev",
			0o755), cpio.CharDev("dev/console", 0o600, 5, 1), cpio.StaticFile("init", string(text), 0o755),
	}
	if err := cpio.WriteRecords(archive, records); err != nil {
		return err
	}
	return errors.Join(cpio.WriteTrailer(archive), f.Close())
}
