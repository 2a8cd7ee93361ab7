// Command init is the first process of the boot test's machine: it makes VFs and an RDMA device, says what it sees,
// and powers off.
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
			fmt.Println("mount", m[1], err)
			return
		}
	}
	s := seen{}
	s.prepare()
	s.rdma()
	s.programs()
	out, err := json.Marshal(s)
	if err != nil {
		out = []byte(err.Error())
	}
	fmt.Printf("SEEN %s\n", out)
}

// seen is the report of the machine, by name. A command that works says nothing.
type seen map[string]string

func (s seen) run(name string, argv ...string) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin"}
	out, err := cmd.CombinedOutput()
	s[name] = strings.TrimSpace(string(out))
	if err != nil {
		s[name] += " " + err.Error()
	}
}

func (s seen) file(name, path string) {
	text, err := os.ReadFile(path)
	s[name] = strings.TrimSpace(string(text))
	if err != nil {
		s[name] = err.Error()
	}
}

func (s seen) prepare() {
	s.run("modules", "/sbin/modprobe", "-a", "9p", "9pnet_virtio", "igb", "igbvf", "ib_uverbs", "rdma_ucm",
		"udp_tunnel", "ip6_udp_tunnel")
	s.run("programs", "/bin/mount", "-t", "9p", "-o", "ro,trans=virtio,version=9p2000.L", "programs", "/mnt")
	s.run("insmod", "/sbin/insmod", "/mnt/modules/rdma_rxe_lab.ko")
}

// rdma makes VFs and an RDMA device on the first one, and moves that to a network namespace.
func (s seen) rdma() {
	cards, err := filepath.Glob("/sys/bus/pci/drivers/igb/*/sriov_numvfs")
	if err != nil || len(cards) != 1 {
		s["cards"] = fmt.Sprint(cards, err)
		return
	}
	if err := os.WriteFile(cards[0], []byte("2"), 0o644); err != nil {
		s["VFs"] = err.Error()
		return
	}
	vfs := two("/sys/bus/pci/drivers/igbvf/*/net/*")
	s["vf netdevs"] = fmt.Sprint(len(vfs))
	if len(vfs) == 0 {
		return
	}
	netdev := filepath.Base(vfs[0])
	s.run("rdma link add", "/bin/rdma", "link", "add", "mlx5_0", "type", "rxe", "netdev", netdev)
	device, err := filepath.EvalSymlinks("/sys/class/infiniband/mlx5_0/device")
	vf, vfErr := filepath.EvalSymlinks(filepath.Dir(filepath.Dir(vfs[0])))
	s["device is the VF"] = fmt.Sprint(err == nil && vfErr == nil && device == vf)
	s.file("iommu", "/sys/class/infiniband/mlx5_0/device/iommu_group/type")
	s.run("ibv_devices", "/bin/sh", "-c", "ibv_devices | awk 'NR > 2 {print $1}'")
	s.run("netns", "/bin/ip", "netns", "add", "pod")
	s.run("move", "/bin/ip", "link", "set", netdev, "netns", "pod")
	_, err = os.Stat("/sys/class/infiniband/mlx5_0")
	s["survives the move"] = fmt.Sprint(err == nil)
}

func (s seen) programs() {
	s.file("release", "/proc/sys/kernel/osrelease")
	s.run("crun", "/bin/sh", "-c", "/mnt/crun --version | awk 'NR == 1 {print $3}'")
	s.run("nft", "/sbin/nft", "add", "table", "inet", "t")
	s.run("netem", "/sbin/tc", "qdisc", "add", "dev", "lo", "root", "netem", "loss", "2%", "delay", "1ms", "1ms",
		"distribution", "normal")
}

// two waits until two files match the pattern.
func two(pattern string) []string {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for range 200 {
		if found, err := filepath.Glob(pattern); err == nil && len(found) == 2 {
			return found
		}
		<-again.C
	}
	return nil
}
