package trust_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/attractor-go/attractor/trust"
)

// A file that a command of a hook names must be the one that was trusted.
func TestM9_CommandsNameTrustedFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text),
			0o755)); err != nil {
			t.Fatal(err)
		}
	}
	write(".claude/settings.json",
		`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "sh scripts/check.sh; sh ./later.sh"}]}]}}`)
	write("scripts/check.sh", "true")
	write("scripts/other.sh", "true")
	s, err := trust.Scan(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"sh scripts/check.sh", "make -C scripts", "sh ./later.sh", "echo x >> seen.log",
		`"$CLAUDE_PROJECT_DIR"/scripts/check.sh`} {
		if err := s.UnchangedCommand(command); err != nil {
			t.Errorf("%s: %v", command, err)
		}
	}
	write("scripts/check.sh", "rm -rf /")
	write("later.sh", "rm -rf /")
	write("seen.log", "x")
	for command, changed := range map[string]bool{"sh scripts/check.sh": true,
		`"$CLAUDE_PROJECT_DIR"/scripts/check.sh`: true, "sh ./later.sh": true,
		"sh -c 'exec ./later.sh'": true, "echo x >> seen.log": false, "tee -a seen.log | grep x": false,
		"touch seen.log": false, "tee x <later.sh": true, "echo x >later.sh; sh later.sh": true, "true": false,
		`cat >>"$CLAUDE_PROJECT_DIR"/seen.log 2>&1`: false, `cat >> "seen.log"`: false, "cat &>seen.log": false,
		"date | tee -a seen.log >>/dev/null": false, "set -C; echo >|seen.log": false,
		"echo tee later.sh": true, "sh <>later.sh": true, "cat >&2 later.sh": true, `node -e 'x=>"./later.sh"'`: true,
		"sh <<E\n>later.sh\nE": true, "tee >&- seen.log; ./later.sh": true, "(tee seen.log)": false} {
		if err := s.UnchangedCommand(command); errors.Is(err, trust.ErrChanged) != changed {
			t.Errorf("%s: %v", command, err)
		}
	}
}

// A program's arguments are no script: nothing in them is written to.
func TestM9_ArgumentsAreNoScript(t *testing.T) {
	dir := t.TempDir()
	s, err := trust.Scan(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "later.js"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.UnchangedCommand("node", "-e", "x=>later.js"); !errors.Is(err, trust.ErrChanged) {
		t.Error(err)
	}
}

// A hook may log into the project, and the trust stays. A log that is a link, or that something
// runs, counts.
func TestM9_LogsKeepTrust(t *testing.T) {
	outside := t.TempDir()
	for name, c := range map[string]struct {
		command string
		change  func(dir string) error
		counts  bool
	}{
		"a log": {"cat >> seen.log", write("seen.log"), false},
		"a log by its path": {`tee -a "$CLAUDE_PROJECT_DIR/.claude/seen.log" >/dev/null`, write(".claude/seen.log"),
			false},
		"one that is run":  {"cat >> seen.log; sh seen.log", write("seen.log"), true},
		"one that is read": {"cat seen.log >> other.log", write("seen.log"), true},
		"a link out": {"cat >> seen.log", func(dir string) error {
			return os.Symlink(filepath.Join(outside, "profile"), filepath.Join(dir, "seen.log"))
		}, true},
		"a directory outside": {"cat >> logs/seen.log", func(dir string) error {
			return errors.Join(write("../out/seen.log")(dir),
				os.Symlink(filepath.Join(dir, "../out"), filepath.Join(dir, "logs")))
		}, true},
	} {
		dir := filepath.Join(t.TempDir(), "project")
		data, err := json.Marshal(
			map[string]any{"hooks": map[string]any{"Stop": []any{map[string]any{"hooks": []any{
				map[string]any{"type": "command", "command": c.command}}}}}})
		if err = errors.Join(err, os.MkdirAll(filepath.Join(dir, ".claude"), 0o755),
			os.WriteFile(filepath.Join(dir, ".claude", "settings.json"), data, 0o600)); err != nil {
			t.Fatal(err)
		}
		before, err := trust.Scan(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(c.change(dir), os.WriteFile(filepath.Join(outside, "profile"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		after, err := trust.Scan(dir)
		if err != nil {
			t.Fatal(err)
		}
		if changed := after.Hash() != before.Hash() || len(after.Problems) > 0; changed != c.counts {
			t.Errorf("%s: changed %v, files %d, problems %v", name, changed, len(after.Files), after.Problems)
		}
		if err := before.UnchangedCommand(c.command); errors.Is(err, trust.ErrChanged) != c.counts {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// write returns a function that writes a file of a directory.
func write(name string) func(dir string) error {
	return func(dir string) error {
		file := filepath.Join(dir, name)
		return errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("x"), 0o600))
	}
}

// The arguments of a hook are shown with its command.
func TestM9_EffectsHaveArguments(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, ".attractor", "hooks.json")
	if err := errors.Join(os.Mkdir(filepath.Dir(file), 0o755),
		os.WriteFile(file, []byte(
			`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "node", "args": ["-e", "steal()"]}]}]}}`),
			0o644)); err != nil {
		t.Fatal(err)
	}
	s, err := trust.Scan(dir)
	if err != nil || !slices.Contains(s.Effects(), trust.Effect{File: ".attractor/hooks.json", What: "hook",
		Text: "steal()"}) {
		t.Errorf("%v, %v", s.Effects(), err)
	}
}
