package env

import (
	"crypto/rand"
	"strings"
	"testing"
)

// What a killed process leaves is recognized by its name, and nothing else is.
func TestO7_TemporaryNames(t *testing.T) {
	random := rand.Text()
	for name, want := range map[string]bool{
		tempPrefix + random + tempExt:                  true,
		tempPrefix + random[1:] + tempExt:              false,
		tempPrefix + random[1:] + "a" + tempExt:        false,
		tempPrefix + random:                            false,
		random + tempExt:                               false,
		".attractor-notes.tmp":                         false,
		"x" + tempPrefix + random + tempExt:            false,
		tempPrefix + random + random + tempExt:         false,
		tempPrefix + strings.Repeat("1", 26) + tempExt: false,
	} {
		if IsTemporary(name) != want {
			t.Errorf("IsTemporary(%q) is %v", name, !want)
		}
	}
}
