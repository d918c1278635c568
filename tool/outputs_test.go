package tool

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

func readOutput(t *testing.T, o Outputs, id string) string {
	t.Helper()
	r, err := o.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestA17_Outputs(t *testing.T) {
	parent := t.TempDir()
	o := NewOutputs(parent)
	o.max = 10
	if entries, _ := os.ReadDir(parent); len(entries) != 0 {
		t.Error("a store without outputs has made something")
	}
	ids := map[string]string{}
	for _, text := range []string{"one", "two", strings.Repeat("x", 25)} {
		id, w, err := o.Create("../call/1")
		if err != nil {
			t.Fatal(err)
		}
		for _, piece := range []string{text[:1], text[1:]} {
			if n, err := io.WriteString(w, piece); err != nil || n != len(piece) {
				t.Fatal(n, err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if ids[id] != "" {
			t.Errorf("the id %s was given twice", id)
		}
		ids[id] = text
	}
	for id, text := range ids {
		want := text
		if len(text) > 10 {
			want = text[:10] + "\n[... 15 more bytes were not kept ...]\n"
		}
		if got := readOutput(t, o, id); got != want {
			t.Errorf("%s holds %q, want %q", id, got, want)
		}
	}
	if _, err := o.Open("../../etc/passwd"); !errors.Is(err, ErrNoOutput) {
		t.Errorf("an unknown id: %v", err)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(parent); len(entries) != 0 {
		t.Errorf("Close left %v", entries)
	}
	if _, _, err := o.Create("x"); err == nil {
		t.Error("a closed store takes outputs")
	}
}
