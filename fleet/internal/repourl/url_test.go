package repourl

import (
	"strings"
	"testing"
)

// TestP9_NoPathLeadsOutOfACredential has URLs that begin as those of a credential and lead
// elsewhere.
func TestP9_NoPathLeadsOutOfACredential(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"https://host.example/acme/../other/a.git", "https://host.example/acme/%2e%2E/other/a.git",
		"https://host.example/acme/%252e%252e/other/a.git",
		"https://host.example/acme/..%2fother/a.git", "https://host.example/acme/./a.git",
		`https://host.example/acme/..\other`,
		"ssh://git@host.example/acme/../other/a.git", "git@host.example:acme/../other/a.git",
		"git@host.example:acme/..",
	} {
		if u, err := Parse(text, true); err == nil || !strings.Contains(err.Error(),
			"element") {
			t.Errorf("%s: %+v, %v", text, u, err)
		}
	}
	for _, text := range []string{"https://host.example/a..b/.github.git", "git@host.example:acme/a...git",
		"file:///a/../b"} {
		if _, err := Parse(text, true); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
