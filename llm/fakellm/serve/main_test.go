package main

import (
	"os"
	"path/filepath"
	"testing"
)

// The greeting is no part of a script whose first turn has no text.
func TestJ11_ScriptBeginsWithACall(t *testing.T) {
	script := filepath.Join(t.TempDir(), "turns.json")
	if err := os.WriteFile(script, []byte(`[{"calls":[{"name":"shell"}]},{"text":"Done."}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	turns, err := readTurns(script)
	if err != nil || len(turns) != 2 || turns[0].Text != "" || turns[0].Calls[0].Name != "shell" || turns[1].Text != "Done." {
		t.Errorf("readTurns = %+v, %v", turns, err)
	}
	if turns, err := readTurns(""); err != nil || len(turns) != 1 || turns[0].Text == "" {
		t.Errorf("without a script: %+v, %v", turns, err)
	}
}
