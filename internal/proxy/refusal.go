package proxy

import (
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/netguard"
)

// Refusal describes a connection that the proxy refused.
type Refusal struct {
	Host string // with its port, as far as it could be read
	Why  string // a sentence for the model, which says what would allow it
}

// maxRefusals limits the refusals that are kept between two calls of Refused.
const maxRefusals = 50

// Refused returns the refusals since the last call, each once, and how many more there were.
func (p *Proxy) Refused() (list []Refusal, more int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list, more = p.refused, p.dropped
	p.refused, p.dropped = nil, 0
	return list, more
}

// record keeps a refusal.
func (p *Proxy) record(r Refusal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case slices.Contains(p.refused, r):
	case len(p.refused) == maxRefusals:
		p.dropped++
	default:
		p.refused = append(p.refused, r)
	}
}

// allow returns the host and the port that a client asks for, or a Refusal.
func (p *Proxy) allow(name, digits string) (netguard.Host, uint16, *Refusal) {
	host, port, err := netguard.ParseHostPort(name, digits)
	if err != nil {
		return host, 0, &Refusal{Host: netguard.Shown(name),
			Why: "The sandbox does not allow this host: " + err.Error() + "."}
	}
	if !p.hosts.Names(host, port) {
		return host, port, &Refusal{host.WithPort(port),
			"The sandbox does not allow connections to " + host.WithPort(port) + "; --allow-host " + named(host,
				port) + " would."}
	}
	return host, port, nil
}

// named returns a host as --allow-host takes it.
func named(h netguard.Host, port uint16) string {
	if port != 80 && port != 443 {
		return h.WithPort(port)
	}
	return h.String()
}

// unreached returns why a host could not be connected to. It is a Refusal if the proxy did not want
// to.
func unreached(host netguard.Host, port uint16, err error) (status int, r Refusal) {
	r = Refusal{Host: host.WithPort(port)}
	var blocked *netguard.Error
	var op *net.OpError
	switch {
	case errors.As(err, &blocked):
	case errors.As(err, &op) && op.Op == "dial":
		r.Why = "The proxy of the sandbox cannot connect to " + r.Host + ": " + err.Error() + "."
		return http.StatusBadGateway, r
	default:
		r.Why = "The request to " + r.Host + " failed: " + err.Error() + "."
		return http.StatusBadGateway, r
	}
	r.Why = "The sandbox does not allow the connection to " + r.Host + ", because " + blocked.Error() +
		"; --allow-host " + addressed(blocked.Host, port) + " would allow the address too."
	return http.StatusForbidden, r
}

// addressed returns an address as --allow-host takes it.
func addressed(address string, port uint16) string {
	h, err := netguard.ParseHost(address)
	if err != nil {
		return address
	}
	return named(h, port)
}

// refuse records a refusal and returns an answer with it. The reason phrase has it too: some
// programs show that, and none shows the body.
func (p *Proxy) refuse(status int, r Refusal) *http.Response {
	if status == http.StatusForbidden {
		p.record(r)
	}
	return answer(status, r.Why)
}

// oneLine returns a text as a reason phrase: printable ASCII, one line, bounded.
func oneLine(text string) string {
	text = strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return ' '
		}
		return c
	}, text)
	return text[:min(len(text), 300)]
}
