package house_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
)

// The table of promises says of this machine what it has.
func TestT14_PromisesByMachine(t *testing.T) {
	rows := promises(t)
	dir := t.TempDir()
	local, err := env.NewLocal(dir, env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = env.Run(t.Context(), local, env.Command{Script: "exit 0"}, time.Minute)
	if runs := rows["commands run"] == "yes"; (err == nil) != runs {
		t.Errorf("commands run: %q, %v", rows["commands run"], err)
	}
	contained := local.Confinement().Containment
	level, _, _ := strings.Cut(contained, " ")
	if level = strings.TrimRight(level, ",;"); !strings.Contains(rows["what ends with a command"], "`"+level+"`") {
		t.Errorf("the containment is %q, and the table has %q", contained, rows["what ends with a command"])
	}
	if err := local.Close(); err != nil {
		t.Error(err)
	}
	helper := filepath.Join(dir, "attractor-env")
	cmd := exec.Command("go", "build", "-o", helper, "./cmd/attractor-env")
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range append(sandbox.Levels(), string(sandbox.Observe)) {
		if name == string(sandbox.Off) {
			continue
		}
		cell, ok := rows[name]
		if !ok {
			t.Errorf("the level %s has no row", name)
			continue
		}
		box, err := sandbox.New(dir, sandbox.Options{Level: sandbox.Level(name), Helper: helper, State: t.TempDir()})
		if err == nil {
			err = box.Close()
		}
		if promised := !strings.HasPrefix(cell, "no"); promised != (err == nil) || err != nil &&
			!errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: the table has %q, the machine says %v", name, cell, err)
		}
	}
}

// promises returns the cells of this system by the beginnings of their rows: the levels that a row
// names, or its text.
func promises(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("docs/security/machines.md")
	if err != nil {
		t.Fatal(err)
	}
	column := slices.Index([]string{"linux", "darwin", "windows"}, runtime.GOOS)
	if column < 0 {
		t.Skip("the table has no column for ", runtime.GOOS)
	}
	named := regexp.MustCompile("`([a-z-]+)`")
	rows := map[string]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) < 6 {
			continue
		}
		cell, title := strings.TrimSpace(cells[1+column]), strings.TrimSpace(cells[0])
		rows[title] = cell
		for _, m := range named.FindAllStringSubmatch(title, -1) {
			rows[m[1]] = cell
		}
	}
	return rows
}
