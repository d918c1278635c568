package peer

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// ServeEverything runs the MCP server server-everything for streamable HTTP until the end of the
// test, and returns its URL.
func ServeEverything(t testing.TB) string {
	t.Helper()
	program := Need(t, "mcp-server-everything")
	var said string
	for range 5 { // the port may be taken by another program in between
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, "streamableHttp")
		cmd.Env = append(os.Environ(), fmt.Sprint("PORT=", port))
		stderr, err := cmd.StderrPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Error(err)
			}
			_ = cmd.Wait() // killed
		})
		lines := bufio.NewReader(stderr)
		if said, err = lines.ReadString('\n'); err == nil && strings.Contains(said, "listening") {
			return fmt.Sprintf("http://127.0.0.1:%d/mcp", port)
		}
	}
	t.Fatalf("server-everything does not listen: %s", said)
	return ""
}
