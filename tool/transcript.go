package tool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/capture"
	"github.com/attractor-go/attractor/sanitize"
)

// spoolAt is how many bytes of raw output a Transcript holds in memory before it moves them to the
// output store. Shorter output is stored by the pipeline if it truncates the result.
const spoolAt = 64 << 10

// Transcript captures what a command prints. It cleans the text, holds its beginning and end in
// bounded memory, and writes long output to the session's store as it came. It is safe for
// concurrent use.
type Transcript struct {
	mu sync.Mutex
	// one for each stream, because escape sequences of two streams can interleave
	cleaners [env.Stderr + 1]sanitize.Cleaner
	text     *capture.Buffer // since the last Take, clean
	sizes    capture.Options
	clean    []byte // reused by the cleaners
	bytes    int64  // raw bytes since the last Take
	breaks   int64  // line breaks among them
	last     byte   // the last one

	outputs Outputs // nil keeps nothing
	name    string
	raw     []byte         // raw output until it is spooled
	spool   io.WriteCloser // nil before, and after the store failed
	ref     string
	dropped bool  // no more output is stored
	failed  error // the store's error

	closed bool
}

// NewTranscript returns a transcript. Long output goes to the store, which may be nil, under the
// name. The transcript holds kept bytes of text each of the beginning and the end; 0 means
// [capture.DefaultKept].
func NewTranscript(outputs Outputs, name string, kept int) *Transcript {
	sizes := capture.Options{Head: kept, Tail: kept}
	return &Transcript{outputs: outputs, name: name, sizes: sizes, text: capture.New(sizes)}
}

// Write adds output of a stream. It can be an [env.Command]'s Output. After Close it does nothing:
// a process that cannot be killed may go on printing.
func (t *Transcript) Write(stream int, p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	t.keep(p)
	if len(p) > 0 {
		t.bytes += int64(len(p))
		t.breaks += int64(bytes.Count(p, []byte("\n")))
		t.last = p[len(p)-1]
	}
	if stream < 0 || stream >= len(t.cleaners) {
		stream = env.Stdout
	}
	t.clean = t.cleaners[stream].Append(t.clean[:0], p)
	t.text.Write(stream, t.clean)
}

// keep stores everything in the order of arrival. An error of the store does not affect the text.
func (t *Transcript) keep(p []byte) {
	switch {
	case t.dropped:
		return
	case t.spool != nil:
	case len(t.raw)+len(p) <= spoolAt:
		t.raw = append(t.raw, p...)
		return
	case t.outputs == nil:
		t.drop(nil)
		return
	default:
		ref, w, err := t.outputs.Create(t.name)
		if err != nil {
			t.drop(err)
			return
		}
		t.ref, t.spool = ref, w
		t.raw, p = nil, append(t.raw, p...)
	}
	if _, err := t.spool.Write(p); err != nil {
		t.drop(err)
	}
}

// drop stops storing output.
func (t *Transcript) drop(err error) {
	if t.spool != nil {
		err = errors.Join(err, t.spool.Close())
	}
	t.dropped, t.failed, t.raw, t.spool = true, err, nil, nil
}

// Take returns a result with the text since the last Take, and starts over. Its Gap says what
// memory did not hold, its OutputRef names the stored output if that was long, and its Ran counts
// the output.
func (t *Transcript) Take() Result {
	t.mu.Lock()
	defer t.mu.Unlock()
	head, tail := t.text.Bytes()
	result := Text(string(head) + string(tail))
	result.Ran = &Ran{Bytes: t.bytes, Lines: t.breaks}
	if t.bytes > 0 && t.last != '\n' {
		result.Ran.Lines++ // the unfinished last line
	}
	if omitted, chars, lines := t.text.Omission(); omitted > 0 {
		result.Gap = Gap{At: len(head), Bytes: omitted, Chars: chars, Lines: lines}
		result.Ran.Omitted = omitted
	}
	t.text, t.bytes, t.breaks = capture.New(t.sizes), 0, 0
	result.Raw = t.raw
	switch {
	case t.ref != "" && !t.dropped:
		result.OutputRef = t.ref
	case t.failed != nil:
		result.Hint = fmt.Sprintf("The whole output could not be kept (%v).", t.failed)
	}
	return result
}

// Close ends the transcript. Unfinished sequences and characters become text for the last Take, and
// the stored output is complete.
func (t *Transcript) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	t.closed = true
	for stream := range t.cleaners {
		t.clean = t.cleaners[stream].Flush(t.clean[:0])
		t.text.Write(stream, t.clean)
	}
	if t.spool != nil {
		if err := t.spool.Close(); err != nil {
			t.dropped, t.failed = true, err
		}
	}
}
