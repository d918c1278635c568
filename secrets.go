package attractor

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/secret/masked"
)

// Secrets returns a masker for the secrets of an environment, each NAME=value: the keys of model
// providers and the variables that commands do not get because of what they are called. Values that
// are paths, numbers or switches are no secrets. own holds others by their names. The errors name
// what cannot be masked, and never have the value.
func Secrets(environ []string, own map[string]string) (m *secret.Masker, unmasked []error) {
	m = secret.New()
	register := func(name, value string) {
		if err := m.Register(name, value); err != nil {
			unmasked = append(unmasked, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		register(name, own[name])
	}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if len(env.FilterVars(env.VarsDefault, []string{entry}, nil)) > 0 || isSetting(value) {
			continue
		}
		if isWord(value) {
			unmasked = append(unmasked, fmt.Errorf("%s is not masked: %w", name, errWord))
			continue
		}
		register(name, secretPart(value))
	}
	return m, unmasked
}

// errWord says that a value cannot be told from a word of a text.
var errWord = errors.New("it is an ordinary word, which other texts may have")

// isSetting reports whether the value of a variable cannot be a secret: it is empty, a path, a
// number or a switch.
func isSetting(value string) bool {
	value = strings.ToLower(strings.TrimSpace(value))
	switch value {
	case "", "true", "false", "yes", "no", "on", "off", "none", "null", "auto":
		return true
	}
	return isPath(value) || len(value) < secret.MinLength && strings.Trim(value, "0123456789") == ""
}

// isPath reports whether a value is an absolute path, such as of a socket or of a file with keys.
func isPath(value string) bool {
	_, err := os.Stat(value)
	return (strings.HasPrefix(value, "/") || strings.HasPrefix(value, "~/") || err == nil) &&
		!strings.ContainsAny(value, " \n") && strings.Contains(value, "/")
}

// isWord reports whether a value is a short word.
func isWord(value string) bool {
	return len(value) >= secret.MinLength && len(value) <= 12 && strings.Trim(strings.ToLower(value),
		"abcdefghijklmnopqrstuvwxyz") == ""
}

// secretPart returns the password of a URL that has a long one, else the value.
func secretPart(value string) string {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || u.User == nil {
		return value
	}
	if password, ok := u.User.Password(); ok && len(password) >= secret.MinLength {
		return password
	}
	return value
}

// maskServers registers what the configuration of servers declares as secrets: variables, headers
// and parameters of URLs that look like ones, and passwords in URLs. The errors name those that
// cannot be masked.
func maskServers(m *secret.Masker, servers []mcp.Server) (unmasked []error) {
	register := func(server, name, value string) {
		if isSetting(value) {
			return
		}
		if err := m.Register(name, value); err != nil {
			unmasked = append(unmasked, fmt.Errorf("the MCP server %s: %w", server, err))
		}
	}
	for i := range servers {
		s := &servers[i]
		for _, name := range slices.Sorted(maps.Keys(s.Env)) {
			if value := s.Env[name]; env.LooksSecret(name, value) {
				register(s.Name, name, secretPart(value))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
			if value, is := headerSecret(name, s.Headers[name]); is {
				register(s.Name, name, value)
			}
		}
		for name, value := range urlSecrets(s.URL) {
			register(s.Name, name, value)
		}
	}
	return unmasked
}

// urlSecrets yields the password and the parameters of a URL that look like secrets, by their
// names.
func urlSecrets(text string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		u, err := url.Parse(text)
		if err != nil {
			return
		}
		if password, ok := u.User.Password(); ok && !yield("password", password) {
			return
		}
		query := u.Query()
		for _, name := range slices.Sorted(maps.Keys(query)) {
			for _, value := range query[name] {
				if env.LooksSecret(strings.ToUpper(strings.ReplaceAll(name, "-", "_")), value) && !yield(name, value) {
					return
				}
			}
		}
	}
}

// keyVars returns the variables with the keys of the program's and the user's own providers, also
// those in headers. Commands do not get them.
func (c *config) keyVars() (names []string) {
	for _, kind := range c.Kinds {
		names = append(names, kind.KeyVars...)
		known, _ := kind.Config(c.getenv)
		for name, value := range kind.Headers {
			if _, is := headerSecret(name, known.Header.Get(name)); is {
				os.Expand(value, func(variable string) string {
					names = append(names, variable)
					return ""
				})
			}
		}
	}
	return names
}

// ownSecrets returns the secrets of the configuration by their names: those that the program names,
// and those of its and the user's own providers.
func (c *config) ownSecrets() map[string]string {
	own := maps.Clone(c.Secrets)
	add := func(name, value string) {
		if own == nil {
			own = map[string]string{}
		}
		own[name] = value
	}
	for _, kind := range c.Kinds {
		known, _ := kind.Config(c.getenv)
		for _, name := range kind.KeyVars {
			// others are found by their names
			if value := c.getenv(name); value != "" && !env.LooksSecret(name, value) {
				add(name, value)
			}
		}
		for name := range known.Header {
			if value, is := headerSecret(name, known.Header.Get(name)); is {
				add(kind.Name+"."+name, value)
			}
		}
		for name, value := range urlSecrets(kind.URL(c.getenv)) {
			add(kind.Name+"."+name, value)
		}
	}
	return own
}

// headerSecret returns the secret in a header, and whether there is one by its name.
func headerSecret(name, value string) (secret string, is bool) {
	if isSetting(value) || !env.LooksSecret(strings.ToUpper(strings.ReplaceAll(name, "-", "_")), value) &&
		!strings.HasSuffix(strings.ToLower(name), "authorization") {
		return "", false
	}
	if _, rest, ok := strings.Cut(value, " "); ok { // of Bearer, Basic or Token
		value = rest
	}
	return value, true
}

// SessionSecrets returns a masker for what a session of a configuration masks from its beginning:
// the secrets of the environment and the configuration, and those that the configuration of the MCP
// servers of its directory declares. It starts nothing.
func SessionSecrets(of Config) (*secret.Masker, error) {
	c, err := of.apart()
	if err != nil {
		return nil, err
	}
	servers, err := c.configuredServers()
	if err != nil {
		return nil, err
	}
	var s Setup
	s.openSecrets(c)
	maskServers(s.Secrets, servers.List) // what cannot be masked is told when the session opens
	return s.Secrets, nil
}

// openSecrets makes the masker of a session.
func (s *Setup) openSecrets(c *config) {
	environ := c.Environ
	if environ == nil && c.Getenv == nil {
		environ = os.Environ()
	}
	for _, kind := range c.table() { // an own Getenv may know more
		for _, name := range kind.KeyVars {
			if entry := name + "=" + c.getenv(name); !slices.Contains(environ, entry) {
				environ = append(slices.Clip(environ), entry)
			}
		}
	}
	s.Secrets, s.Unmasked = Secrets(environ, c.ownSecrets())
	c.mask = func(name, value string) { _ = s.Secrets.Register(name, value) } // one too short is not masked
}

// maskModel puts the masker in front of the provider. What a program adds to the options later
// stays outside, except for OnEvent and the hooks, which Start wraps.
func (s *Setup) maskModel(*config) {
	o := &s.Options
	o.Client.Middleware = append(o.Client.Middleware, masked.Provider(s.Secrets))
	o.Instructions = s.Secrets.String(o.Instructions)
}

// maskDoors wraps the hooks that the program has set.
func (s *Setup) maskDoors() {
	o := &s.Options
	if s.Secrets == nil { // a program has made the Setup itself
		s.Secrets = secret.New()
	}
	masked.Doors(s.Secrets, o)
	o.OnEvent = s.warnings.events(o.OnEvent, s.OnOwnEvent)
}
