package api

import (
	"regexp"
	"strconv"
	"strings"
)

// contextNumber finds numbers that can be sizes of a context: "213423", "200,000".
var contextNumber = regexp.MustCompile(`\d{1,3}(?:,\d{3})+|\d{3,}`)

// contextSum finds the two parts that Anthropic gives of a request: "197000 + 8192".
var contextSum = regexp.MustCompile(`(\d+) \+ (\d+)`)

// contextNumbers reads from the message of a context that is too long how many tokens the request has and how many the model takes, 0
// where it does not say so. Of two numbers the larger one is the request's: otherwise nobody would complain.
func contextNumbers(message string) (tokens, window int) {
	message = contextSum.ReplaceAllStringFunc(message, func(sum string) string {
		a, b, _ := strings.Cut(sum, " + ")
		return strconv.Itoa(sizeOf(a) + sizeOf(b))
	})
	switch found := contextNumber.FindAllString(message, 2); {
	case len(found) == 2:
		if a, b := sizeOf(found[0]), sizeOf(found[1]); a > 0 && b > 0 {
			return max(a, b), min(a, b)
		}
	case len(found) == 1 && strings.Contains(strings.ToLower(message), "maximum"):
		return 0, sizeOf(found[0])
	}
	return 0, 0
}

// sizeOf reads a number; one that is too large is none.
func sizeOf(text string) int {
	n, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
	if err != nil || n > 1<<40 {
		return 0
	}
	return n
}
