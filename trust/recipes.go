package trust

import (
	"encoding/json"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// recipes adds what the files of a task runner start: the scripts of a package.json that the words
// of the command may mean, and all recipes of a file of rules.
func (w *watcher) recipes(words []string, dir string, files []string) {
	blind, was := w.blind, w.dir // that a runner runs more is said of the command
	w.dir = dir
	for _, file := range files {
		at := filepath.Join(dir, file)
		name, once := relative(w.root, at), at
		if file == "package.json" { // of which each command runs other scripts
			once += " " + strings.Join(words, " ")
		}
		if name == "" || slices.Contains(w.followed, once) || len(w.followed) >= maxFollowed {
			continue
		}
		data := w.read(name)
		if data == nil {
			continue
		}
		w.followed = append(w.followed, once)
		switch {
		case len(data) > maxNaming:
		case file == "package.json":
			w.packageScripts(words, data)
		default:
			w.ruleLines(words, string(data))
			if ext := path.Ext(file); ext != "" && ext != ".mk" {
				w.values(string(data))
			}
		}
	}
	w.blind, w.dir = blind, was
}

// packageScripts adds what the scripts of a package.json start that words name, with those that npm
// runs before, after and for an installation, and what lint-staged starts.
func (w *watcher) packageScripts(words []string, data []byte) {
	var members []string
	_ = eachString(data, func(keys []string, value string) { // which is JSON if there are scripts
		switch {
		case has(keys, "lint-staged"):
			w.script(value, w.dir, false)
		case has(keys, "workspaces"):
			members = append(members, value)
		}
	})
	if slices.ContainsFunc(words, meansMembers) {
		w.members(words, members)
	}
	var manifest struct{ Scripts map[string]string }
	if json.Unmarshal(data, &manifest) != nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(manifest.Scripts)) {
		plain := strings.TrimPrefix(strings.TrimPrefix(name, "pre"), "post")
		installs := plain == "install" || plain == "pare" // prepare
		if installs || slices.ContainsFunc(words, func(word string) bool {
			return meansScript(word, name) || meansScript(word, plain)
		}) {
			w.script(manifest.Scripts[name], w.dir, false)
		}
	}
}

// meansScript reports whether a word of a command may be the name of a script: one that is computed,
// a pattern, or what npm or concurrently take for it.
func meansScript(word, name string) bool {
	if word == "t" || word == "tst" {
		word = "test"
	}
	pattern := computedAsStars(strings.TrimPrefix(word, "npm:"))
	ok, err := path.Match(pattern, name)
	return word == name || ok && err == nil && strings.Trim(pattern, "*") != ""
}

// meansMembers reports whether a word of a command says that it starts scripts of the packages in a
// workspace.
func meansMembers(word string) bool {
	name, _, _ := strings.Cut(word, "=")
	return slices.Contains([]string{"-r", "-w", "-ws", "-F", "--recursive", "--workspace", "--workspaces", "--filter",
		"workspace", "workspaces", "turbo", "nx", "lerna"}, name)
}

// members adds what the scripts of the packages in a workspace start. The packages are those that
// patterns name, and those of pnpm.
func (w *watcher) members(words, patterns []string) {
	for line := range strings.Lines(string(w.read(relative(w.root, filepath.Join(w.dir, "pnpm-workspace.yaml"))))) {
		if item, ok := strings.CutPrefix(strings.TrimSpace(line), "-"); ok {
			patterns = append(patterns, strings.Trim(item, ` "'`))
		}
	}
	const levels = 3 // of directories with any name
	for _, pattern := range patterns {
		if !filepath.IsLocal(pattern) || strings.Count(pattern, "*") > levels {
			continue
		}
		found, _ := filepath.Glob(filepath.Join(w.dir, pattern, "package.json")) // a wrong pattern finds nothing
		for _, name := range found {
			w.runs(w.dir, name)
			w.recipes(words, filepath.Dir(name), []string{"package.json"})
		}
	}
}

// ruleLines adds what the recipes in a file of rules start, and the files that it includes, of
// which the recipes count, too.
func (w *watcher) ruleLines(words []string, text string) {
	text = expanded(strings.ReplaceAll(text, "\\\n", " "))
	w.programsIn(text, w.dir)
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
		case strings.HasSuffix(fields[0], "include") && len(fields[0]) <= len("sinclude"):
			for _, file := range fields[1:] {
				w.pattern(w.dir, strings.Trim(file, "$()")) // perhaps of a $(wildcard ...)
			}
			w.recipes(words, w.dir, fields[1:])
		case line[0] == '\t' || line[0] == ' ':
			w.script(strings.TrimLeft(strings.TrimSpace(line), "@-+"), w.dir, false)
		default:
			if _, recipe, ok := strings.Cut(line, ";"); ok {
				w.script(strings.TrimLeft(strings.TrimSpace(recipe), "@-+"), w.dir, false)
			}
		}
	}
}

// values adds what the values in a file start that configures hooks or tasks, in YAML, JSON, TOML or
// the like: what stands behind a key, and behind the name of a program that runs others. Quotes and
// brackets count as blanks.
func (w *watcher) values(text string) {
	blank := strings.NewReplacer(`"`, " ", "'", " ", "`", " ", "{", " ", "}", " ", "[", " ", "]", " ", ",", " ")
	w.programsIn(text, w.dir)
	commands := blocks(text)
	for line := range strings.Lines(text) {
		commands = append(commands, quoted(line)...)
	}
	for _, command := range commands {
		if strings.ContainsAny(command, " \n") {
			w.script(command, w.dir, false)
		}
	}
	lines := strings.Split(blank.Replace(text), "\n")
	for _, line := range lines { // lefthook starts commands there, and runs scripts from there
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), ":"); strings.TrimSpace(key) {
		case "root":
			w.places = append(w.places, filepath.Join(w.dir, strings.TrimSpace(value)))
		case "source_dir", "source_dir_local":
			w.runs(w.dir, strings.TrimSpace(value))
		}
	}
	for _, line := range lines {
		fields := strings.Fields(line)
		for i, field := range fields {
			key := i > 0 && (fields[i-1] == "-" || strings.ContainsAny(fields[i-1][len(fields[i-1])-1:], ":="))
			if !key && !runsFiles(path.Base(field)) {
				continue
			}
			if info := w.look(w.dir, field); info == nil || !info.IsDir() { // a directory is no program
				w.script(strings.Join(fields[i:], " "), w.dir, false)
			}
		}
	}
}

// found adds the directories in which a command looks for files that it runs: any file in them may
// be one.
func (w *watcher) found(words, dirs []string) {
	for _, word := range words {
		for _, dir := range dirs {
			if info := w.look(dir, word); info != nil && info.IsDir() {
				w.add(&w.running, dir, word)
			}
		}
	}
}
