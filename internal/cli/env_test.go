package cli

import (
	"bytes"
	"strings"
	"testing"
)

// The command says which versions of the protocol it speaks, as Dial asks it to.
func TestO1_EnvServeSaysItsProtocol(t *testing.T) {
	var out, errs bytes.Buffer
	if code := execute([]string{"env", "serve", "--protocol"}, terminal{in: strings.NewReader(""), out: &out,
		err: &errs}); code != 0 {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	if out.String() != "attractor-env-protocol 1 1\n" {
		t.Errorf("it prints %q", out.String())
	}
}
