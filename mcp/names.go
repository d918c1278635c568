package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
)

const (
	maxName       = 64 // of a tool, which all providers accept
	maxServerName = 32 // of a server in the names of its tools
	hashLen       = 8  // hexadecimal digits that tell names apart
)

// safe returns a name with every character that a provider may refuse replaced by an underscore.
func safe(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
}

// safeServer returns a server's name for the names of its tools. It has no double underscore, which
// ends it there, and none at its edges.
func safeServer(name string) string {
	s := safe(name)
	for strings.Contains(s, "__") {
		s = strings.ReplaceAll(s, "__", "_")
	}
	if s = strings.Trim(s, "_"); s == "" {
		s = "server"
	}
	return s
}

// hashed returns a name of at most limit bytes that ends with a hash of the original.
func hashed(name, original string, limit int) string {
	sum := sha256.Sum256([]byte(original))
	if len(name) > limit-hashLen-1 {
		name = name[:limit-hashLen-1]
	}
	return strings.TrimRight(name, "_") + "_" + hex.EncodeToString(sum[:])[:hashLen]
}

// distinct returns a name for each original: shown(original), or one with a hash if that is too
// long, taken, or if several would have it. Of those the one that is unchanged keeps it. The names
// do not depend on the order of the originals, which have to be different.
func distinct(originals []string, limit int, taken map[string]bool, shown func(string) string) []string {
	count := map[string]int{}
	for _, original := range originals {
		count[shown(original)]++
	}
	names := make([]string, len(originals))
	used := maps.Clone(taken)
	if used == nil {
		used = map[string]bool{}
	}
	var rest []int
	for i, original := range originals {
		name := shown(original)
		if len(name) > limit || used[name] || count[name] > 1 && name != original {
			rest = append(rest, i)
			continue
		}
		names[i], used[name] = name, true
	}
	slices.SortFunc(rest, func(i, j int) int { return strings.Compare(originals[i], originals[j]) })
	for _, i := range rest {
		name, salted := shown(originals[i]), originals[i]
		names[i] = hashed(name, salted, limit)
		for used[names[i]] { // another one is called like a hash
			salted += "\x00"
			names[i] = hashed(name, salted, limit)
		}
		used[names[i]] = true
	}
	return names
}

// toolNames returns the names for the tools of a server, in their order.
func toolNames(server string, tools []string) []string {
	prefix := "mcp__" + server + "__"
	names := distinct(tools, maxName-len(prefix), nil, safe)
	for i := range names {
		names[i] = prefix + names[i]
	}
	return names
}
