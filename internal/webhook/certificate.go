package webhook

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Issue returns a certificate for a server of the name and its key, as PEM. It signs itself: the API server is told to
// trust this one alone.
func Issue(name string, until time.Time) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(now.UnixNano()),
		Subject:               pkix.Name{CommonName: name},
		DNSNames:              []string{name},
		NotBefore:             now.Add(-time.Hour), // clocks differ
		NotAfter:              until,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return nil, nil, fmt.Errorf("sign the certificate of %s: %w", name, err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	pemOf := func(kind string, data []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}) }
	return pemOf("CERTIFICATE", signed), pemOf("PRIVATE KEY", encoded), err
}

// certificate is read again when its file changes: the service CA and the kubelet replace it while the server runs.
type certificate struct {
	folder string

	mu   sync.Mutex
	from time.Time
	pair *tls.Certificate
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	file := filepath.Join(c.folder, "tls.crt")
	info, err := os.Stat(file)
	if err == nil && c.pair != nil && info.ModTime().Equal(c.from) {
		return c.pair, nil
	}
	pair, err := tls.LoadX509KeyPair(file, filepath.Join(c.folder, "tls.key"))
	switch {
	case err == nil:
		c.pair, c.from = &pair, info.ModTime()
	case c.pair == nil:
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	return c.pair, nil // while the files are being replaced, the one before
}
