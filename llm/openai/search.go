package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// searchOutput is the item type of the result of a search for tools.
const searchOutput = "tool_search_output"

// searchTool returns the name of the tool that finds deferred ones, if it is sent in the API's own
// form. It returns "" if there is no such tool, if the model is not known to load tools, or if the
// model must call the tool, which that form cannot express. The API then gets an ordinary function.
func searchTool(req *llm.Request) string {
	if !api.Loads(req) || !slices.ContainsFunc(req.Tools, func(t llm.ToolDefinition) bool { return t.Deferred }) {
		return ""
	}
	for _, t := range req.Tools {
		if t.Finds && !t.Deferred && t.Grammar == nil && (req.ToolChoice.Mode != llm.ToolNamed ||
			req.ToolChoice.Name != t.Name) {
			return t.Name
		}
	}
	return ""
}

// appendSearch writes the tool that finds deferred ones. It has no name in this API, and the client
// runs it.
func appendSearch(b []byte, def *llm.ToolDefinition) ([]byte, error) {
	b = append(b, `{"type":"tool_search","execution":"client"`...)
	if def.Description != "" {
		b = api.AppendMember(b, `,"description":`, def.Description)
	}
	b, err := appendParameters(b, def)
	return append(b, '}'), err
}

// addSearch adds a call of the tool that finds others. Its arguments are an object, not a text.
func (c *conversation) addSearch(call llm.ToolCall) {
	c.outputs[call.ID] = searchOutput
	c.item(`{"type":"tool_search_call","execution":"client","status":"completed","call_id":`)
	b := api.AppendString(c.items, api.PlainID(call.ID, maxCallID))
	b = api.AppendArgs(append(b, `,"arguments":`...), call.Args)
	c.items = append(b, '}')
}

// addFound adds the result of such a call: the definitions of the tools that it refers to. The item
// cannot hold text, so addFound returns the text of a result that refers to no tool.
func (c *conversation) addFound(r llm.ToolResult) (says llm.Parts, err error) {
	c.item(`{"type":"` + searchOutput + `","execution":"client","status":"completed","call_id":`)
	b := append(api.AppendString(c.items, api.PlainID(r.CallID, maxCallID)), `,"tools":[`...)
	found := 0
	for _, name := range r.Content.ToolReferences() {
		at := slices.IndexFunc(c.known, func(t llm.ToolDefinition) bool { return t.Name == name && t.Deferred })
		if at < 0 {
			continue
		}
		if found++; found > 1 {
			b = append(b, ',')
		}
		if b, err = appendTool(b, &c.known[at]); err != nil {
			return nil, err
		}
	}
	c.items = append(b, `]}`...)
	if text := r.Content.Text(); found == 0 && text != "" {
		says = llm.TextParts("Result of " + c.search + ":\n" + text)
	}
	return says, nil
}

// searchCall is the item type of a call of the tool that finds others.
const searchCall = "tool_search_call"

// isSearch reports whether an item is a search for tools that is a call of ours.
func (d *decoder) isSearch(item json.RawMessage) bool {
	var head wireHead
	return d.search != "" && json.Unmarshal(item, &head) == nil && head.Type == searchCall
}

// unmarshalSearch decodes a search for tools as a call of the tool that we have for this.
func (d *decoder) unmarshalSearch(raw json.RawMessage, w *wireItem) error {
	var search struct {
		CallID    string          `json:"call_id"`
		Status    string          `json:"status"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(raw, &search); err != nil {
		return fmt.Errorf("malformed item: %w", err)
	}
	var args bytes.Buffer
	if err := json.Compact(&args, search.Arguments); err != nil && len(search.Arguments) > 0 {
		return fmt.Errorf("malformed item: %w", err)
	}
	w.CallID, w.Name, w.Status, w.Arguments = search.CallID, d.search, search.Status, args.String()
	return nil
}
