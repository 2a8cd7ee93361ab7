package guest

import "time"

// AgentPort is the HTTP port of a machine's agent, on its management address. Every request has the token of the
// Config as a bearer token. The host reaches it by a port of its loopback address.
const AgentPort = 7100

// Paths of the agent.
const (
	StatusPath   = "/status"   // GET: Status; with ?stages=N as soon as there are more than N, or after StatusPatience
	ExecPath     = "/exec"     // POST an Exec: frames
	FilePath     = "/file/"    // PUT /file/run/x?mode=0755 writes /run/x; GET reads it
	ServicePath  = "/service"  // POST a ServiceOrder: 204
	PowerOffPath = "/poweroff" // POST: 204, and then the power is off
)

// StatusPatience limits how long the agent holds a request for further stages.
const StatusPatience = 20 * time.Second

// Status is a machine's progress.
type Status struct {
	Ready  bool    `json:"ready"`           // everything that the Config wants is there
	Failed string  `json:"failed,omitzero"` // why it will not get there; it stays up to be looked at
	Stages []Stage `json:"stages"`
}

// Stage is a part of the way that is done.
type Stage struct {
	Name string        `json:"name"`
	At   time.Duration `json:"at"` // since the kernel started
}

// Exec is a command to run as root. When the connection ends, the command and its children are killed; processes that
// it leaves running when it ends by itself stays.
type Exec struct {
	Argv  []string `json:"argv"`
	Env   []string `json:"env,omitempty"` // besides PATH and HOME
	Input []byte   `json:"input,omitempty"`
}

// Exit is the end of a command.
type Exit struct {
	Code  int    `json:"code"`            // 128 + signal where a signal ended it
	Error string `json:"error,omitempty"` // it did not start
}

// Service names a program that runs in a machine.
type Service string

// The services of a node, in the order of their start.
const (
	Containerd   Service = "containerd"
	Kubelet      Service = "kubelet"
	DevicePlugin Service = "device-plugin"
	DNS          Service = "coredns"
)

// ServiceOrder stops a service, as if it had crashed and did not come back, or starts it again. To stop a stopped
// service, or to start a running one, is not an error.
type ServiceOrder struct {
	Service Service `json:"service"`
	Running bool    `json:"running"`
}
