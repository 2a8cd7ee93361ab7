package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/controlplane/openshift"
	"github.com/railhead/railhead/lab/controlplane/process"
	"github.com/railhead/railhead/lab/controlplane/standin"
)

// program is a client of the API server that runs as a process of its own.
type program struct {
	name    assets.Program
	args    []string
	process *process.Process
}

// run starts a program as a user of its own.
func (p *ControlPlane) run(name assets.Program, user string, groups []string, args ...string) (*program, error) {
	kubeconfig, err := p.Users.KubeconfigFile(user, groups...)
	if err != nil {
		return nil, err
	}
	c := &program{name: name, args: append([]string{"--kubeconfig=" + kubeconfig}, args...)}
	if err := p.restart(c); err != nil {
		return nil, err
	}
	p.clients = append(p.clients, c)
	return c, nil
}

// restart starts a program, and ends it before where it runs.
func (p *ControlPlane) restart(c *program) error {
	c.process.Kill()
	var err error
	c.process, err = p.launch(string(c.name), p.programs[c.name], c.args)
	return err
}

// launch starts a program of the control plane. With machines, which need the memory, it collects its garbage more
// often: the API server keeps every ConfigMap that carried a program.
func (p *ControlPlane) launch(name, program string, args []string) (*process.Process, error) {
	c := process.Command{Name: name, Program: program, Args: args}
	if len(p.options.Addresses) > 0 {
		c.Env = []string{"GOGC=50", "GOMEMLIMIT=400MiB"}
	}
	return p.group.Start(c)
}

// masters makes a program's user one to whom nothing is forbidden. SCC admission lets such users' pods use every SCC,
// so no program that creates pods may be one.
func masters() []string { return []string{"system:masters"} }

func (p *ControlPlane) startControllerManager(ctx context.Context) error {
	if !p.options.Controllers {
		return nil
	}
	m, err := p.run(assets.ControllerManager, "system:kube-controller-manager", nil,
		"--leader-elect=false", "--secure-port=0", "--use-service-account-credentials=true",
		"--service-account-private-key-file="+p.files.tokenKey, "--root-ca-file="+p.files.ca,
		"--kube-api-qps=2000", "--kube-api-burst=4000")
	if err != nil {
		return err
	}
	return process.Until(ctx, "ServiceAccount default is there", m.process, func(ctx context.Context) error {
		return p.client.Get(ctx, client.ObjectKey{Namespace: "default", Name: "default"}, &corev1.ServiceAccount{})
	})
}

func (p *ControlPlane) startScheduler(context.Context) error {
	if !p.options.Scheduler || p.options.Demo {
		return nil
	}
	_, err := p.run(assets.Scheduler, "system:kube-scheduler", nil,
		"--leader-elect=false", "--secure-port=0", "--kube-api-qps=2000", "--kube-api-burst=4000")
	return err
}

func (p *ControlPlane) startKwok(ctx context.Context) error {
	if !p.options.Kwok {
		return nil
	}
	stages, err := assets.KwokStages(ctx)
	if err != nil {
		return err
	}
	args := []string{"--manage-all-nodes=true", "--node-lease-duration-seconds=40"}
	for i, stage := range stages {
		file := filepath.Join(p.dir, fmt.Sprintf("stage-%d.yaml", i))
		if err := copyStage(stage, file); err != nil {
			return fmt.Errorf("kwok stage: %w", err)
		}
		args = append(args, "--config="+file)
	}
	_, err = p.run(assets.Kwok, "kwok", masters(), args...)
	return err
}

// copyStage copies a stage of kwok. The one that makes nodes ready leaves out nodes that reboot in a rollout.
func copyStage(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var stage map[string]any
	if err := yaml.Unmarshal(text, &stage); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if name, _, _ := unstructured.NestedString(stage, "metadata", "name"); name == "node-initialize" {
		path := []string{"spec", "selector", "matchExpressions"}
		expressions, _, err := unstructured.NestedSlice(stage, path...)
		if err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
		expressions = append(expressions, map[string]any{
			"key":      fmt.Sprintf(".metadata.annotations[%q]", standin.PostConfigAction),
			"operator": "NotIn", "values": []any{standin.Rebooting},
		})
		if err := unstructured.SetNestedSlice(stage, expressions, path...); err != nil {
			return err
		}
		if text, err = yaml.Marshal(stage); err != nil {
			return err
		}
	}
	return os.WriteFile(to, text, 0o600)
}

func (p *ControlPlane) startMachineConfig(context.Context) error {
	if !p.options.MachineConfig || p.options.Demo {
		return nil
	}
	_, err := p.run(assets.MachineConfigController, "machine-config-controller", masters(),
		"--operator-version="+openshift.OperatorVersion, "--operator-hash=lab", "-v=2")
	return err
}
