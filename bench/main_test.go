package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
)

// TestK12_EveryRow runs everything at small sizes. Each row has a figure, each ratio a yardstick,
// and each row with a goal a verdict.
func TestK12_EveryRow(t *testing.T) {
	peer.Need(t, "rg")
	peer.Need(t, "git")
	readme := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(readme, []byte("before\n<!-- bench:begin goals -->\nold\n<!-- bench:end -->\nafter\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-quick", "-readme", readme}, &out); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	number := regexp.MustCompile(`\d`)
	seen := map[string]int{}
	for line := range strings.Lines(out.String()) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		id := strings.TrimSpace(cells[0])
		if len(cells) != 7 || !strings.HasPrefix(id, "K") {
			continue
		}
		seen[id]++
		if !number.MatchString(cells[2]) || (cells[3] != "  ") != number.MatchString(cells[4]) {
			t.Errorf("a row lacks a figure or a ratio: %s", line)
		}
		if verdict := strings.TrimSpace(cells[6]); number.MatchString(cells[5]) != (verdict == "met" ||
			verdict == "not met") {
			t.Errorf("a row with a goal has no verdict, or one without a goal has one: %s", line)
		}
	}
	for id, n := range rowsOf {
		if seen[id] != n {
			t.Errorf("%d rows of %s, want %d", seen[id], id, n)
		}
	}
	data, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(data); strings.Contains(text, "old") || !strings.Contains(text, "| K1 |") ||
		!strings.HasSuffix(text, "<!-- bench:end -->\nafter\n") {
		t.Errorf("the README was not rewritten:\n%s", text)
	}
}

// rowsOf holds how many rows the table has for each row of the requirements.
var rowsOf = map[string]int{"K1": 5, "K2": 3, "K3": 4, "K4": 1, "K5": 6, "K6": 2, "K7": 4, "K8": 2, "K9": 3, "K10": 18,
	"K11": 2}

func TestK12_Verdicts(t *testing.T) {
	yard := exact(10, "ms")
	for _, c := range []struct {
		row
		want string
	}{
		{row{ours: exact(15, "ms"), against: &yard, goal: 1.5}, "met"},
		{row{ours: exact(15.1, "ms"), against: &yard, goal: 1.5}, "not met"},
		{row{ours: exact(2, "kB"), goal: 2}, "met"},
		{row{ours: exact(2.1, "kB"), goal: 2}, "not met"},
		{row{ours: figure{3, 2, "kB"}, goal: 2}, "met"}, // by the minimum
		{row{note: "refused"}, "not measured"},
		{row{ours: exact(2, "kB"), open: true}, ""},
	} {
		if cells := c.cells(); cells[6] != c.want {
			t.Errorf("%v: %q, want %q", cells, cells[6], c.want)
		}
	}
}
