package providers

import (
	"slices"
	"strings"
)

// URL returns the first of the base URLs whose variables are all set, with their values, or "".
func (k Kind) URL(getenv func(string) string) string {
	for _, url := range k.URLs {
		if expanded, ok := expand(url, getenv); ok {
			return expanded
		}
	}
	return ""
}

// Variables returns what a session with this provider needs in the environment. Each entry is a
// variable, or several of which one suffices, such as "GEMINI_API_KEY or GOOGLE_API_KEY".
func (k Kind) Variables() (needed []string) {
	if !k.keyless() {
		needed = append(needed, strings.Join(k.KeyVars, " or "))
	}
	if k.NeedsURL {
		needed = []string{k.BaseURLVar}
	}
	if k.URL(unset) == "" && len(k.URLs) > 0 {
		needed = append(needed, strings.Join(k.urlVariables(), " or "))
	}
	_, missing := k.header(nil, unset)
	for _, header := range missing {
		for _, name := range variables(k.Headers[header]) {
			if !slices.Contains(needed, name) {
				needed = append(needed, name)
			}
		}
	}
	return needed
}

// urlVariables returns the variables that set the base URL.
func (k Kind) urlVariables() (names []string) {
	for _, url := range k.URLs {
		names = append(names, variables(url)...)
	}
	if k.BaseURLVar != "" {
		names = append(names, k.BaseURLVar)
	}
	return names
}

// expand returns a URL with the values of its variables, and whether all of them are set. A slash
// at the end of a value is left out.
func expand(url string, getenv func(string) string) (string, bool) {
	return fill(url, func(name string) string { return strings.TrimRight(getenv(name), "/") })
}

// fill returns a text with the values of its variables, and whether all of them are set.
func fill(text string, getenv func(string) string) (string, bool) {
	for _, name := range variables(text) {
		value := getenv(name)
		if value == "" {
			return "", false
		}
		text = strings.Replace(text, "${"+name+"}", value, 1)
	}
	return text, true
}

// variables returns the names of the variables in a URL.
func variables(url string) (names []string) {
	for {
		_, rest, found := strings.Cut(url, "${")
		name, after, closed := strings.Cut(rest, "}")
		if !found || !closed {
			return names
		}
		names, url = append(names, name), after
	}
}
