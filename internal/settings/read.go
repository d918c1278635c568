package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/attractor-go/attractor/internal/texts"

	"github.com/attractor-go/attractor/internal/userfiles"
)

// The limits of a file of settings.
const (
	maxSettingsFile = 1 << 20
	maxItems        = 1_000 // of a list
	maxMistakes     = 20    // that are told
)

// File returns the file of the user's settings: $XDG_CONFIG_HOME/attractor/config.json, else
// ~/.config/attractor/config.json.
func File(getenv func(string) string) (string, error) {
	dir, err := userfiles.ConfigDir(getenv)
	return filepath.Join(dir, "config.json"), err
}

// Users returns the values in the user's file and in variables of the environment. The error names
// every mistake.
func Users(getenv func(string) string) ([]Value, error) {
	home := userfiles.HomeDir(getenv)
	var values []Value
	var mistakes []error
	if name, err := File(getenv); err == nil { // without a home directory there is no file
		data, err := userfiles.ReadSettings(name, maxSettingsFile+1)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("cannot read your settings: %w", err)
		}
		if err == nil {
			values, mistakes = parse(name, data, PlaceUser, home)
		}
	}
	all := All()
	for i := range all {
		s := &all[i]
		text := getenv(s.Variable())
		if text == "" { // as if it were not set
			continue
		}
		v, err := s.fromVariable(text, home)
		if err != nil {
			mistakes = append(mistakes, withName(s.Variable(), err))
		}
		values = append(values, v)
	}
	slices.SortStableFunc(values, func(a, b Value) int { return int(b.Origin.Place) - int(a.Origin.Place) })
	mistakes = append(mistakes, withoutProvider(values)...)
	if !slices.ContainsFunc(mistakes, ofProviders) { // else their names are not known
		mistakes = append(mistakes, unknownProviders(values)...)
	}
	if len(mistakes) > 0 {
		return nil, errors.Join(mistakes...)
	}
	return values, nil
}

// parse returns the values in a file. Each mistake names the file and the line; a value with a
// mistake is left out.
func parse(name string, data []byte, place Place, home string) (values []Value, mistakes []error) {
	wrong := func(line int, err error) {
		if len(mistakes) < maxMistakes {
			mistakes = append(mistakes, fmt.Errorf("%s, line %d: %w", texts.Shown(name), line, err))
		}
	}
	if len(data) > maxSettingsFile {
		return nil, []error{fmt.Errorf("%s has more than %d MiB", texts.Shown(name), maxSettingsFile>>20)}
	}
	root, err := texts.ReadJSON(data)
	if err != nil {
		return nil, []error{fmt.Errorf("%s, %w", texts.Shown(name), err)}
	}
	if root.Kind != texts.Object {
		wrong(root.Line, fmt.Errorf(`it must be an object, such as {"model": "claude-sonnet-5-5"}, not %s`, root.Is()))
		return nil, mistakes
	}
	seen := map[string]bool{}
	for i := range root.Members {
		m := &root.Members[i]
		if m.Name == "$schema" {
			continue
		}
		s, err := find(m.Name)
		switch {
		case err != nil:
		case seen[m.Name]:
			err = fmt.Errorf("%s is there twice: remove one", m.Name)
		default:
			seen[m.Name] = true
			v := Value{Key: s.Key, Origin: Origin{place, name, m.Line}}
			if v.Text, err = s.fromNode(&m.JSON); err == nil && place == PlaceUser {
				err = s.resolve(v.Text, filepath.Dir(name), home)
			}
			if err == nil {
				values = append(values, v)
				continue
			}
			err = withName(s.Key, err)
		}
		line := m.Line
		if elsewhere := new(lineError); errors.As(err, &elsewhere) {
			line = elsewhere.line
		}
		wrong(line, err)
	}
	return values, mistakes
}

