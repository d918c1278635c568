package webtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/attractor-go/attractor/internal/await"
)

// viewer is a process of attractor view.
type viewer struct {
	*home
	cmd    *exec.Cmd
	url    string
	ended  bool
	stderr strings.Builder
}

// view starts the viewer of the home's sessions.
func (h *home) view(args ...string) *viewer {
	h.Helper()
	v := &viewer{home: h, cmd: h.command(append([]string{"view", "--json"}, args...)...)}
	v.cmd.Stderr = &v.stderr
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		h.Fatal(err)
	}
	if err := v.cmd.Start(); err != nil {
		h.Fatal(err)
	}
	h.Cleanup(v.end)
	var printed struct {
		URL string `json:"url"`
	}
	if err := json.NewDecoder(out).Decode(&printed); err != nil || printed.URL == "" {
		h.Fatalf("attractor view prints no URL: %v: %s", err, v.stderr.String())
	}
	v.url = printed.URL
	return v
}

// end interrupts the viewer, as Ctrl-C does, and waits for it.
func (v *viewer) end() {
	v.Helper()
	if v.ended {
		return
	}
	v.ended = true
	if err := v.cmd.Process.Signal(os.Interrupt); err != nil {
		v.Error(err)
	}
	hung := time.AfterFunc(await.Limit, func() { _ = v.cmd.Process.Kill() })
	defer hung.Stop()
	_ = v.cmd.Wait() // its exit code is that of the signal
	if code := v.cmd.ProcessState.ExitCode(); code < 0 {
		v.Errorf("attractor view does not end with Ctrl-C: %s", v.cmd.ProcessState)
	}
}

// openSession opens the page of a session and waits until it is known and its rows are drawn.
func openSession(h *home, id string) (*page, *viewer) {
	h.Helper()
	v := h.view(id)
	p := newPage(h.TB)
	p.open(v.url)
	p.ready()
	return p, v
}

// ready waits until the session is known and the rows that are seen are drawn.
func (p *page) ready() {
	p.Helper()
	p.wait(`document.querySelector("#state .state") && document.querySelector("#overview .facts")
		&& document.querySelectorAll("#timeline .row .head").length > 1`)
}
