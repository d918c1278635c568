package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/attractor-go/attractor/internal/host"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/secret"
)

// environmentSecrets returns a masker for the secrets of the environment.
func environmentSecrets() *secret.Masker {
	m, _ := host.Secrets(os.Environ(), nil)
	return m
}

// tellUnmasked warns about secrets that cannot be masked.
func tellUnmasked(t terminal, unmasked []error) {
	for _, err := range unmasked {
		fmt.Fprintln(t.err, "attractor: warning: "+render.Error(err.Error()))
	}
}

// maskedOut calls print with a terminal whose standard output is masked.
func maskedOut(t terminal, print func(terminal) error) error {
	w := environmentSecrets().Writer(t.out)
	t.out = io.Writer(w)
	if err := print(t); err != nil {
		return err
	}
	return w.Flush()
}

// plainStack returns a stack trace as a person should see it.
func plainStack(stack string) string { return sanitize.Text(environmentSecrets().String(stack)) }
