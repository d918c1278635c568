package api_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/attractor-go/attractor/llm"
)

// An error reports whether the request was sent when the call failed, because only then can it have
// been billed.
func TestI13_Unsent(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + gone.Addr().String()
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	tls := httptest.NewUnstartedServer(nil)
	tls.Config.ErrorLog = quiet
	tls.StartTLS()
	defer tls.Close()
	reached := make(chan struct{}, 1)
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		reached <- struct{}{}
		if r.URL.Path == "/wait" {
			<-r.Context().Done()
		}
		panic(http.ErrAbortHandler)
	}))
	defer silent.Close()
	over, end := context.WithCancel(t.Context())
	end()
	given, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	for name, c := range map[string]struct {
		ctx    context.Context
		url    string
		unsent bool
	}{
		"nobody listens":          {t.Context(), closed, true},
		"a bad certificate":       {t.Context(), tls.URL, true},
		"given up before":         {over, silent.URL, true},
		"given up while it waits": {given, silent.URL + "/wait", false},
		"the connection broke":    {t.Context(), silent.URL, false},
	} {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		if c.ctx == given {
			go func() {
				<-reached
				giveUp()
			}()
		}
		_, err := read(c.ctx, call(client, c.url))
		var e *llm.Error
		if !errors.As(err, &e) || e.Unsent != c.unsent {
			t.Errorf("%s: %v, unsent %v", name, err, e != nil && e.Unsent)
		}
		if c.ctx != given && !c.unsent {
			<-reached
		}
	}
}
