package nccl

import (
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

const (
	peermemModule = "/sys/module/nvidia_peermem/version"
	peermemOld    = "/sys/kernel/mm/memory_peers/nvidia-peermem/version"
)

func TestGPUDirectPossible(t *testing.T) {
	open, closed := host.Know(true), host.Know(false)
	kernel := host.Know("5.14.0-570.el9")
	for name, tc := range map[string]struct {
		peermem  []string
		open     host.Fact[bool]
		kernel   host.Fact[string]
		versions []string
		dmabuf   string // NCCL_DMABUF_ENABLE
		vendor   string // of the GPUs, when it is not NVIDIA
		status   check.Status
		says     string
	}{
		"module and a version that looks for it": {
			[]string{peermemModule}, closed, kernel, []string{"2.23.4"}, "", "", check.Pass, "",
		},
		"module and one that does not": {
			[]string{peermemModule}, closed, kernel, []string{"2.21.5"}, "", "", check.Warn,
			"NCCL 2.21.5 does not look for " + peermemModule,
		},
		"module and one that does not, with DMA-BUF": {
			[]string{peermemModule}, open, kernel, []string{"2.21.5"}, "", "", check.Pass, "",
		},
		"module, and one of two versions that does not": {
			[]string{peermemModule}, closed, kernel, []string{"2.22.3", "2.27.3"}, "", "", check.Unknown,
			"if the command loads NCCL 2.22.3 and not 2.27.3",
		},
		"module and no version known": {
			[]string{peermemModule}, closed, kernel, nil, "", "", check.Pass, "",
		},
		"file of an older driver, of an older version": {
			[]string{peermemOld}, closed, kernel, []string{"2.21.5"}, "", "", check.Pass, "",
		},
		"file of an older driver, of a newer version": {
			[]string{peermemOld}, closed, kernel, []string{"2.22.3"}, "", "", check.Warn,
			"does not look for " + peermemOld,
		},
		"open modules": {
			nil, open, kernel, []string{"2.27.3"}, "", "", check.Pass, "",
		},
		"open modules, DMA-BUF switched off": {
			nil, open, kernel, []string{"2.27.3"}, "0", "", check.Warn, "no peer-memory module, no DMA-BUF",
		},
		"open modules, DMA-BUF switched off by no digit": {
			nil, open, kernel, []string{"2.27.3"}, "off", "", check.Warn, "no DMA-BUF",
		},
		"open modules, DMA-BUF left on": {
			nil, open, kernel, []string{"2.27.3"}, "1", "", check.Pass, "",
		},
		"open modules on an old kernel": {
			nil, open, host.Know("4.18.0-553.el8"), []string{"2.27.3"}, "", "", check.Warn, "no DMA-BUF",
		},
		"open modules on an unknown kernel": {
			nil, open, host.Fact[string]{}, []string{"2.27.3"}, "", "", check.Unknown,
			"support for DMA-BUF is unknown",
		},
		"closed modules on an unknown kernel": {
			nil, closed, host.Fact[string]{}, []string{"2.27.3"}, "", "", check.Warn, "no DMA-BUF",
		},
		"nothing of the driver in the container": {
			nil, host.Fact[bool]{}, kernel, []string{"2.27.3"}, "", "", check.Unknown,
			"support for DMA-BUF is unknown",
		},
		"GPUs of AMD": {
			nil, host.Fact[bool]{}, kernel, []string{"2.27.3"}, "", "0x1002", check.Pass, "",
		},
	} {
		s, rails := pod(t, "pod-roce-4vf")
		s.GPUDirect = host.GPUDirect{Peermem: tc.peermem, OpenModules: tc.open}
		s.Kernel, s.NCCL.Libraries = tc.kernel, nil
		for _, v := range tc.versions {
			s.NCCL.Libraries = append(s.NCCL.Libraries, host.NCCLLibrary{Path: "/lib/libnccl.so." + v, Version: v})
		}
		if tc.dmabuf != "" {
			s.Env["NCCL_DMABUF_ENABLE"] = tc.dmabuf
		}
		for i := range s.GPUs {
			if tc.vendor != "" {
				s.GPUs[i].Function.Vendor = host.Know(tc.vendor)
			}
		}
		_, findings := Compute(rails, s, Policy{})
		var got check.Finding
		for _, f := range findings {
			if f.Check == GPUDirectPossible {
				got = f
			}
		}
		if got.Status != tc.status || !strings.Contains(got.Summary, tc.says) {
			t.Errorf("%s: %s: %q, want %s with %q", name, got.Status, got.Summary, tc.status, tc.says)
		}
	}
}

// TestGPUDirectDistanceByLevel counts the GPUs of a pod whose four rails are PIX from one GPU each.
func TestGPUDirectDistanceByLevel(t *testing.T) {
	for level, want := range map[string]string{
		"":    "",
		"LOC": "GPU0, GPU1, GPU2, GPU3: their nearest rail is PIX away, and NCCL's level accepts no NIC",
		"0":   "GPU0, GPU1, GPU2, GPU3: their nearest rail is PIX away, and NCCL's level accepts no NIC",
		"C2C": "GPU0, GPU1, GPU2, GPU3: their nearest rail is PIX away, and NCCL's level accepts no NIC",
		"PIX": "",
		"1":   "",
		"SYS": "",
	} {
		s, rails := pod(t, "pod-roce-4vf")
		if level != "" {
			s.Env["NCCL_NET_GDR_LEVEL"] = level
		}
		_, findings := Compute(rails, s, Policy{})
		got := ""
		for _, f := range findings {
			if f.Check == GPUDirectDistance {
				got = f.Summary
			}
		}
		if !strings.HasSuffix(got, want) || want == "" && got != "" {
			t.Errorf("level %q: %q, want %q", level, got, want)
		}
	}
}
