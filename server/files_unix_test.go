//go:build unix

package server_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A file that has become a pipe holds up no request.
func TestW1_FileThatIsAPipe(t *testing.T) {
	t.Parallel()
	w := newWorld(t, say("", write("a.txt", "x\n")), say("Done."))
	c := w.start(full).as(ciToken)
	id := c.create(object{})
	events := c.watch("/v1/sessions/" + id + "/events")
	c.line(id, object{"type": "user", "text": "go"})
	events.until("PROCESSING_END")
	name := filepath.Join(w.root, "a.txt")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	defer func() { // lets a request go that waits for a writer
		if f, err := os.OpenFile(name, os.O_RDWR|syscall.O_NONBLOCK, 0); err == nil {
			_ = f.Close() // nothing was written
		}
	}()
	c.refused(404, "not_found", "GET", "/v1/sessions/"+id+"/files?path=a.txt", "")
}
