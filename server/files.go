package server

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"syscall"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/protocol"
	"github.com/attractor-go/attractor/web"
)

// serveDiff answers with the diff of a session.
func (x *session) serveDiff(c *call) error {
	ctx, cancel := context.WithTimeout(c.r.Context(), lineTime)
	defer cancel()
	reply, err := x.do(ctx, c.account, protocol.Line{Type: protocol.TypeDiff}, []byte(`{"type":"diff"}`))
	if err != nil {
		return err
	}
	return c.text(kindText, []byte(reply.Text))
}

// serveOutput answers with a part of an output that is kept whole.
func (x *session) serveOutput(c *call) error {
	m, err := x.masker()
	if err != nil {
		return x.masked(err)
	}
	text, err := web.Output(c.w.Header(), c.r, x.server.options.Config.Store, m)
	if errors.Is(err, fs.ErrNotExist) {
		return refuse(http.StatusNotFound, CodeNotFound, "this output is not kept whole")
	}
	if err != nil {
		return err
	}
	return c.text(kindText, text)
}

// maxFile limits the bytes of a file that a client gets.
const maxFile = 16 << 20

// serveFile answers with a file that the session has changed.
func (x *session) serveFile(c *call) error {
	path := c.r.URL.Query().Get("path")
	if path == "" {
		return invalid("say which file: ?path=NAME, a path in the changes of a TOOL_CALL_END")
	}
	k, _ := x.now()
	rel := k.below(path)
	changed, err := x.hasChanged(c.r.Context(), k, rel)
	if err != nil {
		return err
	}
	missing := refuse(http.StatusNotFound, CodeNotFound, "the session has changed no file %.200q that is there now",
		path)
	if !changed {
		return missing
	}
	root, err := os.OpenRoot(k.Dir) // no link leads out of it
	if err != nil {
		return missing
	}
	defer root.Close()
	f, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
	if err != nil {
		return missing
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return missing
	}
	if err := c.hold(3 * min(info.Size(), maxFile)); err != nil { // it is copied to be masked
		return err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return err
	}
	if len(data) > maxFile {
		return refuse(http.StatusRequestEntityTooLarge, CodeTooLarge, "the file has more than %d bytes", maxFile)
	}
	m, err := x.masker()
	if err != nil {
		return x.masked(err)
	}
	return c.text("application/octet-stream", []byte(m.String(string(data))))
}

// below returns a path relative to the directory of the session, or "" if it is not below that.
func (k *kept) below(path string) string {
	if filepath.IsAbs(path) {
		rel, err := filepath.Rel(k.Dir, path)
		if err != nil {
			return ""
		}
		path = rel
	}
	if path = filepath.Clean(path); path == "." || !filepath.IsLocal(path) {
		return ""
	}
	return path
}

// hasChanged reports whether a result in the journal of the session names a file as changed.
func (x *session) hasChanged(ctx context.Context, k kept, rel string) (is bool, err error) {
	if rel == "" {
		return false, nil
	}
	log, err := x.server.options.Config.Store.Read(ctx, x.id)
	if err != nil {
		return false, err
	}
	err = agent.Project(ctx, log, func(ev agent.Event) {
		if end, ok := ev.(*agent.ToolCallEnd); ok && !is {
			for _, change := range end.Changes {
				is = is || k.below(change.Path) == rel
			}
		}
	})
	return is, errors.Join(err, log.Close())
}
