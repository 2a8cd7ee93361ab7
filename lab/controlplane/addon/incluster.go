package addon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/controlplane/openshift"
	"github.com/railhead/railhead/lab/controlplane/pki"
	"github.com/railhead/railhead/lab/controlplane/process"
)

// inCluster describes a program that finds in its folders what it finds in a pod.
func (a *Addons) inCluster(program assets.Program, args []string, env ...string) process.Command {
	return process.Command{
		Name: string(program), Program: a.Programs[assets.InCluster], OwnMounts: true, Args: args,
		Env: append(env, "KUBERNETES_SERVICE_HOST=127.0.0.1", fmt.Sprintf("KUBERNETES_SERVICE_PORT=%d", a.Port)),
	}
}

// account makes a namespace with a ServiceAccount, and writes what a pod of the account finds into the folder.
func (a *Addons) account(ctx context.Context, namespace, name, folder string) error {
	err := openshift.Install(ctx, a.Client, openshift.Namespace(namespace),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	if err != nil {
		return err
	}
	c, err := kubernetes.NewForConfig(a.Admin)
	if err != nil {
		return err
	}
	seconds := int64(7 * 24 * 60 * 60)
	token, err := c.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name,
		&authenticationv1.TokenRequest{
			Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds},
		}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("token of %s: %w", name, err)
	}
	for file, text := range map[string][]byte{
		"token": []byte(token.Status.Token), "ca.crt": a.Authority.CertPEM, "namespace": []byte(namespace),
	} {
		if err := os.WriteFile(filepath.Join(folder, file), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// serverIn makes a folder with a server's certificate, as tls.crt and tls.key.
func serverIn(authority *pki.Authority, folder string, names ...string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	pair, err := authority.Server(names...)
	if err != nil {
		return err
	}
	_, _, err = pair.Write(folder, "tls")
	return err
}
