package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/orphans"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// mainVar is the variable that makes the test binary the command.
const mainVar = "CLOUD_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainVar) != "" {
		os.Exit(run())
	}
	orphans.Adopt()
	os.Exit(orphans.Check(m.Run()))
}

// The secrets of the test's clouds.
const (
	awsSecret   = "wJalrXUtnFEMI7MDENGbPxRfiCYzEXAMPLEKEY"
	googleToken = "ya29.theTokenOfTheLogin0123456789"
)

// world is the servers that the command reaches: a model, and everything of clouds.
type world struct {
	model   *fakellm.Server
	url     string // of the model
	cloud   string // the URL of everything else
	lookups atomic.Int64
	headers atomic.Pointer[http.Header] // of the newest request to the model
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{model: fakellm.New(fakellm.Script(
		fakellm.Turn{Calls: []fakellm.Call{{ID: "c1", Name: "shell", Args: []byte(`{"command":"cat note.txt; env"}`)}}},
		fakellm.Turn{Text: "Done."}), fakellm.Options{})}
	model := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		headers := r.Header.Clone()
		w.headers.Store(&headers)
		if strings.Contains(r.URL.Path, "/publishers/") {
			r.Header.Set("X-Goog-Api-Key", "as the token")
		}
		w.model.ServeHTTP(rw, r)
	}))
	t.Cleanup(model.Close)
	cloud := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.lookups.Add(1)
		if r.URL.Path != "/token" {
			http.NotFound(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(rw, `{"access_token":%q,"token_type":"Bearer","expires_in":3600}`, googleToken)
	}))
	t.Cleanup(cloud.Close)
	w.url, w.cloud = model.URL, cloud.URL
	return w
}

// run runs the command with a clean environment, in which every cloud is at the world's server.
func (w *world) run(t *testing.T, vars []string, model, text string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777),
			os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("note.txt", "aws "+awsSecret+" google "+googleToken+"\n")
	write(".aws/credentials", "[work]\naws_access_key_id = AKIDUSER\naws_secret_access_key = "+awsSecret+"\n")
	write(".aws/config", "[profile work]\nregion = eu-central-1\n")
	write("adc.json", `{"type":"authorized_user","client_id":"i","client_secret":"s","refresh_token":"r","token_uri":"`+
		w.cloud+`/token"}`)
	provider, model, _ := strings.Cut(model, "/")
	cmd := exec.CommandContext(ctx, os.Args[0], "run", "--yes", "--no-journal", "--provider", provider,
		"--model", model, text)
	cmd.Dir = dir
	cmd.Env = append([]string{mainVar + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + dir,
		"XDG_STATE_HOME=" + dir + "/state",
		"ANTHROPIC_BASE_URL=" + w.url, "AMAZON_BEDROCK_BASE_URL=" + w.url + "/v1", "GOOGLE_VERTEX_BASE_URL=" + w.url +
			"/v1", "AWS_EC2_METADATA_SERVICE_ENDPOINT=" + w.cloud,
		"GCE_METADATA_HOST=" + strings.TrimPrefix(w.cloud, "http://")}, vars...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), said.String(), cmd.ProcessState.ExitCode()
}

// header returns a header of the newest request to the model.
func (w *world) header(name string) string {
	if h := w.headers.Load(); h != nil {
		return h.Get(name)
	}
	return ""
}

