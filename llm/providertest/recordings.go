package providertest

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Recording is an answer of a model server that somebody recorded.
type Recording struct {
	// Name is the id of the recording in its corpus; N counts the answers in its file from 0.
	Name string
	N    int
	// Provider and Kind are what the corpus says of the recording: who answered, and the form of the file.
	Provider, Kind string
	// Status, ContentType and Body are the answer. Where only the body was recorded, the rest is what goes with it.
	Status      int
	ContentType string
	Body        []byte
}

// ServeHTTP implements [http.Handler]: the answer to whatever is asked.
func (r Recording) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", r.ContentType)
	w.WriteHeader(r.Status)
	_, _ = w.Write(r.Body) // fails when the client has enough, which is its right
}

// indexEntry is a line of a corpus' index.jsonl.
type indexEntry struct{ ID, Provider, Kind, File string }

// Recordings reads a corpus of recorded answers: a directory with an index.jsonl that names the files and, for each, the provider
// and the kind, which is one of sse_data_lines (the data of one server-sent event a line), sse, json_body, and http_cassette (a
// YAML cassette or an httprr trace, with any number of answers). An empty provider means all. Errors of the file system are
// wrapped, so that a missing corpus is an fs.ErrNotExist; a file that cannot be read as its kind is an error that names it.
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
		return []Recording{{Status: 200, ContentType: eventStream, Body: []byte(data + "\n\n")}}, nil // some lost their last line ends
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

// events makes a stream of its events' data. The APIs that give their data a type name the event after it.
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

// readTrace reads an httprr trace: the lengths of a request and a response, then both as they were on the wire.
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
		list = append(list, Recording{Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"), Body: body.Bytes()})
		data = rest[request+response:]
	}
	return list, nil
}

// readCassette reads the responses of a YAML cassette: of YAML it knows what such files consist of.
func readCassette(data string) (list []Recording, err error) {
	lines := strings.Split(data, "\n")
	var now *Recording
	for i := 0; i < len(lines); i++ {
		name, value, _ := strings.Cut(strings.TrimSpace(lines[i]), ":")
		value = strings.TrimSpace(value)
		switch {
		case name == "response":
			list = append(list, Recording{Status: 200})
			now = &list[len(list)-1]
		case name == "request":
			now = nil
		case now == nil:
		case name == "code":
			if now.Status, err = strconv.Atoi(value); err != nil {
				return nil, err
			}
		case strings.EqualFold(name, "Content-Type") && i+1 < len(lines):
			now.ContentType = strings.TrimPrefix(strings.TrimSpace(lines[i+1]), "- ")
		case name == "body":
			var rest int
			if now.Body, rest, err = scalar(value, lines[i+1:]); err != nil {
				return nil, err
			}
			i += rest
		}
	}
	return list, nil
}

// scalar reads a string of YAML: quoted in either way on one line, or a block of lines, of which it says how many it took.
func scalar(value string, lines []string) (text []byte, took int, err error) {
	value, binary := strings.CutPrefix(value, "!!binary ")
	s := value
	switch {
	case strings.HasPrefix(value, "|"):
		s, took = blockScalar(value, lines)
	case strings.HasPrefix(value, `"`):
		s, err = strconv.Unquote(value)
	case strings.HasPrefix(value, "'"):
		s = strings.ReplaceAll(strings.TrimSuffix(value[1:], "'"), "''", "'")
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %.80s", err, value)
	}
	if binary {
		text, err = base64.StdEncoding.DecodeString(strings.ReplaceAll(s, "\n", ""))
		return text, took, err
	}
	return []byte(s), took, nil
}

// blockScalar reads a block of lines. Its header says how many of the line ends at its end count: all with |+, none with |-.
func blockScalar(header string, lines []string) (text string, took int) {
	const indent = "      " // of a body's lines
	var b strings.Builder
	for took < len(lines) && (lines[took] == "" || strings.HasPrefix(lines[took], indent)) {
		b.WriteString(strings.TrimPrefix(lines[took], indent) + "\n")
		took++
	}
	text = b.String()
	if header == "|+" {
		return text, took
	}
	text = strings.TrimRight(text, "\n")
	if header != "|-" && text != "" {
		text += "\n"
	}
	return text, took
}
