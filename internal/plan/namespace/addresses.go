package namespace

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"net/netip"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
)

// ipam has the fields of an IPAM configuration that are checked.
type ipam struct {
	Type  string `json:"type"`
	Range string `json:"range,omitempty"` // of whereabouts: a subnet, or "first-last/bits"
	// Of whereabouts.
	Start   string   `json:"range_start,omitempty"`
	End     string   `json:"range_end,omitempty"`
	Gateway string   `json:"gateway,omitempty"`
	Exclude []string `json:"exclude,omitempty"` // addresses and subnets
}

// CheckAddresses returns an error if --ipam is not the configuration of an IPAM plugin, or --rail-subnets overlap.
func (o Options) CheckAddresses() error {
	if o.IPAM != "" {
		if len(o.RailSubnets) > 0 {
			return errors.New("--ipam and --rail-subnets exclude each other")
		}
		if err := checkIPAM(o.IPAM); err != nil {
			return fmt.Errorf("--ipam: %w", err)
		}
	}
	for i, a := range o.RailSubnets {
		if a.Bits() > a.Addr().BitLen()-2 {
			return fmt.Errorf("--rail-subnets: %w", tooSmall(a))
		}
		for _, b := range o.RailSubnets[:i] {
			if a.Overlaps(b) {
				return fmt.Errorf("--rail-subnets: %s and %s overlap", b, a)
			}
		}
	}
	return nil
}

func checkIPAM(text string) error {
	var config ipam
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return fmt.Errorf("%q is not a JSON object: %w", text, err)
	}
	if config.Type == "" {
		return fmt.Errorf(`%q has no "type", such as whereabouts`, text)
	}
	if config.Type == "whereabouts" && config.Range != "" {
		return checkRange(config)
	}
	return nil
}

// checkRange refuses what whereabouts refuses, and what it ignores without a word (0.9.2 pkg/allocate, pkg/iphelpers,
// tried): the ends of the range outside its subnet, and that the gateway is in use.
func checkRange(config ipam) error {
	subnet, err := subnetOf(config.Range)
	if err != nil {
		return fmt.Errorf("range: %w", err)
	}
	if subnet.Bits() > subnet.Addr().BitLen()-2 {
		return tooSmall(subnet)
	}
	if first, last, found := strings.Cut(config.Range, "-"); found {
		last, _, _ = strings.Cut(last, "/")
		config.Start, config.End = first, last
	}
	start, err := endOf("range_start", config.Start, subnet)
	end, err2 := endOf("range_end", config.End, subnet)
	if err := cmp.Or(err, err2); err != nil {
		return err
	}
	if start.IsValid() && end.IsValid() && end.Less(start) {
		return fmt.Errorf("the range ends at %s, before it starts: whereabouts would ignore its end", end)
	}
	gateway, err := netip.ParseAddr(config.Gateway)
	inRange := err == nil && subnet.Contains(gateway) && !gateway.Less(start) && (!end.IsValid() || !end.Less(gateway))
	if inRange && !config.excludes(gateway) {
		return fmt.Errorf("the gateway %s is in the range, and whereabouts would give it to a pod: "+
			`add "exclude": ["%s/%d"]`, gateway, gateway, gateway.BitLen())
	}
	return nil
}

func (i ipam) excludes(a netip.Addr) bool {
	return slices.ContainsFunc(i.Exclude, func(text string) bool {
		p, err := netip.ParsePrefix(text)
		return err == nil && p.Contains(a) || text == a.String()
	})
}

func tooSmall(subnet netip.Prefix) error {
	return fmt.Errorf("%s has no address for a pod: whereabouts takes at least a /%d", subnet, subnet.Addr().BitLen()-2)
}

// endOf parses an end of a range; the zero address if it is not given.
func endOf(field, text string, subnet netip.Prefix) (a netip.Addr, err error) {
	if text == "" {
		return a, nil
	}
	if a, err = netip.ParseAddr(strings.TrimSpace(text)); err != nil || !subnet.Contains(a) {
		return a, fmt.Errorf("%s %s is not in %s: whereabouts would ignore it", field, text, subnet)
	}
	return a, nil
}

