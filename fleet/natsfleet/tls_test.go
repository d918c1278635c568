package natsfleet

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
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

	"github.com/attractor-go/attractor/internal/peer"
)

// authority is a certificate authority of a test.
type authority struct {
	file string
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
	a := authority{file: filepath.Join(t.TempDir(), "ca.pem"), key: key}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	writePEM(t, a.file, "CERTIFICATE", der)
	return a
}

// issue makes a certificate for this machine, and returns the files of it and of its key.
func (a authority) issue(t *testing.T, others ...net.IP) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "server"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: append(others, net.IPv4(127, 0, 0, 1)),
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
	otherCert, otherKey := others.issue(t)
	for _, test := range []struct {
		name          string
		ca, cert, key string
		says          string // "" means that it connects
	}{
		{"as it should be", ours.file, cert, key, ""},
		{"another authority here", others.file, cert, key, "is not trusted here"},
		{"no authority", "", "", "", "is not trusted here"},
		{"no certificate", ours.file, "", "", "cannot connect"},
		{"a certificate of another authority", ours.file, otherCert, otherKey, "cannot connect"},
		{"no file", "none.pem", "", "", "none.pem"},
	} {
		o := OpenOptions{Token: operatorToken, CA: test.ca, Cert: test.cert, Key: test.key}
		e, err := Open(t.Context(), s.URL(), o)
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
	for url, ca := range map[string]string{plain: ours.file, strings.Replace(plain, "nats://", "tls://", 1): ""} {
		if _, err := Open(t.Context(), url, OpenOptions{Token: operatorToken, CA: ca}); err == nil ||
			!strings.Contains(err.Error(), "do not agree on TLS") {
			t.Errorf("TLS to %s, a server without: %v", url, err)
		}
	}
}

// Servers of a cluster know each other by certificates of one authority.
func TestP9_TLSOfACluster(t *testing.T) {
	t.Parallel()
	ours, others := newAuthority(t), newAuthority(t)
	configs := replicaConfigs(t)
	var hosts []net.IP
	for _, c := range configs {
		for _, address := range []string{c.Listen, c.Cluster.Listen} {
			host, _, _ := net.SplitHostPort(address) // of a good address
			hosts = append(hosts, net.ParseIP(host))
		}
	}
	for i := range configs {
		cert, key := ours.issue(t, hosts...)
		configs[i].TLS = &TLS{Cert: cert, Key: key, CA: ours.file}
	}
	servers := serveReplicas(t, configs)
	e, err := Open(t.Context(), servers[0].URL(), OpenOptions{Token: operatorToken, CA: ours.file})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Open(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	stranger := configs[0]
	cert, key := others.issue(t, hosts...)
	stranger.Name, stranger.Store, stranger.TLS = "stranger", t.TempDir(), &TLS{Cert: cert, Key: key, CA: others.file}
	stranger.Listen = peer.Address(t).String()
	stranger.Cluster = &Cluster{Name: "test", Listen: peer.Address(t).String(), Routes: configs[0].Cluster.Routes}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if s, err := StartServer(ctx, stranger); err == nil {
		t.Error("a server with a certificate of another authority is in the cluster")
		_ = s.Close() // the test has failed
	}
}
