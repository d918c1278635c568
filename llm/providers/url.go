package providers

import "strings"

// URL returns the first of the base URLs whose variables are all set, with their values, or "".
func (k Kind) URL(getenv func(string) string) string {
	for _, url := range k.URLs {
		if expanded, ok := expand(url, getenv); ok {
			return expanded
		}
	}
	return ""
}

// Variables returns what a session with this provider needs in the environment, each entry a
// variable or several of which one suffices, such as "GEMINI_API_KEY or GOOGLE_API_KEY".
func (k Kind) Variables() (needed []string) {
	if !k.Local {
		needed = append(needed, strings.Join(k.KeyVars, " or "))
	}
	if k.NeedsURL {
		needed = []string{k.BaseURLVar}
	}
	if k.URL(func(string) string { return "" }) == "" && len(k.URLs) > 0 {
		needed = append(needed, strings.Join(k.urlVariables(), " or "))
	}
	return needed
}

// urlVariables returns the variables that say the base URL.
func (k Kind) urlVariables() (names []string) {
	for _, url := range k.URLs {
		names = append(names, variables(url)...)
	}
	return append(names, k.BaseURLVar)
}

// expand returns a URL with the values of its variables, and whether all of them are set. A slash
// at the end of a value is left out.
func expand(url string, getenv func(string) string) (string, bool) {
	for _, name := range variables(url) {
		value := strings.TrimRight(getenv(name), "/")
		if value == "" {
			return "", false
		}
		url = strings.Replace(url, "${"+name+"}", value, 1)
	}
	return url, true
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
