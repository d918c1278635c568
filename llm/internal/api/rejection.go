package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// An Encode returns the body of a request, in pieces.
type Encode func(*llm.Request) ([][]byte, error)

// rejection returns the part of the request that an error is about, or nil if the error is not
// about the conversation.
func (x *Exchange) rejection(e *llm.Error) *llm.Rejection {
	bare := *x.Request
	bare.Memo = nil
	r := &llm.Rejection{Message: -1, Part: -1, Media: mediaWords().MatchString(e.Message),
		Thinking: encryptedWords().MatchString(e.Code + " " + e.Message)}
	if r.Quirk = x.quirk(e, &bare); r.Quirk != "" {
		return r
	}
	switch {
	case e.Status == 0 && (e.Kind == llm.ErrUnsupported || e.Kind == llm.ErrInvalidRequest): // it could not be encoded
		r.Message, r.Part = partWhere(&bare, func(req *llm.Request) bool {
			_, err := x.Encode(req)
			return err != nil
		})
	case e.Kind == llm.ErrContentFilter && r.Media: // the picture is refused, and not the words around it
	case e.Kind != llm.ErrInvalidRequest && e.Status != http.StatusRequestEntityTooLarge,
		aboutParameter(e.Code, e.Message):
		return nil
	default:
		switch path := pathIn(e.Message + "\n" + string(e.Raw)); path.list { // it may stand in a member of its own
		case "":
		case "tools":
			r.Tool = path.tool(&bare, x.Encode)
		default:
			r.Message, r.Part = path.part(&bare, x.Encode)
		}
	}
	if r.Message < 0 && r.Tool == "" {
		r.Message, r.Part = partWithID(e.Message, bare.Messages)
	}
	if r.Message < 0 && r.Tool == "" {
		r.Tool, r.Message, r.Part = namedIn(e.Message, &bare)
	}
	if e.Status == 0 && r.Message < 0 && r.Tool == "" {
		return nil
	}
	return r
}

// quirk returns the quirk that a server's error demands, or "" if the error is about something
// else.
func (x *Exchange) quirk(e *llm.Error, bare *llm.Request) llm.Quirk {
	if e.Kind != llm.ErrInvalidRequest && e.Kind != llm.ErrUnsupported || e.Status == 0 {
		return ""
	}
	text := strings.ToLower(e.Message)
	switch {
	case strings.Contains(text, "must alternate"): // templates of Mistral, Devstral and Gemma
		return llm.QuirkAlternates
	case strings.Contains(text, "reasoning_content") && // DeepSeek, Kimi
		says(text, []string{"must be passed back", "is missing", "required"}):
		return llm.QuirkReasoning
	}
	q := parameterQuirk(text, strings.ToLower(string(e.Raw)))
	if q == "" {
		return ""
	}
	other := *bare
	other.Quirks = append(slices.Clone(bare.Quirks), q)
	was, err := x.Encode(bare)
	now, err2 := x.Encode(&other)
	if err != nil || err2 != nil || bytes.Equal(bytes.Join(was, nil), bytes.Join(now, nil)) {
		return "" // the request had no such parameter, or the user has set it
	}
	return q
}

// parameterQuirk returns the quirk of a server whose error says that it does not know a parameter,
// or "". text and body are the error's, in lower case. An error about a parameter's value has no
// quirk.
func parameterQuirk(text, body string) llm.Quirk {
	if says(text, []string{"invalid value", "unsupported value", "must be one of", "supported values",
		"expected one of"}) {
		return ""
	}
	if strings.Contains(text, "max_completion_tokens") && strings.Contains(text, "max_tokens") {
		return llm.QuirkCompletionTokens
	}
	if strings.Contains(text, "verified to generate reasoning summaries") { // OpenAI, of an organization
		return llm.QuirkWithout("reasoning.summary")
	}
	if strings.Contains(text, "does not support thinking") { // Ollama
		return llm.QuirkWithout("reasoning_effort")
	}
	refused := says(text, []string{"not permitted", "forbidden", "not allowed", "unrecognized", "unknown", "unexpected",
		"unsupported", "not supported", "does not support", "not available"})
	for _, name := range []string{"stream_options", "parallel_tool_calls", "reasoning_effort", "prompt_cache_key",
		"reasoning.summary"} {
		member := regexp.MustCompile(`"(param|loc)" ?: ?(\[[^]]*)?"` + name + `"`) // OpenAI's, FastAPI's
		if refused && (strings.Contains(text, name) || member.MatchString(body)) {
			return llm.QuirkWithout(name)
		}
	}
	return ""
}

