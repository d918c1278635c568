package providertest_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/llm/providertest"
)

// corpus returns a directory with these files.
func corpus(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const cassetteYAML = `---
version: 2
interactions:
- id: 0
  request:
    body: '{"n":1}'
    headers:
      Content-Type:
      - application/json
  response:
    proto: HTTP/2.0
    body: '{"it''s":"\n"}'
    headers:
      Content-Type:
      - application/json
    status: 200 OK
    code: 200
- id: 1
  request:
    body: ""
  response:
    body: |+
      event: a
      data: {"code: 1"}

      data: two

    headers:
      Content-Type:
      - text/event-stream; charset=utf-8
    code: 429
- id: 2
  response:
    body: |-
      kept
        indented
    code: 200
- id: 3
  response:
    body: |
      one line end

    code: 200
- id: 4
  response:
    body: "a \"b\" \u00e9\n\U0001F44B"
    code: 200
- id: 5
  response:
    body: !!binary |
      AAEC
      /w==
    code: 200
`

func TestRecordings(t *testing.T) {
	request, response := "POST / HTTP/1.1\r\nHost: x\r\n\r\n{}",
		"HTTP/1.1 503 Busy\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\r\n{ }"
	record := fmt.Sprintf("%d %d\n%s%s", len(request), len(response), request, response)
	dir := corpus(t, map[string]string{
		"index.jsonl": `{"id":"lines","provider":"a","kind":"sse_data_lines","file":"files/lines"}
{"id":"events","provider":"a","kind":"sse","file":"files/events"}
{"id":"json","provider":"a","kind":"json_body","file":"files/json"}
{"id":"yaml","provider":"b","kind":"http_cassette","file":"files/yaml"}
{"id":"trace","provider":"b","kind":"http_cassette","file":"files/trace"}
`,
		"files/lines":  "{\"type\":\"start\",\"n\":1}\n\n{\"n\":2}\n[DONE]\n",
		"files/events": "data: 1\n\ndata: 2",
		"files/json":   "{}\n",
		"files/yaml":   cassetteYAML,
		"files/trace":  "httprr trace v1\n" + record + record,
	})
	want := []string{
		"lines 0 a sse_data_lines 200 text/event-stream event: start\ndata: {\"type\":\"start\",\"n\":1}\n\ndata: " +
			"{\"n\":2}\n\ndata: [DONE]\n\n",
		"events 0 a sse 200 text/event-stream data: 1\n\ndata: 2\n\n",
		"json 0 a json_body 200 application/json {}\n",
		`yaml 0 b http_cassette 200 application/json {"it's":"\n"}`,
		"yaml 1 b http_cassette 429 text/event-stream; charset=utf-8 event: a\ndata: {\"code: 1\"}\n\ndata: two\n\n",
		"yaml 2 b http_cassette 200  kept\n  indented",
		"yaml 3 b http_cassette 200  one line end\n",
		"yaml 4 b http_cassette 200  a \"b\" é\n👋",
		"yaml 5 b http_cassette 200  \x00\x01\x02\xff",
		"trace 0 b http_cassette 503 application/json { }",
		"trace 1 b http_cassette 503 application/json { }",
	}
	for provider, want := range map[string][]string{"": want, "a": want[:3], "b": want[3:], "c": nil} {
		list, err := providertest.Recordings(dir, provider)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range list {
			got = append(got, fmt.Sprintf("%s %d %s %s %d %s %s", r.Name, r.N, r.Provider, r.Kind, r.Status,
				r.ContentType, r.Body))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", provider, diff)
		}
	}
}

func TestRecordingsErrors(t *testing.T) {
	if _, err := providertest.Recordings(t.TempDir(), ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no corpus: %v", err)
	}
	for kind, data := range map[string]string{
		"unheard_of": "", "http_cassette": "httprr trace v1\n99 99\nshort", "http_cassette ": "httprr trace v1\nfew\n",
		"http_cassette  ":    "interactions:\n- response:\n    body: \"\\q\"\n",
		"http_cassette   ":   "interactions:\n- response:\n    body: !!binary \"%\"\n",
		"http_cassette    ":  "interactions:\n- response:\n    code: many\n",
		"http_cassette     ": "httprr trace v1\n1 1\nab",
	} {
		dir := corpus(t, map[string]string{"file": data,
			"index.jsonl": fmt.Sprintf(`{"id":"x","kind":%q,"file":"file"}`, strings.TrimSpace(kind)) + "\n"})
		if list, err := providertest.Recordings(dir, ""); err == nil || !strings.HasPrefix(err.Error(), "file: ") {
			t.Errorf("%q: %v, %v", data, list, err)
		}
	}
	for _, index := range []string{"{", `{"file":"missing"}`} {
		if _, err := providertest.Recordings(corpus(t, map[string]string{"index.jsonl": index}), ""); err == nil {
			t.Errorf("index %s", index)
		}
	}
}

func TestRecordingServes(t *testing.T) {
	w := httptest.NewRecorder()
	providertest.Recording{Status: 404, ContentType: "text/x", Body: []byte("no")}.ServeHTTP(w, nil)
	if w.Code != 404 || w.Header().Get("Content-Type") != "text/x" || w.Body.String() != "no" {
		t.Errorf("%+v", w)
	}
}
