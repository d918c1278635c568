package refdocs

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the generated pages in docs/reference")

const again = "go test ./internal/refdocs -update"

// load returns the code of the repository, read once.
var load = sync.OnceValues(func() (*Source, error) { return Load("../..") })

func source(t *testing.T) *Source {
	t.Helper()
	src, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// read returns a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestQ4_Events(t *testing.T) {
	page := source(t).Events("Events", `The events of a session, as `+"`OnEvent`"+` and `+"`Session.Events`"+
		` give them to a Go program, and as `+"`attractor run --json`"+`
and `+"`attractor sessions events`"+
		` print them. An event is one flat JSON object. A member with ? is left out when it has its zero value. Kinds and
members can be added: skip those that you do not know.

With `+"`--input json`"+` there are further events, of the host; [docs/protocol.md](../protocol.md) describes them, and in which order events come.`)
	Page(t, "../../docs/reference/events.md", again, page, *update)
}

// A code is found in each form in which the code gives one to a warning.
func TestQ4_WarningCodes(t *testing.T) {
	codes := source(t).warningCodes()
	for code, form := range map[string]string{"journal_torn": "warn(code, format, args...)",
		"host_abandoned": "Warning{Code: code}", "project": "add(code, text)"} {
		if !slices.Contains(codes, code) {
			t.Errorf("%s is missing, which has the form %s", code, form)
		}
	}
}

func TestQ4_Records(t *testing.T) {
	page := source(t).Records("Records",
		`The records in the journal of a session, as the code declares them. A member with ? is left out when it has its zero value.
[journal/FORMAT.md](../../journal/FORMAT.md) owns the format: the lines around the records, what each record means, and when it is on disk.`)
	Page(t, "../../docs/reference/records.md", again, page, *update)
}

// journal/FORMAT.md has a row for every kind of record, and it names each member.
func TestQ4_RecordsAreInTheFormat(t *testing.T) {
	rows := map[string]string{}
	_, table, _ := strings.Cut(read(t, "journal/FORMAT.md"), "| k | meaning |")
	for _, m := range regexp.MustCompile(`(?m)^\| ([a-z]+) \|[^|]*\|([^|]*)\|`).FindAllStringSubmatch(table, -1) {
		rows[m[1]] = m[2]
	}
	kinds := source(t).RecordKinds()
	if len(kinds) < 15 {
		t.Fatalf("only %d kinds of records: %v", len(kinds), kinds)
	}
	for kind, members := range kinds {
		row, ok := rows[kind]
		if !ok {
			t.Errorf("journal/FORMAT.md has no row for the record %s", kind)
			continue
		}
		if strings.Contains(row, "the fields of fault") {
			row += rows["fault"]
		}
		words := strings.FieldsFunc(row, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') })
		for _, member := range members {
			if !slices.Contains(words, member) {
				t.Errorf("the row of %s in journal/FORMAT.md does not name %s", kind, member)
			}
		}
	}
	for kind := range rows {
		if kinds[kind] == nil {
			t.Errorf("journal/FORMAT.md has a row for %s, which is no record", kind)
		}
	}
}

func TestQ4_Errors(t *testing.T) {
	page := source(t).Errors("Errors that programs match", `The errors that the packages export. Match values with `+
		"`errors.Is`"+` and types with `+"`errors.As`"+`; the text of an error is
for people. The names of the kinds of package llm are also the `+"`error_kind`"+
		` of the events ERROR, LLM_RETRY and MODEL_CHANGED.
[Messages](messages.md) has the texts, and [troubleshooting](../troubleshooting.md) says what to do about those that people meet.`)
	Page(t, "../../docs/reference/errors.md", again, page, *update)
}

func TestQ4_Messages(t *testing.T) {
	page := source(t).Messages("Messages",
		`Every message that the programs and packages make themselves, by the package that makes it, sorted; ... stands for what differs.
A printed error can consist of several: the last one is the cause. What a vendor's server, git or the system says is not among them.
[Troubleshooting](../troubleshooting.md) says what to do about the messages that people meet.`)
	Page(t, "../../docs/reference/messages.md", again, page, *update)
}
