package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"

	"github.com/railhead/railhead/lab/machines/fabric"
	"github.com/railhead/railhead/lab/machines/guest"
)

// Function is a virtual function where it is now: in the machine, or moved into a pod.
type Function struct {
	MAC     string
	HCA     string
	Netns   string // name of the network namespace in /run/netns; "" for the machine's own
	Netdev  string
	Address netip.Prefix // IPv4; the zero Prefix where it has none
}

// Functions finds the virtual functions of a card, by their MACs.
func (m *Machine) Functions(ctx context.Context, card guest.Card) ([]Function, error) {
	namespaces := []string{""}
	text, err := m.command(ctx, "ip", "netns", "list")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(text) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		namespaces = append(namespaces, name)
	}
	var found []Function
	for _, ns := range namespaces {
		links, err := m.links(ctx, ns)
		if err != nil {
			return nil, err
		}
		for _, vf := range card.VFs {
			for _, l := range links {
				if l.MAC == vf.MAC {
					found = append(found, Function{vf.MAC, vf.HCA, ns, l.Name, l.address()})
				}
			}
		}
	}
	if len(found) != len(card.VFs) {
		return nil, fmt.Errorf("found %d of %d virtual functions of %s", len(found), len(card.VFs), card.Name)
	}
	return found, nil
}

// link is one of `ip -j addr`.
type link struct {
	Name      string `json:"ifname"`
	MAC       string `json:"address"`
	Addresses []struct {
		Family string     `json:"family"`
		Local  netip.Addr `json:"local"`
		Bits   int        `json:"prefixlen"`
	} `json:"addr_info"`
}

func (l link) address() netip.Prefix {
	for _, a := range l.Addresses {
		if a.Family == "inet" {
			return netip.PrefixFrom(a.Local, a.Bits)
		}
	}
	return netip.Prefix{}
}

func (m *Machine) links(ctx context.Context, netns string) ([]link, error) {
	text, err := m.command(ctx, append(within(netns), "ip", "-j", "addr")...)
	if err != nil {
		return nil, err
	}
	var links []link
	return links, json.Unmarshal([]byte(text), &links)
}

// within leads into a network namespace.
func within(netns string) []string {
	if netns == "" {
		return nil
	}
	return []string{"nsenter", "--net=/run/netns/" + netns, "--"}
}

// eachFunction runs lines of shell for every virtual function of the first card, where it is now. In them DEV stands
// for its netdev, MAC for its MAC, OTHER for the network of the other rail.
func eachFunction(lines ...string) func(context.Context, *Machine) error {
	return func(ctx context.Context, m *Machine) error {
		functions, err := m.Functions(ctx, m.Config.Cards[0])
		if err != nil {
			return err
		}
		for _, f := range functions {
			if err := m.shell(ctx, f, lines...); err != nil {
				return err
			}
		}
		return nil
	}
}

// shell runs lines of shell in a function's network namespace.
func (m *Machine) shell(ctx context.Context, f Function, lines ...string) error {
	script := strings.NewReplacer("DEV", f.Netdev, "MAC", f.MAC, "OTHER", otherNetwork(f.Address)).
		Replace("set -e\n" + strings.Join(lines, "\n"))
	_, err := m.command(ctx, append(within(f.Netns), "bash", "-c", script)...)
	return err
}

// otherNetwork returns the network of another rail; "" for an address of no rail.
func otherNetwork(own netip.Prefix) string {
	rails := len(fabric.Rails())
	for rail := range rails {
		if own.IsValid() && fabric.Subnet(rail).Contains(own.Addr()) {
			return fabric.Subnet((rail + 1) % rails).String()
		}
	}
	return ""
}
