package hooks

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/tool"
)

// Stance is what hooks decide about a call. The zero value decides nothing.
type Stance uint8

// The stances, the stricter the higher.
const (
	NoOpinion Stance = iota
	Allows
	Asks
	Denies
)

// answer holds what a hook, or all hooks of an event together, have said.
type answer struct {
	stance  Stance
	reason  string
	updated map[string]any // arguments, in Claude Code's form; nil if they stay
	context []string       // for the model
	replace json.RawMessage
	stop    bool // ends the input
	// messages are for the person. unsupported names what the hook asked for without effect.
	messages, unsupported []string
	quiet                 bool
}

// printed is the JSON that a hook may print.
type printed struct {
	Continue       *bool    `json:"continue"`
	StopReason     string   `json:"stopReason"`
	SuppressOutput bool     `json:"suppressOutput"`
	SystemMessage  string   `json:"systemMessage"`
	Decision       string   `json:"decision"`
	Reason         string   `json:"reason"`
	Specific       specific `json:"hookSpecificOutput"`
}

// specific is the part of it that depends on the event.
type specific struct {
	HookEventName            string          `json:"hookEventName"`
	PermissionDecision       string          `json:"permissionDecision"`
	PermissionDecisionReason string          `json:"permissionDecisionReason"`
	UpdatedInput             map[string]any  `json:"updatedInput"`
	AdditionalContext        string          `json:"additionalContext"`
	UpdatedMCPToolOutput     json.RawMessage `json:"updatedMCPToolOutput"`
	UpdatedToolOutput        json.RawMessage `json:"updatedToolOutput"`
	Decision                 struct {
		Behavior           string          `json:"behavior"`
		Message            string          `json:"message"`
		Interrupt          bool            `json:"interrupt"`
		UpdatedInput       map[string]any  `json:"updatedInput"`
		UpdatedPermissions json.RawMessage `json:"updatedPermissions"`
	} `json:"decision"`
}

// maxText limits, in characters, a text of a hook that a model or a person reads.
const maxText = 10_000

// clean returns a text of a hook for a model or a person.
func clean(text string) string {
	text, _ = tool.Limit{Chars: maxText}.Apply(strings.TrimSpace(sanitize.Text(text)), tool.Gap{}, "")
	return text
}

// read returns what the output of a hook that ended with code 0 says. With strict, a guard that
// decides about calls must print JSON or nothing.
func read(event Event, stdout string, strict bool) (answer, error) {
	text := strings.TrimSpace(strings.TrimPrefix(stdout, "\uFEFF")) // which PowerShell writes
	if !strings.HasPrefix(text, "{") {
		return plainText(event, text, strict)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		return answer{}, fmt.Errorf("it printed something that is not JSON: %w", err)
	}
	for name := range members {
		switch name {
		case "continue", "stopReason", "suppressOutput", "systemMessage", "decision", "reason", "hookSpecificOutput":
		case "permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext":
			return answer{}, fmt.Errorf(
				`it printed %s in the wrong place; it belongs into {"hookSpecificOutput": {"hookEventName": "%s", ...}}`, name, event)
		}
	}
	var p printed
	if err := decode([]byte(text), &p); err != nil {
		return answer{}, fmt.Errorf("it printed JSON of another form: %w", err)
	}
	if name := p.Specific.HookEventName; name != "" && name != string(event) {
		return answer{}, fmt.Errorf("it printed hookSpecificOutput for %s instead of %s", texts.Shown(name), event)
	}
	return p.answer(event)
}

// plainText returns what a text that is not JSON says. It is context for the model where an event
// has that.
func plainText(event Event, text string, strict bool) (answer, error) {
	decides := event == PreToolUse || event == PermissionRequest
	switch {
	case text == "":
	case event == SessionStart, event == UserPromptSubmit:
		return answer{context: []string{clean(text)}}, nil
	case strings.Contains(text, "\n{") && strings.HasSuffix(text, "}"):
		return answer{}, errors.New(
			"it printed a text before its JSON, so the JSON does not count; a start-up file of the shell may print it")
	case strings.Contains(text, "permissionDecision"), decides && strict:
		return answer{}, errors.New("it printed something that is not JSON")
	}
	return answer{}, nil
}

