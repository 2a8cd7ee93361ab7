package image

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/railhead/railhead/lab/machines/debian"
)

// modules lists the kernel modules of the machines, without their dependencies.
func modules() []string {
	return []string{
		// the machine itself
		"virtio_net", "virtio_rng", "virtio_balloon", "virtio_iommu", "9p", "9pnet_virtio", "configfs",
		// SR-IOV cards; e1000e for who wants one without
		"igb", "igbvf", "e1000e", "vfio_pci",
		// RDMA; without crc32_generic adding a Soft-RoCE device ends in ENOENT
		"rdma_rxe", "ib_uverbs", "ib_umad", "rdma_ucm", "rdma_cm", "crc32_generic", "crc32c_generic",
		// containers and their networks
		"overlay", "veth", "bridge", "br_netfilter", "macvlan", "ipvlan", "dummy", "8021q", "tun", "vxlan",
		// firewall
		"nf_tables", "nft_chain_nat", "nft_masq", "nft_ct", "nft_nat", "nft_limit", "nft_reject_inet",
		"nft_reject_ipv4", "nft_log",
		"nft_numgen", "nft_fib_inet", "nft_compat", "xt_MASQUERADE", "xt_comment", "xt_conntrack", "xt_mark",
		"xt_addrtype",
		// dranet opens NETLINK_XFRM
		"xfrm_user",
		// lossy, slow and late networks
		"sch_netem", "sch_tbf", "sch_htb", "sch_prio", "sch_ingress", "sch_fq_codel", "cls_u32", "cls_flower",
		"cls_matchall",
		"act_mirred", "act_police", "act_gact", "ifb",
	}
}

// kernelModules puts the modules into the files of a root file system, unpacked, with the index files of modprobe(8).
// It works in the folder, which must be empty.
func kernelModules(ctx context.Context, tree debian.Tree, release, folder string, into files) error {
	at := path.Join("usr/lib/modules", release)
	if err := depmod(ctx, tree, tree.Dir, release, filepath.Join(folder, "all")); err != nil {
		return err
	}
	known, err := readModules(filepath.Join(folder, "all/lib/modules", release), tree.Path(at))
	if err != nil {
		return err
	}
	wanted, err := known.closure(modules())
	if err != nil {
		return err
	}
	for _, m := range wanted {
		to := filepath.Join(folder, at, m)
		if err := copyFile(tree.Path(path.Join(at, m)), to, 0o644); err != nil {
			return err
		}
		if strings.HasSuffix(m, ".xz") {
			if err := debian.Run(ctx, tree.Command(ctx, "usr/bin/xz", "-d", to)); err != nil {
				return err
			}
		}
	}
	for _, name := range []string{"modules.order", "modules.builtin", "modules.builtin.modinfo"} {
		if err := copyFile(tree.Path(path.Join(at, name)), filepath.Join(folder, at, name), 0o644); err != nil {
			return err
		}
	}
	if err := os.Symlink("usr/lib", filepath.Join(folder, "lib")); err != nil {
		return err
	}
	if err := depmod(ctx, tree, folder, release, folder); err != nil {
		return err
	}
	return into.take(debian.Tree{Dir: folder}, at)
}

// depmod writes the dependencies of the modules in base to out/lib/modules.
func depmod(ctx context.Context, tree debian.Tree, base, release, out string) error {
	return debian.Run(ctx, tree.Command(ctx, "usr/sbin/depmod", "-b", base, "-o", out, release))
}

// known are the modules of a kernel.
type known struct {
	needs   map[string][]string // by path: kernel/drivers/net/ethernet/intel/igb/igb.ko.xz
	paths   map[string]string   // by name
	builtin map[string]bool     // names
}

// readModules reads depmod's modules.dep in one folder and the kernel's modules.builtin in the other.
func readModules(made, shipped string) (known, error) {
	k := known{needs: map[string][]string{}, paths: map[string]string{}, builtin: map[string]bool{}}
	dep, err := os.ReadFile(filepath.Join(made, "modules.dep"))
	if err != nil {
		return k, err
	}
	for line := range strings.Lines(string(dep)) {
		module, needs, _ := strings.Cut(line, ":")
		k.needs[module] = strings.Fields(needs)
		k.paths[moduleName(module)] = module
	}
	builtin, err := os.ReadFile(filepath.Join(shipped, "modules.builtin"))
	for line := range strings.Lines(string(builtin)) {
		k.builtin[moduleName(strings.TrimSpace(line))] = true
	}
	return k, err
}

// moduleName is a module's name as lsmod has it: - and _ are the same.
func moduleName(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".")
	return strings.ReplaceAll(name, "-", "_")
}

// closure are the paths of the modules and of all that they need.
func (k known) closure(names []string) ([]string, error) {
	all := map[string]bool{}
	for _, name := range names {
		module, ok := k.paths[name]
		if !ok && k.builtin[name] {
			continue
		}
		if !ok {
			return nil, fmt.Errorf("the kernel has no module %s: %w", name, fs.ErrNotExist)
		}
		all[module] = true
		for _, n := range k.needs[module] { // modules.dep names indirect needs, too
			all[n] = true
		}
	}
	sorted := make([]string, 0, len(all))
	for m := range all {
		sorted = append(sorted, m)
	}
	slices.Sort(sorted)
	return sorted, nil
}
