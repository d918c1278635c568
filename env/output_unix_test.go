//go:build unix

package env

import (
	"bytes"
	"os"
	"sync"
	"testing"
	"time"
)

// A host that processes a piece of output for longer than the drain time does not lose the rest.
func TestD3_SlowReaderLosesNothing(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	printed := append(make([]byte, 60_000), "end\n"...) // more than one read, less than a pipe's capacity
	if _, err := w.Write(printed); err != nil {
		t.Fatal(err)
	}
	begun, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var got bytes.Buffer
	o, err := newOutput(func(_ int, p []byte) {
		once.Do(func() { close(begun) })
		<-release
		got.Write(p)
	}, &pipe{stream: Stdout, f: r})
	if err != nil {
		t.Fatal(err)
	}
	o.start()
	<-begun // the host is still processing output when the drain time is over
	if err := o.order.stop(); err != nil {
		t.Fatal(err)
	}
	close(release)
	o.drain(time.Minute, time.Minute)
	if !bytes.Equal(got.Bytes(), printed) {
		t.Errorf("received %d of %d bytes", got.Len(), len(printed))
	}
	o.discard(func() {})
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	<-o.dropped
	if err := o.failure(); err != nil {
		t.Error(err)
	}
}
