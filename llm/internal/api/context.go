package api

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// contextNumber matches numbers that can be token counts: "213423", "200,000".
var contextNumber = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\d{1,3}(?:,\d{3})+|\d{3,}`)
})

// contextSum matches Anthropic's two parts of a request: "197000 + 8192".
var contextSum = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(\d+) \+ (\d+)`)
})

// contextNumbers returns the request's length and the model's limit in tokens, from the message of
// an [llm.ErrContextLength], or 0 if the message does not have them. The larger of two numbers is
// the request's, or there would be no error.
func contextNumbers(message string) (tokens, window int) {
	message = contextSum().ReplaceAllStringFunc(message, func(sum string) string {
		a, b, _ := strings.Cut(sum, " + ")
		return strconv.Itoa(sizeOf(a) + sizeOf(b))
	})
	switch found := contextNumber().FindAllString(message, 2); {
	case len(found) == 2:
		if a, b := sizeOf(found[0]), sizeOf(found[1]); a > 0 && b > 0 {
			return max(a, b), min(a, b)
		}
	case len(found) == 1 && strings.Contains(strings.ToLower(message), "maximum"):
		return 0, sizeOf(found[0])
	}
	return 0, 0
}

// sizeOf parses a number. It returns 0 for one that is too large.
func sizeOf(text string) int {
	n, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
	if err != nil || n > 1<<40 {
		return 0
	}
	return n
}
