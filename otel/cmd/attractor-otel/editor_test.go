package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"testing"
)

// editor gives the agent one prompt, as an editor does, and ends.
func editor(t *testing.T, in io.WriteCloser, out io.Reader, dir string) {
	t.Helper()
	defer in.Close()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	ask := func(id int, method string, params any) (result map[string]any) {
		data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(in, "%s\n", data)
		for lines.Scan() {
			var m struct {
				ID     any
				Method string
				Result map[string]any
				Error  any
			}
			if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
				t.Fatal(err)
			}
			if m.Method == "" && m.ID == float64(id) {
				if m.Error != nil {
					t.Fatalf("%s: %v", method, m.Error)
				}
				return m.Result
			}
		}
		t.Fatalf("%s was not answered: %v", method, lines.Err())
		return nil
	}
	ask(1, "initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}})
	id := ask(2, "session/new", map[string]any{"cwd": dir, "mcpServers": []any{}})["sessionId"]
	ask(3, "session/prompt",
		map[string]any{"sessionId": id, "prompt": []any{map[string]any{"type": "text", "text": "do it"}}})
}
