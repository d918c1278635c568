package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/internal/netguard"
	"github.com/attractor-go/attractor/internal/texts"
)

const (
	minTimeout = time.Second // a smaller number was meant as seconds
	maxTimeout = 24 * time.Hour
)

// serverParser reads one server of a file.
type serverParser struct {
	file *File
	*texts.Member
	problems []error
	broken   bool // the server cannot be used
	disabled bool // its user does not want it
	typed    string
	timeout  string // the member that sets the call timeout
}

// parse returns the server.
func (p *serverParser) parse(before, after []texts.Member) Server {
	s := Server{Name: p.Name, File: p.file.Name, Origin: p.file.Origin}
	if p.Kind != texts.Object {
		p.fail(p.Line, `it must be an object such as {"command": "PROGRAM"}, not %s`, p.Is())
	}
	for _, m := range slices.Concat(before, after) {
		if m.Name == p.Name {
			p.fail(p.Line, "it is there twice, also on line %d: rename or remove one", m.Line)
		}
	}
	seen := map[string]int{}
	for i := range p.Members {
		m := &p.Members[i]
		if at := seen[m.Name]; at > 0 {
			p.fail(m.Line, "%s is there twice, first on line %d", clean(m.Name, 60), at)
			continue
		}
		seen[m.Name] = m.Line
		p.field(&s, m)
	}
	if !p.broken && !p.disabled {
		p.together(&s)
	}
	if p.broken || p.disabled {
		return Server{Name: p.Name, File: p.file.Name, Origin: p.file.Origin, Off: true}
	}
	return s
}

// fail notes why the server cannot be used.
func (p *serverParser) fail(line int, format string, args ...any) {
	p.broken = true
	p.warn(line, format, args...)
}

// warn notes something of the server that has no effect.
func (p *serverParser) warn(line int, format string, args ...any) {
	p.problems = append(p.problems, &Problem{p.file.Name, line, p.Name, fmt.Errorf(format, args...)})
}

// fieldNames lists the members of a server.
func fieldNames() []string {
	return []string{"type", "command", "args", "env", "cwd", "url", "headers", "hosts", "oauth", "timeout",
		"startTimeout", "callTimeout", "enabledTools", "disabledTools", "required", "disabled", "trusted", "alwaysLoad"}
}

// field reads one member of the server.
func (p *serverParser) field(s *Server, m *texts.Member) {
	switch m.Name {
	case "type":
		p.typed = p.text(m)
	case "command":
		s.Command = p.expanded(m)
	case "args":
		s.Args = p.list(m, true)
	case "env":
		s.Env = p.table(m)
	case "cwd":
		s.Dir = p.expanded(m)
	case "url":
		s.URL = p.expanded(m)
	case "headers":
		s.Headers = p.table(m)
	case "hosts":
		s.Hosts = p.list(m, false)
		if _, err := netguard.ParseHosts(s.Hosts); err != nil {
			p.fail(m.Line, "hosts: %w", err)
		}
	case "oauth":
		p.oauth(&s.OAuth, m)
	case "startTimeout":
		s.StartTimeout = p.milliseconds(m)
	case "timeout", "callTimeout":
		if p.timeout != "" {
			p.fail(m.Line, "%s and %s mean the same: remove one", p.timeout, m.Name)
		}
		s.CallTimeout, p.timeout = p.milliseconds(m), m.Name
	case "enabledTools":
		if s.Enabled = p.list(m, false); len(s.Enabled) == 0 {
			p.fail(m.Line, "enabledTools is empty, so it would have no tools; remove enabledTools, or the server")
		}
	case "disabledTools":
		s.Disabled = p.list(m, false)
	case "required":
		s.Required = p.bool(m)
	case "alwaysLoad":
		s.AlwaysLoad = p.bool(m)
	case "disabled":
		p.disabled = p.bool(m)
	case "trusted":
		if s.Trusted = p.bool(m); s.Trusted && s.Origin == Project {
			s.Trusted = false
			p.warn(m.Line, "trusted has no effect in a file of the project; only the user can say that a server's "+
				"annotations are true")
		}
	default:
		p.unknown(m)
	}
}

// unknown tells of a member that is not known here.
func (p *serverParser) unknown(m *texts.Member) {
	name := clean(m.Name, 60)
	if hint, ok := foreign()[m.Name]; ok {
		p.fail(m.Line, "%s is not known here: %s", name, hint)
		return
	}
	if hint, ok := harmless()[m.Name]; ok {
		if hint != "" {
			p.warn(m.Line, "%s has no effect: %s", name, hint)
		}
		return
	}
	hint := "the members are " + strings.Join(fieldNames(), ", ")
	if near := texts.Near(m.Name, fieldNames()); len(near) > 0 {
		hint = "did you mean " + near[0] + "?"
	}
	p.warn(m.Line, "%s is not known, so it has no effect; %s", name, hint)
}

