package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/protocol"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// Document returns the API as an OpenAPI document in JSON, generated from the types and routes of
// this package. docs/reference/openapi.json is the same.
func Document() ([]byte, error) {
	schemas, err := schemas()
	if err != nil {
		return nil, err
	}
	paths := map[string]map[string]any{}
	for _, r := range routes() {
		if paths[r.path] == nil {
			paths[r.path] = map[string]any{}
		}
		paths[r.path][strings.ToLower(r.method)] = r.operation()
	}
	return json.MarshalIndent(map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{"title": "Attractor", "version": "1",
			"description": "Sessions of coding agents. docs/server.md describes the server, docs/protocol.md the " +
				"lines and events.",
			"license": map[string]any{"name": "Apache-2.0", "identifier": "Apache-2.0"}},
		"servers":  []any{map[string]any{"url": "/"}},
		"security": []any{map[string]any{"token": []any{}}},
		"paths":    paths,
		"components": map[string]any{"schemas": schemas,
			"securitySchemes": map[string]any{"token": map[string]any{"type": "http", "scheme": "bearer"}}},
	}, "", "  ")
}

// ref returns a reference to a schema of the document.
func ref(name string) *jsonschema.Schema {
	return &jsonschema.Schema{Ref: "#/components/schemas/" + name}
}

// operation returns a route as an operation of the document.
func (r *route) operation() map[string]any {
	success := map[string]any{"description": "It was done."}
	if kind, _, _ := strings.Cut(r.kind, ";"); kind != "" {
		var schema any = text()
		if r.answer != "" {
			schema = ref(r.answer)
		}
		media := map[string]any{"schema": schema}
		if kind == kindEvents { // OpenAPI 3.1 has no form for streams
			media = map[string]any{"schema": text(), "x-event-data": schema}
		}
		success["content"] = map[string]any{kind: media}
	}
	op := map[string]any{"operationId": r.name, "summary": r.about, "responses": map[string]any{
		strconv.Itoa(r.status): success,
		"default": map[string]any{"description": "It was not done, or not known to be done.",
			"content": map[string]any{kindProblem: map[string]any{"schema": ref("Problem")}}}}}
	if r.name == "getHealth" {
		op["responses"].(map[string]any)["503"] = success
	}
	if r.public {
		op["security"] = []any{}
	}
	if r.body != "" {
		op["requestBody"] = map[string]any{"required": true,
			"content": map[string]any{kindJSON: map[string]any{"schema": ref(r.body)}}}
	}
	var params []any
	for _, p := range r.params {
		params = append(params, map[string]any{"name": p.name, "in": p.in, "description": p.about, "schema": p.schema,
			"required": p.required})
	}
	if params != nil {
		op["parameters"] = params
	}
	return op
}

// schemas returns the schemas of the document, by their names.
func schemas() (map[string]any, error) {
	all := map[string]any{"Document": map[string]any{"type": "object"}}
	for _, value := range []any{Create{}, Session{}, Sessions{}, Reply{}, Status{}, Problem{}, Health{}, Change{},
		llm.Usage{}, protocol.ApprovalRequested{}, protocol.QuestionAsked{}, protocol.ToolRequested{},
		protocol.AskEnded{}} {
		of := reflect.TypeOf(value)
		s, err := jsonschema.ForType(of, &jsonschema.ForOptions{TypeSchemas: typeSchemas(of)})
		if err != nil {
			return nil, fmt.Errorf("server: the schema of %s: %w", of.Name(), err)
		}
		open(s) // later versions may have more
		all[of.Name()] = s
	}
	all["Status"].(*jsonschema.Schema).Properties["asks"].Items = ref("Event")
	all["Event"] = &jsonschema.Schema{Type: "object", Required: []string{"kind", "session_id", "seq", "time"},
		Description: "an event of docs/protocol.md, with the members of its kind",
		Properties: map[string]*jsonschema.Schema{"kind": {Type: "string"}, "session_id": {Type: "string"},
			"seq": {Type: "integer"}, "time": {Type: "string", Format: "date-time"}}}
	lines, err := protocol.Schemas()
	if err != nil {
		return nil, fmt.Errorf("server: the schemas of lines: %w", err)
	}
	var one []any
	mapping := map[string]any{}
	for _, t := range slices.Sorted(maps.Keys(lines)) {
		name := lineName(t)
		all[name] = lines[t]
		if images := lines[t].Properties["images"]; images != nil { // the same in all lines
			all["Image"], images.Items = images.Items, ref("Image")
		}
		one = append(one, ref(name))
		mapping[string(t)] = "#/components/schemas/" + name
	}
	all["Line"] = map[string]any{"oneOf": one,
		"discriminator": map[string]any{"propertyName": "type", "mapping": mapping}}
	return all, nil
}

// lineName returns the name of the schema of a type of line, such as LineFollowUp.
func lineName(t protocol.Type) string {
	name := "Line"
	for word := range strings.SplitSeq(string(t), "_") {
		name += strings.ToUpper(word[:1]) + word[1:]
	}
	return name
}

// open allows members that the schema of an object does not name, also in the objects within it.
// Optional members may be missing, but not null.
func open(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	protocol.NotNull(s)
	if s.Type == "object" || slices.Contains(s.Types, "object") {
		s.AdditionalProperties = nil
	}
	open(s.Items)
	for _, p := range s.Properties {
		open(p)
	}
}

// typeSchemas returns the schemas of types with fixed values, and references to types that have a
// schema of their own in the document, except for the type not.
func typeSchemas(not reflect.Type) map[reflect.Type]*jsonschema.Schema {
	enum := func(values ...any) *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Enum: values} }
	known := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time](): {Type: "string", Format: "date-time"},
		reflect.TypeFor[State]():     enum(StateIdle, StateRunning, StateWaiting, StateHeld),
		reflect.TypeFor[permit.Mode](): enum(permit.ModeReadOnly, permit.ModePlan, permit.ModeAsk,
			permit.ModeAcceptEdits, permit.ModeFull),
		reflect.TypeFor[sandbox.Level](): enum(sandbox.Off, sandbox.WorkspaceWeak, sandbox.Workspace, sandbox.ReadOnly),
		reflect.TypeFor[agent.Status]():  {Type: "string"},
		reflect.TypeFor[tool.Effect]():   enum(tool.ReadOnly.String(), tool.Writes.String(), tool.Exclusive.String()),
		reflect.TypeFor[Code](): enum(CodeInvalid, CodeUnauthorized, CodeForbidden, CodeNotFound, CodeConflict,
			CodeTooLarge, CodeKeyReused, CodeLimit, CodeStorage, CodeDraining, CodeInternal),
		reflect.TypeFor[protocol.Type](): {Type: "string"},
		reflect.TypeFor[Session]():       ref("Session"),
		reflect.TypeFor[*Session]():      ref("Session"),
		reflect.TypeFor[Status]():        ref("Status"),
		reflect.TypeFor[*Status]():       ref("Status"),
		reflect.TypeFor[llm.Usage]():     ref("Usage"),
		reflect.TypeFor[*llm.Usage]():    ref("Usage"),
	}
	delete(known, not)
	known[reflect.TypeFor[json.RawMessage]()] = &jsonschema.Schema{}
	return known
}
