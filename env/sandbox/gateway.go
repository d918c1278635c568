package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/attractor-go/attractor/internal/netguard"
	"github.com/attractor-go/attractor/internal/proxy"
	"github.com/attractor-go/attractor/internal/version"
)

// helperName is the name of the program that runs inside the sandbox.
const helperName = "attractor-env"

// FindHelper returns the path of the program attractor-env: the given one, or one beside this
// program, or one in PATH. The error says how to install it.
func FindHelper(given string) (string, error) {
	return (&Options{Helper: given, Environ: os.Environ()}).findHelper()
}

// findHelper is FindHelper, without what commands may have put into the roots.
func (o *Options) findHelper() (string, error) {
	if o.Helper != "" {
		return filepath.Abs(o.Helper)
	}
	if own, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(own), helperName)
		if path, err := exec.LookPath(beside); err == nil {
			return path, nil
		}
	}
	program, err := o.find(helperName)
	if err != nil {
		return "", lacking{fmt.Errorf("the program %s is neither beside this one nor in PATH: %s", helperName,
			version.Install("cmd/"+helperName))}
	}
	return program, nil
}

// gateway is the way of commands to the hosts of Options.AllowHosts: a proxy in this process, and a
// helper in the sandbox that leads there.
type gateway struct {
	proxy  *proxy.Proxy
	helper string
}

// maxSocket is the most bytes that the directory of a socket can have; the system limits the whole
// path to 107.
const maxSocket = 100

// newGateway starts the proxy, with its socket in the private directory of a sandbox, because the
// next sandbox removes that if this process is killed. It returns nil if no hosts are allowed.
func newGateway(dir string, o *Options) (*gateway, error) {
	if len(o.AllowHosts) == 0 {
		return nil, nil
	}
	if o.Network {
		return nil, errors.New("the whole network is allowed, so single hosts have no effect: allow one or the other")
	}
	hosts, err := netguard.ParseHosts(o.AllowHosts)
	if err != nil {
		return nil, fmt.Errorf("allowed hosts: %w", err)
	}
	if len(dir) > maxSocket {
		dir = "" // the proxy makes a shorter one
	}
	g := new(gateway)
	if g.helper, err = o.findHelper(); err != nil {
		return nil, fmt.Errorf("allowed hosts: %w", err)
	}
	if _, err := exec.LookPath(g.helper); err != nil {
		return nil, fmt.Errorf("allowed hosts: the helper %s cannot be run: %w", g.helper, err)
	}
	if g.proxy, err = proxy.New(proxy.Options{Hosts: hosts, Resolver: o.Resolver, Dir: dir}); err != nil {
		return nil, fmt.Errorf("allowed hosts: %w", err)
	}
	return g, nil
}

// command returns a command that uses the gateway, as it runs in a sandbox that shows the helper
// and the socket under these names.
func (g *gateway) command(helper, socket string, args []string) []string {
	if g == nil {
		return args
	}
	return append([]string{helper, "proxy", "--socket", socket, "--"}, args...)
}

// close ends the proxy.
func (g *gateway) close() error {
	if g == nil {
		return nil
	}
	return g.proxy.Close()
}

// RefusedHosts returns the hosts that commands were refused since the last call, each with a
// sentence for the model that says why, and how many more there were. Commands that run at the same
// time share the list.
func (s *Sandbox) RefusedHosts() (list []HostRefusal, more int) {
	g := s.hosts()
	if g == nil {
		return nil, 0
	}
	refused, more := g.proxy.Refused()
	for _, r := range refused {
		list = append(list, HostRefusal(r))
	}
	return list, more
}

// HostRefusal describes a connection that a command was refused.
type HostRefusal struct {
	Host string // with its port, as far as it could be read
	Why  string // a sentence, which says what would allow it
}
