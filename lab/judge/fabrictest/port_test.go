//go:build vm

package fabrictest

import (
	"context"
	"fmt"
)

// portDown wants that a rail's functions are up and have no carrier, and so the RDMA port is down.
func portDown(ctx context.Context, p pair) (string, error) {
	const links = `for i in eno5np0 eno5np0v0; do echo $(($(cat /sys/class/net/$i/flags) & 1)) $(cat /sys/class/net/$i/carrier); done`
	got, err := p.shell(ctx, links)
	if err != nil {
		return "", err
	}
	if got != "1 0\n1 0" {
		return "", fmt.Errorf("up and carrier of the physical function, and of a virtual one, are %q", got)
	}
	saw, err := rdmaFails("Port number 1 state is Down")(ctx, p)
	return "all interfaces are up, and perftest says: " + saw, err
}