// answer returns what the JSON says.
func (p *printed) answer(event Event) (a answer, err error) {
	a = answer{reason: clean(p.Reason), replace: given(p.Specific.UpdatedMCPToolOutput), quiet: p.SuppressOutput}
	if a.replace == nil {
		a.replace = given(p.Specific.UpdatedToolOutput)
	}
	if text := clean(p.SystemMessage); text != "" {
		a.messages = append(a.messages, text)
	}
	if text := clean(p.Specific.AdditionalContext); text != "" {
		a.context = append(a.context, text)
	}
	switch {
	case p.Decision == "block":
		a.stance = Denies
	case p.Decision == "approve" && (event == PreToolUse || event == PermissionRequest):
		a.stance = Allows
	case p.Decision == "approve", p.Decision == "":
	default:
		return a, fmt.Errorf(`it printed the decision %s; a decision is "block"`, texts.Shown(p.Decision))
	}
	switch event {
	case PreToolUse:
		err = p.Specific.permission(&a)
	case PermissionRequest:
		err = p.Specific.request(&a)
	}
	if p.Continue != nil && !*p.Continue {
		a.stop, a.reason = true, cmp.Or(clean(p.StopReason), a.reason, "a hook has stopped the work")
		if event.guards() && event != Stop && event != SubagentStop {
			a.stance = Denies
		}
	}
	return a, err
}

// given returns a member's value, or nil if it is missing or null, which many programs print for
// what they leave out.
func given(value json.RawMessage) json.RawMessage {
	if len(value) == 0 || string(value) == "null" {
		return nil
	}
	return value
}

// permission adds what a hook for PreToolUse decides.
func (s *specific) permission(a *answer) error {
	switch s.PermissionDecision {
	case "":
	case "allow":
		a.stance = max(a.stance, Allows)
	case "ask":
		a.stance = max(a.stance, Asks)
	case "deny":
		a.stance = Denies
	case "defer":
		a.stance, a.unsupported = max(a.stance, Asks), append(a.unsupported, "the decision defer, which counts as ask")
	default:
		return fmt.Errorf("it printed the permissionDecision %s; a decision is allow, deny or ask",
			texts.Shown(s.PermissionDecision))
	}
	a.reason = cmp.Or(clean(s.PermissionDecisionReason), a.reason)
	a.updated = s.UpdatedInput
	return nil
}

// request adds what a hook for PermissionRequest decides.
func (s *specific) request(a *answer) error {
	switch s.Decision.Behavior {
	case "":
	case "allow":
		a.stance = max(a.stance, Allows)
	case "deny":
		a.stance, a.stop = Denies, s.Decision.Interrupt
	default:
		return fmt.Errorf("it printed the behavior %s; a behavior is allow or deny", texts.Shown(s.Decision.Behavior))
	}
	a.reason = cmp.Or(clean(s.Decision.Message), a.reason)
	a.updated = s.Decision.UpdatedInput
	if given(s.Decision.UpdatedPermissions) != nil {
		a.unsupported = append(a.unsupported, "updatedPermissions")
	}
	return nil
}

// combine returns what several hooks say together, in their order. The strictest stance counts,
// with the reason of the first that has it, and the arguments of the first that changes them.
func combine(all []answer) (whole answer) {
	for i := range all {
		a := &all[i]
		if a.stance > whole.stance || whole.reason == "" && a.stance == whole.stance {
			whole.stance, whole.reason = a.stance, a.reason
		}
		if a.stop && !whole.stop {
			whole.stop, whole.reason = true, cmp.Or(a.reason, whole.reason)
		}
		switch {
		case a.updated == nil:
		case whole.updated == nil:
			whole.updated = a.updated
		default:
			whole.unsupported = append(whole.unsupported, "updatedInput of a second hook for the same call")
		}
		if whole.replace == nil {
			whole.replace = a.replace
		}
		whole.context = append(whole.context, a.context...)
		whole.messages = append(whole.messages, a.messages...)
		whole.unsupported = append(whole.unsupported, a.unsupported...)
	}
	whole.context = slices.Compact(whole.context)
	return whole
}
