package web

import (
	"testing"

	"github.com/attractor-go/attractor/agent"
)

// The line of a call says what the call does: a command, a file, a question.
func TestN5_CallTexts(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{`{"timeout_ms":5,"description":"all tests","command":"go test ./...\nls"}`, "go test ./... …"},
		{`{"file_path":"a.go","old_string":"x","new_string":"y"}`, "a.go"},
		{`{"patch":"*** Begin Patch\n*** Update File: calc/add.go\n@@\n-x\n+y\n*** Add File: b.go\n+z\n*** End Patch\n"}`, "calc/add.go, b.go"},
		{`{"patch":"no patch at all"}`, "no patch at all"},
		{`{"plan":[{"step":"Look","status":"completed"},{"step":"Mend","status":"pending"}]}`, "2 items"},
		{`{"explanation":"It was found.","plan":[{"step":"Look","status":"completed"}]}`, "It was found."},
		{`{}`, ""},
		{`not JSON`, "not JSON"},
	} {
		if got := callText([]byte(tt.args)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.args, got, tt.want)
		}
	}
}

// The line of a note has its text or a plain value, and no objects for programs.
func TestN5_NoteTexts(t *testing.T) {
	for _, tt := range []struct{ text, data, want string }{
		{"Deployed.", `{"to":"here"}`, "Deployed."},
		{"", `{"tree":"abc"}`, ""},
		{"", `["abc"]`, ""},
		{"", `"plan"`, `"plan"`},
		{"", `"plan [2]"`, `"plan [2]"`},
	} {
		if got := rowOf(&agent.NoteWritten{Text: tt.text, Data: []byte(tt.data)}); got.Text != tt.want ||
			got.Kind != RowNote {
			t.Errorf("%+v: %+v", tt, got)
		}
	}
}
