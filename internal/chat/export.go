package chat

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/sessions"
)

// export implements /export. Only the file without a name is replaced if it exists.
func (p *program) export(arguments string) {
	c := p.current
	if c.config.Store == nil {
		p.warn("what would be exported is in the records of the session, which are not kept (--no-journal)")
		return
	}
	file := arguments
	if file == "" {
		file = "session-" + sessions.ShortID(c.session.ID()) + ".md"
	}
	if c.setup.Local != nil && !filepath.IsAbs(file) {
		file = filepath.Join(c.setup.Local.WorkDir(), file)
	}
	switch _, err := os.Lstat(file); {
	case arguments == "" || errors.Is(err, fs.ErrNotExist):
	case err == nil:
		p.warn(file + " exists; name another file")
		return
	default:
		p.warn(err.Error())
		return
	}
	p.tell(p.note, func(ctx context.Context) (string, error) {
		return "the session is in " + render.OneLine(file) + ", without the secrets that are known",
			p.Export(ctx, c.setup, file)
	})
}
