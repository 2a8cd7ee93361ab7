package check

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Kind is the kind of object that a Ref names.
type Kind string

// The kinds of objects that findings are about.
const (
	Pod            Kind = "pod" // without a name: the pod whose snapshot was read
	Pods           Kind = "pods"
	Node           Kind = "node" // without a name: the node whose snapshot was read
	Nodes          Kind = "nodes"
	Rail           Kind = "rail"   // Part: device and port, "mlx5_6:1"; Name: the pod that owns it
	Device         Kind = "device" // Part: an RDMA device; Name: the machine that has it
	Link           Kind = "link"   // Part: a network interface; Name: the machine that has it
	GPU            Kind = "gpu"    // Part: its PCI address; Name: the machine that has it
	Env            Kind = "env"
	Rails          Kind = "rails"
	Subnet         Kind = "subnet"
	Address        Kind = "address"
	NIC            Kind = "nic" // a physical function in a network policy
	Pool           Kind = "pool"
	MachineConfig  Kind = "machineconfig"
	Attachment     Kind = "network" // a NetworkAttachmentDefinition
	SriovNetwork   Kind = "sriovnetwork"
	Resource       Kind = "resource" // an extended resource of nodes
	SCC            Kind = "scc"
	Capability     Kind = "capability" // of Linux, without CAP_
	ServiceAccount Kind = "serviceaccount"
	Namespace      Kind = "namespace"
	Quota          Kind = "quota"
	Job            Kind = "job"
	Cluster        Kind = "cluster"
	Server         Kind = "server"
	List           Kind = "list" // Name: a kind of API objects, which could not be read
	Fabric         Kind = "fabric"
	Leaf           Kind = "leaf" // a switch, or the nodes behind it
	Bench          Kind = "bench"
	AllReduce      Kind = "all-reduce" // Name: the network that it was forced to, and the algorithm
	Measured       Kind = "measured"   // Name: a pair or an NIC that a bench measured, in words
	Text           Kind = "text"       // Name: a subject in the words of an older version
)

// Ref names the object of a finding. Equal refs name the same object.
type Ref struct {
	Kind      Kind   `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Part      string `json:"part,omitempty"` // of the pod or node: a rail, a device, a network interface
}

// Named returns the ref of an object without a namespace.
func Named(kind Kind, name string) Ref { return Ref{Kind: kind, Name: name} }

// NodeRef returns the ref of a node.
func NodeRef(name string) Ref { return Named(Node, name) }

// PodRef returns the ref of a pod.
func PodRef(namespace, name string) Ref { return Ref{Kind: Pod, Namespace: namespace, Name: name} }

// EnvRef returns the ref of an environment variable.
func EnvRef(name string) Ref { return Named(Env, name) }

// RailRef returns the ref of a rail of the machine that is judged.
func RailRef(name string) Ref { return Ref{Kind: Rail, Part: name} }

// PortRef returns the ref of a port of an RDMA device of the machine that is judged.
func PortRef(device string, port int) Ref { return RailRef(device + ":" + strconv.Itoa(port)) }

// DeviceRef returns the ref of an RDMA device of the machine that is judged.
func DeviceRef(name string) Ref { return Ref{Kind: Device, Part: name} }

// LinkRef returns the ref of a network interface of the machine that is judged.
func LinkRef(name string) Ref { return Ref{Kind: Link, Part: name} }

// Specific reports whether the ref names one object. "nodes" and the machine whose snapshot was read are not specific.
func (r Ref) Specific() bool { return r.Name != "" || r.Part != "" }

// Obvious reports whether a sentence need not name the ref: it is the machine or the cluster that is judged, several of
// them, or a list whose name the sentence has.
func (r Ref) Obvious() bool {
	switch r.Kind {
	case "", Pod, Pods, Node, Nodes, Cluster:
		return !r.Specific()
	}
	return r.Kind == List
}

// DeviceName returns the RDMA device of a rail, a port or a device.
func (r Ref) DeviceName() string {
	device, _, _ := strings.Cut(r.Part, ":")
	return device
}

// On returns what the ref of a judged machine, or of a part of it, is seen from outside: "mlx5_6:1" on node/x. Other
// refs are returned as they are.
func (r Ref) On(machine Ref) Ref {
	switch {
	case r.Name != "":
	case r.Part != "":
		r.Namespace, r.Name = machine.Namespace, machine.Name
	case r.Kind == Pod || r.Kind == Node:
		return machine
	}
	return r
}

// String returns the ref for people: "pod/train/h-kim-0", "node/x", "env/NCCL_IB_HCA", "mlx5_6:1".
func (r Ref) String() string {
	switch r.Kind {
	case Rail, Device, Link, GPU:
		return r.part()
	case Address, List, Measured, Text:
		return r.Name
	case Leaf:
		return string(r.Kind) + " " + r.Name
	case Subnet:
		return "rail/" + r.Name
	}
	text := string(r.Kind)
	for _, element := range []string{r.Namespace, r.Name} {
		if element != "" {
			text += "/" + element
		}
	}
	return text
}

func (r Ref) part() string {
	if r.Name == "" {
		return r.Part
	}
	machine := NodeRef(r.Name)
	if r.Namespace != "" {
		machine = PodRef(r.Namespace, r.Name)
	}
	return machine.String() + " " + r.Part
}

// UnmarshalJSON reads an object, or the words that versions before Ref wrote.
func (r *Ref) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*r = ParseRef(text)
		return nil
	}
	type object Ref // without this method
	return json.Unmarshal(data, (*object)(r))
}

// ParseRef returns the ref whose String is the text. The ref of a rail, device or address in the words of an older
// version has kind Text: they do not say which it is.
func ParseRef(text string) Ref {
	word, rest, _ := strings.Cut(text, "/")
	switch kind := Kind(word); kind {
	case "":
		return Ref{}
	case Pod, Attachment, ServiceAccount, Quota, Job:
		namespace, name, two := strings.Cut(rest, "/")
		if !two {
			namespace, name = "", rest
		}
		return Ref{Kind: kind, Namespace: namespace, Name: name}
	case Pods, Node, Nodes, Env, Rails, NIC, Pool, MachineConfig, Resource, SCC, Capability, Namespace, Cluster, Server,
		Fabric, SriovNetwork, Bench, AllReduce:
		return Named(kind, rest)
	case Rail:
		return Named(Subnet, rest)
	}
	return Named(Text, text)
}
