package serve_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/remote"
	"github.com/attractor-go/attractor/env/remote/serve"
)

// The main function of a helper of your own, which is started by docker exec, ssh or anything else
// that has its standard streams.
func ExampleStandard() {
	if err := serve.Standard(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// A server gives each connection an environment. Whoever can connect can do what this process can:
// use a socket that only they can open.
func ExampleServe() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", dir+"/socket")
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	served := make(chan error, 1)
	go func() {
		stream, err := l.Accept()
		if err == nil {
			err = serve.Serve(ctx, stream)
		}
		served <- err
	}()

	stream, err := net.Dial("unix", dir+"/socket")
	if err != nil {
		log.Fatal(err)
	}
	e, err := remote.New(ctx, stream, remote.Options{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	output, run, err := env.Output(ctx, e, env.Command{Script: "ls"}, time.Minute)
	fmt.Printf("%sexit code %d, %v\n", output, run.Code, err)
	fmt.Println(errors.Join(e.Close(), <-served))
	// Output:
	// socket
	// exit code 0, <nil>
	// <nil>
}
