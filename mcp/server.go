package mcp

import (
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/attractor-go/attractor/sanitize"
)

// Origin says whose a server is. The host decides by it where the server runs and what it gets.
type Origin uint8

// The origins.
const (
	User    Origin = iota // from the user's own configuration
	Project               // from a file of the project
)

// String returns the origin's name.
func (o Origin) String() string {
	if o == Project {
		return "project"
	}
	return "user"
}

// The defaults of a server's timeouts.
const (
	DefaultStartTimeout = 30 * time.Second
	DefaultCallTimeout  = 2 * time.Minute
)

// maxCall limits the time of a call whose progress goes on.
const maxCall = time.Hour

// Server describes a server, as a configuration file has it. It has either a Command or a URL.
type Server struct {
	Name   string
	File   string // the configuration file, for messages
	Origin Origin
	// Off says that the server is disabled, or that its configuration has a mistake. It only keeps
	// its name from others, see [Merge].
	Off bool

	// Command is a program that speaks the protocol on its standard input and output. Env is added
	// to its environment.
	Command string
	Args    []string
	Env     map[string]string
	Dir     string // its working directory; empty means the environment's

	// URL is the address of a server that speaks streamable HTTP. Headers go with every request to
	// it.
	URL     string
	Headers map[string]string
	OAuth   OAuth
	// Hosts names hosts that may be connected to although they are not public, as [Network.Client]
	// says.
	Hosts []string

	// StartTimeout limits the time until the server has listed its tools. A server that cannot
	// begin after it was asked for the newest version of the protocol is started again, with the
	// same time once more. CallTimeout limits the time of a call without progress; a report of
	// progress begins it again, for an hour at most, and time in which a person answers does not
	// count. Zero means the defaults.
	StartTimeout, CallTimeout time.Duration
	// Enabled names the only tools that are used, if it is not empty. Disabled names tools that are
	// not used.
	Enabled, Disabled []string
	// Required says that the session must not begin without the server.
	Required bool
	// AlwaysLoad says that the server's tools are offered even if all others are found by a search,
	// because there are so many.
	AlwaysLoad bool
	// Trusted says that the server's annotations are true: its tools with a readOnlyHint then are
	// tool.ReadOnly.
	Trusted bool
}

// OAuth holds what a configuration says about the authorization of a remote server. The zero value
// leaves everything to discovery.
type OAuth struct {
	ClientID        string
	ClientSecretVar string // the environment variable that has the client's secret
	MetadataURL     string // of the authorization server
	Scopes          []string
	CallbackPort    int
}

// Check returns why a server cannot be used.
func (s *Server) Check() error {
	switch {
	case s.Name == "" || len(s.Name) > 100 || s.Name != sanitize.Text(s.Name) || strings.ContainsAny(s.Name, "\t\r\n"):
		return errors.New("a server's name must have 1 to 100 visible characters")
	case s.Command == "" && s.URL == "":
		return errors.New(`it has neither a command nor a url; give it one of them`)
	case s.Command != "" && s.URL != "":
		return errors.New("it has a command and a url; remove one of them")
	case s.URL == "":
		return nil
	}
	_, err := serverURL(s.URL)
	return err
}

// host returns the host of a remote server, with its port if the URL has one. It is empty for a
// server on this machine.
func (s *Server) host() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return ""
	}
	return u.Host
}
