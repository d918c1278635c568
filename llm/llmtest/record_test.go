package llmtest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/llm/providertest"
)

// canaries must not occur in a recording.
var canaries = map[string]string{
	"key":            "sk-ant-canary-0123456789",
	"bearer":         "canary+bearer/0123456789==",
	"goog key":       "AIzaCanary0123456789",
	"query":          "canary query & more",
	"cookie":         "canary-cookie",
	"set-cookie":     "canary-set-cookie",
	"organization":   "canary-organization",
	"header":         "canary-of-a-header-nobody-knows",
	"other org":      "org-canary0123456789",
	"other key":      "sk-proj-****************abcd",
	"password":       "canary-password",
	"quoted":         `canary"quoted\key`,
	"account's name": "canary-account",
}

// leaky serves a response that returns every secret in its headers and body.
func leaky(w http.ResponseWriter, r *http.Request) {
	for name, value := range map[string]string{"Set-Cookie": "__cf=" + canaries["set-cookie"] + "; Path=/v1/x; Secure",
		"Anthropic-Organization-Id": canaries["organization"], "X-Account": canaries["account's name"],
		"Request-Id":               "req_1",
		"X-Ratelimit-Limit-Tokens": "9", "Content-Type": "text/plain"} {
		w.Header().Set(name, value)
	}
	w.WriteHeader(401)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	said := strings.Join([]string{r.Header.Get("X-Api-Key"), r.Header.Get("Authorization"),
		strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "),
		r.Header.Get("X-Goog-Api-Key"), r.Header.Get("Cookie"),
		r.URL.RawQuery, r.URL.Query().Get("key"), canaries["set-cookie"], canaries["organization"],
		canaries["other org"], canaries["other key"], string(body)}, " | ")
	for _, c := range []byte(said) { // byte by byte, so that pieces split secrets
		w.Write([]byte{c})
		http.NewResponseController(w).Flush()
	}
}

