//go:build unix

package env_test

import (
	"testing"

	"github.com/attractor-go/attractor/env"
)

// The end of a stream is told while the command goes on, and each stream once.
func TestD1_EndedStreams(t *testing.T) {
	e, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ended := make(chan int, 10)
	p, err := e.Start(t.Context(), env.Command{Script: "echo one; exec >&-; read go; exit 7", Stdin: true,
		Ended: func(stream int) { ended <- stream }})
	if err != nil {
		t.Fatal(err)
	}
	if got := <-ended; got != env.Stdout {
		t.Errorf("the stream %d ended first", got)
	}
	if _, err := p.Stdin().Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(t.Context()); err != nil || exit.Code != 7 {
		t.Errorf("the command ended with %+v, %v", exit, err)
	}
	if got := <-ended; got != env.Stderr || len(ended) > 0 {
		t.Errorf("then %d ended, and %d more", got, len(ended))
	}
}
