package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/trust"
)

// The limits of what is read of a project on another machine, where each look takes time.
const (
	maxFarFiles = 200
	maxFarDepth = 3 // directories inside each other in a place, as a skill's directory is
	maxFarBytes = 4 << 20
)

// Far returns the files by which a project on another machine would start or allow something. Only
// their rules that deny or ask have an effect. here is the directory of this machine for what runs
// here.
func Far(ctx context.Context, e env.Environment, root, here string) *Project {
	s := &farScan{Snapshot: &trust.Snapshot{Root: root}, ctx: ctx, env: e, lists: map[string][]env.Info{},
		room: maxFarBytes}
	var places []trust.Place
	for _, name := range projectRules() { // first, because those that deny count, however many other files there are
		places = append(places, trust.Place{Name: name, Kind: trust.Settings})
	}
	for _, p := range append(places, trust.Places()...) {
		if info, ok := s.find(p.Name); ok {
			s.add(p.Name, info, p.Kind, p.Tree, 0)
		}
	}
	if s.tooMany {
		s.problem(".", fmt.Errorf(
			"there are more than %d files that could start or allow something, so not all of them are named",
			maxFarFiles))
	}
	slices.SortFunc(s.Files, func(a, b trust.File) int { return strings.Compare(a.Name, b.Name) })
	return &Project{Snapshot: s.Snapshot, Trusted: s.Empty(), Here: here}
}

// farScan holds the state of Far.
type farScan struct {
	*trust.Snapshot
	ctx   context.Context
	env   env.Environment
	lists map[string][]env.Info // by directory, which is listed once
	room  int                   // bytes that may still be read

	tooMany bool // some files were not looked at
}

// list returns what is in a directory, which need not exist.
func (s *farScan) list(dir string) []env.Info {
	known, ok := s.lists[dir]
	if ok {
		return known
	}
	list, err := s.env.ReadDir(s.ctx, path.Join(s.Root, dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.problem(dir, err)
	}
	s.lists[dir] = list
	return list
}

// find returns a file or directory, if it is there.
func (s *farScan) find(name string) (info env.Info, ok bool) {
	dir, base := path.Split(name)
	if dir = path.Clean(dir); dir != "." {
		if _, ok := s.find(dir); !ok {
			return info, false
		}
	}
	list := s.list(dir)
	i := slices.IndexFunc(list, func(i env.Info) bool { return i.Name == base })
	if i < 0 {
		return info, false
	}
	return list[i], true
}

// add adds a file, or the files of a directory.
func (s *farScan) add(name string, info env.Info, kind trust.Kind, tree bool, depth int) {
	switch {
	case slices.ContainsFunc(s.Files, func(f trust.File) bool { return f.Name == name }): // it is in two places
	case len(s.Files) >= maxFarFiles:
		s.tooMany = true
	case depth > maxFarDepth:
	case info.IsDir() && tree:
		for _, below := range s.list(name) {
			s.add(path.Join(name, below.Name), below, kind, true, depth+1)
		}
	case !info.IsDir():
		f := trust.File{Name: name, Kind: kind}
		if path.Ext(name) == ".json" { // of the others only the names are told
			data, err := s.read(name)
			if err != nil {
				s.problem(name, err)
				return
			}
			f.Data = data
		}
		s.Files = append(s.Files, f)
	}
}

// read returns the content of a file.
func (s *farScan) read(name string) (data []byte, err error) {
	f, err := s.env.Open(s.ctx, path.Join(s.Root, name))
	if err != nil {
		return nil, err
	}
	limit := min(s.room, rules.MaxFile)
	data, err = io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if len(data) > limit {
		return nil, fmt.Errorf("it is larger than %d bytes", limit)
	}
	s.room -= len(data)
	return data, nil
}

// problem notes what could not be read.
func (s *farScan) problem(name string, err error) {
	s.Problems = append(s.Problems, trust.Problem{Name: name, Reason: texts.Error(err)})
}
