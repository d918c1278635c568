package examples_test

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// TestQ2_Webapprovals answers what is asked as a page would, once with no and once with yes.
func TestQ2_Webapprovals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	touch := func(name string) fakellm.Turn {
		return fakellm.Turn{Calls: []fakellm.Call{{Name: "shell", Args: []byte(`{"command":"touch ` + name + `"}`)}}}
	}
	cmd := command(t, "webapprovals", dir, fakellm.Script(touch("refused"), touch("released"),
		fakellm.Turn{Text: "Released, after somebody said yes."}), "Release the project.")
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	address, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address = strings.TrimSpace(address)
	for _, step := range []struct{ name, answer string }{{"refused", "no"}, {"released", "yes"}} {
		id := ""
		await.For(t, "what is asked", func() bool {
			page := get(t, address)
			if strings.Contains(page, "touch "+step.name) {
				id, _, _ = strings.Cut(page, " ")
			}
			return id != ""
		})
		if status := post(t, address+id+"/"+step.answer); status != http.StatusOK {
			t.Errorf("%s: status %d", step.answer, status)
		}
		if step.answer == "no" { // the session goes on
			if status := post(t, address+id+"/yes"); status != http.StatusConflict {
				t.Errorf("a second answer: status %d", status)
			}
		}
	}
	rest, err := io.ReadAll(lines)
	if err != nil || string(rest) != "Released, after somebody said yes.\n" {
		t.Errorf("%q, %v", rest, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]bool{"refused": false, "released": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func get(t *testing.T, address string) string {
	t.Helper()
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// post answers and returns the status of the response.
func post(t *testing.T, address string) int {
	t.Helper()
	response, err := http.Post(address, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
	return response.StatusCode
}