// aboutParameter reports whether an invalid request is rejected for its model or for a parameter.
func aboutParameter(code, message string) bool {
	switch code {
	case "unknown_parameter", "unsupported_parameter", "unsupported_value", "missing_required_parameter",
		"model_not_found", "invalid_model":
		return true
	}
	return parameterWords().MatchString(message)
}

// parameterWords matches what OpenAI, Anthropic, Google, Ollama and vLLM say of a parameter or a
// model.
func parameterWords() *regexp.Regexp {
	return regexp.MustCompile(
		`(?i)(unknown|unsupported|unrecognized|missing required) (request )?(parameter|argument|field)` +
			`|unsupported value|unknown name "|does not support (tools|thinking|the .* parameter)` +
			`|\bmodel\b.{0,80}(does not exist|not found|is not available|is not a valid)`,
	)
}

// mediaWords matches the words of an error about an image or a document.
func mediaWords() *regexp.Regexp {
	return regexp.MustCompile(
		`(?i)\b(images?|image_url|input_image|pdf|documents?|media|inline_?data|input_file|file_data|base64|audio|vision|` +
			`multi-?modal)\b`,
	)
}

// encryptedWords matches what OpenAI says of reasoning that it cannot decrypt, also as a gateway
// quotes it.
func encryptedWords() *regexp.Regexp {
	return regexp.MustCompile(`(?i)invalid_encrypted_content|\bencrypted content\b.{1,300} could not be (verified|decrypted)`)
}

// A path is a place in a request's body as an error names it, such as messages.3.content.1 or
// contents[3].parts[1].
type path struct {
	list  string // messages, input, contents or tools; empty if the error names none
	index int
	inner int // of the entry in the content of a message, or in the declarations of a tool; -1 without one
}

// pathIn returns the first place that a text names.
func pathIn(text string) path {
	found := regexp.MustCompile(`\b(messages|input|contents|tools)(?:\.?\[|\.|['"], ?)(\d+)\]?` +
		`(?:(?:\.|['"], ?['"])(?:content|parts|function_?[dD]eclarations)(?:\.?\[|\.|['"], ?)(\d+))?`).FindStringSubmatch(text)
	if found == nil {
		return path{}
	}
	p := path{list: found[1], inner: -1}
	var err error
	if p.index, err = strconv.Atoi(found[2]); err != nil {
		return path{}
	}
	if inner, err := strconv.Atoi(found[3]); err == nil {
		p.inner = inner
	}
	return p
}

