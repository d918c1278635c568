package loopdns

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// Server answers questions about names. Each name has a list of addresses for each time that it is
// asked about; the last list stays.
type Server struct {
	conn    *net.UDPConn
	answers map[string][][]netip.Addr

	mu    sync.Mutex
	asked map[dnsmessage.Question]int
}

// Start starts a server that ends with the test. Answers holds, by name, what each question about
// it is answered with, as addresses separated by spaces.
func Start(t testing.TB, answers map[string][]string) *Server {
	t.Helper()
	s := &Server{answers: map[string][][]netip.Addr{}, asked: map[dnsmessage.Question]int{}}
	for name, lists := range answers {
		for _, list := range lists {
			var addrs []netip.Addr
			for text := range strings.FieldsSeq(list) {
				addrs = append(addrs, netip.MustParseAddr(text))
			}
			s.answers[name] = append(s.answers[name], addrs)
		}
	}
	var err error
	if s.conn, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.serve(t)
	}()
	t.Cleanup(func() { s.conn.Close(); <-done })
	return s
}

// Resolver returns a resolver that asks only this server.
func (s *Server) Resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", s.conn.LocalAddr().String())
	}}
}

// Asked returns how often the address of a name was asked for.
func (s *Server) Asked(name string) (times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for q, n := range s.asked {
		if q.Type == dnsmessage.TypeA && strings.TrimSuffix(q.Name.String(), ".") == name {
			times += n
		}
	}
	return times
}

func (s *Server) serve(t testing.TB) {
	buf := make([]byte, 1500)
	for {
		n, from, err := s.conn.ReadFromUDP(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		var m dnsmessage.Message
		if err != nil || m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
			t.Error("loopdns: cannot read a question:", err)
			continue
		}
		packed, err := s.answer(m)
		if err == nil {
			_, err = s.conn.WriteToUDP(packed, from)
		}
		if err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error("loopdns: cannot answer:", err)
		}
	}
}

// answer returns the packed answer to a question.
func (s *Server) answer(m dnsmessage.Message) ([]byte, error) {
	q := m.Questions[0]
	name := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
	s.mu.Lock()
	lists, times := s.answers[name], s.asked[q]
	s.asked[q]++
	s.mu.Unlock()
	reply := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true,
		RecursionDesired: true}, Questions: m.Questions}
	if lists == nil {
		reply.RCode = dnsmessage.RCodeNameError
		return reply.Pack()
	}
	for _, a := range lists[min(times, len(lists)-1)] {
		h := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
		switch {
		case q.Type == dnsmessage.TypeA && a.Is4():
			reply.Answers = append(reply.Answers,
				dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}})
		case q.Type == dnsmessage.TypeAAAA && a.Is6():
			reply.Answers = append(reply.Answers,
				dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	return reply.Pack()
}
