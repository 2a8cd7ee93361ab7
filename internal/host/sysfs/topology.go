package sysfs

import (
	"errors"
	"path"
	"strings"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/topology"
)

// topologyOfDriver is the file that NCCL reads if it exists and no variable names another (src/graph/topo.cc).
const topologyOfDriver = "var/run/nvidia-topologyd/virtualTopology.xml"

// readTopology reads the file from which NCCL takes the paths between GPUs and NICs.
func readTopology(in *input, s *host.Snapshot) {
	name, origin, set := s.UserSetting("NCCL_TOPO_FILE")
	file := strings.TrimPrefix(path.Clean("/"+name), "/")
	if !set {
		if origin != "" { // NCCL opens the file of an empty name, and no other one
			return
		}
		if file = topologyOfDriver; !in.exists(file) {
			return
		}
	}
	t := &host.Topology{Path: "/" + file, Origin: origin}
	text := in.file(file)
	t.Functions = host.Fact[[]host.PlacedFunction]{State: text.State, Why: text.Why}
	if text.IsKnown() {
		functions, err := topology.Parse(text.Value)
		if t.Functions = host.Know(functions); err != nil {
			t.Functions = host.Unread[[]host.PlacedFunction](in.problem(file, "parse", err))
			if refused := new(topology.RefusedError); errors.As(err, &refused) {
				t.Refused = refused.Text
			}
		}
	}
	s.Topology = t
}
