package env_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"testing"
)

// corpus reads the cases in a folder of the shared corpora, or skips the test if they are missing.
func corpus[Case any](t *testing.T, folder string) []Case {
	t.Helper()
	data, err := os.ReadFile("../../shared/corpora/" + folder + "/cases.jsonl")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the shared corpora are not here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	var cases []Case
	for line := range bytes.Lines(data) {
		var c Case
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		cases = append(cases, c)
	}
	return cases
}
