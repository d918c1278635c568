// Package secretref finds secrets that configurations name.
package secretref

import (
	"fmt"
	"os"
	"strings"
)

// Resolve returns the secret that a text names: env:NAME takes it from an environment variable, and
// file:PATH from a file. Anything else is the secret itself.
func Resolve(text string) (string, error) {
	kind, rest, _ := strings.Cut(text, ":")
	switch kind {
	case "env":
		value := os.Getenv(rest)
		if value == "" {
			return "", fmt.Errorf("the environment variable %s is not set", rest)
		}
		return value, nil
	case "file":
		data, err := os.ReadFile(rest)
		return strings.TrimSpace(string(data)), err
	}
	return text, nil
}
