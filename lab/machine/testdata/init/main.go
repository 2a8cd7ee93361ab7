// Command init is what the boot test starts a machine with: it makes VFs and an RDMA device, says what it sees, and powers off.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	defer func() { _ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF) }()
	for _, m := range [][3]string{{"proc", "/proc", "proc"}, {"sys", "/sys", "sysfs"}, {"dev", "/dev", "devtmpfs"}} {
		if err := unix.Mount(m[0], m[1], m[2], 0, ""); err != nil {
			fmt.Println("MOUNT", m[1], err)
			return
		}
	}
	out, err := json.Marshal(look())
	fmt.Printf("SEEN %s %v\n", out, err)
}

// look makes the devices and returns what there is to see, by name.
func look() map[string]string {
	seen := map[string]string{}
	say := func(name string, argv ...string) {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = []string{"PATH=/usr/sbin:/usr/bin"}
		out, err := cmd.CombinedOutput()
		seen[name] = strings.TrimSpace(string(out))
		if err != nil {
			seen[name] += " " + err.Error()
		}
	}
	say("9p", "/sbin/modprobe", "-a", "9p", "9pnet_virtio", "igb", "igbvf", "ib_uverbs", "rdma_ucm", "udp_tunnel", "ip6_udp_tunnel")
	say("programs", "/bin/mount", "-t", "9p", "-o", "ro,trans=virtio,version=9p2000.L", "programs", "/mnt")
	say("insmod", "/sbin/insmod", "/mnt/modules/rdma_rxe_lab.ko")
	cards, _ := filepath.Glob("/sys/bus/pci/drivers/igb/*/sriov_numvfs")
	for _, c := range cards {
		if err := os.WriteFile(c, []byte("2"), 0o644); err != nil {
			seen["vfs"] = err.Error()
		}
	}
	vfs := wait("/sys/bus/pci/drivers/igbvf/*/net/*")
	seen["vf netdevs"] = fmt.Sprint(len(vfs))
	if len(vfs) == 0 {
		return seen
	}
	say("rdma link add", "/bin/rdma", "link", "add", "mlx5_0", "type", "rxe", "netdev", filepath.Base(vfs[0]))
	device, err := filepath.EvalSymlinks("/sys/class/infiniband/mlx5_0/device")
	seen["device is the VF"] = fmt.Sprint(err == nil && device == must(filepath.EvalSymlinks(filepath.Dir(filepath.Dir(vfs[0])))))
	group, err := os.ReadFile("/sys/class/infiniband/mlx5_0/device/iommu_group/type")
	seen["iommu"] = strings.TrimSpace(string(group))
	if err != nil {
		seen["iommu"] = err.Error()
	}
	say("ibv_devices", "/bin/ibv_devices")
	say("netns", "/bin/ip", "netns", "add", "pod")
	say("move", "/bin/ip", "link", "set", filepath.Base(vfs[0]), "netns", "pod")
	_, err = os.Stat("/sys/class/infiniband/mlx5_0")
	seen["survives the move"] = fmt.Sprint(err == nil)
	say("containerd", "/mnt/containerd", "--version")
	say("runc", "/mnt/runc", "--version")
	say("nft", "/sbin/nft", "add", "table", "inet", "t")
	say("netem", "/sbin/tc", "qdisc", "add", "dev", "lo", "root", "netem", "loss", "2%", "delay", "1ms", "1ms", "distribution", "normal")
	return seen
}

// wait waits for files that match a pattern.
func wait(pattern string) []string {
	for range 100 {
		if found, _ := filepath.Glob(pattern); len(found) > 1 {
			return found
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil
}

func must(s string, err error) string {
	if err != nil {
		return err.Error()
	}
	return s
}
