package load_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/load"
	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/trust"
)

// A user's server without a cwd works in the session's directory only if somebody has trusted the
// project, also if that has nothing to trust. Each other one has a warning.
func TestU18_WhichServersStartAway(t *testing.T) {
	given := []mcp.Server{{Name: "plain", Command: "python3", Args: []string{"-um", "m"}},
		{Name: "here", Command: "node", Dir: "."}, {Name: "off", Command: "sh", Off: true},
		{Name: "web", URL: "https://example.com"}}
	for name, c := range map[string]struct {
		decide  func(*trust.Store, *trust.Snapshot) error
		trusted bool
		away    bool
	}{
		"nothing was decided": {away: true},
		"trusted this time":   {trusted: true},
		"declined":            {decide: (*trust.Store).Decline, away: true},
		"trusted":             {decide: (*trust.Store).Grant},
	} {
		home, root := t.TempDir(), t.TempDir()
		getenv := func(name string) string { return map[string]string{"XDG_STATE_HOME": home, "HOME": home}[name] }
		project, err := load.ReadProject(root, getenv, c.trusted)
		if err == nil && c.decide != nil {
			err = c.decide(trust.NewStore(filepath.Join(home, "attractor", "trust")), project.Snapshot)
			if err == nil {
				project, err = load.ReadProject(root, getenv, false)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		s, err := load.ReadServers(load.ServerOptions{Dir: root, Project: project, Given: given, Getenv: getenv})
		want := map[bool]string{true: "", false: root}[c.away]
		if err != nil || len(s.List) != 3 || s.List[0].Dir != want || s.List[1].Dir != root {
			t.Errorf("%s: the servers are %+v, %v", name, s.List, err)
		}
		warning := fmt.Sprint(errors.Join(s.Problems...))
		for _, part := range []string{"the server plain: ", `"cwd": "."`, "attractor trust"} {
			if strings.Contains(warning, part) != c.away || len(s.Problems) > 1 {
				t.Errorf("%s: the warnings are %s", name, warning)
			}
		}
	}
}

// If it is not known which servers are the user's, none of the project takes a name of theirs.
func TestM12_UnreadServersKeepTheirNames(t *testing.T) {
	home := t.TempDir()
	getenv := func(name string) string { return map[string]string{"XDG_CONFIG_HOME": home, "HOME": home}[name] }
	if err := os.Mkdir(filepath.Join(home, "attractor"), 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, ".mcp.json"), []byte(`{"mcpServers":{"lab":{"command":"/bin/true"}}}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	project, err := load.ReadProject(root, getenv, true)
	if err != nil {
		t.Fatal(err)
	}
	for mine, want := range map[string]int{`{"mcpServers":{}}`: 1, `{"mcpServers":{"lab":`: 0} {
		if err := os.WriteFile(filepath.Join(home, "attractor", "mcp.json"), []byte(mine), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := load.ReadServers(load.ServerOptions{Dir: root, Project: project, Getenv: getenv}); err != nil ||
			len(s.List) != want || len(s.Problems) != 2*(1-want) {
			t.Errorf("with %s there are %+v, %v, %v", mine, s.List, s.Problems, err)
		}
	}
}
