// Report prints what the tests of a gate's run came to: the time of each stage, the tests that were
// tried again, and for each test that failed its name and its last lines. It exits with 1 if more
// tests were tried again than may be, or one that may not.
//
//	report DIR
//
// DIR has a file "stages", a line "SECONDS NAME" a stage, and for each stage with tests a file
// NAME.json with the events of go test -json; repeated tests of gotestsum follow in the same file.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	retries = 3  // so many tests may be tried again in a run
	lines   = 40 // of a test's output are shown
)

// final matches the names of tests that are never right by a second try: kills, lost updates,
// attacks, secrets, resume, and processes that are left running. A failure of a package without one
// of a test is such a process, too; its name is empty.
var final = regexp.MustCompile(
	`^$|(?i:kill|lost|crash|attack|hostile|secret|mask|resum|takeover|fence|leak|left|leaves)|_?(A19|D4|I8|L7|L12|O7|P4|P8|P9)_`)

// broken matches lines of panics and of what the tests' mains print about goroutines and processes
// that are left.
var broken = regexp.MustCompile(`^(panic: |fatal error: |goleak: |left running by the tests )`)

// A test is what became of one test of a package. Subtests count for the test that they belong to.
type test struct {
	name   string
	output []string // of the newest try, its last lines
	first  []string // of the first try that failed
	failed int
	passed bool // by its newest try
	raced  bool // a data race was printed, in whatever process
	broken bool // a panic or a leak was printed
	ended  bool // it failed, and a panic or a leak was printed, which no second try mends
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: report DIR")
		os.Exit(2)
	}
	ok, err := report(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// report prints the report of the run in dir. It reports whether all tests passed as they have to.
func report(dir string) (ok bool, err error) {
	stages, err := os.ReadFile(filepath.Join(dir, "stages"))
	if err != nil {
		return false, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return false, err
	}
	var failed, again []*test
	for _, file := range files {
		tests, err := read(file)
		if err != nil {
			return false, fmt.Errorf("%s: %w", file, err)
		}
		for _, t := range tests {
			switch {
			case t.raced || t.ended || !t.passed:
				failed = append(failed, t)
			default:
				again = append(again, t)
			}
		}
	}
	fmt.Printf("\nseconds of each stage:\n%s", stages)
	ok = len(failed) == 0 && len(again) <= retries
	for _, t := range again {
		fmt.Printf("\nretried: %s failed %d times, then passed; at first:\n%s", t.name, t.failed,
			strings.Join(t.first, ""))
		if final.MatchString(t.name[strings.LastIndex(t.name, " ")+1:]) {
			fmt.Printf("%s is a test that may not be tried again: it fails\n", t.name)
			ok = false
		}
	}
	if len(again) > retries {
		fmt.Printf("%d tests were retried, which is more than %d: it fails\n", len(again), retries)
	}
	for _, t := range failed {
		fmt.Printf("\nFAILED: %s\n%s", t.name, strings.Join(t.output, ""))
	}
	return ok, nil
}

// read returns the tests that failed at least once in a file of events, in the order in which they
// failed first.
func read(file string) ([]*test, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	known := make(map[string]*test)
	var failed []*test
	in := bufio.NewScanner(f)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var e struct{ Action, Package, ImportPath, Test, Output string }
		if err := json.Unmarshal(in.Bytes(), &e); err != nil {
			return nil, err
		}
		root, _, sub := strings.Cut(e.Test, "/")
		name := "." + strings.TrimPrefix(e.Package+e.ImportPath, "github.com/attractor-go/attractor") + " " + root
		t := known[name]
		if t == nil {
			t = &test{name: name}
			known[name] = t
		}
		if t.add(e.Action, e.Output, sub) && !slices.Contains(failed, t) {
			failed = append(failed, t)
		}
	}
	return withoutPackages(failed), errors.Join(in.Err())
}

// add adds an event. It reports whether the test has failed.
func (t *test) add(action, output string, sub bool) bool {
	switch {
	case action == "run" && !sub:
		t.output = nil
	case strings.HasSuffix(action, "output"): // output, build-output
		t.output = append(t.output, output)
		t.output = t.output[max(0, len(t.output)-lines):]
		t.raced = t.raced || strings.HasPrefix(output, "WARNING: DATA RACE")
		t.broken = t.broken || broken.MatchString(output)
	case strings.HasSuffix(action, "fail") && !sub: // fail, build-fail
		if t.failed == 0 {
			t.first = t.output
		}
		t.failed++
		t.passed = false
		t.ended = t.ended || t.broken
		return true
	case action == "pass" && !sub:
		t.passed = true
	}
	return t.raced
}

// withoutPackages leaves out the failures of packages in which a test has failed, and nothing else
// happened.
func withoutPackages(failed []*test) []*test {
	return slices.DeleteFunc(failed, func(t *test) bool {
		return strings.HasSuffix(t.name, " ") && !t.raced && !t.ended &&
			slices.ContainsFunc(failed, func(o *test) bool {
				return o != t && strings.HasPrefix(o.name, t.name)
			})
	})
}
