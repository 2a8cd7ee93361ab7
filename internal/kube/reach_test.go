package kube

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const twoContexts = `
apiVersion: v1
kind: Config
current-context: lab
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts:
- {name: lab, context: {cluster: c, user: u, namespace: train}}
- {name: prod, context: {cluster: c, user: u}}
`

// parsed returns the flags of a command line, without the environment of the test.
func parsed(t *testing.T, args ...string) *Flags {
	t.Helper()
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	flags, set := &Flags{}, pflag.NewFlagSet("railhead", pflag.ContinueOnError)
	flags.AddFlags(set)
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	return flags
}

func kubeconfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConnectWithoutACluster(t *testing.T) {
	good := kubeconfig(t, twoContexts)
	for name, test := range map[string]struct {
		args []string
		want error
		says []string
	}{
		"kubeconfig does not exist": {
			[]string{"--kubeconfig=/nowhere/config"},
			ErrNoConfig,
			[]string{"/nowhere/config"},
		},
		"no kubeconfig anywhere":       {nil, ErrNoConfig, []string{"/none", "--kubeconfig", "oc login"}},
		"no kubeconfig, but a context": {[]string{"--context=x"}, ErrNoConfig, []string{"no kubeconfig at", "/none", "oc login"}},
		"context does not exist": {
			[]string{"--kubeconfig=" + good, "--context=staging"},
			ErrNoContext,
			[]string{"staging", good, "--context: lab, prod"},
		},
		"no current context": {[]string{
			"--kubeconfig=" + kubeconfig(t, strings.Replace(twoContexts, "current-context: lab", "", 1)),
		},
			ErrNoConfig, []string{"no current context", "lab, prod"}},
		"server does not answer": {
			[]string{"--kubeconfig=" + good},
			ErrUnreachable,
			[]string{"https://127.0.0.1:1", "VPN"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parsed(t, test.args...).Connect(t.Context())
			if !errors.Is(err, test.want) {
				t.Fatalf("%v, want %v", err, test.want)
			}
			for _, word := range test.says {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q does not say %q", err, word)
				}
			}
		})
	}
	t.Run("kubeconfig that is no YAML", func(t *testing.T) {
		broken := kubeconfig(t, "a: [")
		for _, context := range []string{"--context=", "--context=x"} {
			_, err := parsed(t, "--kubeconfig="+broken, context).Connect(t.Context())
			if err == nil || !strings.Contains(err.Error(), broken) || errors.Is(err, ErrNoConfig) {
				t.Errorf("%s: %v, want an error that names %s", context, err, broken)
			}
		}
	})
}

