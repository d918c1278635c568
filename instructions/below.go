package instructions

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/git"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/tool"
)

// NotePrefix begins the kinds of the notes with documents. The path of the document follows.
const NotePrefix = "instructions:"

// note returns the kind of the note with a document. Kinds of notes are valid UTF-8.
func (d *Document) note() string { return NotePrefix + strings.ToValidUTF8(d.Path, "\ufffd") }

// Below returns a middleware that gives the model the documents of directories below the working
// directory, the rules for certain files, and the documents of the Roots. They come as context
// turns behind the results, after the first call that has read or changed such a file, all levels
// from the working directory down. What the model has already is not given again, also after a
// resume and in a fork. What a compaction has replaced is given again when the next such file is
// read or changed.
//
// A subagent has documents of its own, which begin at its working directory. Directories of
// dependencies, such as node_modules, are left out.
func Below(o Options) tool.Middleware {
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
			result, err := next(ctx, call)
			if err != nil || call.Session == nil || call.Env == nil {
				return result, err
			}
			if files := touched(ctx, call, &result, &o); len(files) > 0 {
				b := call.Session.State(stateKey{}, func() any { return new(below) }).(*below)
				b.tell(ctx, call, &o, files)
			}
			return result, nil
		}
	}
}

// stateKey is the key of a session's below.
type stateKey struct{}

// maxFiles limits the files of one call whose directories are looked at.
const maxFiles = 200

// touched returns the files that a call has read or changed, without links.
func touched(ctx context.Context, call *tool.Call, r *tool.Result, o *Options) (files []string) {
	if call.Access.Command != "" && o.Reads != nil && !r.IsError {
		for _, name := range o.Reads(ctx, call) {
			if real, err := env.Resolve(ctx, call.Env, name); err == nil && len(files) < maxFiles {
				files = append(files, real)
			}
		}
	}
	for _, f := range r.Seen {
		files = append(files, f.Path)
	}
	for _, c := range r.Changes {
		if c.Kind != tool.Deleted {
			files = append(files, c.Path)
		}
	}
	slices.Sort(files)
	files = slices.Compact(files)
	return files[:min(len(files), maxFiles)]
}

// below knows the documents of one session's directories.
type below struct {
	mu     sync.Mutex
	place  *project // nil until a file is touched
	real   string   // the working directory without links
	above  []string // the directories from the project's top down to the working directory
	dirs   map[string][]Document
	prompt map[string]bool // the real paths of the prompt's documents, nil until they are needed
}

// tell gives the model the documents that apply to files and that it does not have.
func (b *below) tell(ctx context.Context, call *tool.Call, o *Options, files []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.open(ctx, call.Env, o) {
		return
	}
	for _, file := range files {
		from, dirs := b.place, []string(nil)
		if rel, ok := relative(b.real, file); ok {
			file = path.Join(call.Env.WorkDir(), rel)
		} else if root := o.rootOf(file); root != "" {
			from, dirs = &project{call.Env, root, o.Refuse}, append([]string{root}, levels(root, file)...)
		}
		if dirs == nil {
			dirs = append(slices.Clip(b.above), levels(call.Env.WorkDir(), file)...)
		}
		for _, dir := range dirs {
			if ctx.Err() != nil {
				return
			}
			for _, d := range b.due(ctx, call, o, from, dir, file) {
				if err := give(ctx, call.Session, &d); err != nil {
					if ctx.Err() == nil {
						o.warn([]Mistake{{File: d.Path, Text: "it cannot be given to the model: " + err.Error()}})
					}
					return
				}
			}
		}
	}
}

// rootOf returns the innermost of the further directories that a file is in, or "".
func (o *Options) rootOf(file string) (innermost string) {
	for _, root := range o.Roots {
		if _, in := relative(root, file); in && len(root) > len(innermost) {
			innermost = root
		}
	}
	return innermost
}

// open finds the place of the session, once.
func (b *below) open(ctx context.Context, e env.Environment, o *Options) bool {
	if b.place != nil {
		return true
	}
	if other := o.other(ctx, e); other != nil {
		e = other
	}
	real, err := env.Resolve(ctx, e, e.WorkDir())
	if err != nil {
		return false
	}
	above := directoriesDown(git.Top(ctx, e), e.WorkDir())
	if ctx.Err() != nil { // the top may not be the right one
		return false
	}
	b.above, b.real, b.dirs = above, real, map[string][]Document{}
	b.place = &project{e, above[0], o.Refuse}
	return true
}

