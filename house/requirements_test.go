package house_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// requirementsPage has a row for each id that the names of tests begin with.
const requirementsPage = "docs/requirements.md"

var (
	testForm = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	kindForm = regexp.MustCompile(`^(?:Test|Fuzz|Benchmark)`)
	idForm   = regexp.MustCompile(`^(?:AC\d+(?:_\d+)?|[A-Z]\d*)(?:_|$)`) // L12_, AC4_5_, or the letter of a part
	partForm = regexp.MustCompile(`^##+ ([A-Z]+\d*)\. `)
	rowForm  = regexp.MustCompile(`^\| ([A-Z]+\d*(?:\.\d+)?) \| (.+) \|$`)
	byHand   = regexp.MustCompile("by hand: `([^`]+)`$")
	runForm  = regexp.MustCompile(`-run '?([^\s'/]+)`)
)

// TestS7_Requirements checks that each id in the name of a test, a fuzz target or a benchmark has a
// row in docs/requirements.md, and that each row there has one of these or a command.
func TestS7_Requirements(t *testing.T) {
	rows, parts := readRequirements(t)
	files := testFiles(t)
	borne := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, id := range idsOf(name) {
			borne[id] = true
			if rows[id] == "" && !parts[id] {
				t.Errorf("%s: %s begins with the id %s, which has no row in %s", files[name], name, id,
					requirementsPage)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		command := byHand.FindStringSubmatch(rows[id])
		switch {
		case command == nil && !borne[id]:
			t.Errorf("%s: no test bears the id %s: name one so, or end the row with \"by hand: `command`\"",
				requirementsPage, id)
		case command != nil && borne[id]:
			t.Errorf("%s: tests bear the id %s, so its row needs no command", requirementsPage, id)
		case command != nil && !runsOneOf(t, command[1], files):
			t.Errorf("%s: the command of %s runs no test: %s", requirementsPage, id, command[1])
		}
	}
}

// TestS7_IDs checks what counts as an id in a name.
func TestS7_IDs(t *testing.T) {
	for name, want := range map[string]string{
		"TestI2_E6_UnknownForms":           "I2 E6",
		"TestK9_TwentyThousand":            "K9",
		"BenchmarkK5":                      "K5",
		"TestAC4_5_TimeoutKillsTheTree":    "AC4.5",
		"TestE4_AC9_1_AC9_2_LayersInOrder": "E4 AC9.1 AC9.2",
		"TestAC12_Parity":                  "AC12",
		"TestA_RandomSchedules":            "A",
		"TestE2_H_ProfilesAndDialects":     "E2 H",
		"FuzzN1_Messages":                  "N1",
		"TestHTTP2Reset":                   "",
		"TestACP_Session":                  "",
		"TestMain":                         "",
	} {
		if got := strings.Join(idsOf(name), " "); got != want {
			t.Errorf("%s has the ids %q, want %q", name, got, want)
		}
	}
}

// readRequirements returns the rows of the page and its parts, by their ids.
func readRequirements(t *testing.T) (rows map[string]string, parts map[string]bool) {
	t.Helper()
	data, err := os.ReadFile(requirementsPage)
	if err != nil {
		t.Fatal(err)
	}
	rows, parts = map[string]string{}, map[string]bool{}
	for line := range strings.SplitSeq(string(data), "\n") {
		if m := partForm.FindStringSubmatch(line); m != nil {
			parts[m[1]] = true
		}
		if m := rowForm.FindStringSubmatch(line); m != nil {
			if rows[m[1]] != "" {
				t.Errorf("%s: %s has two rows", requirementsPage, m[1])
			}
			rows[m[1]] = m[2]
		}
	}
	return rows, parts
}

// testFiles returns the files of all tests, fuzz targets and benchmarks of all modules, by their
// names.
func testFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") && name != "."):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		data, err := os.ReadFile(path)
		for _, m := range testForm.FindAllStringSubmatch(string(data), -1) {
			files[m[1]] = filepath.ToSlash(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 1000 {
		t.Fatalf("only %d tests were found", len(files))
	}
	return files
}

// idsOf returns the ids at the beginning of a test's name, in the form that rows have.
func idsOf(name string) (ids []string) {
	name = kindForm.ReplaceAllString(name, "")
	for {
		m := idForm.FindString(name)
		if m == "" {
			return ids
		}
		name = name[len(m):]
		ids = append(ids, strings.ReplaceAll(strings.TrimSuffix(m, "_"), "_", "."))
	}
}

// runsOneOf reports whether the command of a row runs one of the tests, if it says which it runs.
func runsOneOf(t *testing.T, command string, files map[string]string) bool {
	t.Helper()
	m := runForm.FindStringSubmatch(command)
	if m == nil {
		return true
	}
	form, err := regexp.Compile(m[1])
	if err != nil {
		t.Errorf("%s: %v", command, err)
		return true
	}
	for name := range files {
		if form.MatchString(name) {
			return true
		}
	}
	return false
}
