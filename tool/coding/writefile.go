package coding

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/picture"
	"github.com/attractor-go/attractor/internal/textfile"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// newFilePerm is the mode of files that the tools create.
const newFilePerm fs.FileMode = 0o644

type writeFileArgs struct {
	FilePath string `json:"file_path" jsonschema:"Path of the file, absolute or relative to the working directory."`
	Content  string `json:"content" jsonschema:"The whole content of the file."`
}

// WriteFile returns the tool write_file, which writes the whole content of a file.
func WriteFile() tool.Tool { return Dialect{}.WriteFile() }

// WriteFile returns the tool write_file.
func (d Dialect) WriteFile() tool.Tool {
	t := tool.New(llm.ToolDefinition{
		Name: "write_file",
		Description: "Creates a file, or replaces the whole content of one that exists. Missing directories are " +
			"created. An existing file keeps its mode; read it before you replace it. To change a part of a file, " +
			"edit it instead.",
		Parameters: schema("write_file"),
	}, d.writeFile)
	t.Instead, t.Previews = replaces("write_file"), true
	t.Limit = tool.Limit{Chars: 1_000, Keep: tool.KeepTail}
	return tool.WithAccess(t, func(args writeFileArgs) tool.Access {
		return tool.Access{Effect: tool.Writes, Paths: []string{cleanPath(args.FilePath)}}
	})
}

func (d Dialect) writeFile(ctx context.Context, call *tool.Call, args writeFileArgs) (tool.Result, error) {
	if args.FilePath == "" {
		return tool.Result{}, d.noPath()
	}
	args.FilePath = call.Named(args.FilePath)
	w := fileWrite{call: call, name: args.FilePath, given: args.Content}
	result, err := change(ctx, call, args.FilePath, func() (decision, error) { return w.decide(ctx) })
	if err != nil {
		return tool.Result{}, d.explainPath(ctx, call.Env, args.FilePath, err)
	}
	tell := d.Wrote
	if tell == nil {
		tell = Wrote.String
	}
	say(&result, tell(Wrote{
		Name: texts.Shown(w.name), Bytes: len(w.data), Replaced: w.was.hash != env.NoFile, Before: w.size, Kept: w.kept,
		Changed: w.changed,
	}))
	return result, nil
}

// fileWrite holds a file and its new content.
type fileWrite struct {
	call  *tool.Call
	name  string
	given string // the content as the model gave it

	data          []byte // the content to write
	kept, changed string // of the form of the replaced content
	was           content
	size          int64 // size of the replaced content
}

// decide returns an error if the write must not replace the current content. A session that tracks
// files replaces only what it has seen: otherwise the work of others could get lost unnoticed.
// Writing the same content again is always allowed.
func (w *fileWrite) decide(ctx context.Context) (decision, error) {
	w.was, w.size, w.data, w.kept, w.changed = content{}, 0, []byte(w.given), "", ""
	old, err := w.call.Env.Stat(ctx, w.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return decision{content{}, w.data}, nil
	case err != nil:
		return decision{}, err
	case old.IsDir():
		return decision{}, fmt.Errorf("%s is a directory; give the path of a file in it", texts.Shown(w.name))
	}
	w.size = old.Size
	seen, known, remembers := w.seen(ctx)
	if remembers && !known && old.Size != int64(len(w.data)) {
		return decision{}, w.unseen()
	}
	if err := w.replaces(ctx, old.Size); err != nil {
		return decision{}, err
	}
	switch h := w.was.hash; {
	case !remembers, h == env.NoFile, h == seen, h == env.HashOf(w.data):
		return decision{w.was, w.data}, nil
	case !known:
		return decision{}, w.unseen()
	}
	return decision{}, fmt.Errorf(
		"%s has changed since this session read or wrote it last: somebody else, or a command, has written it. "+
			"Nothing was written. Read it again, then write it with those changes included, or edit it",
		texts.Shown(w.name))
}

// replaces reads the content that is replaced, and gives the new one its form. It returns an error
// if the file cannot have the new content in that form.
func (w *fileWrite) replaces(ctx context.Context, size int64) error {
	was, text, err := contentOfFile(ctx, w.call, w.name, size)
	if err != nil {
		return err
	}
	w.was = was
	form := textfile.Of(text)
	switch char := textfile.Foreign(w.given); {
	case picture.Type([]byte(text[:min(len(text), binaryPeek)])) != "":
		return nil
	case form.Encoding == textfile.UTF16:
		return fmt.Errorf("%s %s", texts.Shown(w.name), textfile.RefusalUTF16(w.name))
	case form.Encoding == textfile.Unknown && char != "":
		return fmt.Errorf("%s %s", texts.Shown(w.name), textfile.Refusal(w.name, char))
	}
	fresh, kept, changed := form.Keep(w.given)
	w.data, w.kept, w.changed = []byte(fresh), kept, changed
	return nil
}

// seen returns the content that the session saw last, whether it has seen any, and whether it
// tracks files.
func (w *fileWrite) seen(ctx context.Context) (h env.Hash, known, remembers bool) {
	files := sessionOf(w.call).Files()
	if files == nil {
		return env.NoFile, false, false
	}
	path, err := env.Resolve(ctx, w.call.Env, w.name)
	if err != nil {
		return env.NoFile, false, true
	}
	h, known = files.Seen(path)
	return h, known, true
}

func (w *fileWrite) unseen() error {
	advice := "Read it first, then write it, or edit it"
	if w.size > maxSeenBytes {
		advice = "It is too large to be read as a whole: edit it, or move it away first"
	}
	return fmt.Errorf("%s exists (%d bytes), and this session has not read it. Nothing was written. %s",
		texts.Shown(w.name), w.size, advice)
}
