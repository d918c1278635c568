package netguard

import (
	"net/netip"
	"sync"
)

// Error says why a host or an address may not be reached.
type Error struct {
	Host string // a name or an address, as far as it could be read
	Why  string // a clause that follows the host, such as "is a loopback address"
}

// Error returns the host and the reason.
func (e *Error) Error() string { return e.Host + " " + e.Why }

// Public returns nil if an address is a public unicast address, and otherwise an [*Error] that says
// what it is.
func Public(a netip.Addr) error {
	if why := special(a); why != "" {
		return &Error{a.String(), why}
	}
	return nil
}

// Private reports whether an address belongs to the network of a home, a company or a provider.
// Loopback addresses and those of metadata services do not.
func Private(a netip.Addr) bool {
	switch special(a) {
	case private, provider:
		return true
	}
	return false
}

// special returns what an address is if it is not a public unicast address, else "".
func special(a netip.Addr) string {
	switch {
	case !a.IsValid():
		return "is not an address"
	case a.Zone() != "":
		return "is an address of one network interface"
	case a.Is4In6():
		return "is an IPv4 address written as IPv6"
	}
	for _, r := range ranges() {
		if r.Contains(a) {
			return r.what
		}
	}
	if a.Is6() && !globalUnicast().Contains(a) {
		return "is not a public address"
	}
	return ""
}

// named is a range of addresses that are not public unicast addresses.
type named struct {
	netip.Prefix
	what string
}

// globalUnicast is the only part of IPv6 from which public addresses are given out.
var globalUnicast = sync.OnceValue(func() netip.Prefix { return netip.MustParsePrefix("2000::/3") })

// ranges lists what IANA's registries of special-purpose addresses have, and the addresses of cloud
// services. The most specific come first, because the first that contains an address names it.
var ranges = sync.OnceValue(func() (list []named) {
	for _, r := range []struct{ prefix, what string }{
		{"169.254.169.254/32", metadata}, {"169.254.170.2/32", metadata}, {"100.100.100.200/32", metadata},
		{"168.63.129.16/32", metadata},
		{"192.0.0.192/32", metadata}, {"fd00:ec2::254/128", metadata}, {"fd00:ec2::23/128", metadata},
		{"fd20:ce::254/128", metadata},
		{"0.0.0.0/8", "is an unspecified address"}, {"10.0.0.0/8", private}, {"100.64.0.0/10", provider},
		{"127.0.0.0/8", loopback}, {"169.254.0.0/16", linkLocal}, {"172.16.0.0/12", private},
		{"192.0.0.0/24", reserved},
		{"192.0.2.0/24", documentation}, {"192.31.196.0/24", reserved}, {"192.52.193.0/24", reserved},
		{"192.88.99.0/24", embedding},
		{"192.168.0.0/16", private}, {"192.175.48.0/24", reserved}, {"198.18.0.0/15", benchmarks},
		{"198.51.100.0/24", documentation},
		{"203.0.113.0/24", documentation}, {"224.0.0.0/4", multicast},
		{"255.255.255.255/32", "is the broadcast address"}, {"240.0.0.0/4", reserved},
		{"::/128", "is an unspecified address"}, {"::1/128", loopback}, {"::/96", embedding},
		{"64:ff9b::/96", embedding},
		{"64:ff9b:1::/48", embedding}, {"100::/63", reserved}, {"2001::/32", embedding}, {"2001:2::/48", benchmarks},
		{"2001::/23", reserved},
		{"2001:db8::/32", documentation}, {"2002::/16", embedding}, {"2620:4f:8000::/48", reserved},
		{"3fff::/20", documentation},
		{"fc00::/7", private}, {"fe80::/10", linkLocal}, {"fec0::/10", private}, {"ff00::/8", multicast},
	} {
		list = append(list, named{netip.MustParsePrefix(r.prefix), r.what})
	}
	return list
})

const (
	metadata      = "is the address of a cloud's metadata service"
	private       = "is a private address"
	provider      = "is an address inside a provider's network"
	loopback      = "is a loopback address"
	linkLocal     = "is a link-local address"
	reserved      = "is a reserved address"
	documentation = "is an address for documentation"
	benchmarks    = "is an address for benchmarks"
	multicast     = "is a multicast address"
	embedding     = "is an address that stands for an IPv4 address"
)
