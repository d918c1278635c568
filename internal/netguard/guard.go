package netguard

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// Guard lets through public hosts and addresses, and those that the user has named. The zero value
// lets through public ones.
type Guard struct {
	// Named holds hosts that may be reached although they are not public.
	Named Hosts
}

// Address returns nil if a connection to an address may be made, and otherwise an [*Error].
func (g Guard) Address(a netip.AddrPort) error {
	if g.Named.NamesAddress(a) {
		return nil
	}
	return Public(a.Addr())
}

// Host returns nil if a host may be reached as far as its name says, and otherwise an [*Error]. The
// addresses of a name have to be checked when they are connected to.
func (g Guard) Host(h Host, port uint16) error {
	switch {
	case h.IsAddr():
		return g.Address(netip.AddrPortFrom(h.addr, port))
	case !g.Named.Names(h, port) && internal(h.name):
		return &Error{h.name, "is a name inside a private network"}
	}
	return nil
}

// internal reports whether a name is used only on a machine, inside a network or in a cloud.
func internal(name string) bool {
	switch last := name[strings.LastIndexByte(name, '.')+1:]; last {
	case "localhost", "local", "internal", "localdomain":
		return true
	}
	switch name {
	case "metadata", "instance-data", "metadata.goog", "metadata.azure.com", "metadata.tencentyun.com":
		return true
	}
	return false
}

// URL reads the URL of a page and returns it with its host and port. The host in the URL is the
// returned one, because other programs may read other spellings of it differently. The error says
// what is wrong with the URL, or that its host may not be reached.
func (g Guard) URL(text string) (*url.URL, Host, uint16, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme == "":
		return nil, Host{}, 0, &Error{Shown(text), "is not a URL such as https://example.com/page"}
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, Host{}, 0, &Error{Shown(u.Scheme), "is not a scheme that can be fetched; only http and https are"}
	case u.Host == "":
		return nil, Host{}, 0, &Error{Shown(text), "is not a URL with a host, such as https://example.com/page"}
	case u.User != nil:
		return nil, Host{}, 0, &Error{Shown(u.Host), "has a user name in front of it; leave that out"}
	}
	host, err := ParseHost(u.Hostname())
	if err != nil {
		return nil, Host{}, 0, err
	}
	port, err := portOf(u)
	if err != nil {
		return nil, Host{}, 0, &Error{Shown(u.Host), "has a port that is not a number from 1 to 65535"}
	}
	if err := g.Host(host, port); err != nil {
		return nil, Host{}, 0, err
	}
	u.Host, u.Fragment, u.RawFragment = host.Authority(port, usualPort(u)), "", ""
	return u, host, port, nil
}

// portOf returns the port of a URL with one of the schemes http and https.
func portOf(u *url.URL) (uint16, error) {
	if u.Port() != "" {
		return parsePort(u.Port())
	}
	return usualPort(u), nil
}

// usualPort returns the port of a URL that names none.
func usualPort(u *url.URL) uint16 {
	if u.Scheme == "https" {
		return 443
	}
	return 80
}

// Control is a [net.Dialer.Control]. It sees the address of a connection right before it is made,
// so that it does not matter what a name meant before.
func (g Guard) Control(_, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return &Error{Shown(address), "is not an address"}
	}
	return g.Address(a)
}

// Dialer returns a dialer of TCP connections that the guard lets through. A nil resolver is the
// system's.
func (g Guard) Dialer(resolver *net.Resolver) *net.Dialer {
	return &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second, Resolver: resolver, Control: g.Control}
}
