package main

import (
	"encoding/xml"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/internal/peer"
)

// picture is the recording in the documents.
const picture = "../../docs/demo.svg"

// The recording shows what the command prints today: the scene, played again, ends with the same
// text.
func TestQ1_RecordingIsTrue(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"tmux", "bash", "ps"} {
		peer.Need(t, program)
	}
	recorded := parse(t)
	if strings.Contains(recorded.Description, "The script is over.") {
		t.Fatal("the recording goes on after the end of the script")
	}
	played, err := play(t.Context(), t.TempDir(), pace{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(timeless(recorded.Description), timeless(played.transcript)); diff != "" {
		t.Errorf("%s does not show what the command prints; go run ./internal/record makes it again (-recorded "+
			"+played):\n%s", picture, diff)
	}
}

// The recording plays in an <img>: it has no script, loads nothing, and is small. Its last frame is
// the end of its text.
func TestQ1_RecordingPlaysInAPage(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 200_000 {
		t.Errorf("it has %d bytes", len(data))
	}
	for _, wrong := range []string{"<script", "http://", "https://", "url(", "@import"} {
		if strings.Contains(strings.Replace(string(data), `"http://www.w3.org/2000/svg"`, "", 1), wrong) {
			t.Errorf("it has %s", wrong)
		}
	}
	for _, needed := range []string{"prefers-color-scheme:dark", "prefers-reduced-motion:reduce", "@keyframes film"} {
		if !strings.Contains(string(data), needed) {
			t.Errorf("it lacks %s", needed)
		}
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil || !strings.Contains(string(readme), "docs/demo.svg") {
		t.Errorf("the README does not show it: %v", err)
	}
}

// parsed is what a test reads of the picture.
type parsed struct {
	Description string `xml:"desc"`
}

func parse(t *testing.T) parsed {
	t.Helper()
	data, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	var p parsed
	if err := xml.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// timeless returns a text of a terminal without what differs from run to run.
func timeless(text string) string {
	for _, r := range []struct{ from, to string }{
		{`/\S*/slug\b`, "DIR"},
		{`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, "SESSION"},
		{`DIR ·\s+SESSION`, "DIR · SESSION"}, // a long directory breaks the line
		{`(?m)^[⠀-⣿] .*`, "LIVE"},
		{`<?\d+(\.\d+)?(ms|s)\b`, "TIME"},
		{`[\d.]+k? tokens in( \(\d+% cached\))?, \d+ out · \$[\d.]+`, "TOKENS"},
		{`(?m) +$`, ""},
	} {
		text = regexp.MustCompile(r.from).ReplaceAllString(text, r.to)
	}
	return text
}

// tmux writes a style only where it changes, also at the beginning of a line.
func TestQ1_StylesOfLines(t *testing.T) {
	t.Parallel()
	lines := ownStyles([]string{"a \x1b[2mdim", "still \x1b[0;31mred", "red\x1b[0m plain", "plain"})
	var got []style
	for _, line := range lines {
		got = append(got, pieces(line)[0].style)
	}
	if diff := cmp.Diff([]style{{}, {dim: true}, {colour: "31"}, {}}, got, cmp.AllowUnexported(style{})); diff != "" {
		t.Error(diff)
	}
}
