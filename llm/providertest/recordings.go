package providertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Recording is a recorded response of a model server.
type Recording struct {
	// Name is the id of the recording in its corpus; N counts the responses in its file from 0.
	Name string
	N    int
	// Provider is the provider that responded, and Kind the form of the file, both as the corpus
	// names them.
	Provider, Kind string
	// Status, ContentType and Body are the response. If only the body was recorded, the others are
	// set to match.
	Status      int
	ContentType string
	Body        []byte
}

// ServeHTTP implements [http.Handler]. It sends the response to every request.
func (r Recording) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", r.ContentType)
	w.WriteHeader(r.Status)
	_, _ = w.Write(r.Body) // fails if the client has read enough
}

// indexEntry is a line of a corpus's index.jsonl.
type indexEntry struct{ ID, Provider, Kind, File string }

// Recordings returns the recorded responses of a corpus. A corpus is a directory with an
// index.jsonl that lists the files, each with its provider and its kind: sse_data_lines (the data
// of one server-sent event on each line), sse, json_body, or http_cassette (a YAML cassette or an
// httprr trace, with any number of responses). An empty provider means all. File system errors are
// wrapped, so that a missing corpus is an fs.ErrNotExist. A file that does not have the form of its
// kind is an error that names it.
func Recordings(dir, provider string) ([]Recording, error) {
	index, err := os.ReadFile(filepath.Join(dir, "index.jsonl"))
	if err != nil {
		return nil, err
	}
	var all []Recording
	for line := range bytes.Lines(index) {
		var e indexEntry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("index.jsonl: %w", err)
		}
		if provider != "" && e.Provider != provider {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(e.File)))
		if err != nil {
			return nil, err
		}
		list, err := readRecording(e.Kind, string(data))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.File, err)
		}
		for i, r := range list {
			r.Name, r.N, r.Provider, r.Kind = e.ID, i, e.Provider, e.Kind
			all = append(all, r)
		}
	}
	return all, nil
}

const (
	eventStream = "text/event-stream"
	oneJSON     = "application/json"
)

func readRecording(kind, data string) ([]Recording, error) {
	switch kind {
	case "sse_data_lines":
		return []Recording{{Status: 200, ContentType: eventStream, Body: events(data)}}, nil
	case "sse":
		// some recordings lack the line ends after the last event
		return []Recording{{Status: 200, ContentType: eventStream, Body: []byte(data + "\n\n")}}, nil
	case "json_body":
		return []Recording{{Status: 200, ContentType: oneJSON, Body: []byte(data)}}, nil
	case "http_cassette":
		if trace, ok := strings.CutPrefix(data, "httprr trace v1\n"); ok {
			return readTrace(trace)
		}
		return readCassette(data)
	}
	return nil, fmt.Errorf("unknown kind %q", kind)
}

// events returns a stream of events with this data. Events of APIs with a type in the data are
// named after it.
func events(data string) []byte {
	var b bytes.Buffer
	for line := range strings.Lines(data) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		var named struct{ Type string }
		if json.Unmarshal([]byte(line), &named) == nil && named.Type != "" {
			b.WriteString("event: " + named.Type + "\n")
		}
		b.WriteString("data: " + line + "\n\n")
	}
	return b.Bytes()
}

// readTrace reads an httprr trace: the lengths of a request and a response, then both as sent.
func readTrace(data string) (list []Recording, err error) {
	for data != "" {
		head, rest, _ := strings.Cut(data, "\n")
		var request, response int
		if _, err := fmt.Sscan(head, &request, &response); err != nil {
			return nil, fmt.Errorf("httprr record %q: %w", head, err)
		}
		if request < 0 || response < 0 || len(rest) < request || len(rest)-request < response {
			return nil, fmt.Errorf("httprr record %q: %d bytes are left", head, len(rest))
		}
		resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(rest[request:request+response])), nil)
		if err != nil {
			return nil, err
		}
		var body bytes.Buffer
		if _, err := body.ReadFrom(resp.Body); err != nil {
			return nil, err
		}
		list = append(list, Recording{Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"),
			Body: body.Bytes()})
		data = rest[request+response:]
	}
	return list, nil
}

// cassette is a YAML cassette, as far as it is read.
type cassette struct {
	Interactions []struct {
		Response struct {
			Code    *int                `yaml:"code"`
			Headers map[string][]string `yaml:"headers"`
			Body    string              `yaml:"body"`
		} `yaml:"response"`
	} `yaml:"interactions"`
}

// readCassette reads the responses of a YAML cassette.
func readCassette(data string) (list []Recording, err error) {
	var c cassette
	if err := yaml.Unmarshal([]byte(data), &c); err != nil {
		return nil, err
	}
	for _, x := range c.Interactions {
		r := Recording{Status: http.StatusOK, Body: []byte(x.Response.Body)}
		if x.Response.Code != nil {
			r.Status = *x.Response.Code
		}
		for name, values := range x.Response.Headers {
			if strings.EqualFold(name, "Content-Type") {
				r.ContentType = strings.Join(values, ",")
			}
		}
		list = append(list, r)
	}
	return list, nil
}
