package api_test

import (
	"bufio"
	"io"
	"log"
	"net/http"
	"testing"

	"github.com/attractor-go/attractor/llm/llmtest"
)

// quiet is for servers whose clients are supposed to misbehave.
var quiet = log.New(io.Discard, "", 0)

func newBuf(r io.Reader) *bufio.Reader { return bufio.NewReader(r) }

// serve is a client of a handler whose request body is read first: only then does a server notice that its client is gone.
func serve(t *testing.T, h http.HandlerFunc) *http.Client {
	return llmtest.PipeClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		h(w, r)
	}))
}
