package addon

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/controlplane/openshift"
	"github.com/railhead/railhead/lab/controlplane/pki"
	"github.com/railhead/railhead/lab/controlplane/process"
)

// started is a controller that runs.
type started struct {
	process   *process.Process
	authority *pki.Authority
	urls      []string // of its webhooks
}

// StartWorkloads runs the controllers of training workloads and waits until their webhooks answer.
func (a *Addons) StartWorkloads(ctx context.Context, wanted []assets.Program) error {
	var all []started
	for _, c := range chosen(wanted) {
		s, err := a.startController(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.program, err)
		}
		all = append(all, s)
	}
	for _, s := range all {
		if err := s.answers(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (a *Addons) startController(ctx context.Context, c controller) (s started, err error) {
	ports, err := process.FreePorts(1)
	if err != nil {
		return s, err
	}
	folder := filepath.Join(a.Folder, string(c.program))
	account := c.prefix + c.account
	if s.authority, err = a.certificates(ctx, c, folder); err != nil {
		return s, err
	}
	if err := a.account(ctx, c.namespace, account, folder); err != nil {
		return s, err
	}
	if s.urls, err = a.install(ctx, c, ports[0], s.authority.CertPEM); err != nil {
		return s, err
	}
	replace := strings.NewReplacer("PORT", fmt.Sprint(ports[0]), "FOLDER", process.Certificates)
	if err := os.WriteFile(filepath.Join(folder, "config.yaml"), []byte(replace.Replace(c.config)), 0o600); err != nil {
		return s, err
	}
	args := []string{folder, a.Programs[c.program]}
	for _, arg := range c.args {
		args = append(args, replace.Replace(arg))
	}
	s.process, err = a.Group.Start(a.inCluster(c.program, args))
	if err != nil {
		return s, fmt.Errorf("%w (it needs user namespaces)", err)
	}
	a.workloads = append(a.workloads, s.process)
	return s, nil
}

// certificates makes the folder of a controller with its certificate, and the Secret where it looks for it.
func (a *Addons) certificates(ctx context.Context, c controller, folder string) (*pki.Authority, error) {
	if err := openshift.Install(ctx, a.Client, openshift.Namespace(c.namespace)); err != nil {
		return nil, err
	}
	if c.rotated == nil {
		return a.Authority, serverIn(a.Authority, folder)
	}
	authority, err := pki.New(c.rotated.authority)
	if err != nil {
		return nil, err
	}
	if err := serverIn(authority, folder, c.rotated.service+"."+c.namespace+".svc"); err != nil {
		return nil, err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: c.rotated.secret},
		Data:       map[string][]byte{"ca.crt": authority.CertPEM, "ca.key": authority.KeyPEM()},
	}
	for _, name := range []string{"tls.crt", "tls.key"} {
		if secret.Data[name], err = os.ReadFile(filepath.Join(folder, name)); err != nil {
			return nil, err
		}
	}
	return authority, a.Client.Create(ctx, secret)
}

// answers waits until every webhook has a handler.
func (s started) answers(ctx context.Context) error {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(s.authority.CertPEM)
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	defer c.CloseIdleConnections()
	for _, url := range s.urls {
		err := process.Until(ctx, "the webhook "+url+" answers", s.process, func(ctx context.Context) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				return err
			}
			resp, err := c.Do(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			if resp.StatusCode == http.StatusNotFound {
				return fmt.Errorf("it answers %s", resp.Status)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