// subnetOf returns the subnet of a range of whereabouts.
func subnetOf(text string) (netip.Prefix, error) {
	_, last, found := strings.Cut(text, "-")
	if !found {
		last = text
	}
	return netip.ParsePrefix(strings.TrimSpace(last))
}

// addressesOf returns the IPAM of each of n rails, with their subnets if they are given. An empty IPAM means that the
// rail uses the IPAM of another network of its resource. roce counts the rails that are not of InfiniBand.
func addressesOf(d *draft, n, roce int, subnets []netip.Prefix) []string {
	all := make([]string, n)
	for i, subnet := range subnets {
		all[i] = whereabouts(subnet)
	}
	for i := range all {
		all[i] = cmp.Or(all[i], d.IPAM)
	}
	d.oneSubnet = d.IPAM != "" && roce > 1
	switch {
	case !d.oneSubnet:
	case d.s.Server.OpenShift() && !tunesARP(d.s):
		refuseTuning(d)
	default:
		d.plan.Note("All rails are in the subnet of --ipam. The plugin tuning keeps them from answering ARP for " +
			"each other; --rail-subnets gives each rail its own subnet.")
	}
	return all
}

// refuseTuning fails where the plugin tuning may not keep rails of one subnet from answering ARP for each other. Of
// the settings for ARP, OpenShift's allowlist has arp_accept and arp_notify alone (cluster-network-operator
// bindata/network/multus/004-sysctl-configmap.yaml), and the plugin refuses every pod with another one
// (containernetworking/plugins 1.9.1 plugins/meta/tuning validateSysctlConf).
func refuseTuning(d *draft) {
	d.plan.Fail(plan.JobRequest, check.Named(check.Namespace, d.Namespace),
		"all rails would be in the subnet of --ipam, and answer ARP for each other: the plugin tuning, which prevents "+
			"that, may not set arp_ignore on OpenShift, and no pod would start",
		check.Observed("--ipam", d.IPAM, "a subnet for each rail"),
		check.ByUser("Give each rail its own subnet. Otherwise add ^net.ipv4.conf.IFNAME.arp_ignore$ and "+
			"^net.ipv4.conf.IFNAME.arp_announce$ to the allowlist, and both settings to metaPlugins of a "+
			"SriovNetwork: setup then does the same.",
			"railhead setup namespace "+d.Namespace+" --rail-subnets 10.0.0.0/16",
			"oc -n openshift-multus edit configmap cni-sysctl-allowlist"))
}

// tunesARP reports whether a network of the cluster sets arp_ignore: then the allowlist has it.
func tunesARP(s cluster.State) bool {
	return slices.ContainsFunc(s.SriovNetworks, func(n cluster.SriovNetwork) bool {
		plugins, _ := n.Spec["metaPlugins"].(string)
		return strings.Contains(plugins, "arp_ignore")
	})
}

// minHosts is the number of address bits that a rail needs at least: 14 addresses.
const minHosts = 4

// subnetsOf returns one subnet for each of n rails; nil if none were given.
func subnetsOf(d *draft, n int) []netip.Prefix {
	given := d.RailSubnets
	if len(given) == 0 || len(given) == n {
		return given
	}
	if len(given) > 1 {
		d.wrongSubnets(fmt.Sprintf("--rail-subnets has %s, but there are %s",
			words.Count(len(given), "subnet"), words.Count(n, "rail")), fmt.Sprintf("1 or %d", n))
		return nil
	}
	whole := given[0].Masked()
	size := whole.Bits() + bits.Len(uint(max(n-1, 0)))
	if size > whole.Addr().BitLen()-minHosts {
		d.wrongSubnets(fmt.Sprintf("--rail-subnets %s is too small for %s", whole, words.Count(n, "rail")),
			"14 addresses for each rail")
		return nil
	}
	var all []netip.Prefix
	for i := range n {
		all = append(all, netip.PrefixFrom(part(whole.Addr(), size, i), size))
	}
	return all
}

