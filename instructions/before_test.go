package instructions_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/instructions"
	"github.com/attractor-go/attractor/internal/seed"
	"github.com/attractor-go/attractor/sanitize"
)

// A project that has only what the first version of this code knew gives the same prompt as then.
func TestM10_TheSamePromptAsBefore(t *testing.T) {
	seed.Check(t, func(rt *rapid.T) {
		files := map[string]string{}
		for _, dir := range []string{"", "a/", "a/b/", "c/"} {
			for _, name := range []string{"AGENTS.md", "CLAUDE.md", ".codex/instructions.md", "GEMINI.md"} {
				text := rapid.SampledFrom([]string{"", "one", " one\n", "two\r\n\r\n", "\ufeffone", "\u202eä\x1b[31m",
					"`@AGENTS.md`\n", strings.Repeat("lang ", 2_000),
					strings.Repeat("ä", 17_000), "\xff\xfe", "me@example.org @somebody"}).Draw(rt, dir+name)
				if rapid.Bool().Draw(rt, "is there") {
					files[dir+name] = text
				}
			}
		}
		dir := rapid.SampledFrom([]string{"", "a", "a/b", "c"}).Draw(rt, "dir")
		e := env.Sub(envtest.NewMemory(files), dir)
		if dir == "" {
			e = envtest.NewMemory(files)
		}
		root := rapid.SampledFrom([]string{"", envtest.MemoryDir}).Draw(rt, "root")
		names := rapid.SampledFrom([][]string{nil, {"CLAUDE.md"}, {".codex/instructions.md"}, {"GEMINI.md"}}).Draw(rt,
			"names")
		want := documentsBefore(rt.Context(), e, root, append([]string{"AGENTS.md"}, names...))
		if got := instructions.Find(rt.Context(), e, root, instructions.Options{Names: names}).Text; got != want {
			rt.Fatalf("%q\nwant\n%q", got, want)
		}
	})
}

// documentsBefore is the first version.
func documentsBefore(ctx context.Context, e env.Environment, root string, names []string) string {
	const budget = 32 << 10
	var b strings.Builder
	dirs := []string{e.WorkDir()}
	for root != "" && dirs[len(dirs)-1] != root {
		dirs = append(dirs, path.Dir(dirs[len(dirs)-1]))
	}
	slices.Reverse(dirs)
	for _, dir := range dirs {
		var seen []string
		for _, name := range names {
			text, whole := readBefore(ctx, e, path.Join(dir, name), budget)
			if text == "" || slices.Contains(seen, text) {
				continue
			}
			seen = append(seen, text)
			section := fmt.Sprintf("# Project instructions from %s\n\nThey apply to all files in %s and below.\n"+
				"\n%s\n\n", sanitize.Line(path.Join(dir, name)), sanitize.Line(dir), text)
			if left := budget - b.Len(); !whole || len(strings.TrimSpace(section)) > left {
				return b.String() + strings.TrimSpace(cutBefore(section, left)) +
					"\n[Project instructions truncated at 32KB]"
			}
			b.WriteString(section)
		}
	}
	return strings.TrimSpace(b.String())
}

func readBefore(ctx context.Context, e env.Environment, name string, limit int) (text string, whole bool) {
	info, err := e.Stat(ctx, name)
	if err != nil || info.Mode&fs.ModeType != 0 {
		return "", true
	}
	f, err := e.Open(ctx, name)
	if err != nil {
		return "", true
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if errors.Join(err, f.Close()) != nil {
		return "", true
	}
	if whole = len(data) <= limit; !whole {
		data = []byte(cutBefore(string(data), limit))
	}
	return strings.TrimSpace(sanitize.Text(strings.TrimPrefix(string(data), "\ufeff"))), whole
}

func cutBefore(text string, n int) string {
	n = max(0, min(n, len(text)))
	for at := n; at > 0 && at < len(text) && n-at < utf8.UTFMax; at-- {
		if utf8.RuneStart(text[at]) {
			return text[:at]
		}
	}
	return text[:n]
}
