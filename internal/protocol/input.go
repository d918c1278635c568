package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// Type says what a line is.
type Type string

// The types of lines.
const (
	TypeUser      Type = "user"
	TypeSteer     Type = "steer"
	TypeFollowUp  Type = "follow_up"
	TypeContinue  Type = "continue"
	TypeCompact   Type = "compact"
	TypeSet       Type = "set"
	TypeInterrupt Type = "interrupt"
	TypeAnswer    Type = "answer"
	TypeApprove   Type = "approve"
	TypeStatus    Type = "status"
	TypeDiff      Type = "diff"
	TypeUndo      Type = "undo"
	TypeRedo      Type = "redo"
	TypeTools     Type = "tools"
	TypeResult    Type = "result"
	TypeClose     Type = "close"
)

// Types returns the types of lines.
func Types() []Type {
	return []Type{TypeUser, TypeSteer, TypeFollowUp, TypeContinue, TypeCompact, TypeSet, TypeInterrupt, TypeAnswer,
		TypeApprove, TypeStatus, TypeDiff, TypeUndo, TypeRedo, TypeTools, TypeResult, TypeClose}
}

// Members returns the members that a line of a type can have, besides type and id.
func Members(t Type) []string {
	switch t {
	case TypeUser, TypeSteer, TypeFollowUp:
		return []string{"text", "images", "key"}
	case TypeSet:
		return []string{"provider", "model", "effort", "mode", "max_rounds", "max_turns", "budget_tokens", "budget_usd",
			"answer_timeout"}
	case TypeAnswer:
		return []string{"ask", "text", "content", "action"}
	case TypeApprove:
		return []string{"ask", "decision", "remember", "args", "mode", "reason"}
	case TypeUndo:
		return []string{"turn", "plan"}
	case TypeRedo:
		return []string{"plan"}
	case TypeTools:
		return []string{"tools"}
	case TypeResult:
		return []string{"ask", "text", "images", "is_error"}
	}
	return nil
}

// input is a line.
type input struct {
	number int64 // of the line
	order  int64 // among all lines of the session
	plain  bool  // the text is no command
	own    bool  // it is the host's
	size   int
	Type   Type
	ID     json.RawMessage // of the client, a string or a number

	parts []llm.Part // those of a prompt that is no line
	fields
}

// fields holds the members of a line, besides type and id.
type fields struct {
	Text   string  `json:"text"`
	Images []image `json:"images"`
	Key    string  `json:"key"`

	Ask      string          `json:"ask"`
	Decision string          `json:"decision"`
	Remember string          `json:"remember"`
	Args     json.RawMessage `json:"args"`
	Reason   string          `json:"reason"`
	Content  json.RawMessage `json:"content"`
	Action   string          `json:"action"`

	Tools   *[]toolDefinition `json:"tools"`
	IsError bool              `json:"is_error"`

	Turn *int   `json:"turn"`
	Plan string `json:"plan"`

	settings
}

// image is an image in Base64 or in a file.
type image struct {
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
	Path      string `json:"path"`
}

// settings are the members of set. Mode is one of approve, too.
type settings struct {
	Provider      *string       `json:"provider"`
	Model         *string       `json:"model"`
	Effort        *string       `json:"effort"`
	Mode          *string       `json:"mode"`
	MaxRounds     *int          `json:"max_rounds"`
	MaxTurns      *int          `json:"max_turns"`
	MaxTokens     *int          `json:"budget_tokens"`
	MaxUSD        *float64      `json:"budget_usd"`
	AnswerTimeout *string       `json:"answer_timeout"`
	limit         time.Duration // AnswerTimeout
}

// maxID limits a client's id, in bytes.
const maxID = 256

// decode returns the input of a line. If the error is about its members, the input has the type and
// the id, as far as they are known.
func decode(line []byte) (in *input, err error) {
	in = &input{size: len(line)}
	if !utf8.Valid(line) { // the reply repeats the id as it is
		return in, errors.New("the line is not in UTF-8")
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil || members == nil {
		return in, notAnObject(line, err)
	}
	if in.ID = members["id"]; string(in.ID) == "null" {
		in.ID = nil
	}
	if in.ID != nil {
		if c := in.ID[0]; len(in.ID) > maxID || c != '"' && c != '-' && (c < '0' || c > '9') {
			in.ID = nil
			return in, fmt.Errorf("id must be a string or a number of at most %d bytes", maxID)
		}
	}
	if text := members["type"]; text != nil && json.Unmarshal(text, &in.Type) != nil {
		return in, errors.New("type must be a string")
	}
	if !slices.Contains(Types(), in.Type) {
		t := in.Type
		in.Type = ""
		if t == "" {
			return in, fmt.Errorf("the line has no type; the types are %s", list(Types()))
		}
		return in, fmt.Errorf("there is no type %q; the types are %s", shortened(string(t)), list(Types()))
	}
	known := append([]string{"type", "id"}, Members(in.Type)...)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(known, name) {
			return in, fmt.Errorf("%s has no member %q; its members are %s", in.Type, shortened(name), list(known))
		}
	}
	if err := json.Unmarshal(line, &in.fields); err != nil {
		return in, wrongMember(in.Type, err)
	}
	for name, object := range map[string]*json.RawMessage{"args": &in.Args, "content": &in.Content} {
		if string(*object) == "null" {
			*object = nil
		}
		if *object != nil && (*object)[0] != '{' {
			return in, fmt.Errorf("%s: %s must be an object", in.Type, name)
		}
	}
	return in, in.check()
}

