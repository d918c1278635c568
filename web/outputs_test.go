package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/web"
)

// outputs returns the hashes of the outputs that a session has kept whole.
func (w *workshop) outputs(id string) (hashes []string) {
	w.Helper()
	log, err := w.store.Read(w.Context(), id)
	if err != nil {
		w.Fatal(err)
	}
	defer log.Close()
	err = agent.Project(w.Context(), log, func(ev agent.Event) {
		if end, ok := ev.(*agent.ToolCallEnd); ok && end.OutputBlob != "" {
			hashes = append(hashes, end.OutputBlob)
		}
	})
	if err != nil {
		w.Fatal(err)
	}
	return hashes
}

// whole reads an output in parts.
func (v *viewer) whole(id, hash string, limit int) string {
	v.Helper()
	all, next := "", "0"
	for next != "" {
		got := v.do("GET", fmt.Sprintf("/api/sessions/%s/outputs/%s?offset=%s&limit=%d", id, hash, next, limit), "",
			nil)
		if got.status != http.StatusOK || len(got.body) > limit {
			v.Fatalf("status %d, %d bytes for a limit of %d: %.200s", got.status, len(got.body), limit, got.body)
		}
		if got.header.Get("Content-Type") != "text/plain; charset=utf-8" {
			v.Fatalf("the content type is %q", got.header.Get("Content-Type"))
		}
		if !utf8.ValidString(got.body) {
			v.Errorf("a part ends within a character: %q", got.body[len(got.body)-8:])
		}
		all += got.body
		next = got.header.Get("Attractor-Next")
	}
	return all
}

// A whole output comes in parts of any size, masked as one text, and no part ends within a
// character.
func TestN5_J8_WholeOutputs(t *testing.T) {
	w := newWorkshop(t)
	const key = "correct-horse-battery-staple-0123456789"
	w.session("session", llmtest.Calls(shell(`i=0; while [ $i -lt 3000 ]; do printf 'line %d: `+key+
		` é€😀 %s\n' $i "$(printf 'x%.0s' 1 2 3)"; i=$((i+1)); done`)), llmtest.Text("done"))
	hashes := w.outputs("session")
	if len(hashes) != 1 {
		t.Fatalf("the session keeps %d outputs", len(hashes))
	}
	var want strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&want, "line %d: [secret KEY] é€😀 xxx\n", i)
	}
	m := secret.New()
	if err := m.Register("KEY", key); err != nil {
		t.Fatal(err)
	}
	v := view(t, web.Options{Store: w.store, Masker: m})
	for _, limit := range []int{997, 64 << 10, 1 << 20} {
		if got := v.whole("session", hashes[0], limit); got != want.String() {
			t.Errorf("in parts of %d bytes the output differs: %d bytes, want %d", limit, len(got), want.Len())
		}
	}
	if got := v.do("GET", "/api/sessions/session/outputs/"+hashes[0]+"?offset=99999999", "", nil); got.status != 200 ||
		got.body != "" || got.header.Get("Attractor-Next") != "" {
		t.Errorf("behind the end: %d, %q", got.status, got.body)
	}
	missing := strings.Repeat("0", 64)
	got := v.do("GET", "/api/sessions/session/outputs/"+missing, "", nil)
	var failure struct{ Error string }
	if err := json.Unmarshal([]byte(got.body), &failure); err != nil || got.status != 404 ||
		!strings.Contains(failure.Error, "--keep-outputs") {
		t.Errorf("a missing output: %d %s", got.status, got.body)
	}
}