func record(t *testing.T, h http.Handler) (path string, client *http.Client, stop func()) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "traffic.json")
	client = llmtest.PipeClient(t, h)
	rec, err := llmtest.NewRecorder(path, client.Transport)
	if err != nil {
		t.Fatal(err)
	}
	return path, &http.Client{Transport: rec}, func() {
		if err := rec.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestG12_RecordingHasNoSecrets(t *testing.T) {
	path, client, stop := record(t, http.HandlerFunc(leaky))
	body := `{"user":"` + canaries["key"] + `","quoted":"canary\"quoted\\key","model":"m"}`
	req, err := http.NewRequest("POST",
		"http://u:canary-password@x.test/v1/x?alt=sse&key=canary+query+%26+more&token=tiny",
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"X-Api-Key": canaries["key"],
		"Authorization":  "Bearer " + canaries["bearer"],
		"X-Goog-Api-Key": canaries["goog key"], "Cookie": "a=b; session=" + canaries["cookie"],
		"Openai-Organization": canaries["organization"],
		"Api-Key":             canaries["quoted"], "X-Mine": canaries["header"], "Anthropic-Version": "2023-06-01"} {
		req.Header.Set(name, value)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(got), canaries["key"]) {
		t.Fatalf("the caller does not get what the server said: %v, %s", err, got)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	stop()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, canary := range canaries {
		if bytes.Contains(file, []byte(canary)) {
			t.Errorf("the %s is in the file", name)
		}
	}
	if bytes.Contains(bytes.ToLower(file), []byte("canary")) {
		t.Errorf("some secret is in the file:\n%s", file)
	}
	var x struct{ Response string }
	if err := json.Unmarshal(file, &x); err != nil {
		t.Fatal(err)
	}
	if body := x.Response; strings.Contains(body, "canary") ||
		!strings.Contains(body, "REDACTED | Bearer REDACTED | ") && !strings.Contains(body, "REDACTED | REDACTED | ") {
		t.Errorf("secrets lie across the pieces of the body: %s", body)
	}
	for _, kept := range []string{`"POST /v1/x?alt=sse&key=REDACTED&token=REDACTED"`, `\"user\":\"REDACTED\"`,
		`\"model\":\"m\"`,
		`"req_1"`, `"X-Ratelimit-Limit-Tokens"`, `"status": 401`} {
		if !bytes.Contains(file, []byte(kept)) {
			t.Errorf("%s is not in the file:\n%s", kept, file)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may read the file: %v, %v", info.Mode(), err)
	}
}

func provider(t *testing.T, client *http.Client, key string) llm.Provider {
	t.Helper()
	p, err := anthropic.New(anthropic.Options{APIKey: key, BaseURL: "http://x.test", HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func request(text string) *llm.Request {
	return &llm.Request{Model: "m", MaxTokens: 100, Messages: []llm.Message{llm.User(text)}}
}

// What was recorded through a provider can be replayed with another key and without a server:
// events, errors and breaks alike.
func TestRecordAndReplay(t *testing.T) {
	server := fakellm.New(fakellm.Script(fakellm.Turn{Text: "né 😀 <b> and some more words, so that it takes deltas."}),
		fakellm.Options{Faults: map[int]fakellm.Fault{
			2: {Kind: fakellm.FaultStatus, Status: 429, Header: map[string]string{"Retry-After": "7"}},
			3: {Kind: fakellm.FaultCut, After: 2},
			4: {Kind: fakellm.FaultReset},
		}})
	path, client, stop := record(t, server)
	play := func(p llm.Provider) (got []string) {
		for i := range 5 {
			events, err := providertest.Contract(t, p.Stream(t.Context(), request(fmt.Sprint("question ", i))))
			for _, ev := range events {
				got = append(got, ev.Type.String()+ev.Delta)
			}
			var e *llm.Error
			if errors.As(err, &e) {
				got = append(got, fmt.Sprintf("%s %d %v", llm.KindOf(e), e.Status, e.RetryAfter))
			}
		}
		return got
	}
	recorded := play(provider(t, client, "sk-real-0123456789"))
	stop()
	if all := strings.Join(recorded, "|"); !strings.Contains(all, "rate_limit 429 7s") ||
		!strings.Contains(all, "stream 200") ||
		!strings.Contains(all, "network") || !strings.HasSuffix(all, "finish") {
		t.Fatalf("the faults did not happen: %s", all)
	}
	rep, err := llmtest.NewReplayer(path)
	if err != nil {
		t.Fatal(err)
	}
	replayed := play(provider(t, &http.Client{Transport: rep}, "sk-other-987654321"))
	if diff := cmp.Diff(recorded, replayed); diff != "" {
		t.Errorf("(-recorded +replayed)\n%s", diff)
	}
	if rep.Left() != 0 {
		t.Errorf("%d are left", rep.Left())
	}
	_, err = llm.Collect(provider(t, &http.Client{Transport: rep}, "k").Stream(t.Context(), request("more")))
	if err == nil || !strings.Contains(err.Error(), "has 5 exchanges, and this is one more: POST /v1/messages") {
		t.Errorf("one more: %v", err)
	}
}

func TestReplayMismatch(t *testing.T) {
	path, client, stop := record(t, fakellm.New(fakellm.Script(fakellm.Turn{Text: "ok"}), fakellm.Options{}))
	if _, err := llm.Collect(provider(t, client, "key-0123456789").Stream(t.Context(),
		request("What is the matter with the first question?"))); err != nil {
		t.Fatal(err)
	}
	stop()
	for name, tt := range map[string]struct{ url, text, says string }{
		"body": {"", "What is the matter with the next question?",
			"request 1 is not the one in " + path +
				`: they differ at byte 120: "ontent\":[{\"type\":\"text\",\"text\":\"What is the matter with the first question?`},
		"path": {"http://y.test/proxy", "What is the matter with the first question?",
			`differ at byte 6: "POST /v1/messages`},
		"other host and key": {"http://y.test", "What is the matter with the first question?", ""},
	} {
		t.Run(name, func(t *testing.T) {
			rep, err := llmtest.NewReplayer(path)
			if err != nil {
				t.Fatal(err)
			}
			p, err := anthropic.New(anthropic.Options{APIKey: "other-key", BaseURL: tt.url,
				HTTPClient: &http.Client{Transport: rep}})
			if err != nil {
				t.Fatal(err)
			}
			_, err = llm.Collect(p.Stream(t.Context(), request(tt.text)))
			if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("error %v", err)
			}
			if used := rep.Left() == 0; used != (tt.says == "") {
				t.Errorf("%d left", rep.Left())
			}
		})
	}
}

func TestReplayerErrors(t *testing.T) {
	if _, err := llmtest.NewReplayer(filepath.Join(t.TempDir(), "none")); !errors.Is(err,
		os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	path := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(path, []byte(`{"n":1}{"n":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := llmtest.NewReplayer(path); err == nil || !strings.Contains(err.Error(),
		"exchange 2") {
		t.Errorf("a cut file: %v", err)
	}
	if _, err := llmtest.NewRecorder(filepath.Join(t.TempDir(), "no", "such", "dir"), nil); !errors.Is(err,
		os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}
