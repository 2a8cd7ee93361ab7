package kubetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/lab/controlplane"
	"github.com/railhead/railhead/lab/controlplane/kubelet"
)

// startKubelet runs a kubelet for node here, on which pod default/p runs.
func startKubelet(t *testing.T, p *controlplane.ControlPlane) {
	t.Helper()
	k := &kubelet.Kubelet{
		Command: func(ctx context.Context, c kubelet.Container, words []string) *exec.Cmd {
			cmd := exec.CommandContext(ctx, words[0], words[1:]...)
			cmd.Env = append(cmd.Environ(), "WHERE="+c.Pod+"/"+c.Name)
			return cmd
		},
		Log: func(c kubelet.Container) string { return c.Name + ": NCCL INFO Using network IB\n" },
	}
	if err := k.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	create(t, p,
		fmt.Sprintf("{apiVersion: v1, kind: Node, metadata: {name: here}, status: {addresses: [{type: InternalIP, address: 127.0.0.1}], daemonEndpoints: {kubeletEndpoint: {Port: %d}}}}", k.Port),
		"{apiVersion: v1, kind: Pod, metadata: {namespace: default, name: p}, spec: {nodeName: here, containers: [{name: train, image: i}]}}")
	pod := object(t, "{apiVersion: v1, kind: Pod, metadata: {namespace: default, name: p}}")
	if err := p.Client().Status().Patch(t.Context(), &pod, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"phase":"Running"}}`))); err != nil {
		t.Fatal(err)
	}
}

func TestExecAndLogs(t *testing.T) {
	p := bare(t)
	startKubelet(t, p)
	c, counted := admin(t, p)
	pod := kube.PodRef{Namespace: "default", Name: "p"}
	run := func(ctx context.Context, o kube.ExecOptions) (int, string, string, error) {
		var out, err bytes.Buffer
		o.Stdout, o.Stderr = &out, &err
		code, fault := c.Exec(ctx, pod, o)
		return code, out.String(), err.String(), fault
	}
	counted.take()
	for name, test := range map[string]struct {
		o        kube.ExecOptions
		code     int
		out, err string
	}{
		"output":            {kube.ExecOptions{Command: []string{"sh", "-c", "echo to $WHERE; echo aside >&2"}}, 0, "to p/train\n", "aside\n"},
		"exit code":         {kube.ExecOptions{Command: []string{"sh", "-c", "exit 42"}}, 42, "", ""},
		"words with blanks": {kube.ExecOptions{Command: []string{"printf", "%s|", "a b", "", "c&d=e"}}, 0, "a b||c&d=e|", ""},
		"input":             {kube.ExecOptions{Command: []string{"tr", "a-z", "A-Z"}, Stdin: strings.NewReader(strings.Repeat("rail\n", 50000))}, 0, strings.Repeat("RAIL\n", 50000), ""},
		"named container":   {kube.ExecOptions{Container: "train", Command: []string{"true"}}, 0, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs, err := run(t.Context(), test.o)
			if err != nil || code != test.code || out != test.out || errs != test.err {
				t.Errorf("exit code %d, %d bytes of output %.80q, error output %q, %v", code, len(out), out, errs, err)
			}
		})
	}
	if made := counted.take(); len(made) != 5 {
		t.Errorf("each command is one call over WebSocket: %v", made)
	}
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r, w := io.Pipe()
		go func() {
			io.ReadFull(r, make([]byte, 1)) // it runs
			cancel()
			io.Copy(io.Discard, r)
		}()
		_, err := c.Exec(ctx, pod, kube.ExecOptions{Command: []string{"sh", "-c", "echo; sleep 600"}, Stdout: w})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
	t.Run("where WebSockets are not let through", func(t *testing.T) {
		path, err := p.Users.KubeconfigFile("system:admin", "system:masters")
		if err != nil {
			t.Fatal(err)
		}
		f, counted := flags(t, "--kubeconfig="+path), &calls{}
		f.Wrap = func(next http.RoundTripper) http.RoundTripper {
			return counted.wrap(roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/exec") {
					r.URL.Path, r.URL.RawQuery = "/version", "" // an answer without the upgrade, as of a proxy
				}
				return next.RoundTrip(r)
			}))
		}
		c, err := f.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		counted.take()
		var out bytes.Buffer
		code, err := c.Exec(t.Context(), pod, kube.ExecOptions{Command: []string{"sh", "-c", "echo by another way; exit 3"}, Stdout: &out})
		if code != 3 || err != nil || out.String() != "by another way\n" {
			t.Errorf("exit code %d, %v, %q", code, err, out.String())
		}
		if made := counted.take(); len(made) != 2 || made[1] != "POST /api/v1/namespaces/default/pods/p/exec" {
			t.Errorf("calls %v; want the second by SPDY", made)
		}
	})
	t.Run("log", func(t *testing.T) {
		log, err := c.Logs(t.Context(), pod, kube.LogOptions{Container: "train"})
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		text, err := io.ReadAll(log)
		if err != nil || !strings.Contains(string(text), "NCCL INFO Using network IB") {
			t.Errorf("%q, %v", text, err)
		}
	})
	nobody := kube.PodRef{Namespace: "default", Name: "nobody"}
	if _, err := c.Exec(t.Context(), nobody, kube.ExecOptions{Command: []string{"true"}}); err == nil || !strings.Contains(err.Error(), `pods "nobody" not found`) {
		t.Errorf("in a pod that is not there: %v", err)
	}
	if _, err := c.Logs(t.Context(), nobody, kube.LogOptions{}); err == nil || !strings.Contains(err.Error(), `pods "nobody" not found`) {
		t.Errorf("log of a pod that is not there: %v", err)
	}
	dev, _ := as(t, p, "dev")
	if _, err := dev.Exec(t.Context(), pod, kube.ExecOptions{Command: []string{"true"}}); !errors.As(err, new(*kube.Forbidden)) {
		t.Errorf("forbidden: %v", err)
	}
	if _, err := dev.Logs(t.Context(), pod, kube.LogOptions{}); !errors.As(err, new(*kube.Forbidden)) {
		t.Errorf("forbidden: %v", err)
	}
}
