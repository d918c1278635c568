package shellenv_test

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/shellenv"
)

func TestO1_RemoteEnvTellsOfALongCommand(t *testing.T) {
	e := open(t, prefixes(t)["sh"], t.TempDir())
	_, err := e.Start(t.Context(), env.Command{Script: "echo " + strings.Repeat("x", 130<<10)})
	if err == nil || !strings.Contains(err.Error(), "write it to a file and run that") {
		t.Errorf("a command of 130 KiB: %v", err)
	}
}

func TestO1_RemoteEnvHasBounds(t *testing.T) {
	prefixes(t) // skips where there is no shell
	for name, test := range map[string]struct{ far, want string }{
		"output":     {"yes", "more than 256 MiB arrived"},
		"complaints": {"yes >&2", "exit code"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := shellenv.New(t.Context(), []string{"sh", "-c", test.far}, "/tmp")
			if err == nil || !strings.Contains(err.Error(), test.want) || len(err.Error()) > 100<<10 {
				t.Errorf("a far side that does not stop: %.1000v", err)
			}
		})
	}
}
