//go:build unix

package env

import (
	"bytes"
	"os"
	"sync"
	"testing"
	"time"
)

// A host that takes long over a piece of output must not lose what follows when the drain time is over meanwhile.
func TestD3_SlowReaderLosesNothing(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	printed := append(make([]byte, 60_000), "end\n"...) // more than one read, less than a pipe holds
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
	<-begun // the reader is in the hands of the host when drain's patience ends
	if err := o.order.stop(); err != nil {
		t.Fatal(err)
	}
	close(release)
	o.drain(time.Minute, time.Minute)
	if !bytes.Equal(got.Bytes(), printed) {
		t.Errorf("%d of %d bytes came", got.Len(), len(printed))
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
