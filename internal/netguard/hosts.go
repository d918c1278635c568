package netguard

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// Hosts holds the hosts that a user has named.
type Hosts struct{ patterns []pattern }

// pattern is one host, or all hosts below a name.
type pattern struct {
	host  Host
	below bool   // only names below the host's: *.example.com
	port  uint16 // 0 stands for 80 and 443
}

// ParseHosts reads hosts such as "example.com", "*.example.com", "example.com:8443", "10.1.2.3" and
// "[fd00::1]:443". A host without a port stands for its ports 80 and 443. The error names all
// entries that are wrong.
func ParseHosts(list []string) (Hosts, error) {
	var h Hosts
	var errs []error
	for _, text := range list {
		p, err := parsePattern(text)
		if err != nil {
			errs = append(errs, err)
		}
		h.patterns = append(h.patterns, p)
	}
	return h, errors.Join(errs...)
}

func parsePattern(text string) (p pattern, err error) {
	if strings.Contains(text, "/") {
		return p, fmt.Errorf("%s is not a host: give only its name, and a port if it is not 80 or 443, such as "+
			"example.com or example.com:8443", Shown(text))
	}
	name, port, err := splitPort(text)
	if err != nil {
		return p, fmt.Errorf("%w: give a host such as example.com, *.example.com, example.com:8443 or [fd00::1]:443",
			err)
	}
	name, below := strings.CutPrefix(name, "*.")
	host, err := ParseHost(name)
	switch {
	case strings.Contains(name, "*"):
		return p, fmt.Errorf("%s is not a host: * can only stand at the beginning, as in *.example.com", Shown(text))
	case err != nil:
		return p, fmt.Errorf("%w: give a host such as example.com, *.example.com, example.com:8443 or [fd00::1]:443",
			err)
	case below && (host.IsAddr() || !strings.Contains(host.name, ".")):
		return p, fmt.Errorf("%s stands for too many hosts: name at least two parts after *., as in *.example.com",
			Shown(text))
	}
	return pattern{host, below, port}, nil
}

// String returns the hosts as a user would write them, separated by commas.
func (h Hosts) String() string {
	var list []string
	for _, p := range h.patterns {
		text := p.host.String()
		if p.port != 0 {
			text = p.host.WithPort(p.port)
		}
		if p.below {
			text = "*." + text
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// Names reports whether the user has named a host with a port.
func (h Hosts) Names(host Host, port uint16) bool {
	for _, p := range h.patterns {
		if p.hasPort(port) && (!p.below && p.host == host || p.below && strings.HasSuffix(host.name, "."+p.host.name)) {
			return true
		}
	}
	return false
}

// NamesAddress reports whether the user has named an address with a port. The name localhost stands
// for the loopback addresses. Other names stand for no address, because whoever owns a name decides
// where it leads.
func (h Hosts) NamesAddress(a netip.AddrPort) bool {
	for _, p := range h.patterns {
		if p.hasPort(a.Port()) && (p.host == Host{addr: a.Addr()} || p.host.name == "localhost" &&
			a.Addr().IsLoopback()) {
			return true
		}
	}
	return false
}

func (p pattern) hasPort(port uint16) bool {
	return p.port == port || p.port == 0 && (port == 80 || port == 443)
}
