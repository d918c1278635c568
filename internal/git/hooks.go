package git

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// HooksIn returns the names that hooks of git may have in a directory.
func HooksIn(dir string) (names []string) {
	for _, hook := range strings.Fields(`applypatch-msg commit-msg fsmonitor-watchman p4-changelist
		p4-post-changelist p4-pre-submit p4-prepare-changelist post-applypatch post-checkout post-commit post-index-change
		post-merge post-receive post-rewrite post-update pre-applypatch pre-auto-gc pre-commit pre-merge-commit pre-push
		pre-rebase pre-receive prepare-commit-msg proc-receive push-to-checkout reference-transaction sendemail-validate
		update`) {
		names = append(names, filepath.Join(dir, hook))
	}
	return names
}

// filesIn returns the files in a directory, or those that git may look for if it cannot be listed.
func filesIn(dir string) (names []string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return HooksIn(dir)
	}
	for _, e := range list {
		names = append(names, filepath.Join(dir, e.Name()))
	}
	return names
}

// Hooks returns the hooks in a directory of this machine, and what links among them lead to.
func Hooks(dir string) (hooks, linked []string) {
	for _, hook := range filesIn(dir) {
		if filepath.Ext(hook) == ".sample" {
			continue
		}
		if to, err := os.Readlink(hook); err == nil {
			linked = append(linked, from(dir, to))
		}
		if info, err := os.Stat(hook); err == nil && info.Mode().IsRegular() {
			hooks = append(hooks, hook)
		}
	}
	return hooks, linked
}

// MaxHook is the most bytes of a hook of git-lfs.
const MaxHook = 1 << 10

// OnlyLFS reports whether a hook is, word by word, one that git lfs install writes or has written,
// which starts nothing but git-lfs. What any other script starts cannot be read from its text.
func OnlyLFS(text []byte) bool {
	return len(text) <= MaxHook && hookOfLFS().Match(bytes.TrimRight(text, "\n"))
}

// hookOfLFS matches the hooks in lfs/hook.go of git-lfs, versions 0.5 to 3.7. In their messages
// there is nothing that a shell expands.
var hookOfLFS = sync.OnceValue(func() *regexp.Regexp {
	const message = `"(?:[^"$` + "`" + `\\]|\\n)*"`
	return regexp.MustCompile(`^#!/bin/sh\n` +
		`(?:command -v git-lfs >/dev/null 2>&1 \|\| \{ (?:echo >&2|printf >&2 "\\n%s\\n\\n") ` + message +
		`; exit [02]; \}\n)?git lfs (?:post-checkout|post-commit|post-merge|pre-push|push --stdin) (?:"\$@"|\$\*)$`)
})
