package attractor

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/settings"
	"github.com/attractor-go/attractor/tool"
)

// observing runs commands that nobody was asked about, because by their text they only read, where
// they can change nothing: at the level sandbox.Observe, which the kernel enforces even if a text
// was misjudged. The level is tried with the first such command.
type observing struct {
	open func() (*sandbox.Sandbox, error)
	warn func(code, text string)
	try  sync.Once
	box  *sandbox.Sandbox // nil where the level cannot be had
	err  error            // which says why
	tell sync.Once        // about the error
}

// tryTime limits the first try of the level, which looks at the directories beside those that it
// covers. It takes milliseconds, unless a file system hangs.
const tryTime = 10 * time.Second

// sandbox returns the sandbox of such commands, or nil where the level cannot be had.
func (o *observing) sandbox() *sandbox.Sandbox {
	o.try.Do(func() { o.box, o.err = o.openInTime() })
	if o.err != nil {
		o.tell.Do(func() {
			o.warn("observe", "commands that only read by their text run like any other: nothing keeps them from "+
				"changing something here ("+o.err.Error()+")")
		})
	}
	return o.box
}

// openInTime opens the sandbox. One that comes too late is closed.
func (o *observing) openInTime() (*sandbox.Sandbox, error) {
	type result struct {
		box *sandbox.Sandbox
		err error
	}
	opened, abandoned := make(chan result), make(chan struct{})
	go func() {
		box, err := o.open()
		select {
		case opened <- result{box, err}:
		case <-abandoned:
			if box != nil {
				_ = box.Close() // nothing ran in it
			}
		}
	}()
	select {
	case r := <-opened:
		return r.box, r.err
	case <-time.After(tryTime):
		close(abandoned)
		return nil, fmt.Errorf("to try it took longer than %v: a file system may hang", tryTime)
	}
}

// checkUnasked returns an error if commands should run unasked where the level does not count.
func (c *config) checkUnasked() error {
	v := c.values.Get("unasked")
	switch {
	case c.Unasked != sandbox.Observe:
	case c.elsewhere() && v != nil && v.Origin.Place != settings.PlaceFlag: // it is about sessions on this machine
		c.Unasked = sandbox.Off
	case c.Sandbox.Level != "" && c.Sandbox.Level != sandbox.Off:
		return fail(ErrConfig, "the sandbox %s confines all commands, so none can run unasked at the level observe: "+
			"choose one of the two", c.Sandbox.Level)
	case c.elsewhere():
		return fail(ErrConfig, "commands run unasked at the level observe on this machine only, and the session "+
			"works on another one: leave that out")
	}
	return nil
}

// launch is a LocalOptions.Launch.
func (o *observing) launch(ctx context.Context, l env.Launch) (env.Launch, error) {
	if !env.IsObserving(ctx) {
		return l, nil
	}
	box := o.sandbox()
	if box == nil {
		return l, nil
	}
	return box.Launch(ctx, l)
}

// launchOwn is launch for the git commands of this program. Where the level cannot be had, they run
// without it and without a warning: nothing there makes git start programs.
func (o *observing) launchOwn(ctx context.Context, l env.Launch) (env.Launch, error) {
	o.try.Do(func() { o.box, o.err = o.openInTime() })
	if o.box == nil {
		return l, nil
	}
	return o.box.Launch(ctx, l)
}

// openObserving returns a sandbox for commands that only read.
func (s *Setup) openObserving() (*sandbox.Sandbox, error) {
	return sandbox.New(s.Local.WorkDir(), sandbox.Options{Level: sandbox.Observe, Covered: func() []string {
		covered := append(s.Rules.Covered(), s.ownSecrets...)
		if s.above != nil {
			covered = append(covered, s.above.Covered()...)
		}
		return covered
	}})
}

// close closes the sandbox, if there is one. No command is started any more.
func (o *observing) close() error {
	o.try.Do(func() {})
	if o.box == nil {
		return nil
	}
	return o.box.Close()
}

// boxOf returns the sandbox in which the command of a call runs, or nil.
func (s *Setup) boxOf(call *tool.Call) *sandbox.Sandbox {
	switch {
	case s.boxed():
		return s.box
	case s.observing != nil && s.Gate.Observed(call):
		return s.observing.sandbox()
	}
	return nil
}
