package main

import (
	"context"
	"embed"
	"encoding/json"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// project holds the directory in which the scene plays.
//
//go:embed project
var project embed.FS

// pace says how fast a scene plays. The zero value, for tests, plays as fast as it can, and lets
// commands wait for the person.
type pace struct {
	key   time.Duration // between two keys
	word  time.Duration // between two pieces of the model's answers
	think time.Duration // before each answer
	read  float64       // multiplies the pauses in which somebody reads
}

// watched is the pace for people.
func watched() pace {
	return pace{35 * time.Millisecond, 60 * time.Millisecond, 500 * time.Millisecond, 1}
}

// answers is what the model says, one answer after the other.
func answers() []fakellm.Turn {
	const old, dashes = "tr ' ' '_'", "tr -cs 'a-z0-9' '-'"
	test := call("shell", "command", "sh slug_test.sh")
	return []fakellm.Turn{
		{Text: "I'll read the code, and run its test.",
			Calls: []fakellm.Call{call("read_file", "file_path", "slug.sh")}},
		{Calls: []fakellm.Call{test}},
		{Text: "Words are joined by `_`, and punctuation stays. " +
			"`tr -cs` makes one dash of any run of other characters.",
			Calls: []fakellm.Call{call("edit_file", "file_path", "slug.sh", "old_string", old, "new_string", dashes),
				test}},
		{Text: "A dash is left at either end; `sed` takes it.",
			Calls: []fakellm.Call{call("edit_file", "file_path", "slug.sh", "old_string", dashes, "new_string",
				dashes+" | sed 's/^-//; s/-$//'")}},
		{Text: "Now the case of an empty title.",
			Calls: []fakellm.Call{call("edit_file", "file_path", "slug_test.sh", "old_string", "check \"hello\"",
				"new_string", "check \"\" \"\"\ncheck \"hello\""), test}},
		{Text: "Nobody knows whether the test ended, so I run it again. The edits are there.",
			Calls: []fakellm.Call{test}},
		{Text: "`slug` joins words with single dashes now, and leaves none at the ends. " +
			"An empty title has a case of its own."},
	}
}

func call(name string, args ...string) fakellm.Call {
	object := map[string]string{}
	for i := 0; i+1 < len(args); i += 2 {
		object[args[i]] = args[i+1]
	}
	raw, err := json.Marshal(object)
	if err != nil {
		panic(err) // strings
	}
	return fakellm.Call{Name: name, Args: raw}
}

// model returns the scripted model. It applies the brake before the answers whose commands have to
// run until the person has typed or killed something.
func model(p pace, b brake) fakellm.Model {
	script := fakellm.Script(answers()...)
	return func(r *fakellm.Request) fakellm.Turn {
		time.Sleep(p.think)
		if n := r.Turn(); n == 2 || n == 4 {
			b.apply()
		}
		return script(r)
	}
}

// play plays the scene in a directory and returns what the terminal showed.
func play(ctx context.Context, temp string, p pace) (*film, error) {
	dir, bin := filepath.Join(temp, "slug"), filepath.Join(temp, "bin")
	if err := build(ctx, bin); err != nil {
		return nil, err
	}
	b := brake("")
	if p == (pace{}) {
		var err error
		if b, err = newBrake(bin); err != nil {
			return nil, err
		}
	}
	server := httptest.NewServer(fakellm.New(model(p, b), fakellm.Options{Delay: p.word}))
	defer server.Close()
	files, err := fs.Sub(project, "project")
	if err != nil {
		return nil, err
	}
	if err := os.CopyFS(dir, files); err != nil {
		return nil, err
	}
	t, err := openTerminal(ctx, temp, dir, []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + temp,
		"HISTFILE=", "LC_ALL=C.UTF-8", "ANTHROPIC_API_KEY=key-of-a-scene", "ANTHROPIC_BASE_URL=" + server.URL})
	if err != nil {
		return nil, err
	}
	defer t.close()
	c := newCamera(t)
	err = perform(&actor{t, p, b})
	film, filmErr := c.stop()
	if err == nil {
		err = filmErr
	}
	if err != nil {
		return nil, err
	}
	if film.transcript, err = t.history(); err != nil {
		return nil, err
	}
	return film, leave(t)
}

// leave ends the conversation, so that nothing writes into the directory any more.
func leave(t *terminal) error {
	if _, err := t.do("send-keys", "C-d"); err != nil {
		return err
	}
	return t.expect("To continue the session(.*\n)+\\$", 1)
}

// perform is what the person at the terminal does.
func perform(a *actor) error {
	const works = `[⠀-⣿] shell sh slug_test.sh · \d+s`             // the live line when the test has run for a second
	const sent = `> Add a case for an empty title\.\n(.*\n)*> *\n` // the person's line, and again an empty one
	return inOrder(
		a.expect("\\$", 1), a.wait(1),
		a.line("attractor chat --mode accept-edits --check 'sh slug_test.sh'"), a.expect("/help", 1), a.wait(0.7),
		a.line("sh slug_test.sh fails. Find out why and fix it."), a.expect("Allow it\\?", 1), a.wait(2.5),
		a.line("a"), a.expect("Words are joined", 1),
		// while the test runs
		a.keys("Add a case for an empty title."), a.expect("\\+ .*tr -cs", 1), a.enter, a.expect(sent, 1), a.release,
		a.expect("sed 's", 1), a.expect("check \"\" \"\"", 1), a.expect(works, 1), a.wait(0.3),
		a.kill(), a.expect("Killed", 1), a.release, a.wait(1.2),
		a.line("# That was kill -9, in another terminal."), a.wait(0.5),
		a.line("attractor chat --continue --yes --check 'sh slug_test.sh'"), a.expect("checks: verified", 1), a.wait(1),
	)
}

// inOrder takes one step after the other, until one fails.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// actor types at a terminal.
type actor struct {
	t     *terminal
	pace  pace
	brake brake
}

func (a *actor) release() error { return a.brake.release() }

func (a *actor) expect(pattern string, times int) func() error {
	return func() error { return a.t.expect(pattern, times) }
}

// wait pauses, so that a viewer has the time to read.
func (a *actor) wait(seconds float64) func() error {
	return func() error {
		time.Sleep(time.Duration(seconds * a.pace.read * float64(time.Second)))
		return nil
	}
}

// line types a line, key by key, and Enter.
func (a *actor) line(text string) func() error {
	return func() error { return inOrder(a.keys(text), a.enter) }
}

func (a *actor) keys(text string) func() error {
	return func() error {
		for _, key := range text {
			if _, err := a.t.do("send-keys", "-l", string(key)); err != nil {
				return err
			}
			time.Sleep(a.pace.key)
		}
		return a.t.expect(regexp.QuoteMeta(text), 1)
	}
}

func (a *actor) enter() error {
	_, err := a.t.do("send-keys", "Enter")
	return err
}

func (a *actor) kill() func() error { return a.t.kill }
