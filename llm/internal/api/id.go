package api

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// PlainID returns an id of at most longest bytes (10 or more), of letters, digits, _ and -, for an
// id of another provider, which may have any form. A plain id is returned unchanged. For others a
// hash keeps them distinct.
func PlainID(id string, longest int) string {
	if id != "" && len(id) <= longest && plainText(id) == id {
		return id
	}
	h := fnv.New32a()
	h.Write([]byte(id)) // never fails
	mapped := plainText(id)
	return fmt.Sprintf("%s_%08x", mapped[:min(len(mapped), longest-9)], h.Sum32())
}

// ShortID returns an id of exactly length letters and digits for an id of another provider. An id
// of that form is returned unchanged. For others a hash keeps them distinct, as far as length
// allows.
func ShortID(id string, length int) string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	if len(id) == length && !strings.ContainsAny(plainText(id), "_-") {
		return id
	}
	h := fnv.New64a()
	h.Write([]byte(id)) // never fails
	short := make([]byte, length)
	for i, sum := 0, h.Sum64(); i < length; i++ {
		short[i], sum = digits[sum%36], sum/36
	}
	return string(short)
}

// longestName is the longest name of a call that every API takes, in bytes: OpenAI's.
const longestName = 64

// CallName returns the name of a call as every API takes it: of at most 64 bytes of letters,
// digits, _ and -. Models also write other names, such as multi_tool_use.parallel or none at all,
// and each later request has to repeat the call.
func CallName(name string) string {
	if name == "" {
		return "unnamed"
	}
	mapped := plainText(name)
	return mapped[:min(len(mapped), longestName)]
}

// plainText returns a text with _ in place of all but letters, digits, _ and -.
func plainText(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, text)
}
