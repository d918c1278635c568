package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/llm/providers"
)

// Named is a provider that the user has named in the setting providers.
type Named struct {
	providers.Kind
	Models []llm.Model // what the user says of its models, in the order of the file
}

// keyProviders is the setting that has providers of the user's own.
const keyProviders = "providers"

// Named returns the providers of the user's own that count.
func (s *Values) Named() []Named { return NamedIn(s.Counting(keyProviders)) }

// NamedIn returns the providers of the user's own among values, of which the first that has some
// counts.
func NamedIn(values []Value) []Named {
	for _, v := range values {
		if v.Key == keyProviders && v.Unused == "" {
			list, _ := readNamed(v.One()) // which has been checked
			return list
		}
	}
	return nil
}

// Shown returns the value for a person: of providers, which may have keys in their headers, the
// names.
func (v *Value) Shown() (list []string) {
	if v.Key != keyProviders {
		return v.Text
	}
	named, _ := readNamed(v.One()) // which has been checked
	for _, p := range named {
		list = append(list, p.Name)
	}
	return list
}

// lineError is a mistake on another line than that of its setting.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return e.err.Error() }

// ofProviders reports whether a mistake is one in a provider of the user's own.
func ofProviders(mistake error) bool {
	within := new(lineError)
	return errors.As(mistake, &within)
}

// readNamed reads the value of the setting.
func readNamed(text string) ([]Named, error) {
	root, err := texts.ReadJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("must be %s: %w", KindProviders, err)
	}
	return namedOf(&root)
}

// namedOf returns the providers that an object describes.
func namedOf(n *texts.JSON) (list []Named, err error) {
	if n.Kind != texts.Object {
		return nil, fmt.Errorf("must be %s, not %s", KindProviders, n.Is())
	}
	if len(n.Members) > maxItems {
		return nil, fmt.Errorf("has more than %d providers", maxItems)
	}
	for i := range n.Members {
		m := &n.Members[i]
		named := Named{Kind: providers.Kind{Name: m.Name, Format: providers.ChatCompletions}}
		line, err := named.read(&m.JSON)
		if err == nil && slices.ContainsFunc(list, func(o Named) bool { return o.Name == m.Name }) {
			line, err = m.Line, errors.New(" is there twice: remove one")
		}
		if err == nil {
			line, err = m.Line, named.Check()
			if err != nil {
				err = fmt.Errorf(" is wrong: %w", err)
			}
		}
		if err != nil {
			return nil, &lineError{line, fmt.Errorf("%s%w", shownKey(m.Name), err)}
		}
		list = append(list, named)
	}
	return list, nil
}

// read takes over the members of a provider. The line is that of the mistake.
func (p *Named) read(n *texts.JSON) (line int, err error) {
	if n.Kind != texts.Object {
		return n.Line, fmt.Errorf(" must be an object, not %s", n.Is())
	}
	seen := map[string]bool{}
	for i := range n.Members {
		m := &n.Members[i]
		if seen[m.Name] {
			return m.Line, fmt.Errorf(".%s is there twice: remove one", shownKey(m.Name))
		}
		seen[m.Name] = true
		if line, err := p.member(m); err != nil {
			return line, fmt.Errorf(".%w", err)
		}
	}
	switch {
	case len(p.URLs) == 0:
		return n.Line, errors.New(".base_url is missing: it is where requests go, such as https://llm.example.com/v1")
	case p.KeyVars != nil && p.KeyCommand != "":
		return n.Line, errors.New(" has both key_variable and key_command: remove one")
	}
	return 0, nil
}

// member takes over a member of a provider.
func (p *Named) member(m *texts.Member) (line int, err error) {
	switch m.Name {
	case "headers":
		return p.headers(m)
	case "models":
		return p.models(m)
	case "body":
		if p.Body = json.RawMessage(m.Raw); m.Kind != texts.Object {
			return m.Line, fmt.Errorf("body must be an object, not %s", m.Is())
		}
		return 0, nil
	case "base_url", "format", "key_variable", "key_command":
	default:
		return m.Line, unknownMember(m.Name)
	}
	text, ok := m.Value.(string)
	switch {
	case m.Kind != texts.Scalar || !ok:
		return m.Line, fmt.Errorf("%s must be a string, not %s", m.Name, m.Is())
	case strings.TrimSpace(text) == "":
		return m.Line, fmt.Errorf("%s must not be empty; leave it out", m.Name)
	}
	switch m.Name {
	case "base_url":
		p.URLs = []string{text}
		if err := CheckURL(withoutVariables(text)); err != nil {
			return m.Line, fmt.Errorf("base_url %w", err)
		}
	case "format":
		var names []string
		p.Format = ""
		for _, f := range providers.Formats() {
			if names = append(names, string(f)); folded(string(f)) == folded(text) {
				p.Format = f
			}
		}
		if p.Format == "" {
			return m.Line, fmt.Errorf("format %w", oneOf(text, names))
		}
	case "key_variable":
		if p.KeyVars = []string{text}; !isVariable(text) {
			return m.Line, errors.New("key_variable must be the name of a variable of the environment that has the " +
				"key, such as WORK_API_KEY, and not the key itself")
		}
	case "key_command":
		p.KeyCommand = text
	}
	return 0, nil
}

