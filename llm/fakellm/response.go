package fakellm

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/attractor-go/attractor/llm"
)

// response is a turn with defaults for everything that the script left out.
type response struct {
	Turn
	model string
	usage llm.Usage

	resumed []string // the ids of the searches whose results it begins with
}

func newResponse(r *Request, t Turn) *response {
	a := &response{Turn: t, model: r.Model, resumed: r.pending}
	a.Calls = slices.Clone(t.Calls)
	if !slices.Contains(r.Tools, llm.HostedWebSearch) {
		a.Searches, a.Cites = nil, nil
	}
	for i := range a.Calls {
		a.Calls[i].ID = cmp.Or(a.Calls[i].ID, fmt.Sprintf("call_%d_%d", r.Turn(), i))
	}
	a.ID = cmp.Or(a.ID, fmt.Sprintf("msg_%d", r.N))
	if a.Finish == "" {
		a.Finish = llm.FinishStop
		if len(a.Calls) > 0 {
			a.Finish = llm.FinishToolCalls
		}
	}
	return a
}

// stop returns the finish reason in the vendor's words: the script's Stop, the word for its Finish,
// or the usual one.
func (a *response) stop(usual string, words map[llm.FinishReason]string) string {
	return cmp.Or(a.Stop, words[a.Finish], usual)
}

// size returns the size of the response's content in bytes.
func (a *response) size() int {
	n := len(a.Thinking) + len(a.Text)
	for _, c := range a.Calls {
		n += len(c.Name) + len(c.args())
	}
	return n
}

// sign returns the signature of a thinking block. It depends only on the text, so that every server
// can detect a changed block, whichever server signed it.
func sign(thinking string) string {
	sum := sha256.Sum256([]byte("fakellm:" + thinking))
	return hex.EncodeToString(sum[:12])
}

// words splits a text into pieces of n words, including the spaces.
func words(text string, n int) []string {
	var pieces []string
	for text != "" {
		end := 0
		for range n {
			i := strings.IndexAny(text[end:], " \n")
			if i < 0 {
				end = len(text)
				break
			}
			end += i + 1
		}
		pieces, text = append(pieces, text[:end]), text[end:]
	}
	return pieces
}

// argBytes returns the size of an arguments delta for servers whose text deltas have this many
// words.
func argBytes(words int) int { return 16 * max(words/3, 1) }

// bytewise splits a text into pieces of about n bytes, never within a character.
func bytewise(text string, n int) []string {
	var pieces []string
	for len(text) > n {
		end := n
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end++
		}
		pieces, text = append(pieces, text[:end]), text[end:]
	}
	if text != "" {
		pieces = append(pieces, text)
	}
	return pieces
}
