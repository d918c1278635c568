package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/attractor-go/attractor/internal/systemprompt"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// newHeader returns the first record of a session, with all that is part of each request and the
// policy of the host.
func newHeader(ctx context.Context, o Options, id string, policy Policy, registry *tool.Registry,
	now time.Time) (headerRecord, error) {
	p := o.Profile
	h := headerRecord{Version: version, Machine: machineOf(o.Env), Policy: policy}
	h.Header = Header{ID: id, Profile: p.Name, Dialect: p.Dialect, Provider: cmp.Or(o.Provider, p.Provider),
		Model:  cmp.Or(o.Model, p.Model),
		Effort: o.Effort, Dir: o.Env.WorkDir(), System: o.System,
		Documents: o.SystemDocuments, Tools: registry.Definitions(),
		Params: Params{ToolChoice: o.Request.ToolChoice, Sequential: p.Sequential, MaxTokens: o.Request.MaxTokens,
			Temperature: o.Request.Temperature,
			Options:     o.Request.ProviderOptions, NoCache: o.Request.NoCache}}
	if o.parent != nil {
		h.Parent = o.parent.ID()
		if _, ok := registry.Get(o.Request.ToolChoice.Name); o.Request.ToolChoice.Mode == llm.ToolNamed && !ok {
			h.Params.ToolChoice = llm.ToolChoice{} // a subagent may lack the tool
		}
	}
	if h.Model == "" {
		return h, errors.New("agent: no model: set Options.Model, or one in the profile")
	}
	if h.Params.Options == nil {
		h.Params.Options = p.Options
	}
	if h.System == "" {
		o.Now = func() time.Time { return now }
		if o.prompt != nil {
			o.Env = o.prompt
		}
		h.System, h.Documents = Prompt(ctx, o)
	}
	same, err := written(h, "the session's header")
	shareTools(same.Tools, h.Tools)
	same.Tools = slices.Clip(slices.Clone(same.Tools)) // decoding left spare capacity
	return same, err
}

// written returns a part of the journal as it reads after it was written, so that requests before
// and after a resume are equal. What names the part in an error.
func written[T any](part T, what string) (same T, err error) {
	data, err := marshal(part)
	if err == nil {
		err = json.Unmarshal(data, &same)
	}
	if err != nil {
		return same, fmt.Errorf("agent: %s: %w", what, err)
	}
	return same, nil
}

// shareTools replaces definitions by equal ones of others, so that memory holds them once.
func shareTools(mine, others []llm.ToolDefinition) {
	for i, def := range mine {
		at := slices.IndexFunc(others, func(o llm.ToolDefinition) bool { return o.Name == def.Name })
		if at < 0 {
			continue
		}
		mine[i].Name = others[at].Name
		if o := others[at].Description; o == def.Description {
			mine[i].Description = o
		}
		if o := others[at].Parameters; len(o) > 0 && bytes.Equal(o, def.Parameters) {
			mine[i].Parameters = o
		}
	}
}

// SystemPrompt returns the system prompt of a new session with these options, without regard to
// o.System. It consists of the profile's prompt, the environment, the guidance of the profile's
// tools, a notice of compaction if that is on, the documents that [instructions.Find] finds, and
// the host's instructions. A session renders it once, when it starts, and keeps it in its header,
// so that it is the same after a resume.
//
// SystemPrompt reads files in o.Env. It asks git there about the repository, if that has nothing
// that could make git start another program. It leaves out what it cannot read. A host that works
// below a repository's top and wants the repository described makes the top one of
// env.LocalOptions.Roots.
func SystemPrompt(ctx context.Context, o Options) string {
	text, _ := Prompt(ctx, o)
	return text
}

// Prompt returns what SystemPrompt returns, and the documents that it has.
func Prompt(ctx context.Context, o Options) (text string, documents []PromptDocument) {
	parts := systemprompt.Parts{Base: o.Profile.Prompt, Env: o.Env, Model: cmp.Or(o.Model, o.Profile.Model),
		Now: time.Now, Approvals: o.Approve != nil, Compacts: o.Compaction.on(), Documents: o.Documents,
		Instructions: o.Instructions}
	if o.Now != nil {
		parts.Now = o.Now
	}
	parts.Documents.Names = slices.Concat(o.Profile.Documents, parts.Documents.Names)
	for _, t := range o.Profile.Tools {
		if meets(&t, o.spawns(), o.Questions != nil) {
			parts.Tools = append(parts.Tools, t)
		}
	}
	text, found := systemprompt.Render(ctx, parts)
	for _, d := range found {
		documents = append(documents, PromptDocument{d.Path, d.Shown})
	}
	return text, documents
}
