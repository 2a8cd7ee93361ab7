package kube

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
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

// Errors of reaching a cluster.
var (
	ErrNoConfig     = errors.New("no cluster to talk to")
	ErrNoContext    = errors.New("no such context")
	ErrUnreachable  = errors.New("the API server does not answer")
	ErrCertificate  = errors.New("the API server's certificate is not trusted")
	ErrUnauthorized = errors.New("the API server rejects the credentials")

	errNotKubernetes = errors.New("the server is not a Kubernetes API server")
	errBroken        = errors.New("the connection broke")
)

// configError describes an error of the kubeconfig and the fix.
func (f *Flags) configError(err error) error {
	contexts, source := contextsOf(f.loader())
	config, loadErr := f.loader().RawConfig() // with --context, err says only that there is no such context
	choice := "choose one with --context: " + strings.Join(contexts, ", ")
	name := f.overrides.CurrentContext
	switch {
	case name != "" && len(contexts) > 0 && !slices.Contains(contexts, name):
		return fmt.Errorf("%w: %q is not in %s; %s", ErrNoContext, name, source, choice)
	case clientcmd.IsEmptyConfig(err) && len(contexts) > 0:
		return fmt.Errorf("%w: %s has no current context; %s", ErrNoConfig, source, choice)
	case clientcmd.IsEmptyConfig(err), loadErr == nil && clientcmd.IsEmptyConfig(clientcmd.Validate(config)):
		return fmt.Errorf("%w: no kubeconfig at %s; name one with --kubeconfig or $KUBECONFIG, or log in (oc login)",
			ErrNoConfig, source)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %w", ErrNoConfig, err)
	}
	return fmt.Errorf("read kubeconfig %s: %w", source, err)
}

// contextsOf returns the contexts of the kubeconfig, and the paths where it was searched.
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

// reachError returns the error of a call as one of the errors above if the server was not reached, is not trusted, or
// rejects the user. It keeps an error that the server returned for the call itself.
func reachError(server string, err error) error {
	var certificate *tls.CertificateVerificationError
	var name *net.DNSError
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, ErrUnreachable), errors.Is(err, ErrCertificate), errors.Is(err, ErrUnauthorized):
		return err
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%w: %s: the token or the client certificate is wrong or has expired; "+
			"log in again (oc login), or renew the credentials in the kubeconfig", ErrUnauthorized, server)
	case errors.As(err, &certificate):
		return fmt.Errorf("%w: %s: %w; give the cluster's CA with --certificate-authority, or log in again",
			ErrCertificate, server, certificate.Err)
	case errors.As(err, &name):
		return fmt.Errorf("%w: %s: %w; is the address right, and is the VPN up?", ErrUnreachable, server, name)
	case lost(err), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %s: %w; is the address right, and are the server and the VPN up?",
			ErrUnreachable, server, withoutURL(err))
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

// withoutURL drops the URL of the call from an error that names the server already.
func withoutURL(err error) error {
	var call *url.Error
	if errors.As(err, &call) {
		return call.Err
	}
	return err
}

// lost reports whether the connection failed rather than the call. The call can be repeated: all changes of this
// package are idempotent.
func lost(err error) bool {
	var op *net.OpError
	const tlsAlert = "remote error"
	// The calls on an HTTP/2 connection get this error if a write of another one fails. net/http does not export it
	// (h2_bundle.go http2errClientConnForceClosed).
	const forceClosed = "http2: client connection force closed"
	return errors.Is(err, errBroken) ||
		errors.Is(err, io.ErrUnexpectedEOF) || // client-go wraps the error of a response's body
		err != nil && strings.Contains(err.Error(), forceClosed) ||
		utilnet.IsConnectionRefused(err) ||
		utilnet.IsConnectionReset(err) ||
		utilnet.IsProbableEOF(err) ||
		utilnet.IsHTTP2ConnectionLost(err) ||
		utilnet.IsTimeout(err) && !errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &op) && op.Op != tlsAlert && !errors.Is(err, context.Canceled)
}

// transient reports whether a call may succeed a little later.
func transient(err error) bool {
	return lost(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err)
}
