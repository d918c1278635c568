package main

import (
	"fmt"
	"strings"
)

// subject is what some benchmarks of a package measure.
type subject struct {
	id      string   // the row of the requirements
	dir     string   // of the package, below the root
	pattern string   // of the benchmarks
	whole   []string // flags of a run that is not quick
	rows    []row
}

// row is a figure of a benchmark beside its goal.
type row struct {
	what string
	name string // of the benchmark
	most bool   // name is a suffix; the benchmark with the highest figure counts
	unit string // what the benchmark calls it
	// scale is the number of units in one of as, the unit of the report; 0 means 1.
	scale float64
	as    string
	// times is the unit in which the benchmark reports the ratio to a yardstick. Instead of that,
	// against is another benchmark with the same figure. Of is the name of the yardstick.
	times, against, of string
	// goal is for the ratio if there is one; 0 is none. If limit is set, it is for the figure.
	goal  float64
	limit bool
}

// subjects returns all subjects, in the order of the report.
func subjects() []subject {
	return []subject{
		{id: "K1", dir: "internal/cli", pattern: "^BenchmarkK1_Start$", rows: starts()},
		{id: "K2", dir: "internal/cli", pattern: "^BenchmarkK2_TextTurn$", rows: []row{
			{what: "a text turn outside a repository, CPU", name: "K2_TextTurn/outside", unit: "cpu-ms", as: "ms",
				times: "x-loop", of: bareLoop, goal: 1.6},
			{what: "a text turn inside a repository, CPU", name: "K2_TextTurn/inside", unit: "cpu-ms", as: "ms",
				times: "x-loop", of: bareLoop, goal: 2.5},
			{what: "the first text turn in a new home, CPU", name: "K2_TextTurn/first", unit: "cpu-ms", as: "ms",
				times: "x-loop", of: bareLoop}}},
		{id: "K3", dir: "agent", pattern: "^BenchmarkK3_Round$", rows: []row{
			{what: "a round, journal off, CPU", name: "K3_Round/off", unit: "cpu-ms/round", as: "ms", goal: 1.5},
			{what: "a round, journal on disk, CPU", name: "K3_Round/disk", unit: "cpu-ms/round", as: "ms", goal: 1.5}}},
		{id: "K3", dir: "internal/cli", pattern: "^BenchmarkH_ToolRound$", rows: []row{
			{what: "a round of the command with one shell command, CPU", name: "H_ToolRound", unit: "cpu-µs/round",
				scale: 1000, as: "ms", times: "x-bash", of: "a bare `bash -c`"}}},
		{id: "K4", dir: "agent", pattern: "^BenchmarkK4_Flat$", rows: []row{
			{what: "round 8000, CPU", name: "K4_Flat", unit: "cpu-ms/late", as: "ms", times: "late/early",
				of: "round 1000, less posting the same bytes", goal: 1.1}}},
		{id: "K4", dir: "oracle", pattern: "^BenchmarkEncodeTurn1000$",
			rows: formats("encoding turn 1,000 of a session", "EncodeTurn1000/%s/%s", "ns/op", 0)},
		{id: "K5", dir: "agent", pattern: "^BenchmarkK5$/^(2500|10000)$/^(Resume|Project|Fork|Replay)$",
			rows: journals()},
		{id: "K5", dir: "internal/cli", pattern: "^BenchmarkK5_Show$/^10000$/^show$", rows: []row{
			{what: "show 10000 rounds, CPU", name: "K5_Show/10000/show", unit: "cpu-ms", scale: 1000, as: "s",
				times: "x-json", of: onePass}}},
		{id: "K6", dir: "internal/cli", pattern: "^BenchmarkK6_List$/.*/^text$", rows: []row{
			{what: "`sessions list`, 5000 journals of 1 round, CPU", name: "K6_List/1/text", unit: "cpu-ms",
				scale: 1000, as: "s", goal: 0.2},
			{what: "`sessions list`, 5000 journals of 100 rounds, CPU", name: "K6_List/100/text", unit: "cpu-ms",
				scale: 1000, as: "s", goal: 0.2}}},
		{id: "K7", dir: "tool/coding", pattern: "^BenchmarkK7_ApplyPatch$/^(exact|indentation)$", rows: []row{
			{what: "`apply_patch`, 1000 hunks, 50000 lines, exact, CPU", name: "K7_ApplyPatch/exact",
				unit: "cpu-ms/op", as: "ms", goal: 60},
			{what: "`apply_patch`, 1000 hunks, 50000 lines, other white space, CPU", name: "K7_ApplyPatch/indentation",
				unit: "cpu-ms/op", as: "ms", goal: 60}}},
		{id: "K8", dir: "oracle", pattern: "^BenchmarkTextDelta$/.*/^(ours|sdk)$/^2000$",
			rows: formats("a text delta, in an answer of 2,000, CPU", "TextDelta/%s/%s/2000", "cpu-ns/delta", 5)},
		{id: "K8", dir: "agent", pattern: "^BenchmarkK8_(Round|Event)$", rows: []row{
			{what: "allocation of a round", name: "K8_Round/disk", unit: "B/round", scale: 1000, as: "kB"},
			{what: "allocation of an event", name: "K8_Event", unit: "B/event", scale: 1000, as: "kB", goal: 2}}},
		{id: "K9", dir: "agent", pattern: "^BenchmarkK9_Idle$", whole: []string{"-idle.sessions=20000"}, rows: []row{
			{what: "memory of a session at rest", name: "K9_Idle", unit: "B/session", scale: 1000, as: "kB", goal: 6},
			{what: "descriptors of a session at rest", name: "K9_Idle", unit: "descriptors/session", goal: 0.1}}},
		{id: "K10", dir: "search",
			pattern: "^BenchmarkK10_(Grep|Glob)$/.*/^(literal|ignoreCase|alternatives8|noLiteral|" +
				"none|suffix|everything)$", whole: []string{"-many"}, rows: searches()},
		{id: "K11", dir: "internal/cli", pattern: "^BenchmarkK11_EndlessAnswer$/_(small|huge)_text\\[\\]$", rows: []row{
			{what: "an endless answer, in small deltas: peak memory", name: "_small_text[]", most: true, unit: "MB",
				as: "MiB", goal: 256},
			{what: "an endless answer, in huge deltas: peak memory", name: "_huge_text[]", most: true, unit: "MB",
				as: "MiB", goal: 256}}},
		{id: "C5", dir: "tool/coding", pattern: "^BenchmarkC5_Edit$", rows: []row{
			{what: "edit_file's matching in 10 MB, CPU", name: "C5_Edit/exact", unit: "cpu-ms/op", as: "ms",
				times: "times-copy", of: "copying them"},
			{what: "edit_file's matching in 10 MB that are not all ASCII, CPU", name: "C5_Edit/exact-utf8",
				unit: "cpu-ms/op", as: "ms", times: "times-copy", of: "copying them"}}},
	}
}

