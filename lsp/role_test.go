package lsp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// server is a scripted language server. A line of a document that has BAD is an error, with the
// line as its message.
type server struct {
	faults []string
	in     *bufio.Reader
	docs   map[string]string
}

// serve runs the scripted server until its input ends. The role names its faults.
func serve(role string) error {
	s := &server{faults: strings.Split(role, ","), in: bufio.NewReader(os.Stdin), docs: map[string]string{}}
	if s.has("stubborn") {
		signal.Ignore(syscall.SIGTERM)
		alive, err := os.OpenFile("alive", os.O_WRONLY, 0) // open as long as this process lives
		if err != nil {
			return err
		}
		defer func() { _ = alive.Close() }()
	}
	for {
		m, err := s.receive()
		if err == io.EOF && s.has("stubborn") {
			time.Sleep(time.Hour) // it has to be killed
		}
		if err != nil {
			return err
		}
		if m.Method == "exit" && !s.has("stubborn") {
			return nil
		}
		if err := s.handle(m); err != nil {
			return err
		}
	}
}

func (s *server) has(fault string) bool { return slices.Contains(s.faults, fault) }

// received holds a message of a client.
type received struct {
	ID     json.RawMessage
	Method string
	Params struct {
		TextDocument struct {
			URI, Text string
			Version   int
		}
		ContentChanges []struct{ Text string }
	}
}

func (s *server) receive() (m received, err error) {
	length := 0
	for {
		line, err := s.in.ReadString('\n')
		if err != nil {
			return m, err
		}
		if line = strings.TrimSpace(line); line == "" {
			break
		}
		if value, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			if length, err = strconv.Atoi(value); err != nil {
				return m, err
			}
		}
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(s.in, body); err != nil {
		return m, err
	}
	return m, json.Unmarshal(body, &m)
}

func (s *server) send(m map[string]any) {
	m["jsonrpc"] = "2.0"
	body, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	fmt.Printf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

func (s *server) handle(m received) error {
	doc := m.Params.TextDocument
	switch m.Method {
	case "initialize":
		if s.has("mute") {
			return nil
		}
		if s.has("garbage at the start") {
			fmt.Println("Welcome to the language server!")
		}
		capabilities := map[string]any{"textDocumentSync": map[string]any{"save": true}}
		if s.has("pull") {
			capabilities["diagnosticProvider"] = map[string]any{}
		}
		s.send(map[string]any{"id": m.ID, "result": map[string]any{"capabilities": capabilities}})
		s.send(map[string]any{"id": "q1", "method": "workspace/configuration",
			"params": map[string]any{"items": []any{map[string]any{"section": "s"}}}})
		s.send(map[string]any{"id": "q2", "method": "unknown/request"})
	case "shutdown":
		if !s.has("stubborn") {
			s.send(map[string]any{"id": m.ID, "result": nil})
		}
	case "textDocument/didOpen":
		s.docs[doc.URI] = doc.Text
		s.publish(doc.URI, doc.Version)
	case "textDocument/didChange":
		s.docs[doc.URI] = m.Params.ContentChanges[0].Text
		if err := s.changed(doc.URI, doc.Version); err != nil {
			return err
		}
		s.publish(doc.URI, doc.Version)
	case "textDocument/diagnostic":
		if s.has("late") && strings.Contains(s.docs[doc.URI], "BAD") {
			s.await()
		}
		if _, open := s.docs[doc.URI]; !open {
			s.send(map[string]any{"id": m.ID, "error": map[string]any{"code": 1, "message": "unknown file"}})
			return nil
		}
		s.send(map[string]any{"id": m.ID, "result": map[string]any{"kind": "full", "items": s.diagnostics(doc.URI)}})
	}
	return nil
}

// changed commits the faults that a change brings about.
func (s *server) changed(uri string, version int) error {
	switch {
	case s.has("dies"):
		return fmt.Errorf("boom in %s", "the server")
	case s.has("garbage"):
		fmt.Print("Content-Length: nonsense\r\n\r\n{}")
	case s.has("no header"):
		fmt.Print(strings.Repeat("x", 1<<20))
	case s.has("broken"):
		fmt.Print("Content-Length: 5\r\n\r\n{{{{{")
	case s.has("huge"):
		fmt.Printf("Content-Length: %d\r\n\r\n", 200<<20)
		_, _ = io.Copy(os.Stdout, io.LimitReader(zeros{}, 200<<20))
	case s.has("floods"): // about an older version of the document, so that it is clear that more will come
		s.send(map[string]any{"method": "textDocument/publishDiagnostics",
			"params": map[string]any{"uri": uri, "version": version - 1, "diagnostics": many(3_000)}})
		for i := range 500 {
			s.send(map[string]any{"method": "textDocument/publishDiagnostics",
				"params": map[string]any{"uri": fmt.Sprintf("file:///flood/%d", i), "diagnostics": many(5)}})
			s.send(map[string]any{"method": "window/logMessage", "params": map[string]any{"message": "flood"}})
		}
	case s.has("older"):
		s.send(map[string]any{"method": "textDocument/publishDiagnostics",
			"params": map[string]any{"uri": uri, "version": version - 1, "diagnostics": many(3)}})
	}
	return nil
}

// zeros is an endless reader.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// await waits until the test lets the server go on.
func (s *server) await() {
	gate, err := os.Open("gate") // a FIFO
	if err == nil {
		_, _ = io.ReadAll(gate)
		_ = gate.Close()
	}
}

func many(n int) (list []any) {
	for i := range n {
		list = append(list, problem(i, fmt.Sprintf("flood %d", i)))
	}
	return list
}

func problem(line int, message string) map[string]any {
	at := map[string]int{"line": line, "character": 0}
	return map[string]any{"range": map[string]any{"start": at, "end": at}, "severity": 1, "message": message}
}

func (s *server) diagnostics(uri string) []any {
	list := []any{}
	for i, line := range bytes.Split([]byte(s.docs[uri]), []byte("\n")) {
		if bytes.Contains(line, []byte("BAD")) {
			list = append(list, problem(i, string(line)))
		}
	}
	return list
}

func (s *server) publish(uri string, version int) {
	if s.has("pull") || s.has("silent") {
		return
	}
	s.send(map[string]any{"method": "textDocument/publishDiagnostics",
		"params": map[string]any{"uri": uri, "version": version, "diagnostics": s.diagnostics(uri)}})
}
