package faults

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// link leads to a network namespace of its own, in which a worker runs.
type link struct {
	name string
	host string // this side's address, by which the worker reaches us
}

// newLink makes a link, or says why that cannot be.
func newLink(t *testing.T, n int) (*link, error) {
	l := &link{name: fmt.Sprintf("fl%d-%d", os.Getpid()%100000, n),
		host: fmt.Sprintf("10.%d.%d.1", 100+os.Getpid()%100, n)}
	peer := fmt.Sprintf("10.%d.%d.2", 100+os.Getpid()%100, n)
	if err := ip("netns", "add", l.name); err != nil {
		return nil, err
	}
	t.Cleanup(func() { // with it goes the link
		if err := ip("netns", "del", l.name); err != nil {
			t.Error(err)
		}
	})
	for _, args := range [][]string{
		{"link", "add", l.name, "type", "veth", "peer", "name", "up0", "netns", l.name},
		{"addr", "add", l.host + "/30", "dev", l.name},
		{"link", "set", l.name, "up"},
		{"-n", l.name, "addr", "add", peer + "/30", "dev", "up0"},
		{"-n", l.name, "link", "set", "up0", "up"},
		{"-n", l.name, "link", "set", "lo", "up"},
	} {
		if err := ip(args...); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// cut ends the link, and join mends it. Connections do not notice, as when a cable is pulled.
func (l *link) cut() error  { return ip("link", "set", l.name, "down") }
func (l *link) join() error { return ip("link", "set", l.name, "up") }

// behind returns the words that run a command at the far end.
func (l *link) behind() []string { return []string{"ip", "netns", "exec", l.name} }

// ip runs the program that configures networks.
func ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %q: %w: %s", args, err, out)
	}
	return nil
}
