package chat

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/internal/render"
)

// The limits of completion.
const (
	maxShown   = 8
	maxFiles   = 10_000 // of a directory
	promptTime = 2 * time.Second
)

// complete completes the word in front of the cursor: the name of a command, or of a file after @.
func (p *program) complete() {
	if p.question != nil {
		return
	}
	word, first := p.editor.Word()
	switch {
	case first && strings.HasPrefix(word, "/mcp__"):
		p.completePrompt(word)
	case first && strings.HasPrefix(word, "/"):
		p.completeFrom(word, p.commandNames(), " ")
	case strings.HasPrefix(word, "@") && p.current != nil:
		p.completeFrom(word, files(p.current.setup.Local.WorkDir(), word[1:]), "")
	}
}

// commandNames returns what a line can begin with.
func (p *program) commandNames() (all []string) {
	for _, c := range commands() {
		all = append(all, "/"+c.name)
	}
	if p.current != nil {
		for _, c := range p.current.names {
			all = append(all, "/"+c.Name)
		}
	}
	return all
}

// completeFrom completes a word to what all the candidates that begin with it have in common, or lists them.
func (p *program) completeFrom(word string, candidates []string, after string) {
	candidates = slices.DeleteFunc(candidates, func(c string) bool { return !strings.HasPrefix(c, word) })
	slices.Sort(candidates)
	candidates = slices.Compact(candidates)
	if len(candidates) == 0 {
		p.hint = "nothing begins with " + render.Shorten(word, 40)
		return
	}
	common := candidates[0]
	for _, c := range candidates[1:] {
		for !strings.HasPrefix(c, common) {
			runes := []rune(common)
			common = string(runes[:len(runes)-1])
		}
	}
	if len(candidates) == 1 && !strings.HasSuffix(common, "/") {
		common += after
	}
	if common != word {
		p.editor.ReplaceWord(common)
		return
	}
	more := ""
	if len(candidates) > maxShown {
		candidates, more = candidates[:maxShown], " …"
	}
	p.hint = oneLine(strings.Join(candidates, "  ")) + more
}

// completePrompt completes the name of a prompt of an MCP server, which the servers are asked for.
func (p *program) completePrompt(word string) {
	if p.current == nil || p.current.setup.Servers == nil {
		p.hint = "there are no MCP servers"
		return
	}
	servers := p.current.setup.Servers
	var found []string
	p.background(func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, promptTime)
		defer cancel()
		for _, prompt := range servers.Prompts(ctx) {
			found = append(found, "/"+prompt.Name)
		}
		return nil
	}, func(error) {
		if now, first := p.editor.Word(); first && now == word && p.question == nil {
			p.completeFrom(word, found, " ")
			p.dirty = true
		}
	})
}

// files returns the names in a directory below another one that begin with a path, after an @. Hidden ones are left out unless the path asks for them.
func files(below, path string) (found []string) {
	dir, base := "", path
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		dir, base = path[:i+1], path[i+1:]
	}
	if !filepath.IsLocal(filepath.FromSlash(dir + ".")) {
		return nil
	}
	f, err := os.Open(filepath.Join(below, filepath.FromSlash(dir)))
	if err != nil {
		return nil
	}
	defer f.Close() // it was only read
	entries, err := f.ReadDir(maxFiles)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, base) || strings.HasPrefix(name, ".") && !strings.HasPrefix(base, ".") {
			continue
		}
		if e.IsDir() {
			name += "/"
		}
		found = append(found, "@"+dir+name)
	}
	return found
}