// part returns the address of the i-th subnet of a size from a first address.
func part(first netip.Addr, size, i int) netip.Addr {
	raw := first.AsSlice()
	for bit := size - 1; i > 0; bit, i = bit-1, i/2 {
		if i%2 == 1 {
			raw[bit/8] |= 1 << (7 - bit%8)
		}
	}
	address, _ := netip.AddrFromSlice(raw) // has the length of first
	return address
}

func (d *draft) wrongSubnets(summary, want string) {
	var got []string
	for _, s := range d.RailSubnets {
		got = append(got, s.String())
	}
	d.plan.Fail(plan.JobRequest, check.Named(check.Namespace, d.Namespace), summary,
		check.Observed("--rail-subnets", strings.Join(got, ","), want),
		check.ByUser("Give one subnet for each rail, or one that is large enough for all."))
}

// refuseOverlap fails if the i-th subnet, for a new rail, overlaps the subnet of another rail of the namespace: a
// subnet that is divided among more rails than before has other parts. Rails in one subnet answer ARP for each other,
// and the kernel sends the packets of one through the other.
func (d *draft) refuseOverlap(name string, subnets []netip.Prefix, i int) {
	if i >= len(subnets) {
		return
	}
	compare := func(other string, config any) {
		for _, r := range ranges(config) {
			if r.Overlaps(subnets[i]) {
				d.overlaps(name, subnets[i], other, r)
			}
		}
	}
	for _, n := range d.s.SriovNetworks {
		if cmp.Or(n.TargetNamespace, n.Namespace) == d.Namespace {
			compare(n.Name, n.Spec)
		}
	}
	for _, n := range d.s.Networks {
		if n.Namespace == d.Namespace {
			compare(n.Name, n.Config)
		}
	}
}

// overlaps reports the failure that the subnet of a new network overlaps the subnet of another network or pool.
func (d *draft) overlaps(name string, subnet netip.Prefix, other string, its netip.Prefix) {
	d.plan.ReportOnce(plan.Failure(plan.JobRequest, check.Named(check.Namespace, d.Namespace),
		fmt.Sprintf("the subnet %s of %s overlaps %s of %s", subnet, name, its, other),
		check.Observed(other, its.String(), "no part of "+subnet.String()),
		check.ByUser("Give one subnet for each rail, in the order of their resources: "+
			"those that rails have, and free ones for the others.")))
}

// ranges returns the subnets in the configuration of a network whose addresses whereabouts assigns.
func ranges(config any) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range fields(config, "range") {
		if subnet, err := subnetOf(text); err == nil {
			all = append(all, subnet.Masked())
		}
	}
	return all
}

// fields returns the texts of a field wherever the configuration of a network, as JSON or decoded, has it.
func fields(config any, name string) []string {
	var all []string
	switch c := config.(type) {
	case string:
		var decoded any
		if json.Unmarshal([]byte(c), &decoded) == nil {
			return fields(decoded, name)
		}
	case map[string]any:
		if text, ok := c[name].(string); ok {
			all = append(all, text)
		}
		for _, key := range slices.Sorted(maps.Keys(c)) {
			all = append(all, fields(c[key], name)...)
		}
	case []any:
		for _, value := range c {
			all = append(all, fields(value, name)...)
		}
	}
	return all
}

// arpPlugin lets rails in one subnet answer only for their own addresses. Otherwise a peer learns the MAC of the wrong
// rail (docs/checks/rail-arp.md). The plugin replaces IFNAME (containernetworking/plugins plugins/meta/tuning).
const arpPlugin = `{"type":"tuning","sysctl":{"net.ipv4.conf.IFNAME.arp_ignore":"1",` +
	`"net.ipv4.conf.IFNAME.arp_announce":"2"}}`

// whereabouts returns the IPAM that assigns the addresses of a subnet for the whole cluster.
func whereabouts(subnet netip.Prefix) string {
	text, _ := json.Marshal(ipam{Type: "whereabouts", Range: subnet.String()}) // always marshals
	return string(text)
}
