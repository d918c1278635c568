package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
)

// TestK12_EveryRow runs everything once. Each row has a figure, each ratio a yardstick, and each
// row with a goal a verdict.
func TestK12_EveryRow(t *testing.T) {
	peer.Need(t, "rg")
	peer.Need(t, "fdfind")
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

// rowsOf holds how many rows the table of a quick run has for each row of the requirements.
var rowsOf = map[string]int{"K1": 5, "K2": 3, "K3": 3, "K4": 5, "K5": 9, "K6": 2, "K7": 2, "K8": 6, "K9": 2, "K10": 9,
	"K11": 2}

func TestK12_Verdicts(t *testing.T) {
	m := metrics{}
	m.add(strings.ReplaceAll("BenchmarkA-N 1 15 ms 1.5 x-b\nBenchmarkB-N 1 10 ms\nBenchmarkA-N 1 16 ms 1.6 x-b\n", "-N",
		fmt.Sprint("-", runtime.GOMAXPROCS(0))))
	for _, c := range []struct {
		row
		want []string
	}{
		{row{name: "A", times: "x-b", of: "b", goal: 1.5}, []string{"b", "1.50", "≤ 1.50 x", "met"}},
		{row{name: "A", times: "x-b", of: "b", goal: 1.4}, []string{"b", "1.50", "≤ 1.40 x", "not met"}},
		{row{name: "A", against: "B", of: "b", goal: 1.5}, []string{"b: 10.0 ms", "1.50", "≤ 1.50 x", "met"}},
		{row{name: "A", against: "B", of: "b", goal: 14, limit: true},
			[]string{"b: 10.0 ms", "1.50", "≤ 14.0 ms", "not met"}},
		{row{name: "A", goal: 15}, []string{"", "", "≤ 15.0 ms", "met"}}, // by the minimum
		{row{name: "A", goal: 14.9}, []string{"", "", "≤ 14.9 ms", "not met"}},
		{row{name: "A"}, []string{"", "", "", ""}},
	} {
		c.unit, c.as = "ms", "ms"
		cells, err := c.cells("K1", m)
		if err != nil || cells[2] != "16.0 (15.0) ms" || !slices.Equal(cells[3:], c.want) {
			t.Errorf("%q, %v, want %q", cells, err, c.want)
		}
	}
	for _, r := range []row{{name: "C", unit: "ms"}, {name: "A", unit: "s"}, {name: "A", unit: "ms", times: "x-c",
		of: "c"}} {
		if cells, err := r.cells("K1", m); err == nil {
			t.Errorf("%+v: %q", r, cells)
		}
	}
}
