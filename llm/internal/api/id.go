package api

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// PlainID returns an id of at most longest bytes (10 or more), of letters, digits, _ and -, for an id of another provider, which may
// have any form. A plain id is returned unchanged. For others a hash keeps them distinct.
func PlainID(id string, longest int) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
	}
	if id != "" && len(id) <= longest && strings.IndexFunc(id, func(r rune) bool { return !plain(r) }) < 0 {
		return id
	}
	h := fnv.New32a()
	h.Write([]byte(id)) // never fails
	mapped := strings.Map(func(r rune) rune {
		if plain(r) {
			return r
		}
		return '_'
	}, id)
	return fmt.Sprintf("%s_%08x", mapped[:min(len(mapped), longest-9)], h.Sum32())
}
