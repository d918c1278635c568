package providers

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// Formats returns the formats.
func Formats() []Format { return []Format{ChatCompletions, Messages, Responses, GenerateContent} }

// Check returns an error unless the kind can be a row of a program's or a user's own, beside those
// of [Kinds]. The error says what to change. It quotes no value, which may have a key.
func (k Kind) Check() error {
	switch _, err := Find(k.Name); {
	case err == nil:
		return fmt.Errorf("%s is the name of a provider that is there already: choose another name", k.Name)
	case k.Name == "" || strings.ContainsFunc(k.Name, func(r rune) bool { return !isNameRune(r) }):
		return fmt.Errorf(
			"%q cannot be the name of a provider, which has letters, digits, hyphens, underscores and dots", k.Name)
	case !slices.Contains(Formats(), k.Format):
		return fmt.Errorf("the format must be Chat Completions, Messages, Responses or generateContent, not %q",
			k.Format)
	case len(k.URLs) == 0:
		return errors.New("the base URL is missing")
	}
	for _, text := range k.URLs {
		text, _ = expand(text, func(string) string { return "1" })
		if u, err := url.Parse(text); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return errors.New("the base URL must begin with http:// or https://, followed by a host")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(k.Headers)) {
		if err := checkHeader(name, k.Headers[name]); err != nil {
			return err
		}
	}
	someKey := Config{APIKey: "key", BaseURL: "http://localhost"}
	k.Headers = nil
	if _, err := k.New(someKey); err != nil { // the format knows which members are its own
		return fmt.Errorf("the body: %s", messageOf(err))
	}
	return nil
}

// messageOf returns what an error of a provider says.
func messageOf(err error) string {
	var said *llm.Error
	if errors.As(err, &said) {
		return said.Message
	}
	return err.Error()
}

func isNameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r)
}

// checkHeader returns an error unless a header can be sent with every request.
func checkHeader(name, value string) error {
	const token = "!#$%&'*+-.^_`|~" // RFC 9110, beside letters and digits
	switch http.CanonicalHeaderKey(name) {
	case "Content-Type", "Content-Length", "Transfer-Encoding", "Connection", "Host":
		return fmt.Errorf("the header %s is set by the request itself: remove it", name)
	}
	for _, r := range name {
		if !isNameRune(r) && !strings.ContainsRune(token, r) {
			return fmt.Errorf("%q cannot be the name of a header, which has letters, digits and hyphens", name)
		}
	}
	switch {
	case name == "":
		return errors.New("a header has no name")
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return fmt.Errorf("the value of the header %s has a line feed or another control character: remove it", name)
	}
	return nil
}

// header returns a copy of the given headers with those of the kind that they lack, with the values
// of their variables, and the names of headers whose variables are not all set.
func (k Kind) header(given http.Header, getenv func(string) string) (header http.Header, missing []string) {
	header = given.Clone()
	for _, name := range slices.Sorted(maps.Keys(k.Headers)) {
		if header.Get(name) != "" {
			continue
		}
		value, ok := fill(k.Headers[name], getenv)
		if !ok {
			missing = append(missing, name)
			continue
		}
		if header == nil {
			header = http.Header{}
		}
		header.Set(name, value)
	}
	return header, missing
}

// headerOf returns the headers of a configuration with those of the kind that it lacks. One with
// variables has to be in the configuration.
func (k Kind) headerOf(c Config) (http.Header, error) {
	header, missing := k.header(c.Header, unset)
	if missing != nil {
		return nil, llm.Errorf(llm.ErrConfiguration, "the header %s of %s has no value yet: set %s in the environment",
			missing[0], k.Name, strings.Join(variables(k.Headers[missing[0]]), " and "))
	}
	return header, nil
}
