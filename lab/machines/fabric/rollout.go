package fabric

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"
	"github.com/pelletier/go-toml/v2"
	"github.com/vincent-petithory/dataurl"

	"github.com/railhead/railhead/lab/machines/vm"
)

// bootNode boots a node with the parts of a machine configuration that matter to RDMA: the arguments of the kernel,
// and the limit of locked memory that CRI-O gives containers. The machines have containerd, to which that is said in
// its own way.
func (f *Fabric) bootNode(ctx context.Context, node string, config *machineconfigv1.MachineConfig) error {
	v, err := f.Machine(node)
	if err != nil {
		return err
	}
	memlock, err := defaultMemlock(config.Spec.Config.Raw)
	if err != nil {
		return fmt.Errorf("configuration %s: %w", config.Name, err)
	}
	return f.Reboot(ctx, v, func(s *vm.Spec) {
		s.Arguments = slices.Concat(f.Options.Arguments, config.Spec.KernelArguments)
		s.Config.Node.Memlock = memlock
		if memlock == 0 {
			s.Config.Node.Memlock = f.Options.Memlock
		}
	})
}

// crioFolder has CRI-O's configuration; the last file in the order of their names that has default_ulimits decides.
const crioFolder = "/etc/crio/crio.conf.d/"

// defaultMemlock is the limit of locked memory in an Ignition config's files for CRI-O, in bytes; 0 where they have
// none.
func defaultMemlock(ignition []byte) (uint64, error) {
	var config struct {
		Storage struct {
			Files []struct {
				Path     string
				Contents struct{ Source *string }
			}
		}
	}
	if len(ignition) == 0 {
		return 0, nil
	}
	if err := json.Unmarshal(ignition, &config); err != nil {
		return 0, err
	}
	limits, last := []string(nil), ""
	for _, file := range config.Storage.Files {
		if !strings.HasPrefix(file.Path, crioFolder) || file.Path < last || file.Contents.Source == nil {
			continue
		}
		content, err := dataurl.DecodeString(*file.Contents.Source)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", file.Path, err)
		}
		var crio struct {
			Crio struct {
				Runtime struct {
					Limits []string `toml:"default_ulimits"`
				} `toml:"runtime"`
			} `toml:"crio"`
		}
		if err := toml.Unmarshal(content.Data, &crio); err != nil {
			return 0, fmt.Errorf("%s: %w", file.Path, err)
		}
		if crio.Crio.Runtime.Limits != nil {
			limits, last = crio.Crio.Runtime.Limits, file.Path
		}
	}
	return memlockOf(limits)
}

// memlockOf reads name=soft:hard, where -1 is no limit (go-units ParseUlimit).
func memlockOf(limits []string) (uint64, error) {
	for _, limit := range limits {
		values, ok := strings.CutPrefix(limit, "memlock=")
		if !ok {
			continue
		}
		soft, _, _ := strings.Cut(values, ":")
		if soft == "-1" {
			return math.MaxUint64, nil
		}
		return strconv.ParseUint(soft, 10, 64)
	}
	return 0, nil
}
