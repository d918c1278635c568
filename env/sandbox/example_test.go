package sandbox_test

import (
	"context"
	"errors"
	"log"
	"os"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
)

// Commands of the environment run in the sandbox, and its file tools refuse the same files.
func ExampleNew() {
	box, err := sandbox.New(".", sandbox.Options{Level: sandbox.Workspace, AllowHosts: []string{"proxy.golang.org"}})
	if err != nil {
		log.Fatal(err) // it says what to install
	}
	local, err := env.NewLocal(".", box.Confine(env.LocalOptions{}))
	if err != nil {
		log.Fatal(errors.Join(err, box.Close()))
	}
	defer func() {
		if err := errors.Join(local.Close(), box.Close()); err != nil {
			log.Print(err)
		}
	}()
	e := env.Protect(local, box.Protection())
	if _, err := env.Run(context.Background(), e, env.Command{Script: "go test ./...", Output: func(_ int, p []byte) { _, _ = os.Stdout.Write(p) }}, env.MaxTimeout); err != nil {
		log.Print(err)
	}
}