// notAnObject returns the error for a line that is no JSON object.
func notAnObject(line []byte, err error) error {
	if err == nil || json.Valid(line) {
		return errors.New(`the line is JSON, but no object; send one such as {"type":"user","text":"..."}`)
	}
	return fmt.Errorf(`the line is not JSON (%w); send one object a line, such as {"type":"user","text":"..."}`, err)
}

// wrongMember returns the error for a member of another type.
func wrongMember(t Type, err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	want := texts.JSONType(wrong.Type)
	switch wrong.Type.Kind() {
	case reflect.Slice, reflect.Struct:
		if strings.HasPrefix(wrong.Field, "tools") {
			want = "a list of objects, each with name, description and parameters"
			break
		}
		want = "a list of objects, each with media_type and data, or with path"
	}
	return fmt.Errorf("%s: %s must be %s", t, strings.TrimPrefix(wrong.Field, "settings."), want)
}

// check returns an error for members that lack or contradict each other.
func (in *input) check() error {
	switch in.Type {
	case TypeUser, TypeSteer, TypeFollowUp:
		if strings.TrimSpace(in.Text) == "" && len(in.Images) == 0 {
			return fmt.Errorf("%s needs a text or images", in.Type)
		}
		return in.checkImages()
	case TypeTools:
		return in.checkTools()
	case TypeResult:
		if in.Ask == "" {
			return errors.New("result needs ask, which names the call")
		}
		return in.checkImages()
	case TypeAnswer:
		return in.checkAnswer()
	case TypeApprove:
		return in.checkApproval()
	case TypeSet:
		return in.checkSettings()
	case TypeUndo:
		if in.Turn != nil && *in.Turn < 0 {
			return errors.New("turn cannot be negative; 0 is before the first one")
		}
	}
	return nil
}

func (in *input) checkImages() error {
	for i, image := range in.Images {
		if (image.Path == "") == (image.Data == "") {
			return fmt.Errorf("images[%d] needs either data, in Base64, or path", i)
		}
	}
	return nil
}

func (in *input) checkAnswer() error {
	given := 0
	for _, is := range []bool{in.Text != "", in.Content != nil, in.Action != ""} {
		if is {
			given++
		}
	}
	switch {
	case in.Ask == "":
		return errors.New("answer needs ask, which names the question")
	case in.Action != "" && in.Action != string(tool.ActionDecline) && in.Action != string(tool.ActionCancel):
		return fmt.Errorf("action must be decline or cancel, not %q", shortened(in.Action))
	case given == 0 || given > 1 && (in.Action == "" || in.Content != nil):
		return errors.New("answer needs either text, content for a form, or action; a text beside action says why")
	}
	return nil
}

// The values of remember that keep rules beyond the session.
const (
	rememberProject = "project"
	rememberAlways  = "always"
)

func (in *input) checkApproval() error {
	switch allows := in.Decision == "allow"; {
	case in.Ask == "":
		return errors.New("approve needs ask, which names the question")
	case !allows && in.Decision != "deny":
		return fmt.Errorf("decision must be allow or deny, not %q", shortened(in.Decision))
	case in.Remember != "" && !slices.Contains([]string{"session", rememberProject, rememberAlways}, in.Remember):
		return fmt.Errorf("remember must be session, project or always, not %q", shortened(in.Remember))
	case !allows && (in.Remember != "" || in.Args != nil || in.Mode != nil):
		return errors.New("remember, args and mode are only for the decision allow")
	case allows && in.Reason != "":
		return errors.New("reason is only for the decision deny")
	case in.Remember != "" && in.Args != nil:
		return errors.New("remember and args cannot be used together, because the rules to remember are about the " +
			"call as it was")
	}
	return in.checkMode()
}

func (in *input) checkSettings() (err error) {
	if in.settings == (settings{}) {
		return fmt.Errorf("set needs one of %s", list(Members(TypeSet)))
	}
	for name, n := range map[string]*int{"max_rounds": in.MaxRounds, "max_turns": in.MaxTurns,
		"budget_tokens": in.MaxTokens} {
		if n != nil && *n < 0 {
			return fmt.Errorf("%s cannot be negative", name)
		}
	}
	if in.MaxUSD != nil && *in.MaxUSD < 0 {
		return errors.New("budget_usd cannot be negative")
	}
	if in.AnswerTimeout != nil {
		if in.limit, err = time.ParseDuration(*in.AnswerTimeout); err != nil || in.limit < 0 {
			return fmt.Errorf("answer_timeout must be a duration such as 90s or 10m, or 0 for no limit, not %q",
				shortened(*in.AnswerTimeout))
		}
	}
	return in.checkMode()
}

func (in *input) checkMode() error {
	if in.Mode == nil {
		return nil
	}
	m, err := permit.ParseMode(*in.Mode)
	if err == nil && m == permit.ModePlan && in.Type == TypeApprove {
		return errors.New("mode must be ask, accept-edits or full: the approval of a plan ends plan mode")
	}
	return err
}

// list returns names as an enumeration.
func list[T ~string](names []T) string {
	var all []string
	for _, name := range names {
		all = append(all, string(name))
	}
	return strings.Join(all, ", ")
}

// shortened returns the beginning of a text of the client, for an error.
func shortened(text string) string { return texts.Cut(text, 64, "...") }
