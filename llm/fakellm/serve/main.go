package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/attractor-go/attractor/llm/fakellm"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "`address` to listen on")
	script := flag.String("script", "", "`file` with the turns, a JSON array; without one every answer is a greeting")
	faults := flag.String("faults", "",
		"`file` with faults by request number, a JSON object such as {\"1\":{\"kind\":\"cut\",\"after\":2}}")
	delay := flag.Duration("delay", 20*time.Millisecond, "`time` between two events")
	flag.Parse()
	if err := serve(*addr, *script, *faults, *delay); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func serve(addr, script, faults string, delay time.Duration) error {
	turns, err := readTurns(script)
	if err != nil {
		return err
	}
	o := fakellm.Options{Delay: delay}
	if err := read(faults, &o.Faults); err != nil {
		return err
	}
	model := fakellm.Script(turns...)
	server := fakellm.New(func(r *fakellm.Request) fakellm.Turn {
		fmt.Printf("request %d: %s %s, %d messages, %d tools\n", r.N, r.Path, r.Model, len(r.Messages), len(r.Tools))
		return model(r)
	}, o)
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("%w; another address is -addr 127.0.0.1:PORT, and port 0 is any free one", err)
	}
	fmt.Printf("A scripted model listens on %s. One of these lines leads a program to it:\n%s", listener.Addr(),
		variables(listener.Addr().String()))
	return http.Serve(listener, server)
}

// variables returns a line of shell for each provider, with the variables that lead it to the
// address.
func variables(addr string) string {
	return fmt.Sprintf(`  export ANTHROPIC_API_KEY=none ANTHROPIC_BASE_URL=http://%[1]s
  export OPENAI_API_KEY=none OPENAI_BASE_URL=http://%[1]s/v1
  export GEMINI_API_KEY=none GEMINI_BASE_URL=http://%[1]s
  export OPENAI_COMPATIBLE_BASE_URL=http://%[1]s/v1 # with a model of any name
`, addr)
}

// readTurns returns the turns of a script, or a greeting if it has no name.
func readTurns(script string) ([]fakellm.Turn, error) {
	if script == "" {
		return []fakellm.Turn{{Text: "Hello. I am a script of one line."}}, nil
	}
	var turns []fakellm.Turn
	err := read(script, &turns)
	return turns, err
}

// read decodes a file. A member with a misspelled name is an error.
func read(name string, into any) error {
	if name == "" {
		return nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: there is something after the end of the JSON value; remove it", name)
	}
	return nil
}
