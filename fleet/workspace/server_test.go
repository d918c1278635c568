package workspace_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/peer"
)

// gitServer serves repositories over https.
type gitServer struct {
	*httptest.Server
	dir    string // has the repositories
	caFile string

	mu       sync.Mutex
	token    string // that is needed; empty for none
	requests []string
	extra    func(w http.ResponseWriter, r *http.Request) bool // answers itself, and returns true
}

// serveGit serves repositories until the end of the test. Each is a copy of a directory.
func serveGit(t testing.TB, repositories map[string]string) *gitServer {
	t.Helper()
	s := &gitServer{dir: t.TempDir()}
	for name, from := range repositories {
		runGit(t, s.dir, "clone", "-q", "--bare", from, name)
	}
	backend := strings.TrimSpace(runGit(t, s.dir, "--exec-path")) + "/git-http-backend"
	if _, err := exec.LookPath(backend); err != nil {
		peer.Missing(t, "git has no http backend here: %v", err)
	}
	h := &cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + s.dir, "GIT_HTTP_EXPORT_ALL=1",
		"GIT_CONFIG_GLOBAL=/dev/null"}, InheritEnv: []string{"PATH"}, Stderr: io.Discard}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r.URL.Path+" "+r.Header.Get("Authorization"))
		token, extra := s.token, s.extra
		s.mu.Unlock()
		if extra != nil && extra(w, r) {
			return
		}
		if _, password, _ := r.BasicAuth(); token != "" && password != token {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		if v := r.Header.Get("Git-Protocol"); v != "" {
			h := *h
			h.Env = append(h.Env[:len(h.Env):len(h.Env)], "GIT_PROTOCOL="+v)
			h.ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(w, r)
	}))
	var certificate tls.Certificate
	certificate, s.caFile = newCertificate(t)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *gitServer) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// newCertificate returns a certificate for this machine, and a file to trust it.
func newCertificate(t testing.TB) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour),
		NotAfter:  time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	file := filepath.Join(t.TempDir(), "ca.pem")
	must(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}
