package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/internal/tty"
)

// spinner matches the signs of a live line.
var spinner = regexp.MustCompile("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]")

// erased reports whether the last live line in what a terminal got has been erased.
func erased(text string) bool {
	last := spinner.FindAllStringIndex(text, -1)
	return len(last) > 0 && strings.Contains(text[last[len(last)-1][1]:], "\r\x1b[2K")
}

// The line is drawn once a second, and at most eight times if much happens. It waits while somebody
// types, and is gone at the end.
func TestN4_HowOftenTheLineIsDrawn(t *testing.T) {
	_, stop := tty.Changes() // the goroutine of os/signal begins outside of the bubble
	stop()
	file, err := os.Create(filepath.Join(t.TempDir(), "terminal"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	synctest.Test(t, func(t *testing.T) {
		l := &lastLine{out: file, file: file, screen: tty.NewScreen(file, 80, 24), style: render.Style{Width: 79}}
		progress := render.NewSession(l.style)
		shown := func() string {
			t.Helper()
			synctest.Wait()
			text, err := os.ReadFile(file.Name())
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		drawn := func() int { return len(spinner.FindAllString(shown(), -1)) }
		w := &throughLine{l, file}
		l.start()
		l.event(&agent.UserInput{EventHeader: agent.EventHeader{Time: time.Now()}}, progress)
		time.Sleep(10*time.Second + liveTick/2)
		if n := drawn(); n < 10 || n > 12 {
			t.Errorf("%d times in ten quiet seconds", n)
		}
		before := drawn()
		for i := range 1000 {
			l.event(&agent.ThinkingDelta{EventHeader: agent.EventHeader{Time: time.Now()}}, progress)
			if i%100 == 0 {
				fmt.Fprintln(w, "a line")
			}
			time.Sleep(time.Millisecond)
		}
		if n := drawn() - before - 10; n > 9 {
			t.Errorf("%d times in a busy second, beside those around text", n)
		}
		l.ask("Allow it? ")
		time.Sleep(time.Minute)
		if text := shown(); !strings.HasSuffix(text, "Allow it? ") {
			t.Errorf("the question is not the last: %q", text[max(0, len(text)-200):])
		}
		l.answered(true)
		time.Sleep(liveTick)
		if _, after, _ := strings.Cut(shown(), "Allow it? "); !spinner.MatchString(after) {
			t.Errorf("after the answer there is no line: %q", after)
		}
		l.stop()
		if text := shown(); !erased(text) || !strings.HasSuffix(text, "\x1b[?25h") {
			t.Errorf("the end is %q", text[max(0, len(text)-200):])
		}
		fmt.Fprint(w, "plain")
		l.stop()
		if text := shown(); !strings.HasSuffix(text, "\x1b[?25hplain") {
			t.Errorf("after the end comes %q", text[max(0, len(text)-200):])
		}
	})
}
