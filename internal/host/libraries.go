package host

import (
	"strconv"
	"strings"
)

// VerbsLibrary is the libibverbs of a container: without it NCCL has no RDMA, and without the provider of a device's
// driver libibverbs does not list the device.
type VerbsLibrary struct {
	Path      string   `json:"path,omitempty"`      // "" when there is none
	RDMACore  string   `json:"rdmaCore,omitempty"`  // version: 48.0
	Providers []string `json:"providers,omitempty"` // files of its folder libibverbs: mlx5, irdma
	Drivers   []string `json:"drivers,omitempty"`   // that /etc/libibverbs.d names; rdma-core loads no others
}

// ParseVersion reads "2.21.5" into its three numbers.
func ParseVersion(s string) (v [3]int, ok bool) {
	parts := strings.SplitN(s, ".", 4)
	if len(parts) < 3 {
		return v, false
	}
	for i := range v {
		digits := parts[i]
		if i == 2 { // 2.21.5-1, 2.26.2+cuda12.8
			if end := strings.IndexFunc(digits, func(c rune) bool { return c < '0' || c > '9' }); end > 0 {
				digits = digits[:end]
			}
		}
		n, err := strconv.Atoi(digits)
		if err != nil || n < 0 {
			return v, false
		}
		v[i] = n
	}
	return v, true
}

// NCCL describes the installed NCCL, found without running it.
type NCCL struct {
	Libraries []NCCLLibrary `json:"libraries,omitempty"`
	Plugins   []string      `json:"plugins,omitempty"` // libnccl-net*.so found
	Config    []ConfigVar   `json:"config,omitempty"`  // in NCCL's order: the first of a name counts
}

// NCCLLibrary is one libnccl, its version taken from the names of files and folders.
type NCCLLibrary struct {
	Path    string `json:"path"`
	Version string `json:"version"` // 2.21.5
}

// ConfigVar is a line of an NCCL configuration file.
type ConfigVar struct {
	File  string `json:"file"`
	Name  string `json:"name"`
	Value string `json:"value"`
}
