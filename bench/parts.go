package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// sizes holds how much is measured.
type sizes struct {
	runs, rounds            int // of processes; rounds that a run of an agent makes
	round                   int // rounds of a session for the cost of one
	early, late, around     int // rounds for the cost of a round of a long session, and how many around each
	journal, journals, long int // rounds of a journal; journals in a list, and the rounds of long ones
	hunks, lines, megabytes int
	idle                    int
	trees, files            int // runs of searches; files of the tree of small files
	times                   int // runs of benchmarks
	benchtime               string
	outputs                 []string // kinds of long output
	endless                 int      // wire formats of endless answers
}

var whole = sizes{runs: 11, rounds: 20, round: 2000, early: 1000, late: 8000, around: 500, journal: 10_000,
	journals: 5000, long: 100,
	hunks: 1000, lines: 50_000, megabytes: 100, idle: 20_000, trees: 7, files: 100_000, times: 3, benchtime: "500ms",
	outputs: []string{"zeros", "ascii", "cyrillic", "noise"}, endless: 4}

var small = sizes{runs: 1, rounds: 2, round: 20, early: 20, late: 60, around: 10, journal: 40, journals: 20, long: 5,
	hunks: 10, lines: 500, megabytes: 1, idle: 20, trees: 1, files: 200, times: 1, benchtime: "1x",
	outputs: []string{"zeros"}, endless: 1}

// part measures one subject.
type part struct {
	name    string
	measure func(*bench) (result, error)
}

// parts lists the parts in the order of the report.
var parts = []part{
	{"K1", (*bench).start},
	{"K2", (*bench).turn},
	{"K3", (*bench).round},
	{"K4", (*bench).long},
	{"K5", (*bench).journals},
	{"K6", (*bench).list},
	{"K7", (*bench).patch},
	{"K9", (*bench).idle},
	{"K10", (*bench).search},
	{"K11", (*bench).endless},
	{"wire", (*bench).wire},
	{"tools", (*bench).tools},
}

// choose returns the parts with these names, separated by commas, or all.
func choose(names string) ([]part, error) {
	if names == "" {
		return parts, nil
	}
	var chosen []part
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(parts, func(p part) bool { return strings.EqualFold(p.name, name) })
		if i < 0 {
			var all []string
			for _, p := range parts {
				all = append(all, p.name)
			}
			return nil, fmt.Errorf("there is no part %q; the parts are %s", name, strings.Join(all, ", "))
		}
		chosen = append(chosen, parts[i])
	}
	return chosen, nil
}

// measure runs parts. A part that fails is reported as such and does not keep the others from
// running.
func (b *bench) measure(chosen []part) *report {
	r := &report{machine: b.machine(), sections: map[string]string{}}
	for _, p := range chosen {
		if b.ctx.Err() != nil {
			r.failed = append(r.failed, p.name+": interrupted")
			continue
		}
		fmt.Fprintln(os.Stderr, "measuring", p.name)
		one, err := p.measure(b)
		if err != nil {
			r.failed = append(r.failed, fmt.Sprintf("%s: %v", p.name, err))
		}
		r.add(one)
	}
	return r
}