func TestNamespace(t *testing.T) {
	type answer struct {
		Name     string
		Explicit bool
	}
	path := kubeconfig(t, twoContexts)
	for name, test := range map[string]struct {
		args []string
		want answer
	}{
		"of the flag":            {[]string{"--kubeconfig=" + path, "-n", "other"}, answer{"other", true}},
		"of the flag, with kind": {[]string{"--kubeconfig=" + path, "--namespace=ns/other"}, answer{"other", true}},
		"of the current context": {[]string{"--kubeconfig=" + path}, answer{"train", false}},
		"of a context without":   {[]string{"--kubeconfig=" + path, "--context=prod"}, answer{"default", false}},
		"without a kubeconfig":   {nil, answer{"default", false}},
	} {
		t.Run(name, func(t *testing.T) {
			var got answer
			var err error
			got.Name, got.Explicit, err = parsed(t, test.args...).Namespace()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFlagsAreKubectls(t *testing.T) {
	set := pflag.NewFlagSet("railhead", pflag.ContinueOnError)
	new(Flags).AddFlags(set)
	var names []string
	set.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	want := []string{"as", "as-group", "as-uid", "certificate-authority", "client-certificate", "client-key",
		"cluster", "context", "disable-compression",
		"insecure-skip-tls-verify", "kubeconfig", "namespace", "request-timeout", "server", "tls-server-name",
		"token", "user"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

func TestReachError(t *testing.T) {
	call := func(err error) error { return &url.Error{Op: "Get", URL: "https://api:6443/apis", Err: err} }
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", nil)
	for name, test := range map[string]struct {
		err  error
		want error
		says string
	}{
		"nothing wrong": {nil, nil, ""},
		"refused": {
			call(refused),
			ErrUnreachable,
			"the API server does not answer: https://api:6443: dial tcp: connect: connection refused; is the address " +
				"right, and are the server and the VPN up?",
		},
		"unknown name": {
			call(&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "api"}}),
			ErrUnreachable,
			"the API server does not answer: https://api:6443: lookup api: no such host; is the address right, and " +
				"is the VPN up?",
		},
		"no answer in time": {
			call(context.DeadlineExceeded),
			ErrUnreachable,
			"the API server does not answer: https://api:6443: context deadline exceeded; is the address right, and " +
				"are the server and the VPN up?",
		},
		"untrusted certificate": {
			call(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}),
			ErrCertificate,
			"the API server's certificate is not trusted: https://api:6443: x509: certificate signed by unknown " +
				"authority; give the cluster's CA with --certificate-authority, or log in again",
		},
		"expired token": {
			apierrors.NewUnauthorized("Unauthorized"),
			ErrUnauthorized,
			"the API server rejects the credentials: https://api:6443: the token or the client certificate is wrong " +
				"or has expired; log in again (oc login), or renew the credentials in the kubeconfig",
		},
		"credential plugin": {
			call(errors.New("getting credentials: exec: executable aws not found")),
			ErrUnreachable,
			"the API server does not answer: https://api:6443: getting credentials: exec: executable aws not found",
		},
		"cancelled": {
			call(context.Canceled),
			context.Canceled,
			`Get "https://api:6443/apis": context canceled`,
		},
		"error of the call itself": {forbidden, forbidden, forbidden.Error()},
		"classified already": {
			fmt.Errorf("%w: x", ErrUnreachable),
			ErrUnreachable,
			"the API server does not answer: x",
		},
		"web page": {
			fmt.Errorf("%w: <html>", errNotKubernetes),
			errNotKubernetes,
			"https://api:6443: the server is not a Kubernetes API server: <html>",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := reachError("https://api:6443", test.err)
			if !errors.Is(got, test.want) || got != nil && got.Error() != test.says {
				t.Errorf("%v\nwant %s", got, test.says)
			}
		})
	}
}

func TestTransient(t *testing.T) {
	for name, test := range map[string]struct {
		err             error
		lost, transient bool
	}{
		"nothing wrong": {nil, false, false},
		"refused": {
			&url.Error{
				Op:  "Get",
				Err: &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
			},
			true,
			true,
		},
		"reset": {
			&url.Error{Op: "Get", Err: &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}},
			true,
			true,
		},
		"cut off":     {&url.Error{Op: "Get", Err: io.ErrUnexpectedEOF}, true, true},
		"broken list": {fmt.Errorf("%w: EOF", errBroken), true, true},
		"half a body": {fmt.Errorf("unexpected error when reading response body: %w", io.ErrUnexpectedEOF), true, true},
		"connection closed for another call": {
			&url.Error{Op: "Get", Err: errors.New("http2: client connection force closed via ClientConn.Close")},
			true,
			true,
		},
		"cancelled": {&url.Error{Op: "Get", Err: context.Canceled}, false, false},
		"certificate refused": {
			&url.Error{Op: "Get", Err: &net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}},
			false,
			false,
		},
		"busy":         {apierrors.NewTooManyRequests("later", 1), false, true},
		"starting":     {apierrors.NewServiceUnavailable("starting"), false, true},
		"forbidden":    {apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", nil), false, false},
		"unauthorized": {apierrors.NewUnauthorized("Unauthorized"), false, false},
	} {
		if lost(test.err) != test.lost || transient(test.err) != test.transient {
			t.Errorf("%s: lost %v, transient %v; want %v, %v", name, lost(test.err), transient(test.err),
				test.lost, test.transient)
		}
	}
}
