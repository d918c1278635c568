package trust

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What is nested very deep costs no more than other text, and does not hide what follows it.
func TestU19_NestedDeep(t *testing.T) {
	const depth = 2_000
	data := `{"x":` + strings.Repeat(`["a",`, depth) + "1" + strings.Repeat("]", depth) + `,"hooks":{"command":"b"}}`
	most, found := 0, false
	err := eachString([]byte(data), func(keys []string, value string) {
		most = max(most, len(keys))
		found = found || value == "b" && slices.Equal(keys, []string{"hooks", "command"})
	})
	if err != nil || most > maxKeys || !found {
		t.Errorf("visited with up to %d keys; what follows was found: %v; %v", most, found, err)
	}
}

// A file with very many words, or a script that repeats a long value, is not looked through in
// full.
func TestU19_ManyWords(t *testing.T) {
	left := maxParsed
	w := newWatcher("/project", "/project", &left)
	w.text(strings.Repeat("/a ", 2*maxWords))
	if w.words > maxWords+1 || len(w.blind) == 0 {
		t.Errorf("%d words were looked up, and it is said that %q are not", w.words, w.blind)
	}
	for length, uses := range map[int]int{30_000: 10_000, 4_000: 10_000} {
		left = maxParsed
		w := newWatcher("/project", "/project", &left)
		took := allocated(func() { w.command("a="+strings.Repeat("x", length)+strings.Repeat(";$a", uses), nil) })
		if took > 200<<20 || len(w.blind) == 0 { // 35 MB, three times as much under the race detector
			t.Errorf("a script with %d uses of %d bytes took %d bytes of memory; %q", uses, length, took, w.blind)
		}
	}
}

// allocated returns how many bytes of memory a function takes.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A module is looked for once in each directory, which counts.
func TestU19_ManyModules(t *testing.T) {
	dir := t.TempDir()
	for i := range 100 {
		if err := os.Mkdir(filepath.Join(dir, strconv.Itoa(i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	left := maxParsed
	w := newWatcher(dir, dir, &left)
	w.command(strings.Repeat("python3 -m a\n", 10), nil)
	spent := maxParsed - left
	for range 100 {
		w.below("a.py")
	}
	if w.below("b.py"); maxParsed-left-spent != 100*16 {
		t.Errorf("looking for a module cost %d", maxParsed-left-spent)
	}
}

// Whatever a project's files hold, they are described and name only files of the project.
func FuzzFiles(f *testing.F) {
	for _, seed := range []string{
		`{"permissions":{"allow":["Bash(ls:*)",{"rule":"Edit"}]},"hooks":{"Stop":[{"hooks":[{"command":"sh ./a.sh"}]}]}}`,
		`{"mcpServers":{"x":{"command":"a.sh","args":["../../etc/passwd"]}},"hooks":[[[{"":"a.sh"}]]]}`,
		"---\nhooks:\n  - command: \"a.sh\n---\n",
		"[mcp_servers.x]\ncommand = \"a.sh\"\nargs = ['",
		`{"hooks":{"hooks":"$CLAUDE_PROJECT_DIR/a.sh"}}}}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &Snapshot{}
		for _, file := range []File{{Name: ".mcp.json", Kind: Servers}, {Name: "a/settings.json", Kind: Settings},
			{Name: "hooks.json", Kind: Hooks},
			{Name: "config.toml", Kind: Settings}, {Name: "x.md", Kind: Agents}} {
			file.Data = data
			s.Files = append(s.Files, file)
			left := maxParsed
			w := newWatcher("/project", "/project", &left)
			w.read = func(string) []byte { return data }
			w.file(&file)
			for _, name := range append(w.named, w.running...) {
				if !filepath.IsLocal(name) || name == "." {
					t.Errorf("%s names %q", file.Name, name)
				}
			}
		}
		if got := s.Effects(); len(got) > 5*maxEffects {
			t.Errorf("%d effects", len(got))
		}
	})
}
