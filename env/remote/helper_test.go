package remote_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/env/remote"
	"github.com/attractor-go/attractor/env/remote/serve"
	"github.com/attractor-go/attractor/internal/orphans"
)

func TestMain(m *testing.M) {
	if slices.Equal(os.Args[1:], []string{"serve", "--protocol"}) { // as attractor-remote does
		fmt.Println(serve.Protocol())
		os.Exit(0)
	}
	if os.Getenv("ATTRACTOR_TEST_HELPER") != "" || slices.Equal(os.Args[1:], []string{"serve"}) {
		err := serve.Standard(context.Background())
		if err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	orphans.Verify(func() int { return removeBuilt(inOwnRuntime(m)) })
}

// inOwnRuntime runs the tests with a runtime directory of their own. Helpers that tests kill are
// noted there, where neither the tests of another package nor a session on this machine ends what
// they have left.
func inOwnRuntime(m *testing.M) int {
	dir, err := os.MkdirTemp("", "attractor-runtime-")
	if err == nil {
		err = os.Setenv("XDG_RUNTIME_DIR", dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// duplex is a stream of bytes made of two pipes.
type duplex struct {
	r *os.File
	w *os.File
}

func (d duplex) Read(p []byte) (int, error)  { return d.r.Read(p) }
func (d duplex) Write(p []byte) (int, error) { return d.w.Write(p) }
func (d duplex) Close() error {
	err := d.r.Close()
	if errW := d.w.Close(); err == nil {
		err = errW
	}
	return err
}

// pipes returns the two ends of a stream made of the system's pipes.
func pipes(t testing.TB) (near, far duplex) {
	t.Helper()
	r1, w1, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r2, w2, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return duplex{r1, w2}, duplex{r2, w1}
}

// served runs the far side on a stream and returns a function that waits for its end.
func served(t testing.TB, stream io.ReadWriteCloser) (wait func() error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- serve.Serve(context.Background(), stream) }()
	return func() error { return <-done }
}

// open opens an environment that is served in this process over the system's pipes. Its end checks
// that nothing is left.
func open(t testing.TB, o remote.Options) *remote.Env {
	t.Helper()
	leaks := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, leaks) })
	return beside(t, o)
}

// beside is like open for tests that run side by side, in which goroutines of others come and go.
func beside(t testing.TB, o remote.Options) *remote.Env {
	t.Helper()
	near, far := pipes(t)
	wait := served(t, far)
	e, err := remote.New(t.Context(), near, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := wait(); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return e
}

// child starts a helper as a process of its own, and returns the stream to it.
func child(t testing.TB) (near duplex, helper *exec.Cmd) {
	t.Helper()
	near, far := pipes(t)
	helper = exec.Command(os.Args[0])
	helper.Env = append(os.Environ(), "ATTRACTOR_TEST_HELPER=1")
	helper.Stdin, helper.Stdout, helper.Stderr = far.r, far.w, os.Stderr
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	if err := far.Close(); err != nil {
		t.Fatal(err)
	}
	return near, helper
}