// withName returns an error about a value with the name of its setting or variable in front.
func withName(name string, err error) error {
	if ofProviders(err) {
		return fmt.Errorf("%s.%w", name, err)
	}
	return fmt.Errorf("%s %w", name, err)
}

// fromNode returns a value of a file as texts.
func (s *Setting) fromNode(n *texts.JSON) (list []string, err error) {
	if s.Kind == KindProviders {
		_, err := namedOf(n)
		return []string{string(n.Raw)}, err
	}
	wanted := fmt.Errorf("must be %s, not %s", s.Kind, n.Is())
	if s.IsList() {
		if n.Kind != texts.Array {
			return nil, wanted
		}
		if len(n.Items) > maxItems {
			return nil, fmt.Errorf("has more than %d items", maxItems)
		}
		for i := range n.Items {
			text, ok := n.Items[i].Value.(string)
			if !ok || n.Items[i].Kind != texts.Scalar {
				return nil, fmt.Errorf("must be %s, but on line %d is %s", s.Kind, n.Items[i].Line, n.Items[i].Is())
			}
			list = append(list, text)
		}
	} else {
		var ok bool
		var text string
		switch value := n.Value.(type) {
		case string:
			text, ok = value, s.Kind == KindText || s.Kind == KindDuration || s.Kind == KindPrompt
		case json.Number:
			text, ok = value.String(), s.Kind == KindNumber || s.Kind == KindAmount
		case bool:
			text, ok = strconv.FormatBool(value), s.Kind == KindSwitch
		}
		if !ok {
			return nil, wanted
		}
		list = []string{text}
	}
	return list, s.take(list)
}

// fromVariable returns a value of a variable. A list has commas between its items, or is a JSON
// array.
func (s *Setting) fromVariable(text, home string) (v Value, err error) {
	v = Value{Key: s.Key, Text: []string{text}, Origin: Origin{Place: PlaceEnvironment, Name: s.Variable()}}
	if s.IsList() {
		if v.Text = strings.Split(text, ","); strings.HasPrefix(text, "[") {
			v.Text = nil
			if json.Unmarshal([]byte(text), &v.Text) != nil {
				return v, errors.New(`must have commas between its items, or be a JSON array of strings, such as ["a", "b"]`)
			}
		}
	}
	if err := s.take(v.Text); err != nil {
		return v, err
	}
	return v, s.resolve(v.Text, "", home)
}

// New returns a value for the setting with a key, or an error that says what the value has to be.
// An empty text stands for the default of a setting that is a text.
func New(key string, texts []string, origin Origin) (Value, error) {
	v := Value{Key: key, Text: slices.Clone(texts), Origin: origin}
	s, err := find(key)
	switch {
	case err != nil:
		return v, err
	case s.IsList():
	case len(texts) != 1:
		return v, fmt.Errorf("%s must be %s, not %d values", key, s.Kind, len(texts))
	}
	for _, text := range v.Text {
		if err := s.CheckFlag(text); err != nil {
			return v, withName(key, err)
		}
	}
	s.normalize(v.Text)
	return v, nil
}

// CheckFlag returns an error, without the name, if a flag cannot have this value.
func (s *Setting) CheckFlag(text string) error {
	of := *s
	switch s.Key {
	case "provider", "profile":
		of.check = nil // the later lookup has a better error
	}
	switch { // an empty text is perhaps a variable that is not set
	case text != "" || s.Kind != KindText && s.Kind != KindPrompt:
	case s.Key == "sandbox", s.Key == "limit": // whose default permits more
		return s.check(text)
	default:
		return nil
	}
	return of.checkOne(text)
}

// normalize writes switches as true and false, and numbers in decimal digits, the only forms that
// the rest of the code knows.
func (s *Setting) normalize(texts []string) {
	for i, text := range texts {
		switch s.Kind {
		case KindSwitch:
			if on, err := strconv.ParseBool(text); err == nil {
				texts[i] = strconv.FormatBool(on)
			}
		case KindNumber:
			if n, err := strconv.ParseInt(text, 0, 64); err == nil {
				texts[i] = strconv.FormatInt(n, 10)
			}
		}
	}
}

