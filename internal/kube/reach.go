package kube

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/tools/clientcmd"
)

// Reasons why a command cannot reach its cluster.
var (
	ErrNoConfig     = errors.New("no cluster to talk to")
	ErrNoContext    = errors.New("no such context")
	ErrUnreachable  = errors.New("the API server does not answer")
	ErrCertificate  = errors.New("the API server's certificate is not trusted")
	ErrUnauthorized = errors.New("the API server does not know who asks")

	errNotKubernetes = errors.New("the server is not a Kubernetes API server")
	errBroken        = errors.New("the connection broke")
)

// configError describes a fault of the kubeconfig and the fix.
func (f *Flags) configError(err error) error {
	contexts, source := contextsOf(f.loader())
	choice := "choose one with --context: " + strings.Join(contexts, ", ")
	name := f.overrides.CurrentContext
	switch {
	case name != "" && len(contexts) > 0 && !slices.Contains(contexts, name):
		return fmt.Errorf("%w: %q is not in %s; %s", ErrNoContext, name, source, choice)
	case clientcmd.IsEmptyConfig(err) && len(contexts) > 0:
		return fmt.Errorf("%w: %s has no current context; %s", ErrNoConfig, source, choice)
	case clientcmd.IsEmptyConfig(err):
		return fmt.Errorf("%w: no kubeconfig at %s; name one with --kubeconfig or $KUBECONFIG, or log in (oc login)", ErrNoConfig, source)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %w", ErrNoConfig, err)
	}
	return fmt.Errorf("read kubeconfig %s: %w", source, err)
}

// contextsOf returns the names of the kubeconfig's contexts, and where it was looked for.
func contextsOf(loader clientcmd.ClientConfig) (names []string, source string) {
	access := loader.ConfigAccess()
	source = strings.Join(access.GetLoadingPrecedence(), ", ")
	if access.IsExplicitFile() {
		source = access.GetExplicitFile()
	}
	config, err := loader.RawConfig()
	if err != nil {
		return nil, source
	}
	return slices.Sorted(maps.Keys(config.Contexts)), source
}

// reachError classifies an error of a call: whether the server was reached, is trusted, and knows who asks. An answer
// of the server about the call itself stays as it is.
func reachError(server string, err error) error {
	var certificate *tls.CertificateVerificationError
	var name *net.DNSError
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, ErrUnreachable), errors.Is(err, ErrCertificate), errors.Is(err, ErrUnauthorized):
		return err
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%w: %s: log in again (oc login), or renew the kubeconfig's credentials: the token or the client certificate is wrong or has expired",
			ErrUnauthorized, server)
	case errors.As(err, &certificate):
		return fmt.Errorf("%w: %s: %w; give the cluster's CA with --certificate-authority, or log in again", ErrCertificate, server, certificate.Err)
	case errors.As(err, &name):
		return fmt.Errorf("%w: %s: %w; is the address right, and the VPN up?", ErrUnreachable, server, name)
	case lost(err), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %s: %w; is the address right, the server up, and the VPN?", ErrUnreachable, server, bare(err))
	case errors.Is(err, errNotKubernetes):
		return fmt.Errorf("%s: %w", server, err)
	}
	var answer apierrors.APIStatus
	var call *url.Error
	if !errors.As(err, &answer) && errors.As(err, &call) { // credential plugins, proxies, TLS alerts
		return fmt.Errorf("%w: %s: %w", ErrUnreachable, server, call.Err)
	}
	return err
}

// bare leaves the URL of the call out of an error: the server is named already.
func bare(err error) error {
	var call *url.Error
	if errors.As(err, &call) {
		return call.Err
	}
	return err
}

// lost reports whether the connection failed rather than the call: it may be tried again, since all that this package
// writes may be written twice.
func lost(err error) bool {
	var op *net.OpError
	return errors.Is(err, errBroken) || utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) ||
		utilnet.IsHTTP2ConnectionLost(err) || utilnet.IsTimeout(err) && !errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &op) && op.Op != "remote error" && !errors.Is(err, context.Canceled) // a remote error is a TLS alert
}

// transient reports whether a call may succeed when it is made again a little later.
func transient(err error) bool {
	return lost(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err)
}
