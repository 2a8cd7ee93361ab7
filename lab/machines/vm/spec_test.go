package vm

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/lab/machines/guest"
	"github.com/railhead/railhead/lab/machines/image"
)

func TestArguments(t *testing.T) {
	own, gateway := Management(2)
	s := Spec{
		Parts: image.Parts{
			Kernel:   "/cache/vmlinuz",
			Programs: "/run/programs",
		}, Dir: "/run/node-b", Memory: 1024, IOMMU: Intel,
		Arguments: []string{"iommu=pt"},
		Config: guest.Config{
			Management: guest.Link{
				MAC:     MAC(0xcc, 0, 2),
				Address: own,
			}, Gateway: gateway, Pods: &guest.Link{MAC: MAC(0xbb, 0, 2)},
			Cards: []guest.Card{{Link: guest.Link{MAC: MAC(0xa0, 0, 2)}}, {Link: guest.Link{MAC: MAC(0xa0, 1, 2)}}},
		},
		Segments: map[string]string{
			MAC(0xbb, 0, 2): "/run/pods.sock",
			MAC(0xa0, 0, 2): "/run/eno5np0.sock",
			MAC(0xa0, 1, 2): "/run/eno6np0.sock",
		},
		Forwards: map[int]int{20001: 7100, 20000: 20000},
	}
	want := []string{
		"-M q35", "-smp 1", "-m 1024", "-nodefaults", "-no-user-config",
		"-display none", "-no-reboot", "-serial file:/run/node-b/console.log",
		"-qmp unix:/run/node-b.qmp,server=on,wait=off", "-kernel /cache/vmlinuz", "-initrd /run/node-b/initrd",
		"-append console=ttyS0 panic=-1 quiet no_timer_check mitigations=off init_on_alloc=0 " +
			"transparent_hugepage=never iommu=pt",
		"-accel tcg,thread=multi,tb-size=256", "-cpu max,-erms,-fsrm,-la57",
		"-virtfs local,path=/run/node-b/own,mount_tag=own,security_model=none,readonly=on,id=own",
		"-virtfs local,path=/run/programs,mount_tag=programs,security_model=none,readonly=on,id=programs",
		"-device intel-iommu,intremap=on",
		"-netdev user,id=management,ipv6=off,net=10.1.2.0/24,host=10.1.2.2," +
			"hostfwd=tcp:127.0.0.1:20000-10.1.2.15:20000,hostfwd=tcp:127.0.0.1:20001-10.1.2.15:7100",
		"-device virtio-net-pci,netdev=management,mac=52:54:00:cc:00:02",
		"-netdev stream,id=pods,server=off,reconnect-ms=200,addr.type=unix,addr.path=/run/pods.sock",
		"-device virtio-net-pci,netdev=pods,mac=52:54:00:bb:00:02,host_mtu=9000",
		"-device pcie-root-port,id=root0,bus=pcie.0,chassis=1,slot=1",
		"-netdev stream,id=card0,server=off,reconnect-ms=200,addr.type=unix,addr.path=/run/eno5np0.sock",
		"-device igb,bus=root0,netdev=card0,mac=52:54:00:a0:00:02",
		"-device pcie-root-port,id=root1,bus=pcie.0,chassis=2,slot=2",
		"-netdev stream,id=card1,server=off,reconnect-ms=200,addr.type=unix,addr.path=/run/eno6np0.sock",
		"-device igb,bus=root1,netdev=card1,mac=52:54:00:a0:01:02",
	}
	if diff := cmp.Diff(want, options(s.arguments("/run/node-b/initrd", "/run/node-b/console.log"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.Accel = KVM
	if kvm := strings.Join(s.arguments("initrd", "console"), " "); !strings.Contains(kvm,
		"-accel kvm,kernel-irqchip=split -cpu host") {
		t.Errorf("by KVM: %s", kvm)
	}
	s.IOMMU, s.Config.Pods = AMD, nil
	amd := strings.Join(s.arguments("initrd", "console"), " ")
	if !strings.Contains(amd, "-device amd-iommu,intremap=off") || strings.Contains(amd, "pods") {
		t.Errorf("with AMD's: %s", amd)
	}
	if s.IOMMU = NoIOMMU; strings.Contains(strings.Join(s.arguments("initrd", "console"), " "), "iommu,") {
		t.Error("an IOMMU, though there is to be none")
	}
}

// options are arguments with their values.
func options(args []string) []string {
	var all []string
	for _, a := range args {
		if strings.HasPrefix(a, "-") || len(all) == 0 {
			all = append(all, a)
		} else {
			all[len(all)-1] += " " + a
		}
	}
	return all
}

func TestManagement(t *testing.T) {
	own, gateway := Management(3)
	if own != netip.MustParsePrefix("10.1.3.15/24") || gateway != netip.MustParseAddr("10.1.3.2") {
		t.Errorf("%s, %s", own, gateway)
	}
}
