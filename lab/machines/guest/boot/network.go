package boot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/railhead/railhead/lab/machines/guest"
)

// Loopback sets the loopback card up.
func Loopback() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(lo)
}

// Link finds a card by its MAC, gives it its name, MTU and address, and sets it up.
func Link(ctx context.Context, l guest.Link) error {
	link, err := find(ctx, l)
	if err != nil {
		return err
	}
	return up(link, l)
}

// find finds a card by its MAC and gives it its name.
func find(ctx context.Context, l guest.Link) (netlink.Link, error) {
	mac, err := net.ParseMAC(l.MAC)
	if err != nil {
		return nil, fmt.Errorf("card %s: %w", l.Name, err)
	}
	link, err := await(ctx, "a card with MAC "+l.MAC, func() (netlink.Link, error) { return byMAC(mac) })
	if err != nil {
		return nil, err
	}
	return link, rename(link, l.Name)
}

func byMAC(mac net.HardwareAddr) (netlink.Link, error) {
	links, err := netlink.LinkList()
	if err != nil {
		return nil, err
	}
	for _, l := range links {
		if bytes.Equal(l.Attrs().HardwareAddr, mac) {
			return l, nil
		}
	}
	return nil, errNotYet
}

func rename(link netlink.Link, name string) error {
	if link.Attrs().Name == name {
		return nil
	}
	if err := netlink.LinkSetName(link, name); err != nil {
		return fmt.Errorf("rename %s to %s: %w", link.Attrs().Name, name, err)
	}
	return nil
}

// up gives a card its MTU and its address, unless they are zero, and sets it up.
func up(link netlink.Link, l guest.Link) error {
	if l.MTU != 0 {
		if err := netlink.LinkSetMTU(link, l.MTU); err != nil {
			return fmt.Errorf("set the MTU of %s to %d: %w", l.Name, l.MTU, err)
		}
	}
	if l.Address.IsValid() {
		if err := netlink.AddrReplace(link, &netlink.Addr{IPNet: ipNet(l.Address)}); err != nil {
			return fmt.Errorf("give %s the address %s: %w", l.Name, l.Address, err)
		}
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("set %s up: %w", l.Name, err)
	}
	return nil
}

// Gateway leads whatever has no other way to an address.
func Gateway(via netip.Addr) error {
	if err := netlink.RouteReplace(&netlink.Route{Gw: via.AsSlice()}); err != nil {
		return fmt.Errorf("add the default route by %s: %w", via, err)
	}
	return nil
}

// Routes adds the ways to the pods of other nodes.
func Routes(routes []guest.Route) error {
	for _, r := range routes {
		if err := netlink.RouteReplace(&netlink.Route{Dst: ipNet(r.To), Gw: r.Via.AsSlice()}); err != nil {
			return fmt.Errorf("add the route to %s by %s: %w", r.To, r.Via, err)
		}
	}
	return nil
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// errNotYet means that the condition is not met yet.
var errNotYet = errors.New("not there yet")

// await asks until it has something other than errNotYet, or until the context ends.
func await[T any](ctx context.Context, what string, ask func() (T, error)) (T, error) {
	const pause = 50 * time.Millisecond
	for {
		v, err := ask()
		if !errors.Is(err, errNotYet) {
			return v, err
		}
		select {
		case <-ctx.Done():
			return v, fmt.Errorf("wait for %s: %w", what, context.Cause(ctx))
		case <-time.After(pause):
		}
	}
}