// maxLevels limits the directories above a file whose documents are read.
const maxLevels = 64

// levels returns the directories between the working directory and a file below it. They end where
// dependencies or settings begin, whose documents are not for the project.
func levels(work, file string) (dirs []string) {
	rel, ok := relative(work, path.Dir(file))
	if !ok {
		return nil
	}
	dir := work
	for elem := range strings.SplitSeq(rel, "/") {
		foreign := isGit(elem) || slices.Contains([]string{"node_modules", "vendor", "site-packages"}, elem)
		if foreign || slices.Contains(placesOfAgents(), elem) || len(dirs) == maxLevels {
			break
		}
		dir = path.Join(dir, elem)
		dirs = append(dirs, dir)
	}
	return dirs
}

// due returns the documents of a directory that apply to a file and that the model does not have.
// It reads them when the directory is new, or when a compaction has replaced one.
func (b *below) due(ctx context.Context, call *tool.Call, o *Options, from *project, dir, file string) []Document {
	notes := call.Session.Notes()
	missing := func(d *Document) bool {
		note, ok := notes[d.note()]
		return d.State == "" && d.Path != file && (!ok || note.Replaced) && d.appliesTo(file)
	}
	known, ok := b.dirs[dir]
	if ok && !slices.ContainsFunc(known, func(d Document) bool { return missing(&d) }) {
		return nil
	}
	f := &finder{from: from, options: o}
	f.directory(ctx, dir)
	if ctx.Err() != nil {
		return nil
	}
	o.warn(f.mistakes)
	all := b.without(ctx, call.Env, o, dir, f.documents)
	stay := slices.Clone(all)
	for i := range stay {
		stay[i].text = ""
	}
	b.dirs[dir] = stay
	return slices.DeleteFunc(all, func(d Document) bool { return !missing(&d) })
}

// without returns the documents of a directory without those that the prompt has: all but rules for
// certain files in a directory above, and what others import.
func (b *below) without(ctx context.Context, e env.Environment, o *Options, dir string,
	documents []Document) []Document {
	inPrompt := slices.Contains(b.above, dir)
	return slices.DeleteFunc(documents, func(d Document) bool {
		if inPrompt && len(d.Globs) == 0 {
			return true
		}
		return d.By != "" && b.prompted(ctx, e, o)[d.real]
	})
}

// prompted returns the real paths of the documents in the prompt. It looks for them as the prompt
// did.
func (b *below) prompted(ctx context.Context, e env.Environment, o *Options) map[string]bool {
	if b.prompt == nil {
		quiet := *o
		quiet.Warn = nil
		found := Find(ctx, e, b.above[0], quiet)
		prompt := map[string]bool{}
		for i := range found.Documents {
			if d := &found.Documents[i]; d.State == Whole || d.State == Cut {
				prompt[d.real] = true
			}
		}
		if ctx.Err() != nil { // some may be missing
			return prompt
		}
		b.prompt = prompt
	}
	return b.prompt
}

// leastRoom is the size below which a document is not cut but left out, in bytes.
const leastRoom = 1 << 10

// give gives the model a document, as far as the budget of the documents that it has of directories
// below allows.
func give(ctx context.Context, s tool.Session, d *Document) error {
	used, count := 0, 0
	for kind, note := range s.Notes() {
		if strings.HasPrefix(kind, NotePrefix) && !note.Replaced {
			used += len(note.Text)
			count++
		}
	}
	text := strings.TrimSpace(d.section())
	switch room := budget - used; {
	case count >= maxDocuments:
		return nil
	case d.whole && len(text) <= room:
	case room >= leastRoom:
		text = strings.TrimSpace(cutText(text, room)) + "\n" + projectCut
	default:
		text = fmt.Sprintf("The project instructions in %s are not shown, because those of other directories fill "+
			"their 32KB. Read that file before you work on files to which it applies.", sanitize.Line(d.Path))
	}
	data, err := json.Marshal(struct {
		Path string `json:"path"`
		Size int64  `json:"size"`
	}{d.Path, d.Size})
	if err != nil {
		return err
	}
	return s.Note(ctx, d.note(), data, text)
}