// unknownMember returns an error for a member that providers do not have.
func unknownMember(name string) error {
	for other, instead := range map[string]string{
		"api_key": "keys are not in files: name the variable that has it in key_variable, or a command that prints " +
			"it in key_command",
		"env_key":  "write key_variable",
		"wire_api": "write format", "type": "write format",
		"http_headers": "write headers", "extra_headers": "write headers", "extra_body": "write body",
		"url": "write base_url",
	} {
		if texts.Folded(other) == texts.Folded(name) {
			return fmt.Errorf("%s is no member of a provider: %s", shownKey(name), instead)
		}
	}
	known := []string{"base_url", "format", "key_variable", "key_command", "headers", "body", "models"}
	if near := texts.Near(name, known); len(near) > 0 {
		return fmt.Errorf("%s is no member of a provider; do you mean %s?", shownKey(name), strings.Join(near, " or "))
	}
	return fmt.Errorf("%s is no member of a provider, which has %s", shownKey(name), strings.Join(known, ", "))
}

// headers takes over the headers of a provider.
func (p *Named) headers(m *texts.Member) (line int, err error) {
	if m.Kind != texts.Object {
		return m.Line, fmt.Errorf("headers must be an object, not %s", m.Is())
	}
	p.Headers = map[string]string{}
	for i := range m.Members {
		h := &m.Members[i]
		text, ok := h.Value.(string)
		if h.Kind != texts.Scalar || !ok {
			return h.Line, fmt.Errorf("headers.%s must be a string, not %s", shownKey(h.Name), h.Is())
		}
		p.Headers[h.Name] = text
	}
	return 0, nil
}

// models takes over what is said of models, in the form of models.json without id and provider.
func (p *Named) models(m *texts.Member) (line int, err error) {
	if m.Kind != texts.Object {
		return m.Line, fmt.Errorf(`models must be an object, such as {"qwen3-coder": {"context_window": 65536}}, not %s`, m.Is())
	}
	for i := range m.Members {
		of := &m.Members[i]
		facts := llm.Model{}
		dec := json.NewDecoder(bytes.NewReader(of.Raw))
		dec.DisallowUnknownFields()
		err := dec.Decode(&facts)
		switch {
		case of.Name == "":
			return of.Line, errors.New("models has a model without a name")
		case of.Kind != texts.Object:
			err = fmt.Errorf("it must be an object, not %s", of.Is())
		case err == nil:
			err = checkFacts(p.Name, of.Name, &facts)
		}
		if err != nil {
			return of.Line, fmt.Errorf("models.%s is wrong: %w", shownKey(of.Name), withoutJSON(err))
		}
		facts.Provider, facts.ID = p.Name, of.Name
		p.Models = append(p.Models, facts)
	}
	if len(p.Models) > 0 {
		p.Model = p.Models[0].ID
	}
	return 0, nil
}

// checkFacts returns an error for facts about a model that cannot be true.
func checkFacts(provider, id string, m *llm.Model) error {
	if m.ID != "" && m.ID != id || m.Provider != "" && m.Provider != provider {
		return errors.New("it has the id or the provider of another model: leave both out")
	}
	return catalog.Check(m)
}

// withoutJSON returns an error of the decoder without the words of Go.
func withoutJSON(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s cannot be a %s", wrong.Field, wrong.Value)
	}
	text := strings.TrimPrefix(err.Error(), "json: ")
	if strings.HasPrefix(text, "unknown field") {
		text += "; the fields are those of attractor models --json"
	}
	return errors.New(text)
}

// withoutVariables returns a URL with a number, which also a port can be, in place of each
// variable.
func withoutVariables(url string) string {
	for {
		before, rest, found := strings.Cut(url, "${")
		_, after, closed := strings.Cut(rest, "}")
		if !found || !closed {
			return url
		}
		url = before + "1" + after
	}
}

// isVariable reports whether a text can be the name of a variable of the environment.
func isVariable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}) && (text[0] < '0' || text[0] > '9')
}

// folded returns the name of a format in lower case, without what stands between its words.
func folded(name string) string { return strings.ReplaceAll(texts.Folded(name), " ", "") }

// providerNames returns the names of all providers: of the table, and the user's own.
func providerNames(values []Value) []string {
	names := providers.Names()
	for _, p := range NamedIn(values) {
		names = append(names, p.Name)
	}
	return names
}

// unknownProviders returns an error for each value that names a provider which does not exist.
func unknownProviders(values []Value) (mistakes []error) {
	names := providerNames(values)
	for _, v := range values {
		for _, text := range v.Text {
			name := text
			switch v.Key {
			case "provider":
			case "fallback":
				name, _, _ = strings.Cut(text, "/")
			default:
				continue
			}
			if err := oneOf(name, names); err != nil {
				mistakes = append(mistakes, fmt.Errorf("%s: %s %w", v.Origin, v.Key, err))
			}
		}
	}
	return mistakes
}

// splitModelNames splits a model whose name begins with that of one of the user's own providers,
// such as work/qwen3-coder, into that provider and the rest, unless a provider stands beside it.
func splitModelNames(values []Value) []Value {
	own := NamedIn(values)
	for i := range values {
		v := &values[i]
		name, model, ok := strings.Cut(v.One(), "/")
		if v.Key != "model" || !ok || model == "" || v.Origin.Place < PlaceUser ||
			!slices.ContainsFunc(own, func(p Named) bool { return p.Name == name }) ||
			slices.ContainsFunc(values, func(o Value) bool {
				return o.Key == "provider" && o.Origin.Place == v.Origin.Place
			}) {
			continue
		}
		v.Text = []string{model}
		values = append(values, Value{Key: "provider", Text: []string{name}, Origin: v.Origin})
	}
	return values
}
