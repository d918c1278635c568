package cli

import (
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A text beside the prompt may be slow once it has begun. Where nothing comes, the prompt goes on
// without it, unless it ends with a -.
func TestX3_StandardInputBesideAPrompt(t *testing.T) {
	const minute, slow = time.Minute, "attractor: reading standard input to its end, for the prompt; to have none of " +
		"it, write </dev/null\n"
	for _, c := range []struct {
		name         string
		args         []string
		begins, ends time.Duration // 0 means never
		want, told   string
		late         bool
	}{
		{name: "text", args: []string{"what"}, begins: time.Second, ends: minute, want: "what\n\nabcd",
			told: slow + "attractor: the prompt has 4 bytes of standard input\n"},
		{name: "endless", args: []string{"what"}, begins: time.Second, ends: time.Hour, told: slow, late: true},
		{name: "nothing", args: []string{"what"}, want: "what",
			told: "attractor: warning: nothing has come on standard input for 3s, so the prompt is without it; to " +
				"wait for it, end the prompt with a -, and to have none, write </dev/null\n"},
		{name: "awaited", args: []string{"what", "-"}, begins: minute, ends: 2 * minute, want: "what\n\nabcd"},
		{name: "only text", begins: time.Second, ends: minute, want: "abcd", told: slow},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, out := io.Pipe()
				defer in.Close()
				if c.ends > 0 {
					time.AfterFunc(c.begins, func() { _, _ = io.WriteString(out, "ab") })
					time.AfterFunc(c.ends, func() { _, _ = io.WriteString(out, "cd"); _ = out.Close() })
				}
				var told strings.Builder
				got, err := readPrompt(c.args, terminal{in: in, err: &told}, false, 10*minute)
				if (err != nil) != c.late || got != c.want || told.String() != c.told {
					t.Errorf("%q, %v, told %q", got, err, told.String())
				}
				if c.late && exitCode(err) != exitLimit {
					t.Error(err)
				}
			})
		})
	}
}

// Standard input that is not text, such as a picture or UTF-16, is refused in words.
func TestX3_StandardInputIsText(t *testing.T) {
	in := strings.NewReader("\xff\xfeh\x00i\x00")
	if _, err := readPrompt([]string{"what"}, terminal{in: in, err: io.Discard}, false, 0); err == nil ||
		!strings.Contains(err.Error(), "no UTF-8 text, as it has NUL bytes; put it into a file") {
		t.Errorf("the error is %v", err)
	}
}

func TestX3_StandardInputIsBounded(t *testing.T) {
	var told strings.Builder
	in := io.LimitReader(zeros{}, 1<<40)
	if _, err := readPrompt([]string{"what"}, terminal{in: in, err: &told}, false, 0); err == nil ||
		!strings.Contains(err.Error(), "more than 16 MiB; put it into a file") {
		t.Error(err)
	}
	device, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	got, err := readPrompt([]string{"what"}, terminal{in: device, err: &told}, false, 0)
	if err != nil || got != "what" || told.String() != "" {
		t.Errorf("%q, %v, told %q", got, err, told.String())
	}
}

// zeros never ends.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
