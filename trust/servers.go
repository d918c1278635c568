package trust

import (
	"bytes"
	"encoding/json"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// server holds what starts a server.
type server struct {
	Command string
	Args    []string
	Cwd     string
}

// servers adds the files that the servers in a file run, each found as for a command in its working
// directory.
func (w *watcher) servers(f *File) {
	base := path.Base(f.Name)
	switch {
	case f.Kind == Script:
	case strings.HasSuffix(base, ".toml") && bytes.Contains(f.Data, []byte("mcp_servers")):
		w.cannot("of its servers only the files that their commands name are known")
	case strings.HasSuffix(base, ".json"):
		data := bytes.TrimPrefix(f.Data, []byte("\xef\xbb\xbf"))
		members := objects(data)
		for _, m := range members {
			switch {
			case strings.EqualFold(m.key, "mcpServers"):
				for _, s := range objects(m.value) {
					w.server(s, false)
				}
			case f.Name == languageServers:
				w.server(m, true)
			}
		}
	}
}

// member is a member of a JSON object.
type member struct {
	key   string
	value json.RawMessage
}

// objects returns the members of a JSON object, also those that occur twice. Of other data it
// returns none.
func objects(data []byte) (all []member) {
	d := json.NewDecoder(bytes.NewReader(data))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil
	}
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return all
		}
		name, _ := key.(string)
		all = append(all, member{name, value})
	}
	return all
}

// server adds the files that a server runs. Those of a task runner, such as package.json, are not
// among them for a language server and for programs of packages, which they seldom change: they
// change all the time, and each time the project would have to be trusted again.
func (w *watcher) server(m member, language bool) {
	var s server
	if json.Unmarshal(m.value, &s) != nil || s.Command == "" {
		return // it is no server, or one of another machine; what it has was read as text
	}
	before, was := len(w.blind), w.dir
	if s.Cwd != "" {
		cwd := strings.ReplaceAll(s.Cwd, "${"+projectDir+"}", w.root)
		if w.dir = filepath.FromSlash(cwd); !filepath.IsAbs(w.dir) {
			w.dir = filepath.Join(w.root, w.dir)
		}
	}
	program := path.Base(s.Command)
	_, more, runner := runnerOf(program)
	if runner && (language || slices.Contains([]string{"npx", "pnpx", "bunx", "uvx"}, program)) {
		w.cannot("%s may run %s", s.Command, more)
	} else {
		w.command(s.Command, slices.Concat([]string{}, s.Args))
	}
	w.dir = was
	for i, why := range w.blind[before:] {
		w.blind[before+i] = "the server " + m.key + ": " + why
	}
}
