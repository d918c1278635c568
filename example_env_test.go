package attractor_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http/httptest"
	"os"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/env/remote"
	"github.com/attractor-go/attractor/env/remote/serve"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// A session's files and commands are where a stream of bytes leads, and the model, its key and the
// journal are here. The far side of this stream is in this process; remote.Dial makes one behind
// docker exec, kubectl exec or ssh. A program that has only such a command gives Config.EnvCommand
// instead.
func ExampleConfig_env() {
	server := httptest.NewServer(fakellm.New(fakellm.Script(
		fakellm.Turn{Calls: []fakellm.Call{{Name: "shell", Args: []byte(`{"command":"echo hello > greet.txt"}`)}}},
		fakellm.Turn{Text: "greet.txt is over there."},
	), fakellm.Options{}))
	defer server.Close()
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	near, far := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- serve.Serve(ctx, far) }()
	box, err := remote.New(ctx, near, remote.Options{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}

	session, err := attractor.Open(ctx, attractor.Config{
		Env:   box,
		Allow: []string{"Bash(echo:*)", "Edit(./**)"},
		Vars:  map[string]string{"ANTHROPIC_API_KEY": "a-key", "ANTHROPIC_BASE_URL": server.URL},
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := session.Submit(ctx, "write a greeting")
	fmt.Println(result.Text, err)
	text, err := os.ReadFile(dir + "/greet.txt")
	fmt.Printf("%q %v\n", text, err)
	fmt.Println(errors.Join(session.Close(), box.Close(), <-served))
	// Output:
	// greet.txt is over there. <nil>
	// "hello\n" <nil>
	// <nil>
}
