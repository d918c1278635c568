package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/env/remote/serve"
)

// runServe serves the files and commands of this machine on the standard streams until they end, or
// says which protocol it speaks.
func runServe(args []string) (code int, err error) {
	if len(args) == 1 && args[0] == "--protocol" {
		_, err := fmt.Println(serve.Protocol())
		return 0, err
	}
	if len(args) > 0 {
		return exitUsage, errors.New("it takes no arguments but --protocol")
	}
	if err := serve.Standard(context.Background()); err != nil {
		return 1, err
	}
	return 0, nil
}
