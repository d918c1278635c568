package netguard

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// Host holds the name or the address of a host in its usual spelling, so that equal hosts are equal
// values.
type Host struct {
	name string // lower-case ASCII without a final dot; empty for an address
	addr netip.Addr
}

// IsAddr reports whether the host is an address.
func (h Host) IsAddr() bool { return h.addr.IsValid() }

// String returns the name or the address, which is not in brackets.
func (h Host) String() string {
	if h.IsAddr() {
		return h.addr.String()
	}
	return h.name
}

// WithPort returns the host with a port, as in "example.com:443" and "[::1]:443".
func (h Host) WithPort(port uint16) string {
	return net.JoinHostPort(h.String(), strconv.Itoa(int(port)))
}

// Authority returns the host with its port as URLs and the header Host have them: without the port
// if that is the usual one.
func (h Host) Authority(port, usual uint16) string {
	text := h.WithPort(port)
	if port == usual {
		return text[:strings.LastIndexByte(text, ':')]
	}
	return text
}

// ParseHost reads a name or an address, without a port. IPv6 addresses may be in brackets. It
// refuses the spellings of IPv4 addresses that programs read differently, such as 127.1 and
// 0x7f000001.
func ParseHost(text string) (Host, error) {
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		text = text[1 : len(text)-1]
	}
	if a, err := netip.ParseAddr(text); err == nil {
		return Host{addr: a}, nil
	}
	ascii, err := toASCII(text)
	name := strings.TrimSuffix(ascii, ".")
	switch {
	case err != nil, !validName(name):
		return Host{}, &Error{Shown(text), "is not a host name or address"}
	case endsInNumber(name):
		return Host{}, &Error{Shown(text),
			"is an unusual spelling of an address: write an IPv4 address as four decimal numbers"}
	}
	return Host{name: name}, nil
}

// toASCII returns a host name as DNS has it, in lower case.
func toASCII(name string) (string, error) {
	for i := range len(name) {
		if name[i] >= 0x80 {
			return idna.Lookup.ToASCII(name)
		}
	}
	return strings.ToLower(name), nil
}

// validName reports whether a name consists of labels of letters, digits, - and _.
func validName(name string) bool {
	if len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
	}
	return true
}

// endsInNumber reports whether the last label of a name is a number. Browsers and C libraries read
// such names as IPv4 addresses.
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

// Shown returns a text from outside for an error: printable ASCII, and not long.
func Shown(text string) string {
	if len(text) > 100 {
		text = text[:100] + "..."
	}
	if quoted := strconv.QuoteToASCII(text); text == "" || quoted != `"`+text+`"` {
		return quoted
	}
	return text
}

// ParseHostPort reads a host and its port.
func ParseHostPort(name, port string) (Host, uint16, error) {
	h, err := ParseHost(name)
	if err != nil {
		return Host{}, 0, err
	}
	n, err := parsePort(port)
	return h, n, err
}

// splitPort returns the host and the port of a text such as "example.com:443". The port is 0 if
// there is none.
func splitPort(text string) (host string, port uint16, err error) {
	if _, err := netip.ParseAddr(text); err == nil || !strings.Contains(text, ":") || strings.HasSuffix(text, "]") {
		return text, 0, nil
	}
	host, digits, err := net.SplitHostPort(text)
	if err != nil {
		return "", 0, &Error{Shown(text), "is not a host with a port"}
	}
	if port, err = parsePort(digits); err != nil {
		return "", 0, err
	}
	return host, port, nil
}

func parsePort(digits string) (uint16, error) {
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 || strings.Trim(digits, "0123456789") != "" {
		return 0, fmt.Errorf("the port %s is not a number from 1 to 65535", Shown(digits))
	}
	return uint16(n), nil
}