const onePass = "decoding each line with encoding/json"

func starts() (rows []row) {
	for _, args := range []string{"version", "--help", "completion_bash", "completion_zsh", "completion_fish"} {
		rows = append(rows, row{what: "`attractor " + strings.Replace(args, "_", " ", 1) + "`, CPU",
			name: "K1_Start/" + args, unit: "cpu-ms", as: "ms", times: "x-empty",
			of: "an empty program with net/http", goal: 1.5})
	}
	return rows
}

// formats returns a row for each wire format, beside the vendor's SDK.
func formats(what, name, unit string, limit float64) (rows []row) {
	for _, f := range []struct{ name, title string }{{"anthropic", "Anthropic Messages"},
		{"openai", "OpenAI Responses"}, {"gemini", "Gemini"}, {"openaichat", "Chat Completions"}} {
		rows = append(rows, row{what: what + ", " + f.title, name: fmt.Sprintf(name, f.name, "ours"), unit: unit,
			scale: 1000, as: "µs", against: fmt.Sprintf(name, f.name, "sdk"), of: "the vendor's SDK", goal: limit,
			limit: true})
	}
	return rows
}

// journals returns the rows about functions that read a long journal, and about the growth of their
// cost with its length.
func journals() (rows []row) {
	for _, x := range []struct {
		name string
		goal float64
	}{{"Resume", 3}, {"Project", 3}, {"Fork", 0}, {"Replay", 0}} {
		long, short := "K5/10000/"+x.name, "K5/2500/"+x.name
		rows = append(rows, row{what: x.name + " of 10000 rounds, CPU", name: long, unit: "cpu-ms", scale: 1000,
			as: "s", times: "x-json", of: onePass, goal: x.goal},
			row{what: x.name + ", how it grows, CPU", name: long, unit: "cpu-ms", scale: 1000, as: "s",
				against: short, of: "2500 rounds", goal: 4.4})
	}
	return rows
}

// searches returns the rows about grep and glob, in Go's sources and in many small files, which a
// quick run leaves out.
func searches() (rows []row) {
	for _, tree := range []struct{ name, title string }{{"go", "Go's sources"}, {"many", "100000 small files"}} {
		for _, s := range []struct {
			name, title string
			goal        float64
		}{
			{"literal", "literal", 1.15},
			{"ignoreCase", "ignoring case", 1.15},
			{"alternatives8", "8 alternatives", 1.5},
			{"noLiteral", "no literal", 1.15},
			{"none", "no match", 1.15},
		} {
			rows = append(rows, row{what: fmt.Sprintf("grep, %s, %s, CPU", s.title, tree.title),
				name: "K10_Grep/" + tree.name + "/" + s.name, unit: "cpu-ms", as: "ms", times: "x-rg", of: "rg",
				goal: s.goal})
		}
		for _, glob := range []struct{ name, title string }{{"suffix", "by suffix"}, {"everything", "everything"}} {
			for _, peer := range []struct{ unit, name string }{{"x-fd", "fd, unsorted"},
				{"x-sorted", "rg --files --sortr modified"}} { // newest first, like ours
				rows = append(rows, row{what: fmt.Sprintf("glob, %s, %s, CPU", glob.title, tree.title),
					name: "K10_Glob/" + tree.name + "/" + glob.name, unit: "cpu-ms", as: "ms", times: peer.unit,
					of: peer.name, goal: 1})
			}
		}
	}
	return rows
}
