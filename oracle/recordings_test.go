package oracle

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"google.golang.org/genai"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/providertest"
)

const corpora = "../../shared/corpora/"

// side is a format: our provider for it and its vendor's SDK.
type side struct {
	provider func(t testing.TB, client *http.Client) llm.Provider
	sdk      func(t testing.TB, client *http.Client, stream bool) (outcome, error)
	// values says whether the SDK parses the arguments of calls.
	values bool
}

var sides = map[string]side{
	"messages":  {provider: messagesProvider, sdk: messagesSDK},
	"responses": {provider: responsesProvider, sdk: responsesSDK},
	"chat":      {provider: chatProvider, sdk: chatSDK},
	"gemini":    {provider: geminiProvider, sdk: geminiSDK, values: true},
}

// TestG1_Recordings gives every recorded answer to our provider and to the SDK of its format, and
// compares the outcomes.
func TestG1_Recordings(t *testing.T) {
	all := providertest.StreamCorpus(t, corpora+"provider_streams", "")
	c, list := newCount(), newPeculiarities()
	for _, file := range all {
		for i, r := range answers(t, file) {
			t.Run(fmt.Sprintf("%s/%d.%d", r.Name, r.N, i), func(t *testing.T) { c.check(t, r, list) })
		}
	}
	c.print()
	if n := c.verdicts[compared] + c.verdicts[peculiar]; n < 530 || c.calls < 200 || c.thoughts < 50 {
		t.Errorf("only %d answers were compared, %d with calls, %d with thinking", n, c.calls, c.thoughts)
	}
	for _, p := range list {
		if fmt.Printf("provider_streams peculiar: %d %s: %s\n", p.used, p.format, p.reason); p.used == 0 {
			t.Errorf("no recording shows any more that %s", p.reason)
		}
	}
}

// verdict is the outcome of a recording.
type verdict string

const (
	compared verdict = "compared"
	refused  verdict = "errors on both sides"
	foreign  verdict = "of APIs without a provider here"
	peculiar verdict = "peculiar"
)

// check gives an answer to our provider and to the SDK.
func (c *count) check(t *testing.T, r providertest.Recording, list []*peculiarity) {
	format := formatOf(r.Body)
	if name, ok := strings.CutPrefix(format, "error of "); ok {
		checkError(t, r, sides[name])
		c.add(r, refused)
		return
	}
	s, ok := sides[format]
	if !ok {
		checkForeign(t, r)
		c.add(r, foreign)
		return
	}
	have, ourErr := ourOutcome(t, s.provider(t, answering(r)))
	want, sdkErr := s.sdk(t, answering(r), strings.HasPrefix(r.ContentType, "text/event-stream"))
	if s.values {
		want.Calls = alignValues(have.Calls, want.Calls)
	}
	result := compared
	for field, diff := range differences(have, want) {
		if p := explain(list, format, field, comparison{string(r.Body), have, want}); p != nil {
			p.used++
			result = peculiar
			continue
		}
		t.Errorf("%s %s: %s (our error: %v; the SDK's: %v)", format, field, diff, ourErr, sdkErr)
	}
	if have.Failed && want.Failed {
		result = refused
	}
	c.add(r, result)
	c.texts, c.calls, c.thoughts = c.texts+min(len(have.Text), 1), c.calls+min(len(have.Calls), 1),
		c.thoughts+min(len(have.Thinking), 1)
}

// checkForeign checks that no provider accepts an answer in a foreign format.
func checkForeign(t *testing.T, r providertest.Recording) {
	for name := range sides {
		if o, err := ourOutcome(t, sides[name].provider(t, answering(r))); err == nil {
			t.Errorf("%s reads an answer out of it: %+v", name, o)
		}
	}
}

// formatOf recognizes the API by the beginning of the answer.
func formatOf(body []byte) string {
	first := body
	if !json.Valid(body) {
		for line := range bytes.Lines(body) {
			if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
				first = data
				break
			}
		}
	}
	var w struct {
		Type, Object        string
		Choices, Candidates json.RawMessage
		UsageMetadata       json.RawMessage
		Error               struct{ Status, Message string }
		Role                string
	}
	if json.Unmarshal(first, &w) != nil {
		return ""
	}
	switch {
	case w.Type == "message_start", w.Type == "message" && w.Role == "assistant":
		return "messages"
	case w.Object == "response", strings.HasPrefix(w.Type, "response."):
		return "responses"
	case w.Choices != nil: // also the older Completions, whose text both sides ignore
		return "chat"
	case w.Candidates != nil, w.UsageMetadata != nil:
		return "gemini"
	case w.Error.Status != "":
		return "error of gemini"
	case w.Error.Message != "":
		return "error of responses"
	}
	return ""
}

