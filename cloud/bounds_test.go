package cloud

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
)

// A server of a cloud that does not answer holds nobody who ends the request.
func TestV1_SilentClouds(t *testing.T) {
	began, release := make(chan struct{}, 10), make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		began <- struct{}{}
		<-release
	}))
	defer silent.Close()
	defer close(release)
	for name, vars := range map[string]map[string]string{
		"amazon-bedrock": {"AWS_REGION": "eu-west-1", "AWS_CONTAINER_CREDENTIALS_FULL_URI": silent.URL},
		"google-vertex":  {"GCE_METADATA_HOST": strings.TrimPrefix(silent.URL, "http://")},
	} {
		surroundings(t, vars)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-began
			cancel()
		}()
		p := provider(t, name, nil, Credentials()[name])
		client := &llm.Client{Providers: []llm.Provider{p}}
		_, err := client.Complete(ctx, &llm.Request{Model: "m", Messages: []llm.Message{llm.User("Hello.")}})
		if !errors.Is(err, llm.ErrAborted) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
