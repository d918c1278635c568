package serve

import (
	"context"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/remote/internal/wire"
	"github.com/attractor-go/attractor/search"
)

// ask carries out an operation that is one question and one answer. Those that only change
// something have no answer.
func (s *server) ask(ctx context.Context, r *wire.Request) (answer any, err error) {
	name, l := string(r.Name), s.local
	switch r.Op {
	case wire.OpStat:
		return send(wire.InfoOf)(l.Stat(ctx, name))
	case wire.OpLstat:
		return send(wire.NodeOf)(l.Lstat(ctx, name))
	case wire.OpReadDir:
		return send(infosOf)(l.ReadDir(ctx, name))
	case wire.OpReadlink:
		return send(textOf)(l.Readlink(ctx, name))
	case wire.OpResolve:
		return send(textOf)(l.Resolve(ctx, name))
	case wire.OpRemove:
		return nil, l.Remove(ctx, name)
	case wire.OpDelete:
		return nil, l.Delete(ctx, name, r.Was)
	case wire.OpSymlink:
		return nil, l.Symlink(ctx, string(r.Target), name)
	case wire.OpMkdir:
		return nil, l.Mkdir(ctx, name, r.Perm)
	case wire.OpChmod:
		return nil, l.Chmod(ctx, name, r.Perm)
	}
	return s.askMore(ctx, r)
}

// askMore carries out the questions that are not about one file, and those of an open directory.
func (s *server) askMore(ctx context.Context, r *wire.Request) (any, error) {
	switch r.Op {
	case wire.OpList:
		return s.list(ctx, r)
	case wire.OpGrep:
		return s.grep(ctx, r)
	case wire.OpGlob:
		return s.glob(ctx, r)
	case wire.OpEOF:
		return nil, s.commands.closeInput(string(r.ID))
	case wire.OpClose:
		return nil, s.local.Close()
	}
	return nil, fmt.Errorf("the operation %q is not known here: %w", r.Op, errors.ErrUnsupported)
}

// send returns a function that converts an answer for the wire unless there is an error.
func send[From, To any](convert func(From) To) func(From, error) (any, error) {
	return func(v From, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		return convert(v), nil
	}
}

func textOf(s string) wire.Text { return wire.Text(s) }

func infosOf(infos []env.Info) wire.List[wire.Node] {
	list := make(wire.List[wire.Node], len(infos))
	for i, info := range infos {
		list[i] = wire.InfoOf(info)
	}
	return list
}

// grep searches here. A search without a limit gets one, so that its result cannot fill the memory.
func (s *server) grep(ctx context.Context, r *wire.Request) (any, error) {
	if r.Query == nil {
		return nil, errors.New("a search without a query")
	}
	q := r.Query.Search()
	unlimited := q.Max <= 0
	if unlimited {
		q.Max = wire.MaxLines
	}
	found, err := search.Grep(ctx, s.local, q)
	if err == nil && unlimited && found.More {
		err = fmt.Errorf("there are more than %d matches; search for less: %w", wire.MaxLines, wire.ErrTooLarge)
	}
	return send(wire.FoundOf)(found, err)
}

func (s *server) glob(ctx context.Context, r *wire.Request) (any, error) {
	listing, err := search.Glob(ctx, s.local, string(r.Pattern), string(r.Name))
	if err == nil && len(listing.Files) > wire.MaxLines {
		err = fmt.Errorf("there are more than %d files; list fewer: %w", wire.MaxLines, wire.ErrTooLarge)
	}
	return send(wire.ListingOf)(listing, err)
}