// checkError compares the two error messages of a refusal.
func checkError(t *testing.T, r providertest.Recording, s side) {
	r.Status = http.StatusTooManyRequests
	_, ourErr := ourOutcome(t, s.provider(t, answering(r)))
	_, sdkErr := s.sdk(t, answering(r), true)
	var e *llm.Error
	if !errors.As(ourErr, &e) || e.Message == "" || e.Message != message(sdkErr) {
		t.Errorf("ours %v, the SDK's %v", ourErr, sdkErr)
	}
}

var framed = regexp.MustCompile(`\{"bytes":"([A-Za-z0-9+/=]+)"`)

// message returns the server's message in an SDK's error.
func message(err error) string {
	var openaiErr *openai.Error
	var geminiErr genai.APIError
	switch {
	case errors.As(err, &openaiErr):
		return openaiErr.Message
	case errors.As(err, &geminiErr):
		return geminiErr.Message
	}
	return ""
}

// answers returns the answers in a recording. Some files have two, one after the other.
func answers(t *testing.T, r providertest.Recording) (list []providertest.Recording) {
	r = unframe(t, r)
	for rest := r.Body; ; {
		end := 0
		for _, last := range []string{"event: message_stop\n", "event: response.completed\n"} {
			if i := bytes.Index(rest, []byte(last)); i >= 0 {
				end = i + bytes.Index(rest[i:], []byte("\n\n")) + 2
			}
		}
		if r.Kind != "sse_data_lines" || end == 0 || end == len(rest) {
			r.Body = rest
			return append(list, r)
		}
		one := r
		one.Body = rest[:end]
		list, rest = append(list, one), rest[end:]
	}
}

// unframe returns the events in Amazon's framing, which Bedrock uses.
func unframe(t *testing.T, r providertest.Recording) providertest.Recording {
	if r.ContentType != "application/vnd.amazon.eventstream" {
		return r
	}
	var b bytes.Buffer
	for _, m := range framed.FindAllSubmatch(r.Body, -1) {
		data, err := base64.StdEncoding.DecodeString(string(m[1]))
		if err != nil {
			t.Fatal(err)
		}
		var w struct{ Type string }
		if err := json.Unmarshal(data, &w); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", w.Type, data)
	}
	r.ContentType, r.Body = "text/event-stream", b.Bytes()
	return r
}

// count counts the recordings that ran, and the answers by their features.
type count struct {
	files                  map[string]map[string]bool // by provider and kind, then by name
	bodies                 map[string]map[verdict]int
	verdicts               map[verdict]int
	texts, calls, thoughts int
}

func newCount() *count {
	return &count{files: map[string]map[string]bool{}, bodies: map[string]map[verdict]int{},
		verdicts: map[verdict]int{}}
}

func (c *count) add(r providertest.Recording, v verdict) {
	key := r.Provider + " " + r.Kind
	if c.files[key] == nil {
		c.files[key], c.bodies[key] = map[string]bool{}, map[verdict]int{}
	}
	c.files[key][r.Name] = true
	c.bodies[key][v]++
	c.verdicts[v]++
}

// print writes plain lines, which are visible in a run of all tests.
func (c *count) print() {
	files := 0
	for _, key := range slices.Sorted(maps.Keys(c.files)) {
		files += len(c.files[key])
		fmt.Printf("provider_streams %s: %d recordings; answers: %s\n", key, len(c.files[key]),
			sortedList(c.bodies[key]))
	}
	fmt.Printf("provider_streams: %d recordings; answers: %s; %d with text, %d with calls, %d with thinking\n", files,
		sortedList(c.verdicts), c.texts, c.calls, c.thoughts)
}

func sortedList(verdicts map[verdict]int) string {
	var what []string
	for _, v := range slices.Sorted(maps.Keys(verdicts)) {
		what = append(what, fmt.Sprintf("%d %s", verdicts[v], v))
	}
	return strings.Join(what, ", ")
}
