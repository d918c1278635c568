package chat

import (
	"cmp"
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/internal/render"
)

// The limits of completion.
const (
	maxShown     = 8
	completeTime = 2 * time.Second
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
		p.completeFile(word)
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

// completeFrom completes a word to what all the candidates that begin with it have in common, or
// lists them.
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
	p.hint = render.OneLine(strings.Join(candidates, "  ")) + more
}

// completePrompt completes the name of a prompt of an MCP server, which the servers are asked for.
func (p *program) completePrompt(word string) {
	if p.current == nil || p.current.setup.Servers == nil {
		p.hint = "there are no MCP servers"
		return
	}
	servers := p.current.setup.Servers
	p.completeLater(word, " ", func(ctx context.Context) (found []string) {
		for _, prompt := range servers.Prompts(ctx) {
			found = append(found, "/"+prompt.Name)
		}
		return found
	})
}

// completeFile completes the name of a file after @, where the files of the session are.
func (p *program) completeFile(word string) {
	dir, base := path.Split(word[1:])
	if !filepath.IsLocal(filepath.FromSlash(dir + ".")) {
		p.completeFrom(word, nil, "")
		return
	}
	machine := p.current.setup.Machine
	p.completeLater(word, "", func(ctx context.Context) []string {
		var names []string
		list, _ := machine.ReadDir(ctx, cmp.Or(dir, ".")) // nothing begins with the word if there is none
		for _, info := range list {
			name := info.Name
			if info.IsDir() {
				name += "/"
			}
			names = append(names, name)
		}
		return matching(dir, base, names)
	})
}

// completeLater completes a word from what find returns, if it is still in front of the cursor
// then.
func (p *program) completeLater(word, after string, find func(ctx context.Context) []string) {
	var found []string
	p.background(func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, completeTime)
		defer cancel()
		found = find(ctx)
		return nil
	}, func(error) {
		if now, _ := p.editor.Word(); now == word && p.question == nil {
			p.completeFrom(word, found, after)
			p.dirty = true
		}
	})
}

// matching returns the names in a directory that begin with base, after an @. Hidden ones are left
// out unless base asks for them.
func matching(dir, base string, names []string) (found []string) {
	for _, name := range names {
		if strings.HasPrefix(name, base) && (!strings.HasPrefix(name, ".") || strings.HasPrefix(base, ".")) {
			found = append(found, "@"+dir+name)
		}
	}
	return found
}
