package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/attractor-go/attractor/env/remote/internal/wire"
	"github.com/attractor-go/attractor/internal/shquote"
	"github.com/attractor-go/attractor/internal/version"
	"github.com/attractor-go/attractor/sanitize"
)

// DialOptions say how Dial reaches the other machine.
type DialOptions struct {
	Options
	// Helper returns the path of an attractor-remote for a platform, named as GOOS and GOARCH do.
	// One that needs shared libraries is tried over there before it is used, and may not run; a
	// static one does. Helper is called for each connection and may be called concurrently. Nil, or
	// an error, means that there is none to upload; the error becomes part of that of Dial if one
	// is needed.
	Helper func(ctx context.Context, goos, goarch string) (path string, err error)
	// Log, if set, is told what Dial does, such as an upload, one line at a time.
	Log func(line string)
	// Timeout is how long each step may take, such as reaching the other machine, in which nothing
	// comes from there: 30 seconds unless set.
	Timeout time.Duration
}

// ErrNoHelper is wrapped by the error of Dial if the machine was reached and no helper could be
// started there.
var ErrNoHelper = errors.New("no helper could be started there")

// Dial opens an environment behind a command of this machine that runs another command, such as
// docker exec -i box or ssh host. It adds the word sh, and needs a POSIX shell over there. A
// command whose last word is serve is a helper itself, as in docker exec -i box attractor-remote
// serve; nothing is added to it.
//
// The helper is an uploaded one, or the program attractor-remote or attractor in PATH over there,
// or it is uploaded from DialOptions.Helper to a directory of the user's, where it stays for the
// next time. A relative Options.Dir starts in the directory in which the shell starts.
//
// The command inherits this process's environment. It has no terminal, so it cannot ask for a
// password. Close ends it. If the stream breaks earlier, calls that were under way return
// [env.ErrLost], and the next one dials again. If ctx ends, dialing does.
func Dial(ctx context.Context, command []string, o DialOptions) (*Env, error) {
	if len(command) == 0 || command[0] == "" {
		return nil, errors.New("the command that leads to the other machine is empty")
	}
	d := &dialer{command: slices.Clone(command), options: o}
	stream, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	o.Dir = d.absolute(o.Dir)
	e, err := New(ctx, stream, o.Options)
	if err != nil {
		return nil, err
	}
	e.redial = d.again
	return e, nil
}

// defaultTimeout is DialOptions.Timeout unless it is set.
const defaultTimeout = 30 * time.Second

// dialer opens streams to helpers.
type dialer struct {
	command []string
	options DialOptions

	mu   sync.Mutex
	last *conduit // the newest one
	dir  string   // where the shell over there starts; empty if unknown
}

// absolute returns the absolute path over there of a directory's name, if it is known.
func (d *dialer) absolute(dir string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dir == "" || path.IsAbs(dir) {
		return dir
	}
	return path.Join(d.dir, dir)
}

// again opens another stream. Whoever gets its error has not called Dial, so it has the command.
func (d *dialer) again(ctx context.Context) (io.ReadWriteCloser, error) {
	stream, err := d.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shquote.Shown(d.command...), err)
	}
	return stream, nil
}

// open starts the command and, through it, a helper. It first ends the command that it has started
// before. One call at a time works.
func (d *dialer) open(ctx context.Context) (io.ReadWriteCloser, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last != nil {
		d.last.cut(errors.New("another connection is being made"))
		_ = d.last.Close() // returns nil
	}
	command := d.command
	direct := command[len(command)-1] == "serve"
	if !direct {
		command = append(slices.Clip(command), "sh")
	}
	c, err := startConduit(command, d.options.Grace)
	if err != nil {
		return nil, err
	}
	if d.last = c; direct {
		return c, nil
	}
	stop := c.guard(ctx, cmp.Or(d.options.Timeout, defaultTimeout))
	defer stop()
	stream, err := d.talk(ctx, c)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return stream, nil
}

// talk starts a helper in the conversation with the shell over there.
func (d *dialer) talk(ctx context.Context, c *conduit) (io.ReadWriteCloser, error) {
	s, facts, err := newShell(c)
	var ended *endedError
	if errors.As(err, &ended) && ended.silent {
		return nil, fmt.Errorf("%w; it has to run the shell sh over there and to pass on its standard input, as "+
			"docker exec -i does", err)
	}
	if err != nil {
		return nil, err
	}
	m := machineOf(facts)
	d.dir = m.dir
	stream, err := d.begin(ctx, s, m)
	if why := refused(""); errors.As(err, &why) {
		err = fmt.Errorf("%w (%s): %w", ErrNoHelper, m.said, err)
	}
	return stream, err
}

// begin starts a helper that is there, or uploads one and starts it.
func (d *dialer) begin(ctx context.Context, s *shell, m machine) (io.ReadWriteCloser, error) {
	h, none := d.helper(ctx, m)
	defer h.close() // it was only read
	name, size := "", ""
	if h != nil {
		name, size = h.name(), fmt.Sprint(h.size)
	}
	list, err := s.call("at_find", name, size)
	if err != nil {
		return nil, err
	}
	all := foundIn(list, name)
	for _, f := range all {
		if f.fits() {
			return s.start(f)
		}
	}
	for _, f := range all {
		none = errors.Join(unfit(f), none)
	}
	if h == nil {
		return nil, refused(strings.ReplaceAll(none.Error(), "\n", "; "))
	}
	f, err := s.upload(ctx, h, d.log)
	if why := refused(""); h.loader != "" && errors.As(err, &why) {
		err = refused(fmt.Sprintf("%v; one that needs no libraries may run there: make it with %s", err, m.recipe()))
	}
	if err != nil {
		return nil, err
	}
	if !f.fits() {
		return nil, refused(unfit(f).Error())
	}
	return s.start(f)
}

// fits reports whether a helper speaks a version of the protocol that this side speaks.
func (f found) fits() bool { return f.oldest <= wire.NewestVersion && wire.OldestVersion <= f.newest }

// unfit returns the error about a helper that does not fit.
func unfit(f found) error {
	return fmt.Errorf("%s there speaks the versions %d to %d of the protocol, and this program %d to %d: update the "+
		"older one",
		sanitize.Terminal(path.Join(f.place, f.name)), f.oldest, f.newest, wire.OldestVersion, wire.NewestVersion)
}

// recipe returns the command that makes a helper for a machine.
func (m machine) recipe() string {
	return fmt.Sprintf("CGO_ENABLED=0 GOOS=%s GOARCH=%s %s", m.goos, m.goarch, version.Install("cmd/attractor-remote"))
}

// helper returns the helper for a machine, or why there is none.
func (d *dialer) helper(ctx context.Context, m machine) (*helper, error) {
	if m.goos == "" || m.goarch == "" {
		return nil, errors.New("neither attractor-remote nor attractor is in PATH there, and this kind of machine is " +
			"unknown here")
	}
	none := fmt.Errorf("neither attractor-remote nor attractor is in PATH there; make one for that machine and copy "+
		"it there: %s", m.recipe())
	if d.options.Helper == nil {
		return nil, none
	}
	path, err := d.options.Helper(ctx, m.goos, m.goarch)
	if err != nil {
		return nil, err
	}
	if path == "" {
		return nil, none
	}
	return openHelper(path)
}

func (d *dialer) log(line string) {
	if d.options.Log != nil {
		d.options.Log(line)
	}
}
