package cluster

import "time"

// Pod is one pod, as far as places, resources and faults go.
type Pod struct {
	Namespace      string            `json:"namespace"`
	Name           string            `json:"name"`
	UID            string            `json:"uid,omitempty"`
	Labels         map[string]string `json:"labels,omitempty"`      // of a job's pods only
	Annotations    map[string]string `json:"annotations,omitempty"` // of a job's pods: networks, network-status, scc
	Owner          string            `json:"owner,omitempty"`       // StatefulSet/h-kim
	Writer         string            `json:"writer,omitempty"`      // field manager of its spec; of a job's pods only
	Node           string            `json:"node,omitempty"`
	Phase          string            `json:"phase"`
	Reason         string            `json:"reason,omitempty"` // Evicted, UnexpectedAdmissionError
	Message        string            `json:"message,omitempty"`
	Deleted        bool              `json:"deleted,omitempty"` // being deleted
	Requests       Resources         `json:"requests,omitempty"`
	Limits         Resources         `json:"limits,omitempty"`       // of a job's pods only
	NodeSelector   map[string]string `json:"nodeSelector,omitempty"` // of a job's pods only
	Claims         []string          `json:"claims,omitempty"`       // of DRA, by their names in the pod; of a job
	ServiceAccount string            `json:"serviceAccount,omitempty"`
	Ready          bool              `json:"ready,omitempty"`
	Unscheduled    string            `json:"unscheduled,omitempty"` // the scheduler's own words
	IP             string            `json:"ip,omitempty"`
	Containers     []Container       `json:"containers,omitempty"` // init containers first; of a job's pods only
}

// Container is the state of one container.
type Container struct {
	Name     string   `json:"name"`
	Init     bool     `json:"init,omitempty"`
	Image    string   `json:"image,omitempty"`
	Command  []string `json:"command,omitempty"` // with its arguments; none: the image has its own
	GPUs     bool     `json:"gpus,omitempty"`    // it requests some
	Ready    bool     `json:"ready,omitempty"`
	Running  bool     `json:"running,omitempty"`
	Restarts int      `json:"restarts,omitempty"`
	Waiting  string   `json:"waiting,omitempty"`  // reason: ImagePullBackOff, CreateContainerConfigError
	Message  string   `json:"message,omitempty"`  // of waiting or of the last termination
	ExitCode *int     `json:"exitCode,omitempty"` // of the present or the last termination
	Ended    string   `json:"ended,omitempty"`    // reason of that termination: Completed, Error, OOMKilled, StartError
	Injected []string `json:"injected,omitempty"` // fields of Railhead: command, variable RAILHEAD_MODE, resource NAME
}

// InjectedResource begins the entries of Container.Injected that are resources.
const InjectedResource = "resource "

// Finished reports whether the pod holds no resources any more.
func (p Pod) Finished() bool { return p.Phase == "Succeeded" || p.Phase == "Failed" }

// Event is a controller's message about an object.
type Event struct {
	Namespace string    `json:"namespace"`
	Object    string    `json:"object"`        // Pod/h-kim-0
	UID       string    `json:"uid,omitempty"` // of the object: a later one may have the same name
	Type      string    `json:"type"`          // Normal, Warning
	Reason    string    `json:"reason"`
	Message   string    `json:"message"`
	Count     int       `json:"count,omitempty"`
	Last      time.Time `json:"last"`
}

// Namespace is one namespace.
type Namespace struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Terminating bool              `json:"terminating,omitempty"`
}

// ServiceAccount is one service account.
type ServiceAccount struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Quota is one resource quota: its limits and their use.
type Quota struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Hard      Resources `json:"hard"` // requests.nvidia.com/gpu, pods, requests.cpu
	Used      Resources `json:"used"`
	Scoped    bool      `json:"scoped,omitempty"` // holds for some pods only: its scopes are not judged
}

// Free returns the allocatable resources of each node that no pod requests; a finished pod requests nothing.
func (s State) Free() map[string]Resources {
	free := make(map[string]Resources, len(s.Nodes))
	for _, n := range s.Nodes {
		r := make(Resources, len(n.Allocatable))
		r.Add(n.Allocatable)
		free[n.Name] = r
	}
	for _, p := range s.Pods {
		r, ok := free[p.Node]
		if !ok || p.Finished() {
			continue
		}
		for name, n := range p.Requests {
			r[name] -= n
		}
		r["pods"]--
	}
	return free
}
