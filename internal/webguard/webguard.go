package webguard

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// Error is an error with the status of its answer.
type Error struct {
	Status int
	Text   string
}

// Error implements error.
func (e *Error) Error() string { return e.Text }

// Refuse returns an error for a wrong request.
func Refuse(status int, text string) error { return &Error{status, text} }

// NewToken returns a token of 256 random bits.
func NewToken() string {
	var bits [32]byte
	rand.Read(bits[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(bits[:])
}

// HasToken reports whether a request has a token, in time that does not depend on how much of it is
// right.
func HasToken(r *http.Request, token string) bool {
	given := r.Header.Values("Authorization")
	return len(given) == 1 && subtle.ConstantTimeCompare([]byte(given[0]), []byte("Bearer "+token)) == 1
}

// LoopbackPort returns the port of the server's end of the connection, and whether both ends are on
// this machine.
func LoopbackPort(r *http.Request) (port string, ok bool) {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok || !local.IP.IsLoopback() {
		return "", false
	}
	return strconv.Itoa(local.Port), true
}

// NameOf returns the name in a Host header, without its port. It is empty if the port is none.
func NameOf(host string) string {
	name, port, hasPort := host, "", false
	if at := strings.LastIndexByte(host, ':'); at > strings.LastIndexByte(host, ']') {
		name, port, hasPort = host[:at], host[at+1:], true
	}
	if _, err := strconv.ParseUint(port, 10, 16); hasPort && err != nil {
		return ""
	}
	return name
}

// IsLoopbackHost reports whether a Host header names this machine, with any port, because a
// forwarded port has its own number. A name of somebody else's that leads here does not.
func IsLoopbackHost(host string) bool {
	name := NameOf(host)
	return name == "127.0.0.1" || name == "localhost" || name == "[::1]"
}

// CheckOrigin returns an error for a request that a page of another origin has made. The scheme is
// that by which clients reach the server.
func CheckOrigin(r *http.Request, scheme string) error {
	if given := r.Header.Values("Origin"); len(given) > 1 || len(given) == 1 && given[0] != scheme+"://"+r.Host {
		return Refuse(http.StatusForbidden, "a page of another origin has no access")
	}
	return nil
}

// CheckSite returns an error for a request that a browser says to come from another site. The page
// at / may be opened from anywhere, because it shows nothing without a token in its fragment.
func CheckSite(r *http.Request) error {
	if r.URL.Path == "/" && r.Header.Get("Sec-Fetch-Dest") == "document" { // it navigates
		return nil
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return Refuse(http.StatusForbidden, "a page of another site has no access")
	}
	return nil
}

// Number returns a parameter of the query, or the default if it is missing. Other numbers than
// those from least to most are an error.
func Number[N int | int64](r *http.Request, name string, missing, least, most N) (N, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return missing, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < int64(least) || n > int64(most) {
		return 0, Refuse(http.StatusBadRequest, name+" must be a whole number from "+strconv.FormatInt(int64(least),
			10)+" to "+strconv.FormatInt(int64(most), 10))
	}
	return N(n), nil
}

// Missing returns the error for a path or a method that does not exist, with the methods that do in
// the header. The handler is the one that a mux has chosen.
func Missing(handler http.Handler, h http.Header, r *http.Request, hint string) error {
	answer := &discarded{header: http.Header{}}
	handler.ServeHTTP(answer, r)
	if answer.status == http.StatusMethodNotAllowed {
		h.Set("Allow", answer.header.Get("Allow"))
		return Refuse(answer.status, r.Method+" is not possible here; possible are "+answer.header.Get("Allow"))
	}
	return Refuse(http.StatusNotFound, "there is nothing at this path; "+hint)
}

// discarded keeps the status and the headers of an answer.
type discarded struct {
	header http.Header
	status int
}

func (d *discarded) Header() http.Header         { return d.header }
func (d *discarded) WriteHeader(status int)      { d.status = status }
func (d *discarded) Write(p []byte) (int, error) { return len(p), nil }

// FewConnections returns a listener that closes connections at once if most are open.
func FewConnections(l net.Listener, most int) net.Listener {
	return &fewConnections{Listener: l, room: make(chan struct{}, most)}
}

// fewConnections is a listener that closes connections if too many are open.
type fewConnections struct {
	net.Listener
	room chan struct{}
}

// Accept implements [net.Listener].
func (l *fewConnections) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.room <- struct{}{}:
			return &counted{Conn: c, leave: func() { <-l.room }}, nil
		default:
			_ = c.Close() // nothing was read or written
		}
	}
}

// counted is a connection that leaves room for another one when it is closed.
type counted struct {
	net.Conn
	once  sync.Once
	leave func()
}

// Close implements [net.Conn].
func (c *counted) Close() error {
	defer c.once.Do(c.leave)
	return c.Conn.Close()
}
