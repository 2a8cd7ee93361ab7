package host

// Topology is the file from which NCCL takes the paths between GPUs and NICs: NCCL_TOPO_FILE, or the file that
// nvidia-topologyd writes in virtual machines (NCCL src/graph/topo.cc ncclTopoGetSystem).
type Topology struct {
	Path      string                 `json:"path"`
	Origin    string                 `json:"origin,omitempty"` // of the variable; empty: NCCL finds the file itself
	Functions Fact[[]PlacedFunction] `json:"functions,omitzero"`
	// Refused is why NCCL's initialization fails with the file, in its own words.
	Refused string `json:"refused,omitempty"`
}

// PlacedFunction is a PCI function with the path that a topology file gives it. Its host bridge is a CPU of the file.
type PlacedFunction struct {
	Address PCIAddress `json:"address"`
	NUMA    int        `json:"numa"`
	Path    PCIPath    `json:"path"`
}

// Place returns the place of a function by the file; false if the file does not have it.
func (t *Topology) Place(a PCIAddress) (PlacedFunction, bool) {
	if t == nil {
		return PlacedFunction{}, false
	}
	for _, f := range t.Functions.Value {
		if f.Address == a {
			return f, true
		}
	}
	return PlacedFunction{}, false
}
