package llm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
	"github.com/attractor-go/attractor/llm"
)

// encodeText is a provider's encoding with a memo: the texts of the messages.
func encodeText(m *llm.Memo, key string, messages []llm.Message) (encoded []string, err error) {
	err = m.Encode(key, messages, func(state any, from int) (any, error) {
		kept, _ := state.([]string)
		for _, msg := range messages[from:] {
			text := msg.Parts.Text()
			if strings.Contains(text, "cannot be encoded") {
				return nil, llm.Errorf(llm.ErrUnsupported, "no")
			}
			kept = append(kept, string(msg.Role)+": "+text)
		}
		encoded = kept
		return kept, nil
	})
	return encoded, err
}

// outcome holds what a caller gets from a request.
type outcome struct {
	Valid, Failed string
	Encoded       []string
}

func outcomeOf(m *llm.Memo, key string, messages []llm.Message) outcome {
	o := outcome{}
	if err := (&llm.Request{Model: "m", Messages: messages, Memo: m}).Validate(); err != nil {
		o.Valid = err.Error()
		return o
	}
	encoded, err := encodeText(m, key, messages)
	if err != nil {
		o.Failed = err.Error()
		return o
	}
	o.Encoded = slices.Clone(encoded)
	return o
}

// TestK4_SealedMemoIsInvisible compares requests with a sealed memo with the same requests without
// one, while the caller does all that a seal allows: it appends to the slice, also after it has
// grown into other memory, sends a copy with other messages or only the beginning, removes messages
// and goes on from there in new memory, changes what is not sealed, uses another key, and seals too
// little or not at all.
func TestK4_SealedMemoIsInvisible(t *testing.T) {
	seed.Check(t, func(rt *rapid.T) {
		memo, key := new(llm.Memo), "a"
		messages := []llm.Message{llm.System("s")}
		fresh, promised := 0, map[*llm.Message]int{} // how many messages are sealed, by the memory of the slice
		message := func() llm.Message {
			fresh++
			text := fmt.Sprint("message ", fresh)
			switch rapid.IntRange(0, 15).Draw(rt, "message") {
			case 0:
				return llm.Message{Role: "nobody", Parts: llm.TextParts(text)}
			case 1:
				return llm.Message{Role: llm.RoleUser, Parts: llm.Parts{nil}}
			case 2:
				return llm.User(text + " cannot be encoded")
			case 3:
				return llm.Message{Role: llm.RoleUser}
			}
			return llm.User(text)
		}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			sent := messages
			switch rapid.IntRange(0, 9).Draw(rt, "step") {
			case 0: // a middleware's copy with another message
				sent = slices.Clone(messages)
				sent[rapid.IntRange(0, len(sent)-1).Draw(rt, "edited")] = message()
			case 1: // only the beginning
				sent = messages[:rapid.IntRange(1, len(messages)).Draw(rt, "kept")]
			case 2: // a compaction
				messages = append(messages[:1:1], message())
				sent = messages
			case 3:
				key = rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "key")
			case 4: // in place
				if first := promised[&messages[0]]; first < len(messages) {
					messages[rapid.IntRange(first, len(messages)-1).Draw(rt, "changed")] = message()
				}
			default:
				messages = append(messages, message())
				sent = messages
			}
			seal := func(n int) {
				memo.Seal(messages[:n])
				promised[&messages[0]] = max(promised[&messages[0]], n)
			}
			switch rapid.IntRange(0, 4).Draw(rt, "seal") {
			case 0:
			case 1:
				seal(rapid.IntRange(0, len(messages)).Draw(rt, "sealed"))
			default:
				seal(len(messages))
			}
			got, want := outcomeOf(memo, key, sent), outcomeOf(nil, key, sent)
			if diff := cmp.Diff(want, got); diff != "" {
				rt.Fatal(diff)
			}
			if want.Valid != "" || want.Failed != "" { // a session would not go on with such a message
				messages = slices.DeleteFunc(slices.Clone(messages), func(m llm.Message) bool {
					return outcomeOf(nil, key, []llm.Message{m}).Encoded == nil
				})
				messages = append(messages, llm.User("go on"))
			}
		}
	})
}

// TestK4_SealedMessagesAreNotRead breaks the promise of a seal to show that nothing reads what was
// sealed and sent: the invalid message is not found, and the other one is not encoded. Without the
// seal, both are.
func TestK4_SealedMessagesAreNotRead(t *testing.T) {
	for _, sealed := range []bool{true, false} {
		memo := new(llm.Memo)
		messages := []llm.Message{llm.System("s"), llm.User("one"), llm.User("two")}
		if sealed {
			memo.Seal(messages)
		}
		if o := outcomeOf(memo, "k", messages); len(o.Encoded) != 3 {
			t.Fatalf("%+v", o)
		}
		messages[1] = llm.Message{Role: "nobody"}
		o := outcomeOf(memo, "k", messages)
		if found := o.Valid != ""; found == sealed {
			t.Errorf("sealed %v: %+v", sealed, o)
		}
		messages[1] = llm.User("other")
		o = outcomeOf(memo, "k", messages)
		if found := strings.Contains(strings.Join(o.Encoded, " "), "other"); found == sealed {
			t.Errorf("sealed %v: %+v", sealed, o)
		}
	}
}
