// Package pki is the certificate authority of one control plane.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// validity of certificates: longer than any control plane of a lab runs. Controllers that renew their own certificate
// do so 90 days before its end (open-policy-agent/cert-controller, lookaheadInterval).
const validity = 365 * 24 * time.Hour

// Authority signs certificates for servers and for clients.
type Authority struct {
	CertPEM []byte
	cert    *x509.Certificate
	key     *rsa.PrivateKey // cert-controller reads PKCS #1
}

// Pair is a certificate and its key, as PEM.
type Pair struct{ Cert, Key []byte }

// New returns a new authority with names, by which cert-controller recognises its own.
func New(names ...string) (*Authority, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	template := template(pkix.Name{CommonName: "railhead lab"})
	template.IsCA, template.BasicConstraintsValid, template.DNSNames = true, true, names
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("sign the authority's certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &Authority{CertPEM: encode("CERTIFICATE", der), cert: cert, key: key}, nil
}

// KeyPEM returns the authority's private key.
func (a *Authority) KeyPEM() []byte {
	return encode("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(a.key))
}

// Client returns a certificate that kube-apiserver takes for the user in the groups.
func (a *Authority) Client(user string, groups ...string) (Pair, error) {
	t := template(pkix.Name{CommonName: user, Organization: groups})
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.sign(t)
}

// Server returns a certificate for servers on this machine's loopback address and under the names and addresses.
func (a *Authority) Server(names ...string) (Pair, error) {
	t := template(pkix.Name{CommonName: "localhost"})
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	t.DNSNames = []string{"localhost"}
	t.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, name)
		}
	}
	return a.sign(t)
}

func (a *Authority) sign(t *x509.Certificate) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, key.Public(), a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("sign certificate of %s: %w", t.Subject.CommonName, err)
	}
	keyPEM, err := encodeKey(key)
	return Pair{encode("CERTIFICATE", der), keyPEM}, err
}

// template returns the fields that all certificates share.
func template(subject pkix.Name) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader,
		new(big.Int).Lsh(big.NewInt(1), 127)) // fails only where the system has no randomness
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial, Subject: subject, NotBefore: now.Add(-time.Minute), NotAfter: now.Add(validity),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

// SigningKey returns a private key and its public half, both as PEM, for ServiceAccount tokens.
func SigningKey() (private, public []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, nil, err
	}
	private, err = encodeKey(key)
	return private, encode("PUBLIC KEY", der), err
}

// Write writes the pair to dir as name.crt and name.key and returns their paths.
func (p Pair) Write(dir, name string) (cert, key string, err error) {
	cert, key = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	if err := os.WriteFile(cert, p.Cert, 0o600); err != nil {
		return "", "", err
	}
	return cert, key, os.WriteFile(key, p.Key, 0o600)
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	return encode("EC PRIVATE KEY", der), err
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
