package fakellm

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// gemini implements generateContent. The path names the model and selects streaming.
type gemini struct {
	words         int
	model, action string
}

// geminiOf parses a path: .../v1beta/models/{model}:{action}, or another collection of models in
// place of models.
func geminiOf(path string, words int) (f gemini, known bool) {
	rest := path[strings.LastIndex(path, "/models/")+len("/models/"):]
	if _, after, ok := strings.Cut(path, "/v1beta/"); ok { // a model's id may contain another collection
		rest = strings.TrimPrefix(after, "models/")
	}
	model, action, _ := strings.Cut(rest, ":")
	known = model != "" && (action == "generateContent" || action == "streamGenerateContent")
	return gemini{words, model, action}, known
}

// geminiRequest is the request body. Members that are only checked for being known are raw.
type geminiRequest struct {
	Contents          []geminiContent   `json:"contents"`
	SystemInstruction *geminiContent    `json:"systemInstruction"`
	Tools             []geminiTool      `json:"tools"`
	ToolConfig        *geminiToolConfig `json:"toolConfig"`
	Config            geminiConfig      `json:"generationConfig"`
	CachedContent     string            `json:"cachedContent"`
	SafetySettings    json.RawMessage   `json:"safetySettings"`
	Labels            json.RawMessage   `json:"labels"`
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

type geminiPart struct {
	Text             *string         `json:"text"`
	Thought          bool            `json:"thought"`
	Signature        string          `json:"thoughtSignature"`
	FunctionCall     *geminiCall     `json:"functionCall"`
	FunctionResponse *geminiResponse `json:"functionResponse"`
	InlineData       *geminiBlob     `json:"inlineData"`
	FileData         *geminiFile     `json:"fileData"`
	Executable       json.RawMessage `json:"executableCode"`
	Executed         json.RawMessage `json:"codeExecutionResult"`
	ToolCall         json.RawMessage `json:"toolCall"` // of a tool that the API has run
	ToolResponse     json.RawMessage `json:"toolResponse"`
	raw              json.RawMessage
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *geminiPart) UnmarshalJSON(b []byte) error {
	type plain geminiPart
	p.raw = append(p.raw[:0], b...)
	return strict(b, (*plain)(p))
}

type geminiCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type geminiResponse struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Response json.RawMessage `json:"response"`
	Parts    []geminiPart    `json:"parts"`
}

type geminiBlob struct {
	MIME string `json:"mimeType"`
	Data string `json:"data"`
}

type geminiFile struct {
	MIME string `json:"mimeType"`
	URI  string `json:"fileUri"`
}

type geminiTool struct {
	Functions     []geminiFunction `json:"functionDeclarations"`
	GoogleSearch  json.RawMessage  `json:"googleSearch"`
	URLContext    json.RawMessage  `json:"urlContext"`
	CodeExecution json.RawMessage  `json:"codeExecution"`
}

type geminiFunction struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	Parameters   json.RawMessage `json:"parameters"`
	Schema       json.RawMessage `json:"parametersJsonSchema"`
	Result       json.RawMessage `json:"response"`
	ResultSchema json.RawMessage `json:"responseJsonSchema"` // adk-go sends it
}

type geminiToolConfig struct {
	Calling struct {
		Mode    string   `json:"mode"`
		Allowed []string `json:"allowedFunctionNames"`
	} `json:"functionCallingConfig"`
	Invocations bool `json:"includeServerSideToolInvocations"`
}

type geminiConfig struct {
	MaxOutputTokens    int             `json:"maxOutputTokens"`
	Temperature        *float64        `json:"temperature"`
	TopP               *float64        `json:"topP"`
	TopK               *int            `json:"topK"`
	Seed               *int            `json:"seed"`
	CandidateCount     int             `json:"candidateCount"`
	StopSequences      []string        `json:"stopSequences"`
	ResponseMIME       string          `json:"responseMimeType"`
	ResponseSchema     json.RawMessage `json:"responseSchema"`
	ResponseJSONSchema json.RawMessage `json:"responseJsonSchema"`
	Thinking           *geminiThinking `json:"thinkingConfig"`
}

