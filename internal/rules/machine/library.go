package machine

import (
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
)

// providers maps the driver of a PCI function to rdma-core's library for its RDMA devices (rdma-core providers, and the
// name of each kernel driver's struct pci_driver).
var providers = map[string]string{
	"be2net":     "ocrdma",
	"bnxt_en":    "bnxt_re",
	"cxgb4":      "cxgb4",
	"efa":        "efa",
	"erdma":      "erdma",
	"hfi1":       "hfi1verbs",
	"hns3":       "hns",
	"i40e":       "irdma",
	"iavf":       "irdma",
	"ib_mthca":   "mthca",
	"ib_qib":     "ipathverbs",
	"ice":        "irdma",
	"idpf":       "irdma",
	"ionic":      "ionic",
	"mana":       "mana",
	"mlx4_core":  "mlx4",
	"mlx5_core":  "mlx5",
	"qede":       "qedr",
	"vmw_pvrdma": "vmw_pvrdma",
}

// provider returns rdma-core's library for a device, "" if it is not known.
func provider(d *host.Device) string {
	if d.IsSoftware() {
		return map[string]string{"CA": "rxe", "RNIC": "siw"}[d.NodeType.Value]
	}
	return providers[d.Function.Value.Driver.Value]
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
	const effect = ": NCCL finds no RDMA device, and stops or falls back to TCP, which was measured " +
		rail.SlowerOverTCP + " slower than four 400 Gb/s rails"
	missing, known := missingProviders(t)
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
				Source: v.Path + " of rdma-core " + v.RDMACore, Got: "providers " + list(v.Providers), Want: missing[0],
			},
			{Source: "/etc/libibverbs.d", Got: list(v.Drivers), Want: missing[0]},
		}
	case !known:
		return noData()
	default:
		return nil
	}
	return []check.Finding{f}
}

func list(names []string) string { return orNone(strings.Join(names, ", ")) }

// missingProviders returns the providers of the rails that the image does not have. known is false if the provider of a
// rail is not. One empty list says nothing: an image can keep the providers elsewhere.
func missingProviders(t *subject) (missing []string, known bool) {
	v := t.Verbs
	none := len(v.Providers)+len(v.Drivers) == 0
	lacks := func(list []string, name string) bool { return len(list) > 0 && !slices.Contains(list, name) }
	known = true
	for _, r := range t.rails {
		d, _ := t.Device(r.Device)
		switch name := provider(&d); {
		case name == "":
			known = false
		case none || lacks(v.Providers, name) || lacks(v.Drivers, name):
			missing = append(missing, name)
		}
	}
	return distinct(missing), known
}
