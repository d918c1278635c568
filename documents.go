package attractor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/instructions"
	"github.com/attractor-go/attractor/internal/git"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/load"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
)

// Documents returns the documents of sessions with a profile, with those that the user has for all
// projects. Files that usually hold secrets are not imported.
func Documents(ctx context.Context, profile string, getenv func(string) string) instructions.Options {
	o := instructions.Options{Refuse: secretDocument}
	o.User, o.UserMistakes = instructions.ReadUser(ctx, userfiles.HomeDir(getenv), userDocuments(profile, getenv)...)
	return o
}

// userDocuments returns the files of a user's documents. The first of a group counts.
func userDocuments(profile string, getenv func(string) string) (groups [][]string) {
	add := func(dir string, names ...string) {
		if dir == "" {
			return
		}
		for i := range names {
			names[i] = filepath.Join(dir, names[i])
		}
		groups = append(groups, names)
	}
	if config, err := userfiles.ConfigDir(getenv); err == nil { // without a home directory there is none
		add(config, "AGENTS.md")
	}
	switch profile {
	case "anthropic":
		add(userfiles.ClaudeDir(getenv), "CLAUDE.md")
	case "openai":
		add(userfiles.CodexDir(getenv), "AGENTS.override.md", "AGENTS.md")
	case "gemini":
		if home := userfiles.HomeDir(getenv); home != "" {
			add(filepath.Join(home, ".gemini"), "GEMINI.md")
		}
	}
	return groups
}

// secretDocument returns why a file must not be a document, or "".
func secretDocument(file string) string {
	if rules.HoldsSecrets(file) {
		return "it usually holds secrets"
	}
	return ""
}

// withoutSecrets returns a function that says why a file must not be a document, or "": because
// refuse says so, or because it usually holds secrets, also where a link leads to it.
func withoutSecrets(dirs rules.Dirs, refuse func(string) string) (func(string) string, error) {
	set, err := rules.Load(dirs)
	return func(file string) string {
		if refuse != nil {
			if why := refuse(file); why != "" {
				return why
			}
		}
		return set.Secret(file)
	}, err
}

// openDocuments sets the documents of the prompt, and adds the middleware that gives the model
// those of a directory when a file in it is read or changed.
func (s *Setup) openDocuments(ctx context.Context, c *config) error {
	o := &s.Options
	if s.moved {
		o.Dir = s.Machine.WorkDir()
	}
	d := Documents(ctx, o.Profile.Name, c.usersEnv)
	d.Refuse, d.Reads, d.Warn = s.refusesDocument, s.reads, s.warnOnce("instructions")
	var roots []string
	if s.far != nil {
		d.Env = s.far.documents()
	} else {
		roots = git.Roots(s.Local.WorkDir())
	}
	var err error
	dirs := s.ruleDirs(c)
	dirs.Roots = append(slices.Clip(dirs.Roots), userfiles.Slashed(roots)...)
	if d.Refuse, err = withoutSecrets(dirs, d.Refuse); err != nil {
		return err
	}
	if slices.ContainsFunc(roots, func(root string) bool { return root != s.Local.WorkDir() }) {
		if s.reader, err = env.NewLocal(s.Local.WorkDir(), env.LocalOptions{Containment: env.ContainGroup,
			Roots: roots, Launch: s.observing.launchOwn}); err != nil {
			return cannotWork(s.Local.WorkDir(), err)
		}
		d.Env = env.ReadOnly(s.reader)
	}
	d.Roots = userfiles.Slashed(s.dirs.list)
	o.Documents = d
	d.Names = o.Profile.Documents
	s.documents = instructions.Below(d)
	o.Middleware = append(o.Middleware, s.where(func(at *Setup) tool.Middleware { return at.documents }))
	return nil
}

// closeDocuments closes what reads documents above the working directory.
func (s *Setup) closeDocuments() error {
	if s.reader == nil {
		return nil
	}
	return s.reader.Close()
}

// refusesDocument returns why a file must not be a document of the session, or "": it usually holds
// secrets, or a rule denies reading it.
func (s *Setup) refusesDocument(file string) string {
	why := secretDocument(file)
	if why != "" || s.Rules == nil {
		return why
	}
	if d := s.mayReadFile(file); d.Verdict == tool.Deny {
		return fmt.Sprintf("the rule %s denies it", d.Rule)
	}
	return ""
}

// mayReadFile decides about reading a file.
func (s *Setup) mayReadFile(file string) rules.Decision {
	req := tool.Request{Call: llm.ToolCall{Name: "read_file"},
		Access: tool.Access{Effect: tool.ReadOnly, Paths: []string{file}}, Dir: s.Machine.WorkDir()}
	return s.Rules.Decide(context.Background(), s.Machine, req)
}

// deniesReading reports whether a rule denies reading a file.
func (s *Setup) deniesReading(file string) bool { return s.mayReadFile(file).Verdict == tool.Deny }

// reads returns the files that the commands of a call read or write.
func (s *Setup) reads(ctx context.Context, call *tool.Call) []string {
	if s.Rules == nil {
		return nil
	}
	return s.Rules.Files(ctx, call.Env, tool.Request{Call: llm.ToolCall{Name: call.Name, Args: call.Args},
		Access: call.Access, Dir: call.Env.WorkDir()})
}

// warnOnce returns a function that tells of mistakes, of each once: subagents read the same
// documents.
func (s *Setup) warnOnce(code string) func(instructions.Mistake) {
	var mu sync.Mutex
	told := map[instructions.Mistake]bool{}
	return func(m instructions.Mistake) {
		mu.Lock()
		defer mu.Unlock()
		if !told[m] && len(told) < maxWarnings {
			told[m] = true
			s.warnings.add(code, m.String())
		}
	}
}

// FindDocuments returns the documents that the prompt of a session in a directory has, as
// [SystemPrompt] does.
func FindDocuments(ctx context.Context, dir string, o agent.Options) (found *instructions.Found, err error) {
	local, err := env.NewLocal(dir, env.LocalOptions{Containment: env.ContainGroup, Roots: git.Roots(dir)})
	if err != nil {
		return nil, cannotWork(dir, err)
	}
	e := env.ReadOnly(local)
	d := o.Documents
	d.Names = slices.Concat(o.Profile.Documents, d.Names)
	if d.Refuse, err = withoutSecrets(load.RuleDirs(local, os.Getenv, nil), d.Refuse); err != nil {
		return nil, errors.Join(err, local.Close())
	}
	found = instructions.Find(ctx, e, git.Top(ctx, e), d)
	if err := local.Close(); err != nil {
		return nil, cannotWork(dir, err)
	}
	return found, nil
}
