package machine

import (
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// provider is the library of rdma-core for a device, by the driver of its PCI function (rdma-core providers/*); ""
// where that does not tell.
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
	install := forUser("Put rdma-core into the image, of a version that knows the driver.", "apt-get install -y libibverbs1 ibverbs-providers", "dnf install -y libibverbs")
	const costs = ": NCCL finds no RDMA device, and falls back to TCP, about 85 times slower, or stops"
	switch {
	case v == nil:
		return notLooked(VerbsLibrary)
	case v.Path == "":
		return one(VerbsLibrary, check.Fail, check.Ref{Kind: check.Pod}, "the image has no libibverbs.so.1"+costs, install,
			check.Evidence{Source: "folders of the dynamic loader", Got: "no libibverbs.so.1", Want: "libibverbs.so.1"})
	}
	var missing []string
	for _, r := range t.rails {
		d, _ := t.Device(r.Device)
		name := provider(&d)
		lacks := len(v.Providers) > 0 && !slices.Contains(v.Providers, name) || len(v.Drivers) > 0 && !slices.Contains(v.Drivers, name)
		if name != "" && lacks {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return one(VerbsLibrary, check.Fail, check.Ref{Kind: check.Pod}, "libibverbs has no provider "+strings.Join(distinct(missing), ", ")+" for the rails' driver"+costs, install,
		check.Evidence{Source: v.Path + " of rdma-core " + v.RDMACore, Got: "providers " + strings.Join(v.Providers, ", "), Want: missing[0]},
		check.Evidence{Source: "/etc/libibverbs.d", Got: strings.Join(v.Drivers, ", "), Want: missing[0]})
}
