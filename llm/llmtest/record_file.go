package llmtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
)

// exchange is one request with its response, as it is recorded in a file.
type exchange struct {
	// N counts the requests from 1, in the order in which they were made.
	N        int               `json:"n"`
	Request  recordedRequest   `json:"request"`
	Response *recordedResponse `json:"response,omitempty"`
	// Error is the transport's error, if there was no response.
	Error string `json:"error,omitempty"`
}

// recordedRequest is a request.
type recordedRequest struct {
	Method string      `json:"method"`
	Path   string      `json:"path"` // with the query
	Header http.Header `json:"header,omitempty"`
	// Body holds a JSON body, Text any other.
	Body json.RawMessage `json:"body,omitempty"`
	Text string          `json:"text,omitempty"`
}

// recordedResponse is an HTTP response.
type recordedResponse struct {
	Status int         `json:"status"`
	Header http.Header `json:"header,omitempty"`
	Body   string      `json:"body,omitempty"`
	Base64 []byte      `json:"base64,omitempty"` // the body, if it is not text
	// Error is the read error that the body ended with.
	Error string `json:"error,omitempty"`
}

// load returns the exchanges of a recording, in the order of the requests.
func load(path string) ([]*exchange, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []*exchange
	for dec := json.NewDecoder(bytes.NewReader(data)); ; {
		x := new(exchange)
		if err := dec.Decode(x); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("%s: exchange %d: %w", path, len(list)+1, err)
		}
		list = append(list, x)
	}
	slices.SortFunc(list, func(a, b *exchange) int { return a.N - b.N })
	return list, nil
}

// compact returns the text by which requests are compared: JSON without the white space of the
// file's indentation.
func (q *recordedRequest) compact() (string, error) {
	if len(q.Body) == 0 {
		return q.Text, nil
	}
	var b bytes.Buffer
	err := json.Compact(&b, q.Body)
	return b.String(), err
}