// tool returns the name of the definition at the place. Gemini has lists of definitions in its
// list.
func (p path) tool(req *llm.Request, encode Encode) string {
	type named struct {
		Name string `json:"name"`
	}
	var body struct {
		Tools []struct {
			named
			Function     named   `json:"function"`
			Declarations []named `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if !decodeBody(req, encode, &body) || p.index >= len(body.Tools) {
		return ""
	}
	t := body.Tools[p.index]
	if p.inner >= 0 && p.inner < len(t.Declarations) {
		return t.Declarations[p.inner].Name
	}
	return t.Name + t.Function.Name // it has one of them
}

func decodeBody(req *llm.Request, encode Encode, to any) bool {
	pieces, err := encode(req)
	return err == nil && json.Unmarshal(bytes.Join(pieces, nil), to) == nil
}

// part returns the message and the part that were encoded at the place, -1 for what cannot be
// found.
func (p path) part(req *llm.Request, encode Encode) (message, part int) {
	message, part = partWhere(req, func(req *llm.Request) bool { return p.isIn(req, encode) })
	if message < 0 || p.inner >= 0 || part+1 >= len(req.Messages[message].Parts) {
		return message, part
	}
	next := path{list: p.list, index: p.index + 1, inner: -1}
	if !next.isIn(upTo(req, message, part+1), encode) {
		return message, -1 // the next part is in the same item, so the item is the message
	}
	return message, part
}

// upTo returns a request that ends with a part.
func upTo(req *llm.Request, message, part int) *llm.Request {
	sub := *req
	last := req.Messages[message]
	last.Parts = last.Parts[:part+1]
	sub.Messages = append(slices.Clone(req.Messages[:message]), last)
	return &sub
}

// partWhere returns the first part such that the conversation up to and with it has a property, or
// -1 and -1. A message of a request may become several on the wire, or several messages one, but
// the beginning of a conversation is encoded alike in every request.
func partWhere(req *llm.Request, has func(*llm.Request) bool) (message, part int) {
	all := req.Messages
	message = sort.Search(len(all)+1, func(n int) bool {
		sub := *req
		sub.Messages = all[:n]
		return has(&sub)
	}) - 1
	if message < 0 || message == len(all) {
		return -1, -1
	}
	parts := len(all[message].Parts)
	part = sort.Search(parts, func(i int) bool { return has(upTo(req, message, i)) })
	if part == parts { // it has none
		part = -1
	}
	return message, part
}

// isIn reports whether a request's body has the place.
func (p path) isIn(req *llm.Request, encode Encode) bool {
	var body map[string]json.RawMessage
	var items []struct {
		Content json.RawMessage `json:"content"`
		Parts   json.RawMessage `json:"parts"`
	}
	if len(req.Messages) == 0 || !decodeBody(req, encode, &body) || json.Unmarshal(body[p.list], &items) != nil {
		return false
	}
	if p.index >= len(items) || p.inner < 0 || p.index < len(items)-1 {
		return p.index < len(items)
	}
	last := items[p.index]
	var entries []json.RawMessage
	for _, list := range []json.RawMessage{last.Content, last.Parts} {
		if json.Unmarshal(list, &entries) == nil && len(entries) > 0 {
			return p.inner < len(entries)
		}
	}
	return p.inner == 0 // it is one text
}

// partWithID returns the newest part whose id is in a text. A call is found, and not its result.
func partWithID(text string, messages []llm.Message) (message, part int) {
	const shortest = 6 // a shorter id occurs in ordinary text
	for i, m := range slices.Backward(messages) {
		for j, p := range m.Parts {
			id := ""
			switch p := p.(type) {
			case llm.ToolCall:
				id = p.ID
			case llm.Thinking:
				id = p.ID
			}
			if len(id) >= shortest && strings.Contains(text, id) {
				return i, j
			}
		}
	}
	return -1, -1
}

// namedIn returns the definition, or else the newest call, whose name is quoted in a text.
func namedIn(text string, req *llm.Request) (tool string, message, part int) {
	quoted := map[string]bool{}
	for _, found := range regexp.MustCompile("['\"`]([^'\"`\\s]{1,256})['\"`]").FindAllStringSubmatch(text, -1) {
		quoted[found[1]] = true
	}
	for i := range req.Tools {
		if quoted[req.Tools[i].Name] {
			return req.Tools[i].Name, -1, -1
		}
	}
	for i, m := range slices.Backward(req.Messages) {
		for j, p := range m.Parts {
			if call, ok := p.(llm.ToolCall); ok && quoted[call.Name] {
				return "", i, j
			}
		}
	}
	return "", -1, -1
}
