package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/internal/names"
	"github.com/attractor-go/attractor/internal/netguard"
	"github.com/attractor-go/attractor/sanitize"
)

const (
	minTimeout = time.Second // a smaller number was meant as seconds
	maxTimeout = 24 * time.Hour
)

// serverParser reads one server of a file.
type serverParser struct {
	file *File
	*entry
	problems []error
	broken   bool // the server cannot be used
	off      bool // its user does not want it
	typed    string
	timeout  string // the member that sets the call timeout
}

// parse returns the server. It is false if the server cannot be used, or must not be.
func (p *serverParser) parse(before, after []entry) (Server, bool) {
	s := Server{Name: p.name, File: p.file.Name, Origin: p.file.Origin}
	if p.name == "" || len(p.name) > 100 || p.name != sanitize.Text(p.name) || strings.ContainsAny(p.name, "\t\r\n") {
		p.fail(p.line, "a server's name must have 1 to 100 visible characters")
	}
	if p.kind != object {
		p.fail(p.line, `it must be an object such as {"command": "PROGRAM"}, not %s`, p.is())
	}
	for _, m := range slices.Concat(before, after) {
		if m.name == p.name {
			p.fail(p.line, "it is there twice, also on line %d: rename or remove one", m.line)
		}
	}
	seen := map[string]int{}
	for i := range p.members {
		m := &p.members[i]
		if at := seen[m.name]; at > 0 {
			p.fail(m.line, "%s is there twice, first on line %d", clean(m.name, 60), at)
			continue
		}
		seen[m.name] = m.line
		p.field(&s, m)
	}
	if !p.broken && !p.off {
		p.whole(&s)
	}
	return s, !p.broken && !p.off
}

// fail notes why the server cannot be used.
func (p *serverParser) fail(line int, format string, args ...any) {
	p.broken = true
	p.warn(line, format, args...)
}

// warn notes something of the server that has no effect.
func (p *serverParser) warn(line int, format string, args ...any) {
	p.problems = append(p.problems, &Problem{p.file.Name, line, p.name, fmt.Errorf(format, args...)})
}

// fieldNames lists the members of a server.
func fieldNames() []string {
	return []string{"type", "command", "args", "env", "cwd", "url", "headers", "hosts", "oauth", "timeout", "startTimeout", "callTimeout", "enabledTools",
		"disabledTools", "required", "disabled", "trusted", "alwaysLoad"}
}

// field reads one member of the server.
func (p *serverParser) field(s *Server, m *entry) {
	switch m.name {
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
			p.fail(m.line, "hosts: %w", err)
		}
	case "oauth":
		p.oauth(&s.OAuth, m)
	case "startTimeout":
		s.StartTimeout = p.milliseconds(m)
	case "timeout", "callTimeout":
		if p.timeout != "" {
			p.fail(m.line, "%s and %s mean the same: remove one", p.timeout, m.name)
		}
		s.CallTimeout, p.timeout = p.milliseconds(m), m.name
	case "enabledTools":
		if s.Enabled = p.list(m, false); len(s.Enabled) == 0 {
			p.fail(m.line, "enabledTools is empty, so it would have no tools; remove enabledTools, or the server")
		}
	case "disabledTools":
		s.Disabled = p.list(m, false)
	case "required":
		s.Required = p.bool(m)
	case "alwaysLoad":
		s.AlwaysLoad = p.bool(m)
	case "disabled":
		p.off = p.bool(m)
	case "trusted":
		if s.Trusted = p.bool(m); s.Trusted && s.Origin == Project {
			s.Trusted = false
			p.warn(m.line, "trusted has no effect in a file of the project; only the user can say that a server's annotations are true")
		}
	default:
		p.unknown(m)
	}
}

// unknown tells of a member that is not known here.
func (p *serverParser) unknown(m *entry) {
	name := clean(m.name, 60)
	if hint, ok := foreign()[m.name]; ok {
		p.fail(m.line, "%s is not known here: %s", name, hint)
		return
	}
	if hint, ok := harmless()[m.name]; ok {
		if hint != "" {
			p.warn(m.line, "%s has no effect: %s", name, hint)
		}
		return
	}
	hint := "the members are " + strings.Join(fieldNames(), ", ")
	if near := names.Near(m.name, fieldNames()); len(near) > 0 {
		hint = "did you mean " + near[0] + "?"
	}
	p.warn(m.line, "%s is not known, so it has no effect; %s", name, hint)
}

// foreign lists members by which other programs say something that a server does not work without, or that limits it, and what to write.
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

// harmless lists members of other programs without which a server works as well, and what to say about them.
func harmless() map[string]string {
	rule := `tools are allowed by permission rules such as mcp__SERVER__TOOL (attractor rules --help)`
	return map[string]string{
		"autoApprove": rule, "alwaysAllow": rule, "default_tools_approval_mode": rule,
		"trust":               `write "trusted" in a file of yours if the server's annotations are true; ` + rule,
		"startup_timeout_sec": `write "startTimeout", in milliseconds`,
		"startup_timeout_ms":  `write "startTimeout", in milliseconds`,
		"tool_timeout_sec":    `write "callTimeout", in milliseconds`,
		"description":         "", "name": "", "note": "", "version": "", "gallery": "", "icon": "", "$comment": "", "_comment": "",
	}
}

