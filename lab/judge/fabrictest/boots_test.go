//go:build vm

package fabrictest

import (
	"context"
	"fmt"
	"strings"

	"github.com/railhead/railhead/lab/judge/fault"
)

// shell runs lines of shell on the machine with the fault and returns what they print.
func (p pair) shell(ctx context.Context, lines string) (string, error) {
	r, err := fault.In(p.broken)(ctx, "bash", "-c", lines)
	if err == nil && r.Code != 0 {
		err = fmt.Errorf("%s ended with %d: %s", lines, r.Code, r.Stderr)
	}
	return strings.TrimSpace(r.Stdout), err
}

// groupsAre wants that the group of the first virtual function is of a type.
func groupsAre(kind string) symptom {
	return func(ctx context.Context, p pair) (string, error) {
		got, err := p.shell(ctx, "cat /sys/bus/pci/devices/0000:01:10.0/iommu_group/type")
		if err == nil && got != kind {
			err = fmt.Errorf("the group's type is %q", got)
		}
		return "the group's type is " + kind, err
	}
}

// groupsAreAbsent wants that there is no group although the kernel's log says that there are some.
func groupsAreAbsent(ctx context.Context, p pair) (string, error) {
	groups, err := p.shell(ctx, "ls /sys/kernel/iommu_groups")
	if err != nil {
		return "", err
	}
	log, err := p.shell(ctx, "dmesg | grep 'Default domain type'")
	if err == nil && (groups != "" || !strings.Contains(log, "Translated")) {
		err = fmt.Errorf("groups %q, and the log says %q", groups, log)
	}
	return "no group, and the log says Translated", err
}

// transmitHangs wants that the card's transmit unit hangs, and so everything on it.
func transmitHangs(ctx context.Context, p pair) (string, error) {
	if share, err := p.ping(ctx, "-c", "3", "-i", "0.5"); err != nil || share != "100" {
		return "", fmt.Errorf("ping loses %s %%: %w", share, err)
	}
	_, err := p.shell(ctx, "dmesg | grep 'Detected Tx Unit Hang'")
	return "ping is lost, and the log says Detected Tx Unit Hang", err
}

// devicesAreElsewhere wants that a network namespace sees no RDMA device, although it has the interface of one.
func devicesAreElsewhere(ctx context.Context, p pair) (string, error) {
	const makes = "test -e /run/netns/pod || { ip netns add pod; ip link set eno5np0v0 netns pod; }\n"
	there, err := p.shell(ctx, makes+"ip netns exec pod ls /sys/class/infiniband")
	if err == nil && there != "" {
		err = fmt.Errorf("it sees %s", there)
	}
	return "a pod's network namespace sees no device", err
}
