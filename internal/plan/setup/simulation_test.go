package setup

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
)

// simulation is a cluster in which changes take effect as the API server and the machine-config-operator make them.
type simulation struct {
	cluster.State
	reboots map[string]int    // by node
	most    map[string]int    // by pool: nodes that were away at the same time, at most
	first   map[string]uint32 // hash of each pool's first configuration, whose name has none
	seen    map[string]uint32 // hash of what each pool is to be rendered from, at the last tick
	content map[string]uint32 // hash of each rendered configuration
}

func simulate(s cluster.State) *simulation {
	m := &simulation{
		State:   clone(s),
		reboots: map[string]int{},
		most:    map[string]int{},
		first:   map[string]uint32{},
		seen:    map[string]uint32{},
		content: map[string]uint32{},
	}
	for _, p := range m.Pools {
		_, m.first[p.Name] = m.rendered(p)
		m.content[p.Target] = m.first[p.Name]
	}
	return m
}

// plain is a value as JSON has it.
func plain(t *testing.T, v any) map[string]any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

func (m *simulation) change(t *testing.T, c plan.Change) {
	t.Helper()
	switch c.Verb {
	case plan.Apply:
		m.remove(c.Object)
		m.Objects = append(m.Objects, cluster.Object{
			APIVersion: c.Object.GetAPIVersion(),
			Kind:       c.Object.GetKind(),
			Namespace:  c.Object.GetNamespace(),
			Name:       c.Object.GetName(),
			Fields:     plain(t, c.Object.Object),
		})
		m.show(c.Object)
	case plan.Merge:
		m.merge(t, c.Object)
	case plan.Delete:
		m.remove(c.Object)
	}
}

func (m *simulation) remove(o unstructured.Unstructured) {
	m.Objects = slices.DeleteFunc(m.Objects, func(x cluster.Object) bool {
		return x.Kind == o.GetKind() && x.Name == o.GetName() && x.Namespace == o.GetNamespace()
	})
	switch o.GetKind() {
	case "MachineConfig":
		m.MachineConfigs = without(m.MachineConfigs, o.GetName())
	case "MachineConfigPool":
		m.Pools = slices.DeleteFunc(m.Pools, func(p cluster.Pool) bool { return p.Name == o.GetName() })
	case "SecurityContextConstraints":
		m.SCCs = slices.DeleteFunc(m.SCCs, func(c cluster.SCC) bool { return c.Name == o.GetName() })
	case "SriovNetworkNodePolicy":
		m.SriovPolicies = slices.DeleteFunc(m.SriovPolicies, func(p cluster.SriovPolicy) bool {
			return p.Name == o.GetName()
		})
	}
}

// show adds an object to the lists that a reader would fill from it.
func (m *simulation) show(o unstructured.Unstructured) {
	list := func(path ...string) []string {
		list, _, _ := unstructured.NestedStringSlice(o.Object, path...)
		return list
	}
	switch o.GetKind() {
	case "MachineConfig":
		m.MachineConfigs = append(m.MachineConfigs, cluster.MachineConfig{
			Name:            o.GetName(),
			Labels:          o.GetLabels(),
			KernelArguments: list("spec", "kernelArguments"),
			Files:           filesOf(o),
		})
	case "MachineConfigPool":
		most, _, _ := unstructured.NestedInt64(o.Object, "spec", "maxUnavailable")
		selector, _, _ := unstructured.NestedStringMap(o.Object, "spec", "nodeSelector", "matchLabels")
		m.Pools = append(m.Pools, cluster.Pool{
			Name: o.GetName(), NodeSelector: selector, ConfigSelector: selectsRoles("worker", o.GetName()),
			MaxUnavailable: fmt.Sprint(max(1, most)), Generation: 1,
		})
	case "SecurityContextConstraints":
		m.SCCs = append(m.SCCs, cluster.SCC{
			Name:                o.GetName(),
			AllowedCapabilities: list("allowedCapabilities"),
			Volumes:             list("volumes"),
		})
	case "SriovNetworkNodePolicy":
		vfs, _, _ := unstructured.NestedInt64(o.Object, "spec", "numVfs")
		mtu, _, _ := unstructured.NestedInt64(o.Object, "spec", "mtu")
		resource, _, _ := unstructured.NestedString(o.Object, "spec", "resourceName")
		selector, _, _ := unstructured.NestedStringMap(o.Object, "spec", "nodeSelector")
		m.SriovPolicies = append(m.SriovPolicies, cluster.SriovPolicy{
			Namespace:    o.GetNamespace(),
			Name:         o.GetName(),
			ResourceName: resource,
			NodeSelector: selector,
			VFs:          int(vfs),
			PFs:          list("spec", "nicSelector", "pfNames"),
			RDMA:         true,
			MTU:          int(mtu),
		})
	}
}

// filesOf are the files that a MachineConfig of setup writes.
func filesOf(o unstructured.Unstructured) []cluster.File {
	var files []cluster.File
	list, _, _ := unstructured.NestedSlice(o.Object, "spec", "config", "storage", "files")
	for _, item := range list {
		fields := item.(map[string]any)
		source := fields["contents"].(map[string]any)["source"].(string)
		text, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(source, dataURL))
		if err != nil {
			panic(err)
		}
		files = append(files, cluster.File{Path: fields["path"].(string), Content: string(text)})
	}
	return files
}

