package cloud

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/llm/providers"
)

// surroundings gives the test an empty home and only those variables of clouds that it names.
func surroundings(t *testing.T, vars map[string]string) (home string) {
	t.Helper()
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "AWS_") || strings.HasPrefix(name, "GOOGLE_") || strings.HasPrefix(name, "GCE_") {
			t.Setenv(name, "") // so that it comes back
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	home = t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("APPDATA", filepath.Join(home, ".config"))
	// The SDK has looked at HOME when the process began.
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(home, ".aws/config"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(home, ".aws/credentials"))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	for name, value := range vars {
		t.Setenv(name, value)
	}
	return home
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A modelServer is the scripted model behind a server that lets only requests through that a
// function allows, which gets the request and its body. It keeps the URLs.
type modelServer struct {
	model *fakellm.Server
	allow func(r *http.Request, body []byte) (status int, refusal string)

	mu   sync.Mutex
	urls []string
}

func (s *modelServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	s.mu.Lock()
	s.urls = append(s.urls, r.Host+r.URL.Path)
	s.mu.Unlock()
	if status, refusal := s.allow(r, body); refusal != "" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, refusal) // to a pipe
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.Header.Set("X-Goog-Api-Key", "as the token")
	s.model.ServeHTTP(w, r)
}

// client returns a client that reaches the server at any address.
func (s *modelServer) client(t *testing.T) *http.Client {
	t.Helper()
	s.model = fakellm.New(func(*fakellm.Request) fakellm.Turn { return fakellm.Turn{Text: "Done."} }, fakellm.Options{})
	pipe := llmtest.PipeClient(t, s)
	return &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		r.URL.Scheme = "http"
		return pipe.Transport.RoundTrip(r)
	})}
}

// counted returns credentials that count how often they are asked, and keep the newest access.
func counted(credentials providers.Credentials, asked *int, newest *providers.Access) providers.Credentials {
	return func(ctx context.Context, k providers.Kind, c providers.Config) (providers.Access, error) {
		*asked++
		access, err := credentials(ctx, k, c)
		*newest = access
		return access, err
	}
}

// provider returns a provider with credentials.
func provider(t *testing.T, name string, client *http.Client, credentials providers.Credentials) llm.Provider {
	t.Helper()
	kind, err := providers.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := kind.NewWithCredentials(providers.Config{HTTPClient: client}, credentials)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func ask(t *testing.T, p llm.Provider, model string) error {
	t.Helper()
	client := &llm.Client{Providers: []llm.Provider{p}}
	_, err := client.Complete(t.Context(), &llm.Request{Model: model, Messages: []llm.Message{llm.User("Hello.")}})
	return err
}
