//go:build unix

package debuglog

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/secret"
)

// A file that cannot be written is told once, and the session goes on.
func TestN7_DebugFileFails(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(fifo); err == nil || !strings.Contains(err.Error(), "nobody reads the named pipe") {
		t.Errorf("a pipe without a reader: %v", err)
	}
	idle, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close() // nothing is read
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	defer w.Close() // it is broken
	for name, open := range map[string]func() (*Log, error){
		"no space left on device": func() (*Log, error) {
			if _, err := os.Stat("/dev/full"); err != nil {
				return To("full", fullDisk{}), nil
			}
			return Open("/dev/full")
		},
		"i/o timeout": func() (*Log, error) {
			l, err := Open(fifo)
			if err == nil {
				l.patience = time.Microsecond
			}
			return l, err
		},
		"broken pipe": func() (*Log, error) { return To("standard error", w), nil },
	} {
		log, err := open()
		if err != nil {
			t.Fatal(err)
		}
		told := make(chan string, 100)
		log.Tell(func(text string) { told <- text })
		s := &session{log: log, masker: secret.New(), key: "key",
			model: func(*fakellm.Request) fakellm.Turn { return fakellm.Turn{Text: strings.Repeat("words ", 100_000)} }}
		s.run(t, "anthropic", "go")
		if text := <-told; len(told) != 0 || !strings.Contains(text, name) {
			t.Errorf("%s: told %q and %d more", name, text, len(told))
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// Of a failure before Tell the function is told later.
func TestN7_DebugFailsEarly(t *testing.T) {
	log := To("x", fullDisk{})
	log.Logger(secret.New()).Info("hello")
	told := ""
	log.Tell(func(text string) { told += text })
	log.Tell(func(text string) { told += text })
	if want := "The debug log cannot be written, and ends here: x: no space left on device"; told != want {
		t.Errorf("told %q", told)
	}
}

// The file is private, bounded, and appended to.
func TestN7_DebugFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "debug.jsonl")
	write := func(lines int) {
		t.Helper()
		log, err := Open(file)
		if err != nil {
			t.Fatal(err)
		}
		log.limit = 10_000
		if info, err := log.file.Stat(); err != nil {
			t.Fatal(err)
		} else if err := log.prepare(info); err != nil { // again, with the smaller limit
			t.Fatal(err)
		}
		for i := range lines {
			log.Logger(secret.New()).Info("line", "i", i)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		log.Logger(secret.New()).Info("after the end")
	}
	write(3)
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	write(2)
	lines, _ := readLines(t, file)
	info, err := os.Stat(file)
	if err != nil || len(lines) != 5 || info.Mode() != 0o600 {
		t.Errorf("%d lines, %v, %v", len(lines), info.Mode(), err)
	}
	write(1000)
	lines, raw := readLines(t, file)
	if last := lines[len(lines)-1]; !strings.Contains(last.text("msg"), "reached its limit") || len(raw) > 10_000 ||
		len(raw) < 9_500 {
		t.Errorf("%d bytes, the last line is %v", len(raw), last)
	}
	write(1)
	if lines, _ := readLines(t, file); len(lines) != 1 {
		t.Errorf("a full file was not begun anew: %d lines", len(lines))
	}
	other := filepath.Join(dir, "notes.md")
	if err := os.WriteFile(other, []byte("# Notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{other: "something else in it", dir: "is a directory",
		filepath.Join(dir, "no", "file"): "no such file"} {
		if _, err := Open(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if data, err := os.ReadFile(other); err != nil || string(data) != "# Notes" {
		t.Errorf("another file was changed: %q, %v", data, err)
	}
}

// Images and very long texts are shortened, with their sizes; what is left is JSON.
func TestN7_DebugShortens(t *testing.T) {
	x := &transport{masker: secret.New()}
	image := base64.StdEncoding.EncodeToString(make([]byte, 30_000))
	for _, c := range []struct {
		body any
		want string
		most int
	}{
		{map[string]any{"a": 1, "source": map[string]any{"data": image}, "b": "x"}, "[... 40000 bytes in all]", 500},
		{map[string]any{"image_url": "data:image/png;base64," + image}, "[... 40022 bytes in all]", 500},
		{map[string]any{"text": strings.Repeat("word \"quoted\" ", 50_000)}, "[... 700000 bytes in all]", 350_000},
		{map[string]any{"text": strings.Repeat("word ", 10_000)}, "word word", 60_000},
	} {
		data, err := json.Marshal(c.body)
		if err != nil {
			t.Fatal(err)
		}
		short, err := json.Marshal(x.body(data, false))
		if err != nil || !strings.Contains(string(short), c.want) || len(short) > c.most {
			t.Errorf("%.100s became %d bytes without %q", data, len(short), c.want)
		}
	}
	if err := x.masker.Register("CANARY", "canary-host-secret"); err != nil {
		t.Fatal(err)
	}
	if text, _ := x.body([]byte("the beginning of canary-host"), true).(string); strings.Contains(text, "canary-") {
		t.Errorf("a body that is cut in a secret has its beginning: %q", text)
	}
	if text, _ := x.body([]byte("<html>canary-host-secret"), false).(string); text != "<html>[secret CANARY]" {
		t.Errorf("a text became %q", text)
	}
}

// Requests that fail have a line with the error, refused ones the body, and keys in addresses are
// hidden.
func TestN7_DebugOfFailedRequests(t *testing.T) {
	s := opened(t)
	client := s.log.Client(s.masker)
	defer client.CloseIdleConnections()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Get("http://user:pass-of-user@" + address + "/x?key=key-of-user&n=1"); err == nil {
		t.Error("no error")
	}
	listener, err = net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(429)
		fmt.Fprint(w, `{"error": {"message": "slow down"}}`)
	})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	resp, err := client.Get("http://" + listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Error(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	<-served
	lines, raw := readLines(t, s.file)
	var got []string
	for _, l := range lines {
		got = append(got, l.text("msg"))
	}
	if strings.Join(got, ", ") != "http request, http failed, http request, http response, http body" {
		t.Errorf("lines: %v", got)
	}
	for _, bad := range []string{"pass-of-user", "key-of-user"} {
		if strings.Contains(raw, bad) {
			t.Errorf("the file has %s", bad)
		}
	}
	for _, want := range []string{"connection refused", "n=1", `"status":429`,
		`"body":{"error":{"message":"slow down"}}`} {
		if !strings.Contains(raw, want) {
			t.Errorf("the file has no %s:\n%s", want, raw)
		}
	}
}

// FuzzN7_Events logs arbitrary streams: what stands in the file is JSON, and has no secret.
func FuzzN7_Events(f *testing.F) {
	const value = "canary-host-secret"
	f.Add([]byte("data: {\"a\":\"canary-\"}\n\ndata: {\"a\":\"host-secret\"}\n\n"), 3)
	f.Add([]byte("event: x\r\ndata: [1,\r\ndata: \"canary-host-secret\"]\r\n\r\n: comment"), 0)
	f.Add([]byte(value+"\n\ndata"), 7)
	f.Fuzz(func(t *testing.T, data []byte, at int) {
		m := secret.New()
		if err := m.Register("CANARY", value); err != nil {
			t.Fatal(err)
		}
		x := &transport{masker: m}
		events := x.streamed(data, []arrival{{at, time.Second}, {len(data), time.Minute}}, at%2 == 0)
		text, err := json.Marshal(events)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), value) {
			t.Errorf("%q became %s", data, text)
		}
	})
}