// merge is a JSON merge patch of a pool, or of a node's labels.
func (m *simulation) merge(t *testing.T, o unstructured.Unstructured) {
	t.Helper()
	if o.GetKind() == "Node" {
		labels, _, _ := unstructured.NestedMap(o.Object, "metadata", "labels")
		for key, value := range labels {
			delete(nodeOf(&m.State, o.GetName()).Labels, key)
			if value != nil {
				nodeOf(&m.State, o.GetName()).Labels[key] = value.(string)
			}
		}
		return
	}
	p := poolOf(&m.State, o.GetName())
	metadata := o.Object["metadata"].(map[string]any)
	for key, value := range metadata["annotations"].(map[string]any) {
		if value == nil {
			delete(p.Annotations, key)
			continue
		}
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		p.Annotations[key] = value.(string)
	}
	for key, value := range o.Object["spec"].(map[string]any) {
		switch key {
		case "paused":
			p.Paused = value.(bool)
		case "maxUnavailable":
			p.MaxUnavailable = ""
			if value != nil {
				p.MaxUnavailable = fmt.Sprint(value)
			}
		default:
			t.Fatalf("patch of %s", key)
		}
	}
	p.Generation++
}

// tick lets every controller act once: rebooting nodes are back, others start to reboot, configurations are rendered.
func (m *simulation) tick() {
	for i := range m.Pools {
		p := &m.Pools[i]
		for _, n := range m.State.NodesOf(p.Name) {
			if n := nodeOf(&m.State, n.Name); n.MachineConfig.Desired != n.MachineConfig.Current {
				if m.content[n.MachineConfig.Current] != m.content[n.MachineConfig.Desired] {
					m.reboots[n.Name]++
				}
				n.MachineConfig.Current, n.MachineConfig.State = n.MachineConfig.Desired, "Done"
			}
		}
		started := 0
		for _, n := range m.State.NodesOf(p.Name) {
			if !p.Paused && p.Target != "" && n.MachineConfig.Desired != p.Target &&
				started < cluster.AtOnce(p.MaxUnavailable, p.Machines) {
				n := nodeOf(&m.State, n.Name)
				n.MachineConfig.Desired, n.MachineConfig.State = p.Target, "Working"
				started++
			}
		}
		m.most[p.Name] = max(m.most[p.Name], started)
		m.count(p)
		m.render(p)
	}
}

// rendered returns the MachineConfigs of a pool's configuration, and its hash.
func (m *simulation) rendered(p cluster.Pool) (sources []string, hash uint32) {
	h := fnv.New32()
	for _, c := range plan.SelectedConfigs(p, m.MachineConfigs) {
		sources = append(sources, c.Name)
		fmt.Fprintln(h, c.Name, c.KernelArguments, c.Files)
	}
	return sources, h.Sum32()
}

func (m *simulation) render(p *cluster.Pool) {
	sources, hash := m.rendered(*p)
	if m.seen[p.Name] != hash {
		m.seen[p.Name] = hash
		return // the operator's render controller waits 5 s after a change, and the others do not
	}
	name := fmt.Sprintf("rendered-%s-%x", p.Name, hash)
	if hash == m.first[p.Name] {
		name = "rendered-" + p.Name + "-1"
	}
	m.content[name] = hash
	if name != p.Target {
		p.Target, p.TargetSources = name, sources
		p.Generation++
	}
}

// count updates the pool's status as the node controller does.
func (m *simulation) count(p *cluster.Pool) {
	nodes := m.State.NodesOf(p.Name)
	p.Machines, p.Updated = len(nodes), 0
	for _, n := range nodes {
		if n.MachineConfig.Current == p.Target && n.MachineConfig.Desired == p.Target {
			p.Updated++
		}
	}
	p.Ready, p.Observed = p.Updated, p.Generation
	if p.Updated == p.Machines {
		p.Current, p.CurrentSources = p.Target, p.TargetSources
		setCondition(p, "Updated", "True", "")
		setCondition(p, "Updating", "False", "")
		return
	}
	setCondition(p, "Updated", "False", "")
	status := "True"
	if p.Paused {
		status = "False"
	}
	setCondition(p, "Updating", status, "")
}

// apply applies at most some changes of a plan, waiting for each step, and reports whether all are applied.
func (m *simulation) apply(t *testing.T, p plan.Plan, changes int) bool {
	t.Helper()
	for _, step := range p.Steps {
		for _, c := range step.Changes {
			if changes == 0 {
				return false
			}
			m.change(t, c)
			if changes--; changes == 0 {
				return false // before it is waited for anything
			}
		}
		for i := 0; step.Done != nil && !step.Done(m.State).Done; i++ {
			if i > 100 {
				t.Fatalf("step %s is never done: %s", step.ID, step.Done(m.State).Text)
			}
			m.tick()
		}
	}
	return true
}
