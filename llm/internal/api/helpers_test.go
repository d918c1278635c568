package api_test

import (
	"bufio"
	"io"
	"log"
	"net/http"
	"testing"

	"github.com/attractor-go/attractor/llm/llmtest"
)

// quiet is the log of servers whose clients misbehave on purpose.
var quiet = log.New(io.Discard, "", 0)

func newBuf(r io.Reader) *bufio.Reader { return bufio.NewReader(r) }

// serve returns a client of a handler. It reads the request body first, because only then does a
// server notice that the client has disconnected.
func serve(t *testing.T, h http.HandlerFunc) *http.Client {
	return llmtest.PipeClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		h(w, r)
	}))
}