// The command works with a profile of AWS and with Google's credentials, and the model sees
// neither. A key of the provider's counts in their place, from a variable or by a command.
func TestV1_TheCommand(t *testing.T) {
	const bedrock, vertex = "amazon-bedrock/openai.gpt-oss-120b", "google-vertex/gemini-4-argon"
	profile, adc := "AWS_PROFILE=work", "GOOGLE_APPLICATION_CREDENTIALS=adc.json"
	for name, c := range map[string]struct {
		vars          []string
		model, header string
		want          string // the beginning of the header
		hidden        []string
		lookups       int64
	}{
		"AWS": {vars: []string{profile}, model: bedrock, header: "Authorization",
			want: "AWS4-HMAC-SHA256 Credential=AKIDUSER/", hidden: []string{awsSecret}},
		"Google": {vars: []string{adc}, model: vertex, header: "Authorization", want: "Bearer " + googleToken,
			hidden: []string{googleToken}, lookups: 1},
		"a key of Bedrock": {vars: []string{profile, "AWS_BEARER_TOKEN_BEDROCK=bedrock-key-0123456789"}, model: bedrock,
			header: "Authorization", want: "Bearer bedrock-key-0123456789"},
		"a key of Vertex": {vars: []string{adc, "GOOGLE_CLOUD_API_KEY=vertex-key-0123456789"}, model: vertex,
			header: "X-Goog-Api-Key", want: "vertex-key-0123456789"},
		"a command": {vars: []string{adc, "ATTRACTOR_PROVIDER=google-vertex",
			"ATTRACTOR_KEY_COMMAND=echo key-of-the-command"}, model: vertex,
			header: "Authorization", want: "Bearer key-of-the-command"},
		"another provider": {vars: []string{"ANTHROPIC_API_KEY=anthropic-key-0123456789"},
			model: "anthropic/claude-sonnet-5-5", header: "X-Api-Key", want: "anthropic-key-0123456789"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			stdout, stderr, code := w.run(t, c.vars, c.model, "do it")
			if code != 0 || stdout != "Done.\n" {
				t.Fatalf("exit code %d: %s\n%s", code, stdout, stderr)
			}
			if got := w.header(c.header); !strings.HasPrefix(got, c.want) {
				t.Errorf("the header %s is %q, want %q", c.header, got, c.want)
			}
			if got := w.lookups.Load(); got != c.lookups {
				t.Errorf("the clouds were asked %d times, want %d", got, c.lookups)
			}
			requests := w.model.Requests()
			body := string(requests[len(requests)-1].Body)
			if !strings.Contains(body, "google ") || strings.Contains(body, "AWS_SECRET") {
				t.Errorf("the model reads %s", body)
			}
			for _, value := range c.hidden {
				if strings.Contains(body, value) {
					t.Errorf("the model reads %s in %s", value, body)
				}
			}
		})
	}
}

// Without credentials the command says what to do, and ends as without a key.
func TestV1_TheCommandWithoutCredentials(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{
		"amazon-bedrock/m": "no AWS credentials found: run aws sso login, or set AWS_PROFILE, or AWS_ACCESS_KEY_ID",
		"google-vertex/m":  "no Google credentials found: run gcloud auth application-default login, or set GOOGLE_",
	} {
		w := newWorld(t)
		_, stderr, code := w.run(t, []string{"AWS_REGION=eu-west-1", "GOOGLE_APPLICATION_CREDENTIALS=/none.json"},
			model, "do it")
		if code != 4 || !strings.Contains(stderr, want) || strings.Contains(stderr, "Check the API key") ||
			strings.Contains(stderr, "SDK ") || len(w.model.Requests()) > 0 {
			t.Errorf("exit code %d: %s", code, stderr)
		}
		t.Log(stderr)
	}
}

// A proxy that refuses the way to a cloud is asked once, and the error names it.
func TestI17_RefusedByAProxy(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		rw.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(proxy.Close)
	vars := []string{"AWS_PROFILE=work", "AMAZON_BEDROCK_BASE_URL=https://provider.example/v1",
		"HTTPS_PROXY=" + proxy.URL}
	_, stderr, code := newWorld(t).run(t, vars, "amazon-bedrock/m", "do it")
	if code != 1 || asked.Load() != 1 || !strings.Contains(stderr, "the proxy "+proxy.URL+
		" refuses the connection: 403") {
		t.Errorf("asked %d times, exit code %d: %s", asked.Load(), code, stderr)
	}
}
