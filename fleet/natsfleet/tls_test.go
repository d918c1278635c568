package natsfleet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority is a certificate authority of a test.
type authority struct {
	file string
	pool *x509.CertPool
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// newAuthority makes an authority, with its certificate in a file.
func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	a := authority{file: filepath.Join(t.TempDir(), "ca.pem"), pool: x509.NewCertPool(), key: key}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.pool.AddCert(a.cert)
	writePEM(t, a.file, "CERTIFICATE", der)
	return a
}

// issue makes a certificate for this machine, and returns the files of it and of its key.
func (a authority) issue(t *testing.T) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "server"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, k.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writePEM(t, cert, "CERTIFICATE", der)
	writePEM(t, key, "EC PRIVATE KEY", secret)
	return cert, key
}

func writePEM(t *testing.T, file, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestP9_TLS(t *testing.T) {
	t.Parallel()
	ours, others := newAuthority(t), newAuthority(t)
	c := testConfig(t)
	cert, key := ours.issue(t)
	c.TLS = &TLS{Cert: cert, Key: key, CA: ours.file, Verify: true}
	s := serve(t, c)
	if !strings.HasPrefix(s.URL(), "tls://") {
		t.Errorf("the address is %s", s.URL())
	}
	pair := func(a authority) tls.Certificate {
		cert, key := a.issue(t)
		p, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	mine, theirs := pair(ours), pair(others)
	for _, test := range []struct {
		name string
		tls  *tls.Config
		says string // "" means that it connects
	}{
		{"as it should be", &tls.Config{RootCAs: ours.pool, Certificates: []tls.Certificate{mine}}, ""},
		{"another authority here", &tls.Config{RootCAs: others.pool, Certificates: []tls.Certificate{mine}},
			"is not trusted here"},
		{"no authority", nil, "is not trusted here"},
		{"no certificate", &tls.Config{RootCAs: ours.pool}, "cannot connect"},
		{"a certificate of another authority", &tls.Config{RootCAs: ours.pool, Certificates: []tls.Certificate{theirs}},
			"cannot connect"},
	} {
		e, err := Open(t.Context(), s.URL(), OpenOptions{Token: operatorToken, TLS: test.tls})
		switch {
		case err == nil && test.says == "":
			_, err = e.Tenants(t.Context())
			fallthrough
		case test.says == "":
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
		case err == nil || !strings.Contains(err.Error(), test.says):
			t.Errorf("%s: %v", test.name, err)
		}
		if err == nil {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	plain := serve(t, testConfig(t)).URL()
	for url, config := range map[string]*tls.Config{plain: {RootCAs: ours.pool}, strings.Replace(plain, "nats://",
		"tls://", 1): nil} {
		if _, err := Open(t.Context(), url, OpenOptions{Token: operatorToken, TLS: config}); err == nil ||
			!strings.Contains(err.Error(), "do not agree on TLS") {
			t.Errorf("TLS to %s, a server without: %v", url, err)
		}
	}
}
