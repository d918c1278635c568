package netguard

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/internal/loopdns"
)

// Each range of special addresses is refused at its first and its last address. The addresses
// beside it that are public are not.
func TestL4_OnlyPublicAddresses(t *testing.T) {
	for _, r := range ranges() {
		first, last := r.Addr(), last(r.Prefix)
		for _, a := range []netip.Addr{first, last} {
			if Public(a) == nil {
				t.Errorf("%s of %s is allowed", a, r.Prefix)
			}
		}
	}
	for _, text := range []string{"1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
		"126.255.255.255", "128.0.0.0", "172.15.255.255",
		"172.32.0.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
		"2606:2800:220:1::1", "2001:4860:4860::8888",
		"2000::1", "2a00::1"} {
		if err := Public(netip.MustParseAddr(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"fe80::1%eth0", "2606:2800:220:1::1%eth0", "::ffff:1.1.1.1", "::1.1.1.1",
		"64:ff9b::101:101", "2002:101:101::1", "4000::1",
		"2001:0:4136:e378:8000:63bf:3fff:fdd2", "ff0e::1", "1fff::1"} {
		if err := Public(netip.MustParseAddr(text)); err == nil {
			t.Errorf("%s is allowed", text)
		}
	}
	if Public(netip.Addr{}) == nil {
		t.Error("no address is allowed")
	}
}

// last returns the last address of a range.
func last(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 1 << (7 - i%8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

func TestL4_SpellingsOfHosts(t *testing.T) {
	for text, want := range map[string]string{
		"Example.COM": "example.com", "example.com.": "example.com", "bücher.example": "xn--bcher-kva.example",
		"[::1]": "::1", "127.0.0.1": "127.0.0.1",
		"a_b.example": "a_b.example", "1.example": "1.example", "[2606:2800:220:1::1]": "2606:2800:220:1::1",
		"localhost": "localhost",
	} {
		if h, err := ParseHost(text); err != nil || h.String() != want {
			t.Errorf("%q is %q, %v, want %q", text, h, err, want)
		}
	}
	for _, text := range []string{"", ".", "127.1", "2130706433", "0x7f000001", "0X7F.1", "0177.0.0.1", "127.0.0.1.",
		"1.2.3.4.5", "①②⑦.0.0.1", "127。0。0。1",
		"１２７.0.0.1", "a..b", "a b", "a/b", "a\x00b", "a@b", "a:b", strings.Repeat("a", 64), strings.Repeat("a.", 130),
		"exa\u00admple.com:", "[::1", "::1]x", "0x", "*.x"} {
		if h, err := ParseHost(text); err == nil {
			t.Errorf("%q is taken for %q", text, h)
		}
	}
}

func TestL4_HostsThatAUserNames(t *testing.T) {
	hosts, err := ParseHosts([]string{"example.com", "*.Example.org", "localhost:8080", "10.1.2.3", "[fd00::1]:8443",
		"ssh.example.net:22"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := hosts.String(),
		"example.com, *.example.org, localhost:8080, 10.1.2.3, [fd00::1]:8443, ssh.example.net:22"; got != want {
		t.Errorf("the hosts are %s, want %s", got, want)
	}
	for _, c := range []struct {
		host string
		port uint16
		want bool
	}{
		{"example.com", 443, true}, {"EXAMPLE.com.", 80, true}, {"example.com", 8080, false},
		{"www.example.com", 443, false}, {"badexample.com", 443, false},
		{"a.example.org", 443, true}, {"a.b.example.org", 443, true}, {"example.org", 443, false},
		{"xexample.org", 443, false},
		{"localhost", 8080, true}, {"localhost", 80, false}, {"10.1.2.3", 80, true}, {"10.1.2.4", 80, false},
		{"fd00::1", 8443, true}, {"fd00::1", 443, false},
		{"ssh.example.net", 22, true}, {"ssh.example.net", 443, false},
	} {
		h, err := ParseHost(c.host)
		if err != nil {
			t.Fatal(err)
		}
		if got := hosts.Names(h, c.port); got != c.want {
			t.Errorf("%s:%d: %v, want %v", c.host, c.port, got, c.want)
		}
	}
	for text, want := range map[string]bool{"127.0.0.1:8080": true, "[::1]:8080": true, "127.0.0.1:80": false,
		"10.1.2.3:443": true, "10.1.2.3:22": false, "1.1.1.1:443": false} {
		if got := hosts.NamesAddress(netip.MustParseAddrPort(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"", "*", "*.com", "*.", "a.*.com", "https://example.com/", "example.com/x",
		"example.com:0", "example.com:65536", "example.com:x",
		"example.com:+80", "127.1", "*.1.2.3.4", "[::1", "ex ample.com"} {
		if _, err := ParseHosts([]string{text}); err == nil || !strings.Contains(err.Error(), "example.com") &&
			!strings.Contains(err.Error(), "65535") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The guard sees the address that a name led to when the connection is made, whatever the name led
// to before.
func TestL4_TheConnectedAddressIsChecked(t *testing.T) {
	dns := loopdns.Start(t, map[string][]string{"rebound.example": {"93.184.216.34", "127.0.0.1"},
		"both.example": {"127.0.0.1 93.184.216.34"}})
	dial := func(g Guard, host string) error {
		d := g.Dialer(dns.Resolver())
		d.Control = func(network, address string, c syscall.RawConn) error {
			if err := g.Control(network, address, c); err != nil {
				return err
			}
			return errors.New("allowed: " + address) // nothing leaves the machine
		}
		c, err := d.DialContext(context.Background(), "tcp", host)
		if err == nil {
			c.Close()
		}
		return err
	}
	for i, want := range []string{"allowed: 93.184.216.34:80", "127.0.0.1 is a loopback address",
		"127.0.0.1 is a loopback address"} {
		if err := dial(Guard{}, "rebound.example:80"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("connection %d: %v, want %s", i, err, want)
		}
	}
	var refused *Error
	if err := dial(Guard{}, "both.example:80"); !errors.As(err, &refused) || refused.Host != "127.0.0.1" {
		t.Errorf("the error does not name the refused address: %v", err)
	}
	named, err := ParseHosts([]string{"localhost:80"})
	if err != nil {
		t.Fatal(err)
	}
	if err := dial(Guard{Named: named}, "rebound.example:80"); err == nil || !strings.Contains(err.Error(),
		"allowed: 127.0.0.1:80") {
		t.Errorf("a named address: %v", err)
	}
	if err := (Guard{}).Control("tcp", "nonsense", nil); err == nil {
		t.Error("an address that cannot be read is allowed")
	}
}

func FuzzURL(f *testing.F) {
	for _, seed := range []string{"http://example.com/", "http://127.1/", "http://[::1%25lo]:80/", "http://①/",
		"https://user:pw@h/", "http://0x7f.1/", "//x", "http://a:99999/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, host, port, err := Guard{}.URL(text)
		if err != nil {
			return
		}
		if port == 0 || host == (Host{}) || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
			t.Errorf("%q became %v, host %q, port %d", text, u, host, port)
		}
		if again, err := ParseHost(host.String()); err != nil || again != host {
			t.Errorf("%q: the host %q becomes %q, %v", text, host, again, err)
		}
		if again, err := ParseHost(u.Hostname()); err != nil || again != host || u.Hostname() != host.String() {
			t.Errorf("%q: the host is %q, and the URL %q", text, host, u)
		}
		if host.IsAddr() && Public(host.addr) != nil {
			t.Errorf("%q leads to %s", text, host)
		}
		if _, err := url.Parse(u.String()); err != nil {
			t.Errorf("%q becomes %q: %v", text, u, err)
		}
	})
}

func TestM12_PrivateAddresses(t *testing.T) {
	for text, want := range map[string]bool{
		"10.0.0.1": true, "172.31.255.255": true, "192.168.1.1": true, "100.64.0.1": true, "fd12::1": true,
		"127.0.0.1": false, "::1": false, "169.254.1.1": false, "169.254.169.254": false, "100.100.100.200": false,
		"fd00:ec2::254": false,
		"8.8.8.8":       false, "2606:4700::1": false, "::ffff:10.0.0.1": false, "fe80::1%eth0": false,
		"224.0.0.1": false,
		"0.0.0.0":   false,
	} {
		if got := Private(netip.MustParseAddr(text)); got != want {
			t.Errorf("Private(%s) = %v, want %v", text, got, want)
		}
	}
}
