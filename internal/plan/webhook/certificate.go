package webhook

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
)

const day = "2 January 2006"

// bundle returns the certificate that a configuration trusts, as PEM; nil if there is none.
func bundle(configuration cluster.Object) []byte {
	webhooks, _, _ := unstructured.NestedSlice(configuration.Fields, "webhooks")
	if len(webhooks) == 0 {
		return nil
	}
	first, _ := webhooks[0].(map[string]any)
	text, _, _ := unstructured.NestedString(first, "clientConfig", "caBundle")
	cert, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return cert
}

// until returns when a certificate ends; zero if it cannot be read.
func until(cert []byte) time.Time {
	block, _ := pem.Decode(cert)
	if block == nil {
		return time.Time{}
	}
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return time.Time{}
	}
	return parsed.NotAfter
}

// secretName returns the name of the Secret with a certificate and its key. It contains the hash of the certificate, so
// that the pods change together with it.
func secretName(cert []byte) string {
	sum := sha256.Sum256(cert)
	return Name + "-" + hex.EncodeToString(sum[:6])
}

// annotationCertificate is the annotation of the Deployment with the certificate of its Secret, as PEM: a run that was
// interrupted before it wrote the configuration has it nowhere else that may be read.
const annotationCertificate = "railhead.dev/certificate"

// chooseCertificate keeps the certificate of the cluster, without reading its key, unless it ends soon.
func (w *writer) chooseCertificate() {
	if w.Certificate == ByServiceCA {
		w.Cert, w.Key = nil, nil
		return
	}
	configuration, _ := w.s.Object(configurationKind, "", Configuration) // of a version without the annotation
	deployment, _ := w.s.Object("Deployment", Namespace, Name)
	text, _, _ := unstructured.NestedString(deployment.Fields, "metadata", "annotations", annotationCertificate)
	for _, cert := range [][]byte{bundle(configuration), []byte(text)} {
		if until(cert).Sub(w.s.Taken) > renewal && runs(deployment, secretName(cert)) {
			w.Cert, w.Key = cert, nil
			return
		}
	}
}

// trust lets the API server trust a new certificate besides the one that it replaces: replicas with either answer until
// all are replaced, and a pod whose request fails gets no rails.
func (w writer) trust() []plan.Step {
	live, _ := w.s.Object(configurationKind, "", Configuration)
	before := bundle(live)
	if w.Key == nil || len(before) == 0 {
		return nil
	}
	w.Cert = slices.Concat(before, w.Cert)
	return []plan.Step{{
		ID:      "trust",
		Title:   "Let the API server trust the new certificate, too",
		Changes: []plan.Change{apply(w.configuration(), "trusts the replicas before and after the change")},
	}}
}

// runs reports whether the deployed server has the Secret.
func runs(deployment cluster.Object, secret string) bool {
	volumes, _, _ := unstructured.NestedSlice(deployment.Fields, "spec", "template", "spec", "volumes")
	for _, v := range volumes {
		v, _ := v.(map[string]any)
		if name, _, _ := unstructured.NestedString(v, "secret", "secretName"); name == secret {
			return true
		}
	}
	return false
}