type geminiThinking struct {
	Include bool   `json:"includeThoughts"`
	Budget  *int   `json:"thinkingBudget"`
	Level   string `json:"thinkingLevel"`
}

// decode implements format.
func (f gemini) decode(r *Request) *refusal {
	r.Model = f.model
	// Without alt=sse, a stream is a JSON array, which is sent as a whole here.
	r.Stream = f.action == "streamGenerateContent" && r.Query.Get("alt") == "sse"
	if r.Header.Get("X-Goog-Api-Key") == "" { // a key in the URL does not count: proxies would log it
		return &refusal{403, "PERMISSION_DENIED",
			"Method doesn't allow unregistered callers (callers without established identity). " +
				"Please use API Key or other form of API consumer identity to call this API."}
	}
	var w geminiRequest
	why := r.into(&w, `Invalid JSON payload received. Unknown name "%s": Cannot find field.`,
		"Invalid JSON payload received. %v")
	if why == nil {
		why = w.check(f.model)
	}
	if why != nil {
		return why
	}
	w.read(r)
	return nil
}

// read converts the wire's request.
func (w *geminiRequest) read(r *Request) {
	r.MaxTokens = w.Config.MaxOutputTokens
	if w.SystemInstruction != nil {
		var system []string
		for _, p := range w.SystemInstruction.Parts {
			if p.Text != nil {
				system = append(system, *p.Text)
			}
		}
		r.System = strings.Join(system, "\n\n")
	}
	for _, t := range w.Tools {
		if len(t.GoogleSearch) > 0 {
			r.Tools = append(r.Tools, llm.HostedWebSearch)
		}
		for _, fn := range t.Functions {
			r.Tools = append(r.Tools, fn.Name)
		}
	}
	switch t := w.Config.Thinking; {
	case t != nil && t.Level != "":
		r.Effort = strings.ToLower(t.Level)
	case t != nil && t.Budget != nil:
		r.Effort = fmt.Sprintf("budget:%d", *t.Budget)
	}
	for _, c := range w.Contents {
		r.Messages = append(r.Messages, c.messages(r.Model)...)
	}
	r.prefixes = automatic(r.Model+"\x00"+w.CachedContent, r.Body, 1024, 128)
}

// messages returns one or two messages: results get a message of their own.
func (c geminiContent) messages(model string) []llm.Message {
	msg := llm.Message{Role: llm.RoleUser}
	if c.Role == "model" {
		msg = llm.Message{Role: llm.RoleAssistant, Provider: "gemini", Model: model}
	}
	for _, p := range c.Parts {
		msg.Parts = append(msg.Parts, p.part())
	}
	return split(msg)
}

func (p geminiPart) part() llm.Part {
	switch {
	case p.Text != nil && p.Thought:
		return llm.Thinking{Text: *p.Text, Signature: p.Signature}
	case p.Text != nil:
		return llm.Text{Text: *p.Text, Signature: p.Signature}
	case p.FunctionCall != nil:
		return llm.ToolCall{ID: p.FunctionCall.ID, Name: p.FunctionCall.Name, Args: string(p.FunctionCall.Args),
			Signature: p.Signature}
	case p.FunctionResponse != nil:
		return p.FunctionResponse.result()
	case p.InlineData != nil:
		return llm.Media{MIME: p.InlineData.MIME, Data: decoded(p.InlineData.Data)}
	case p.FileData != nil:
		return llm.Media{MIME: p.FileData.MIME, URL: p.FileData.URI}
	}
	return llm.Opaque{Provider: "gemini", Data: string(p.raw)}
}

func (r *geminiResponse) result() llm.ToolResult {
	result := llm.ToolResult{CallID: r.ID, Name: r.Name}
	var text struct {
		Output *string `json:"output"`
		Error  *string `json:"error"`
	}
	switch err := json.Unmarshal(r.Response, &text); {
	case err == nil && text.Error != nil:
		result.Content, result.IsError = llm.TextParts(*text.Error), true
	case err == nil && text.Output != nil:
		result.Content = llm.TextParts(*text.Output)
	default:
		result.Content = llm.TextParts(string(r.Response))
	}
	for _, p := range r.Parts {
		result.Content = append(result.Content, p.part())
	}
	return result
}