// whole checks what no member alone shows.
func (p *serverParser) whole(s *Server) {
	if err := p.transport(s); err != nil {
		p.fail(p.line, "%w", err)
		return
	}
	if err := s.check(); err != nil {
		p.fail(p.line, "%w", err)
	}
	switch {
	case s.URL == "" && s.Headers != nil:
		p.fail(p.line, "headers are for a server with a url; a command gets variables with env")
	case s.URL != "" && (s.Args != nil || s.Env != nil || s.Dir != ""):
		p.fail(p.line, "args, env and cwd are for a server with a command")
	case s.URL == "" && (s.OAuth.ClientID != "" || s.OAuth.MetadataURL != ""):
		p.fail(p.line, "oauth is for a server with a url")
	}
}

// transport compares the type with what there is. A server without a type has the one that its command or url needs.
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
func (p *serverParser) oauth(o *OAuth, m *entry) {
	if m.kind != object {
		p.fail(m.line, "oauth must be an object, not %s", m.is())
		return
	}
	for i := range m.members {
		switch in := &m.members[i]; in.name {
		case "clientId":
			o.ClientID = p.expanded(in)
		case "clientSecretVar":
			o.ClientSecretVar = p.text(in)
			if _, err := p.file.Getenv(o.ClientSecretVar); err != nil && !errors.Is(err, ErrUnset) {
				p.fail(in.line, "%w", &variableError{o.ClientSecretVar, err})
			}
		case "clientSecret":
			p.fail(in.line, `a secret does not belong into the file: write "clientSecretVar" with the name of a variable that has it`)
		case "metadataUrl", "authServerMetadataUrl":
			o.MetadataURL = p.expanded(in)
		case "scopes":
			if in.kind == array {
				o.Scopes = p.list(in, false)
			} else {
				o.Scopes = strings.Fields(p.text(in))
			}
		case "callbackPort":
			o.CallbackPort = int(p.number(in, 1, 65535))
		default:
			p.warn(in.line, "oauth: %s is not known, so it has no effect; the members are clientId, clientSecretVar, metadataUrl, scopes and callbackPort", clean(in.name, 60))
		}
	}
}

// text returns a string.
func (p *serverParser) text(m *entry) string {
	text, ok := m.value.(string)
	if !ok {
		p.fail(m.line, "%s must be a string, not %s", m.name, m.is())
	}
	return text
}

// expanded returns a string with its variables replaced.
func (p *serverParser) expanded(m *entry) string {
	return p.expand(m.line, m.name, p.text(m))
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
func (p *serverParser) list(m *entry, expand bool) []string {
	if m.kind != array {
		p.fail(m.line, `%s must be an array of strings such as ["one", "two"], not %s`, m.name, m.is())
		return nil
	}
	all := []string{}
	for i := range m.items {
		text, ok := m.items[i].value.(string)
		switch {
		case !ok:
			p.fail(m.items[i].line, `%s must have strings, not %s; put it into quotes`, m.name, m.items[i].is())
		case expand:
			text = p.expand(m.items[i].line, m.name, text)
		}
		all = append(all, text)
	}
	return all
}

// table returns an object of strings.
func (p *serverParser) table(m *entry) map[string]string {
	if m.kind != object {
		p.fail(m.line, `%s must be an object of strings such as {"NAME": "value"}, not %s`, m.name, m.is())
		return nil
	}
	all := map[string]string{}
	for i := range m.members {
		in := &m.members[i]
		text, ok := in.value.(string)
		_, twice := all[in.name]
		switch {
		case !ok:
			p.fail(in.line, "%s: %s must be a string, not %s; put it into quotes", m.name, clean(in.name, 60), in.is())
			continue
		case twice:
			p.fail(in.line, "%s: %s is there twice", m.name, clean(in.name, 60))
		case in.name == "" || m.name == "env" && strings.ContainsAny(in.name, "=\x00") || m.name == "headers" && strings.ContainsAny(in.name, " :\r\n\t\x00"):
			p.fail(in.line, "%s: %q cannot be a name", m.name, clean(in.name, 60))
		}
		if m.name == "env" && p.file.Origin == Project && !isVariable(in.name) { // shells read functions from names such as BASH_FUNC_x%%
			p.fail(in.line, "env: %q cannot be a name in a file of the project: it may have letters, digits and underscores", clean(in.name, 60))
		}
		value := p.expand(in.line, in.name, text)
		if m.name == "headers" && strings.ContainsAny(value, "\r\n") {
			p.fail(in.line, "headers: the value of %s has a line break", clean(in.name, 60))
		}
		all[in.name] = value
	}
	return all
}

func (p *serverParser) bool(m *entry) bool {
	value, ok := m.value.(bool)
	if !ok {
		p.fail(m.line, "%s must be true or false, not %s", m.name, m.is())
	}
	return value
}

// number returns a whole number between two limits.
func (p *serverParser) number(m *entry, least, most int64) int64 {
	number, ok := m.value.(json.Number)
	n, err := number.Int64()
	if !ok || err != nil || n < least || n > most {
		p.fail(m.line, "%s must be a whole number from %d to %d, not %s", m.name, least, most, m.is())
	}
	return n
}

// milliseconds returns a timeout.
func (p *serverParser) milliseconds(m *entry) time.Duration {
	number, ok := m.value.(json.Number)
	n, err := number.Int64()
	if ok && err == nil && n > 0 && n < minTimeout.Milliseconds() {
		p.fail(m.line, "%s is in milliseconds: write %d for %d seconds", m.name, n*1000, n)
		return 0
	}
	return time.Duration(p.number(m, minTimeout.Milliseconds(), maxTimeout.Milliseconds())) * time.Millisecond
}
