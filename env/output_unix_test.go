//go:build unix

package env

import (
	"bytes"
	"os"
	"runtime"
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
	o := newOutput(func(_ int, p []byte) {
		once.Do(func() { close(begun) })
		<-release
		got.Write(p)
	})
	o.add(Stdout, r)
	o.start()
	<-begun // the reader is in the hands of the host, so that the deadline finds it there
	drained := make(chan struct{})
	go func() { o.drain(time.Nanosecond, time.Nanosecond); close(drained) }()
	untilDeadline(t, r)
	close(release)
	<-drained
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

// untilDeadline waits until reading from f is over its deadline, which is how drain stops a reader.
func untilDeadline(t *testing.T, f *os.File) {
	conn, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for conn.Read(func(uintptr) bool { return true }) == nil {
		runtime.Gosched()
	}
}
