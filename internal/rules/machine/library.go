package machine

import (
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// provider returns rdma-core's library for a device by the driver of its PCI function (rdma-core providers/*), "" if
// unknown.
func provider(d *host.Device) string {
	if d.IsSoftware() {
		return ""
	}
	switch driver := d.Function.Value.Driver.Value; driver {
	case "mlx5_core", "mlx4_core":
		return strings.TrimSuffix(driver, "_core")
	case "bnxt_en":
		return "bnxt_re"
	case "ice", "i40e", "idpf":
		return "irdma"
	case "qede":
		return "qedr"
	case "hns3":
		return "hns"
	case "efa", "erdma":
		return driver
	}
	return ""
}

func verbsLibrary(t *subject) []check.Finding {
	v := t.Verbs
	if v == nil {
		return noData()
	}
	f := check.Finding{
		Status: check.Fail,
		Fix: check.ByUser("Install rdma-core in the image, in a version that knows the driver.",
			"apt-get install -y libibverbs1 ibverbs-providers", "dnf install -y libibverbs"),
	}
	const effect = ": NCCL finds no RDMA device, and stops or falls back to TCP, about 85 times slower"
	missing := t.missingProviders()
	switch {
	case v.Path == "":
		f.Summary = "the image has no libibverbs.so.1" + effect
		f.Evidence = []check.Evidence{
			{Source: "folders of the dynamic loader", Got: "no libibverbs.so.1", Want: "libibverbs.so.1"},
		}
	case len(missing) > 0:
		f.Summary = "libibverbs lacks the provider " + strings.Join(missing, ", ") + " of the rails' driver" + effect
		f.Evidence = []check.Evidence{
			{
				Source: v.Path + " of rdma-core " + v.RDMACore, Got: "providers " + strings.Join(v.Providers, ", "),
				Want: missing[0],
			},
			{Source: "/etc/libibverbs.d", Got: strings.Join(v.Drivers, ", "), Want: missing[0]},
		}
	default:
		return nil
	}
	return []check.Finding{f}
}

// missingProviders returns the providers of the rails that the image does not have. An empty list in the snapshot says
// nothing.
func (t *subject) missingProviders() []string {
	lacks := func(list []string, name string) bool { return len(list) > 0 && !slices.Contains(list, name) }
	var missing []string
	for _, r := range t.rails {
		d, _ := t.Device(r.Device)
		name := provider(&d)
		if name != "" && (lacks(t.Verbs.Providers, name) || lacks(t.Verbs.Drivers, name)) {
			missing = append(missing, name)
		}
	}
	return distinct(missing)
}
