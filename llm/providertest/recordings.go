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

// Recording is a recorded response of a model server.
type Recording struct {
	// Name is the id of the recording in its corpus; N counts the responses in its file from 0.
	Name string
	N    int
	// Provider and Kind are taken from the corpus: who responded, and the form of the file.
	Provider, Kind string
	// Status, ContentType and Body are the response. If only the body was recorded, the others are set to match.
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

// Recordings returns the recorded responses of a corpus. A corpus is a directory with an index.jsonl that lists the files, each
// with its provider and its kind: sse_data_lines (the data of one server-sent event on each line), sse, json_body, or
// http_cassette (a YAML cassette or an httprr trace, with any number of responses). An empty provider means all. File system
// errors are wrapped, so that a missing corpus is an fs.ErrNotExist. A file that does not have the form of its kind is an error
// that names it.
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
		return []Recording{{Status: 200, ContentType: eventStream, Body: []byte(data + "\n\n")}}, nil // some lost the line ends at their end
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

// events returns a stream of events with this data. Events of APIs with a type in the data are named after it.
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
		list = append(list, Recording{Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"), Body: body.Bytes()})
		data = rest[request+response:]
	}
	return list, nil
}

// readCassette reads the responses of a YAML cassette. It understands only the YAML that occurs in such files.
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

// scalar reads a YAML string: quoted on one line, or a block of lines. It also returns the number of lines.
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

// blockScalar reads a block of lines. Its header tells how many of the final line ends to keep: all with |+, none with |-.
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
