package boot

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"

	"github.com/railhead/railhead/lab/machines/guest"
)

// Card makes a card with its virtual functions, for which no driver is there yet, and waits for its carrier. Two
// things that igb and igbvf do ask for this order. To make virtual functions of a physical function that is up resets
// it. And a virtual function that finds its physical function down is not reset with it, only ten seconds later
// (igbvf_has_link in drivers/net/ethernet/intel/igbvf/netdev.c); until then its carrier is there and nothing comes
// through.
func Card(ctx context.Context, c guest.Card) error {
	pf, err := find(ctx, c.Link)
	if err != nil {
		return err
	}
	folder := filepath.Join("/sys/class/net", c.Name)
	count := []byte(strconv.Itoa(len(c.VFs)))
	if err := os.WriteFile(filepath.Join(folder, "device/sriov_numvfs"), count, 0); err != nil {
		return fmt.Errorf("make %d virtual functions of %s: %w", len(c.VFs), c.Name, err)
	}
	if err := up(pf, c.Link); err != nil {
		return err
	}
	carrier := filepath.Join(folder, "carrier")
	_, err = await(ctx, "the carrier of "+c.Name, func() (string, error) { return begins(carrier, "1") })
	return err
}

func vfName(c guest.Card, i int) string { return fmt.Sprintf("%sv%d", c.Name, i) }

// only is the name of the one thing in a folder.
func only(folder string) (string, error) {
	entries, err := os.ReadDir(folder)
	if os.IsNotExist(err) || err == nil && len(entries) == 0 {
		return "", errNotYet
	}
	if err != nil {
		return "", err
	}
	return entries[0].Name(), nil
}

// VirtualFunctions gives the virtual functions of a card their names, MACs, RDMA devices and addresses, and sets them
// up.
//
// A MAC is set on the virtual function itself while that is down, and never by the physical function: igb then refuses
// whatever else the virtual function asks for ("VF 0 requested MAC filter but is administratively denied").
func VirtualFunctions(ctx context.Context, c guest.Card) error {
	for i, vf := range c.VFs {
		name := vfName(c, i)
		folder := filepath.Join("/sys/class/net", c.Name, "device", fmt.Sprintf("virtfn%d", i), "net")
		old, err := await(ctx, "the card of "+name, func() (string, error) { return only(folder) })
		if err != nil {
			return err
		}
		link, err := netlink.LinkByName(old)
		if err != nil {
			return fmt.Errorf("card %s: %w", old, err)
		}
		if err := rename(link, name); err != nil {
			return err
		}
		mac, err := net.ParseMAC(vf.MAC)
		if err != nil {
			return fmt.Errorf("card %s: %w", name, err)
		}
		if err := netlink.LinkSetHardwareAddr(link, mac); err != nil {
			return fmt.Errorf("give %s the MAC %s: %w", name, mac, err)
		}
		if err := hca(vf.HCA, name); err != nil {
			return err
		}
		if err := up(link, guest.Link{Name: name, Address: vf.Address}); err != nil {
			return err
		}
	}
	return nil
}

// hca makes an RDMA device on a card, unless it has no name.
func hca(name, card string) error {
	if name == "" {
		return nil
	}
	if err := netlink.RdmaLinkAdd(name, "rxe", card); err != nil {
		return fmt.Errorf("add the RDMA device %s on %s: %w", name, card, err)
	}
	return nil
}

// ExclusiveRDMA gives each network namespace RDMA devices of its own. The kernel refuses it as soon as there is a
// second namespace.
func ExclusiveRDMA() error {
	if err := netlink.RdmaSystemSetNetnsMode("exclusive"); err != nil {
		return fmt.Errorf("make RDMA devices belong to one network namespace each: %w", err)
	}
	return nil
}

// ActivePorts waits until the ports of the RDMA devices of all cards can send. A virtual function has its carrier some
// seconds after its physical function.
func ActivePorts(ctx context.Context, cards []guest.Card) error {
	for _, c := range cards {
		for _, vf := range c.VFs {
			if vf.HCA == "" {
				continue
			}
			file := filepath.Join("/sys/class/infiniband", vf.HCA, "ports/1/state")
			active := func() (string, error) { return begins(file, "4: ACTIVE") }
			if _, err := await(ctx, "an active port of "+vf.HCA, active); err != nil {
				return err
			}
		}
	}
	return nil
}

// begins reads a file until it begins with the wanted text.
func begins(file, want string) (string, error) {
	text, err := os.ReadFile(file)
	if err == nil && !strings.HasPrefix(string(text), want) {
		err = errNotYet
	}
	return string(text), err
}