// foreign returns what to write for members of other programs that a server needs or that limit it.
// With one of them a server cannot be used.
func foreign() map[string]string {
	return map[string]string{
		"httpUrl":              `write "url"`,
		"serverUrl":            `write "url"`,
		"includeTools":         `write "enabledTools"`,
		"enabled_tools":        `write "enabledTools"`,
		"tools":                `write "enabledTools", or nothing for all tools`,
		"excludeTools":         `write "disabledTools"`,
		"disabled_tools":       `write "disabledTools"`,
		"enabled":              `write "disabled": true for a server that is not to be used`,
		"environment":          `write "env"`,
		"envFile":              `write the variables into "env"`,
		"env_vars":             `write "env": {"NAME": "${NAME}"}`,
		"headersHelper":        `write "headers" with ${NAME} for what is secret`,
		"http_headers":         `write "headers"`,
		"env_http_headers":     `write "headers" with ${NAME}`,
		"bearer_token_env_var": `write "headers": {"Authorization": "Bearer ${NAME}"}`,
		"bearerTokenEnvVar":    `write "headers": {"Authorization": "Bearer ${NAME}"}`,
	}
}

// harmless returns what to say about members of other programs that a server works without; nothing
// is said if that is empty.
func harmless() map[string]string {
	rule := `tools are allowed by permission rules such as mcp__SERVER__TOOL (attractor rules --help)`
	return map[string]string{
		"autoApprove": rule, "alwaysAllow": rule, "default_tools_approval_mode": rule,
		"trust":               `write "trusted" in a file of yours if the server's annotations are true; ` + rule,
		"startup_timeout_sec": `write "startTimeout", in milliseconds`,
		"startup_timeout_ms":  `write "startTimeout", in milliseconds`,
		"tool_timeout_sec":    `write "callTimeout", in milliseconds`,
		"description":         "", "name": "", "note": "", "version": "", "gallery": "", "icon": "", "$comment": "",
		"_comment": "",
	}
}

// together checks what depends on several members.
func (p *serverParser) together(s *Server) {
	if err := p.transport(s); err != nil {
		p.fail(p.Line, "%w", err)
		return
	}
	if err := s.Check(); err != nil {
		p.fail(p.Line, "%w", err)
	}
	switch {
	case s.URL == "" && s.Headers != nil:
		p.fail(p.Line, "headers are for a server with a url; a command gets variables with env")
	case s.URL != "" && (s.Args != nil || s.Env != nil || s.Dir != ""):
		p.fail(p.Line, "args, env and cwd are for a server with a command")
	case s.URL == "" && (s.OAuth.ClientID != "" || s.OAuth.MetadataURL != ""):
		p.fail(p.Line, "oauth is for a server with a url")
	}
}

// transport returns an error if the type does not fit the command or url. The type may be missing.
func (p *serverParser) transport(s *Server) error {
	switch p.typed {
	case "":
	case "stdio":
		if s.Command == "" {
			return errors.New("the type stdio needs a command")
		}
	case "http", "streamable-http", "streamableHttp", "streamable_http":
		if s.URL == "" {
			return fmt.Errorf("the type %s needs a url", p.typed)
		}
	case "sse":
		return errors.New(`the type sse is an old transport, which is not supported; nearly all servers have another URL for streamable HTTP, often ending in /mcp: ` +
			`write that with "type": "http"`)
	default:
		return fmt.Errorf("the type %q is not known; the types are stdio and http", clean(p.typed, 40))
	}
	return nil
}

// oauth reads what the file says about logins.
func (p *serverParser) oauth(o *OAuth, m *texts.Member) {
	if m.Kind != texts.Object {
		p.fail(m.Line, "oauth must be an object, not %s", m.Is())
		return
	}
	for i := range m.Members {
		switch in := &m.Members[i]; in.Name {
		case "clientId":
			o.ClientID = p.expanded(in)
		case "clientSecretVar":
			o.ClientSecretVar = p.text(in)
			if _, err := p.file.Getenv(o.ClientSecretVar); err != nil && !errors.Is(err, ErrUnset) {
				p.fail(in.Line, "%w", &variableError{o.ClientSecretVar, err})
			}
		case "clientSecret":
			p.fail(in.Line, `a secret does not belong into the file: write "clientSecretVar" with the name of a variable that has it`)
		case "metadataUrl", "authServerMetadataUrl":
			o.MetadataURL = p.expanded(in)
		case "scopes":
			if in.Kind == texts.Array {
				o.Scopes = p.list(in, false)
			} else {
				o.Scopes = strings.Fields(p.text(in))
			}
		case "callbackPort":
			o.CallbackPort = int(p.number(in, 1, 65535))
		default:
			p.warn(in.Line, "oauth: %s is not known, so it has no effect; the members are clientId, clientSecretVar, "+
				"metadataUrl, scopes and callbackPort", clean(in.Name, 60))
		}
	}
}

