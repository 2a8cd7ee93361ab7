package mcp

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const instructions = `Railhead makes RDMA work for multi-node GPU training on Kubernetes and OpenShift, and says why
when it does not. These tools read; none of them changes the cluster. Findings list the root cause first, each with
evidence and a fix; a fix is for the user to apply. "unknown" means not read: it is neither healthy nor a fault. To find
out why a job is slow or fails, begin with doctor; use wire for a job that runs, and explain for its log.`

var tools = []func(*mcp.Server, Program){
	tool[clusterInput]("inventory", "What the cluster offers to RDMA jobs",
		"Nodes with their GPUs and RDMA resources, network attachments, machine config pools, SR-IOV policies, "+
			"security context constraints, and what is missing."),
	tool[jobInput]("status", "State of a job",
		"The pods of a job, why some do not run, and what the training command does."),
	tool[doctorInput]("doctor", "Why RDMA does not work, with the fix",
		"Examines the cluster and the pods of a job, of named pods, or of all pods of a namespace that ask for GPUs "+
			"or RDMA, by railhead-pod in the pods, which is copied into pods that lack it and removed again. "+
			"Reports the root cause first, with evidence and the fix."),
	tool[wireInput]("wire", "Whether a running job uses RDMA",
		"Proves from the kernel's queue pairs what each process of a running job sends and receives over RDMA, and "+
			"which connections are lost. Needs no log. Exit status 1 is no fault by itself: no packet moved over RDMA "+
			"between the two readings, as in a job that idles, or a connection is lost."),
	tool[explainInput]("explain", "The story of a training log",
		"Which network a run used, with the line that proves it, and the first cause if it failed. Reads log files "+
			"and folders of this computer, or the logs of a job's pods."),
	tool[checkInput]("explain-check", "What a check means",
		"What the check of a finding looks at, why it matters, and the fix. Without an ID: all checks, and all "+
			"causes that explain names."),
}

type clusterInput struct {
	Namespace string `json:"namespace,omitempty" jsonschema:"the attachments of this namespace only"`
}

func (in clusterInput) args(p Program) ([]string, error) {
	return commandLine("inventory", p.namespace(in.Namespace))
}

type jobInput struct {
	Job       string `json:"job" jsonschema:"name of the job, or KIND/NAME such as trainjob/llama"`
	Namespace string `json:"namespace,omitempty" jsonschema:"default: that of the kubeconfig"`
}

func (in jobInput) args(p Program) ([]string, error) {
	return commandLine("status", p.namespace(in.Namespace), in.Job)
}

type doctorInput struct {
	Subjects  []string `json:"subjects,omitempty" jsonschema:"a job, [KIND/]NAME, or pods, pod/NAME; default: all"`
	Namespace string   `json:"namespace,omitempty" jsonschema:"default: that of the kubeconfig"`
	Logs      bool     `json:"logs,omitempty" jsonschema:"also read and explain the logs of the pods"`
}

func (in doctorInput) args(p Program) ([]string, error) {
	args, err := commandLine("doctor", p.namespace(in.Namespace), in.Subjects...)
	if in.Logs {
		args = slices.Insert(args, 1, "--logs")
	}
	return args, errors.Join(err, noNode("doctor", in.Subjects))
}

type wireInput struct {
	Subjects  []string `json:"subjects" jsonschema:"a job as NAME or KIND/NAME, or pods as pod/NAME"`
	Namespace string   `json:"namespace,omitempty" jsonschema:"default: that of the kubeconfig"`
	Seconds   int      `json:"seconds,omitempty" jsonschema:"time between the two readings, 1 to 60; default 1"`
}

func (in wireInput) args(p Program) ([]string, error) {
	args, err := commandLine("wire", p.namespace(in.Namespace), in.Subjects...)
	const longest = 60
	switch {
	case in.Seconds < 0 || in.Seconds > longest:
		err = errors.Join(err, fmt.Errorf("seconds is %d, but must be 1 to %d", in.Seconds, longest))
	case in.Seconds > 0:
		args = slices.Insert(args, 1, fmt.Sprintf("--every=%ds", in.Seconds))
	}
	return args, errors.Join(err, noNode("wire", in.Subjects))
}

type explainInput struct {
	Files     []string `json:"files,omitempty" jsonschema:"log files or folders of this computer"`
	Job       string   `json:"job,omitempty" jsonschema:"instead of files: the job whose pods have the logs"`
	Namespace string   `json:"namespace,omitempty" jsonschema:"namespace of the job"`
}

func (in explainInput) args(p Program) ([]string, error) {
	namespace := p.namespace(in.Namespace)
	switch {
	case (in.Job == "") == (len(in.Files) == 0):
		return nil, errors.New("name files, or a job with its namespace")
	case in.Job == "":
		args, err := commandLine("explain", "", in.Files...)
		for _, name := range in.Files {
			err = errors.Join(err, p.CheckLog(name))
		}
		return args, err
	case namespace == "":
		return nil, errors.New("the logs of a job need its namespace")
	}
	return commandLine("explain", namespace, in.Job)
}

type checkInput struct {
	Check string `json:"check,omitempty" jsonschema:"the ID of a check, such as memlock-limit"`
}

func (in checkInput) args(Program) ([]string, error) {
	if in.Check == "" {
		return []string{"explain-check"}, nil
	}
	return []string{"explain-check", "--", in.Check}, areNames(in.Check)
}

func (p Program) namespace(named string) string { return cmp.Or(named, p.Namespace) }

// commandLine returns the command line of a tool, whose output is JSON. Nothing after "--" is a flag.
func commandLine(command, namespace string, names ...string) ([]string, error) {
	args := []string{command, "--output=json"}
	if namespace != "" {
		args = append(args, "--namespace="+namespace)
	}
	if len(names) > 0 {
		args = append(append(args, "--"), names...)
	}
	return args, areNames(names...)
}

// areNames refuses flags in place of names, and "-", the standard input.
func areNames(names ...string) error {
	for _, name := range names {
		if name == "" || strings.HasPrefix(name, "-") {
			return fmt.Errorf("%q is not a name", name)
		}
	}
	return nil
}

// noNode refuses nodes, which only a privileged pod can examine.
func noNode(command string, subjects []string) error {
	for _, s := range subjects {
		kind, _, named := strings.Cut(s, "/")
		if named && slices.Contains([]string{"node", "nodes", "no"}, strings.ToLower(kind)) {
			return fmt.Errorf("%s: a node is examined by a privileged pod, which these tools do not create; "+
				"let the user run 'railhead %s %s'", s, command, s)
		}
	}
	return nil
}
