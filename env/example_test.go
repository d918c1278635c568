package env_test

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/envtest"
)

// noted is an environment that notes which files are opened.
type noted struct {
	env.Base
	names []string
}

func (n *noted) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	n.names = append(n.names, name)
	return n.Base.Open(ctx, name)
}

// A wrapper has the methods that it changes; Base forwards the others.
func ExampleBase() {
	ctx := context.Background()
	n := &noted{Base: env.Base{Environment: envtest.NewMemory(map[string]string{"a.txt": "hello"})}}
	for _, name := range []string{"a.txt", "b.txt"} {
		f, err := n.Open(ctx, name)
		if err != nil {
			fmt.Println(err)
			continue
		}
		text, err := io.ReadAll(f)
		fmt.Println(string(text), errors.Join(err, f.Close()))
	}
	fmt.Println(n.names, env.Containment(n) == env.Containment(n.Environment))
	// Output:
	// hello <nil>
	// open b.txt: file does not exist
	// [a.txt b.txt] true
}