// value returns a value of a type.
func value[T any](p *serverParser, m *texts.Member, what string) T {
	v, ok := m.Value.(T)
	if !ok {
		p.fail(m.Line, "%s must be %s, not %s", m.Name, what, m.Is())
	}
	return v
}

func (p *serverParser) text(m *texts.Member) string { return value[string](p, m, "a string") }

func (p *serverParser) bool(m *texts.Member) bool { return value[bool](p, m, "true or false") }

// expanded returns a string with its variables replaced.
func (p *serverParser) expanded(m *texts.Member) string {
	return p.expand(m.Line, m.Name, p.text(m))
}

func (p *serverParser) expand(line int, what, text string) string {
	value, err := expand(text, p.file.Getenv)
	if err == nil && strings.ContainsRune(value, 0) {
		err = errors.New("it has a NUL character")
	}
	if err != nil {
		p.fail(line, "%s: %w", clean(what, 60), err)
	}
	return value
}

// list returns an array of strings.
func (p *serverParser) list(m *texts.Member, expand bool) (all []string) {
	noText := func(item texts.JSON) bool { return item.Value == nil } // null would be decoded as a string
	if json.Unmarshal(m.Raw, &all) != nil || all == nil || slices.ContainsFunc(m.Items, noText) {
		p.fail(m.Line, `%s must be an array of strings such as ["one", "two"]; put each value into quotes`, m.Name)
	}
	for i := range all {
		if expand {
			all[i] = p.expand(m.Line, m.Name, all[i])
		}
	}
	return all
}

// table returns an object of strings.
func (p *serverParser) table(m *texts.Member) map[string]string {
	if m.Kind != texts.Object {
		p.fail(m.Line, `%s must be an object of strings such as {"NAME": "value"}, not %s`, m.Name, m.Is())
		return nil
	}
	all := map[string]string{}
	for i := range m.Members {
		in := &m.Members[i]
		text, ok := in.Value.(string)
		_, twice := all[in.Name]
		switch {
		case !ok:
			p.fail(in.Line, "%s: %s must be a string, not %s; put it into quotes", m.Name, clean(in.Name, 60), in.Is())
			continue
		case twice:
			p.fail(in.Line, "%s: %s is there twice", m.Name, clean(in.Name, 60))
		case in.Name == "" || m.Name == "env" && strings.ContainsAny(in.Name, "=\x00") || m.Name == "headers" &&
			strings.ContainsAny(in.Name, " :\r\n\t\x00"):
			p.fail(in.Line, "%s: %q cannot be a name", m.Name, clean(in.Name, 60))
		}
		// shells read functions from names such as BASH_FUNC_x%%
		if m.Name == "env" && p.file.Origin == Project && !isVariable(in.Name) {
			p.fail(in.Line, "env: %q cannot be a name in a file of the project: it may have letters, digits and "+
				"underscores", clean(in.Name, 60))
		}
		value := p.expand(in.Line, in.Name, text)
		if m.Name == "headers" && strings.ContainsAny(value, "\r\n") {
			p.fail(in.Line, "headers: the value of %s has a line break", clean(in.Name, 60))
		}
		all[in.Name] = value
	}
	return all
}

// number returns a whole number between two limits.
func (p *serverParser) number(m *texts.Member, least, most int64) int64 {
	number, ok := m.Value.(json.Number)
	n, err := number.Int64()
	if !ok || err != nil || n < least || n > most {
		p.fail(m.Line, "%s must be a whole number from %d to %d, not %s", m.Name, least, most, m.Is())
	}
	return n
}

// milliseconds returns a timeout.
func (p *serverParser) milliseconds(m *texts.Member) time.Duration {
	number, ok := m.Value.(json.Number)
	n, err := number.Int64()
	if ok && err == nil && n > 0 && n < minTimeout.Milliseconds() {
		p.fail(m.Line, "%s is in milliseconds: write %d for %d seconds", m.Name, n*1000, n)
		return 0
	}
	return time.Duration(p.number(m, minTimeout.Milliseconds(), maxTimeout.Milliseconds())) * time.Millisecond
}
