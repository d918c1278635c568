package cli

import (
	"os"
	"slices"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/secret"
)

// environmentSecrets returns a masker for the secrets of the environment.
func environmentSecrets() *secret.Masker {
	m, _ := attractor.Secrets(os.Environ(), nil)
	return m
}

// hasSecrets reports whether an environment has variables that commands do not get because of what
// they are called.
func hasSecrets(environ []string) bool {
	return slices.ContainsFunc(environ, func(entry string) bool {
		return len(env.FilterVars(env.VarsDefault, []string{entry}, nil)) == 0
	})
}

// maskedOut calls print with a terminal whose standard output is masked. What was printed before an
// error is shown whole.
func maskedOut(t terminal, print func(terminal) error) error {
	w := environmentSecrets().Writer(t.out)
	t.out = w
	err := print(t)
	if flushErr := w.Flush(); err == nil {
		err = flushErr
	}
	return err
}

// printMaskedJSON prints a value as printJSON does, without the secrets of the environment.
func printMaskedJSON(t terminal, value any) error {
	t.out = inForm(t.out, sanitize.JSON)
	return maskedOut(t, func(t terminal) error { return printJSON(t, value) })
}

// plainStack returns a stack trace as a person should see it.
func plainStack(stack string) string { return sanitize.Text(environmentSecrets().String(stack)) }