// take returns an error unless all texts are values of the setting, and normalizes them.
func (s *Setting) take(list []string) error {
	for _, text := range list {
		if err := s.checkOne(text); err != nil {
			return err
		}
	}
	s.normalize(list)
	return nil
}

// checkOne returns an error unless a text is a value of the setting, or of an item of its list.
func (s *Setting) checkOne(text string) error {
	wanted := fmt.Errorf("must be %s, not %q", s.Kind, text)
	switch s.Kind {
	case KindNumber:
		if n, err := strconv.ParseInt(text, 0, 64); err != nil || n < 0 || n > 1<<53 { // a float64 holds each of them
			return wanted
		}
	case KindAmount:
		if n, err := strconv.ParseFloat(text, 64); err != nil || n < 0 || math.IsInf(n, 0) || math.IsNaN(n) {
			return wanted
		}
	case KindSwitch:
		if _, err := strconv.ParseBool(text); err != nil {
			return wanted
		}
	case KindDuration:
		if d, err := time.ParseDuration(text); err != nil || d < 0 {
			return wanted
		}
	default:
		if strings.TrimSpace(text) == "" {
			return errors.New("must not be empty; leave it out")
		}
	}
	if s.check != nil {
		return s.check(text)
	}
	return nil
}

// resolve makes names of files absolute, from a directory or, where they begin with ~/, from the
// home directory. Without a directory they have to be absolute: those in a variable would otherwise
// be files of whichever project a session works in.
func (s *Setting) resolve(list []string, dir, home string) error {
	for i, text := range list {
		name, isFile := text, s.Kind == KindFiles
		if s.Kind == KindPrompt {
			name, isFile = strings.CutPrefix(text, "@")
		}
		rest, inHome := strings.CutPrefix(name, "~/")
		switch {
		case !isFile || filepath.IsAbs(name):
			continue
		case inHome && home != "":
			name = filepath.Join(home, filepath.FromSlash(rest))
		case dir == "" || inHome:
			return fmt.Errorf("must have absolute paths, or paths that begin with ~/, not %q", name)
		default:
			name = filepath.Join(dir, filepath.FromSlash(name))
		}
		if list[i] = name; s.Kind == KindPrompt {
			list[i] = "@" + name
		}
	}
	return nil
}

// withoutProvider returns an error for each place that has a base URL or the command of a key, and
// no provider: the key of any provider could be sent there, or that key to any provider.
func withoutProvider(values []Value) (mistakes []error) {
	var names [PlaceFlag + 1]string
	for _, v := range values {
		if v.Key == "provider" {
			names[v.Origin.Place] = v.One()
		}
	}
	for _, v := range values {
		if (v.Key == "base_url" || v.Key == "key_command") && names[v.Origin.Place] == "" {
			mistakes = append(mistakes,
				fmt.Errorf("%s: %s needs the provider in the same place, because its key is sent there", v.Origin,
					v.Key))
		}
	}
	return mistakes
}

// StrayVariables returns a line for each variable whose name resembles that of a setting, or of a
// flag that is none.
func StrayVariables(environ []string) (lines []string) {
	var known []string
	for _, s := range All() {
		known = append(known, s.Variable())
	}
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "ATTRACTOR_") || slices.Contains(known, name) {
			continue
		}
		if instead := onlyFlags()[strings.ToLower(strings.TrimPrefix(name, "ATTRACTOR_"))]; instead != "" {
			lines = append(lines, fmt.Sprintf("the variable %s chooses nothing: %s", name, instead))
		} else if near := texts.Near(name, known); len(near) > 0 {
			lines = append(lines, fmt.Sprintf("the variable %s chooses nothing; do you mean %s?", name,
				strings.Join(near, " or ")))
		}
	}
	return lines
}
