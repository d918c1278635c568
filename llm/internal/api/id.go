package api

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// PlainID makes an id of at most max bytes (10 or more) that consists of letters, digits, _ and - of another provider's, which
// may be of any form. An id that is plain already stays as it is; a hash keeps the others apart.
func PlainID(id string, max int) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
	}
	if id != "" && len(id) <= max && strings.IndexFunc(id, func(r rune) bool { return !plain(r) }) < 0 {
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
	return fmt.Sprintf("%s_%08x", mapped[:min(len(mapped), max-9)], h.Sum32())
}
