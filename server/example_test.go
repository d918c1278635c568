package server_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/server"
)

// A program serves sessions that it wires as it likes, here with a model of its own.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	const token = "a token of the program, which no one else knows"
	s, err := server.New(context.Background(), server.Options{
		Config: attractor.Config{Store: journal.NewDir(filepath.Join(dir, "sessions")), Model: "own/model-1",
			Providers: []llm.Provider{llmtest.NewProvider("own", llmtest.Text("Hello."))}},
		State: filepath.Join(dir, "server"), Roots: []string{dir},
		Tokens: []server.Token{{Name: "program", Token: token, Owner: true}},
	})
	if err != nil {
		log.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()

	req, err := http.NewRequest("POST", "http://"+l.Addr().String()+"/v1/sessions", strings.NewReader("{}"))
	if err != nil {
		log.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	got, err := client.Do(req)
	if err != nil {
		log.Fatal(err)
	}
	_, err = io.Copy(io.Discard, got.Body)
	fmt.Println(got.Status, err, got.Body.Close())
	stop()
	fmt.Println(<-served)
	// Output:
	// 201 Created <nil> <nil>
	// <nil>
}
