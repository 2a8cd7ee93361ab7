package podcli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/railhead/railhead/internal/enumflag"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
)

// choiceFlag adds a flag that takes one of a few words. target holds the default.
func choiceFlag(flags *pflag.FlagSet, target *string, name, usage string, words ...string) {
	flags.Var(enumflag.New(target, words...), name, usage)
}

// outputFlag adds --output. target holds the default.
func outputFlag(flags *pflag.FlagSet, target *string, formats ...string) {
	flags.VarP(enumflag.New(target, formats...), "output", "o", "output format")
}

// setFromEnvironment sets every flag that the command line leaves out from its variable: --mode from RAILHEAD_MODE.
func setFromEnvironment(flags *pflag.FlagSet) error {
	var err error
	flags.VisitAll(func(f *pflag.Flag) {
		name := "RAILHEAD_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value, set := os.LookupEnv(name)
		if !set || f.Changed || err != nil || f.Name == "help" {
			return
		}
		if e := flags.Set(f.Name, value); e != nil {
			err = fmt.Errorf("%s=%s: %w", name, value, withoutFlagName(f, e))
		}
	})
	return err
}

// withoutFlagName returns why a flag refuses a value, without the name of the flag: the user wrote a variable.
func withoutFlagName(f *pflag.Flag, err error) error {
	var invalid *pflag.InvalidValueError
	switch {
	case f.Value.Type() == "bool":
		return errors.New("must be true or false")
	case errors.As(err, &invalid):
		return invalid.Unwrap()
	}
	return err
}

// machine is the machine that a command reads.
type machine struct{ root, scope string }

func (m *machine) scopeFlag(flags *pflag.FlagSet) {
	m.scope = string(rail.Pod)
	choiceFlag(flags, &m.scope, "scope",
		"pod: the devices given to this pod; host: the physical functions, for bare metal and host network",
		string(rail.Pod), string(rail.Host))
}

func (m *machine) rootFlag(flags *pflag.FlagSet) {
	flags.StringVar(&m.root, "root", "",
		"read another machine at this `path`: a folder with its /sys and /proc, "+
			"or a recording by 'snapshot --raw'")
}

func (m *machine) open() (sysfs.Machine, error) {
	opened, err := sysfs.Open(m.root)
	if err != nil {
		return opened, exit.Error{Code: exit.Unknown, Err: fmt.Errorf("--root: %w", err)}
	}
	return opened, nil
}

// policyFlags are the flags of nccl.Policy.
type policyFlags struct {
	nccl.Policy
	mode string
	keep bool
}

func (p *policyFlags) add(flags *pflag.FlagSet) {
	p.mode = string(nccl.RDMA)
	choiceFlag(flags, &p.mode, "mode",
		"rdma: require RDMA; auto: RDMA if the pod has a rail, else TCP; tcp: sockets only",
		string(nccl.RDMA), string(nccl.Auto), string(nccl.TCP))
	flags.BoolVar(&p.Override, "override", false,
		"replace all values set by the environment and NCCL's configuration files")
	flags.BoolVar(&p.keep, "keep", false,
		"keep also values that contradict the machine, such as names of devices that the pod does not have")
	flags.StringVar(&p.GDRLevel, "gdr-level", "",
		"largest `distance` of a GPU and its NIC for GPUDirect RDMA: LOC, PIX, PXB, PHB or SYS "+
			"(default NCCL's own, PXB)")
	flags.StringVar(&p.SocketIfname, "socket-ifname", "",
		"`interface` for bootstrap and connection setup (default that of the default route)")
	flags.BoolVar(&p.Diagnostics, "nccl-diagnostics", false,
		"let NCCL 2.31 and later examine the nodes and measure their network before the program trains")
}

func (p *policyFlags) policy() (nccl.Policy, error) {
	p.Mode, p.Correct = nccl.Mode(p.mode), !p.keep
	if p.keep && p.Override {
		return p.Policy, errors.New("--keep and --override exclude each other")
	}
	if p.GDRLevel != "" {
		if err := nccl.GDRLevel(p.GDRLevel); err != nil {
			return p.Policy, fmt.Errorf("--gdr-level: %w", err)
		}
	}
	return p.Policy, nil
}
