package tool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// MaxOutput is the most that a [DirOutputs] keeps of one output, in bytes. The rest is counted and
// dropped.
const MaxOutput = 1 << 30

// ErrNoOutput means that a store has no output with that id: there never was one, or it was lost
// with an earlier process.
var ErrNoOutput = errors.New("there is no output of that id in this session")

// DirOutputs implements [Outputs] with a file for each output. It makes a directory for them with
// the first output, and Close removes it. It is safe for concurrent use.
type DirOutputs struct {
	parent string
	max    int64

	mu      sync.Mutex
	dir     string
	created int               // files created so far
	files   map[string]string // by id; nil before the first
	closed  bool
}

// NewOutputs returns a store below the directory parent. If parent is empty, it uses the system's
// directory for temporary files.
func NewOutputs(parent string) *DirOutputs {
	return &DirOutputs{parent: parent, max: MaxOutput}
}

// Create implements [Outputs].
func (d *DirOutputs) Create(callID string) (id string, w io.WriteCloser, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return "", nil, errors.New("the output store is closed")
	}
	if d.dir == "" {
		if d.dir, err = os.MkdirTemp(d.parent, "attractor-outputs-"); err != nil {
			return "", nil, fmt.Errorf("output store: %w", err)
		}
	}
	id = callID
	for n := 2; id == "" || d.files[id] != ""; n++ {
		id = fmt.Sprintf("%s-%d", callID, n)
	}
	// an id comes from a model and must not be used as a file name
	name := filepath.Join(d.dir, strconv.Itoa(d.created+1))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", nil, fmt.Errorf("output store: %w", err)
	}
	d.created++
	if d.files == nil {
		d.files = map[string]string{}
	}
	d.files[id] = name
	return id, &cappedFile{file: f, left: d.max}, nil
}

// Open implements [Outputs]. It returns [ErrNoOutput] for an unknown id.
func (d *DirOutputs) Open(id string) (io.ReadSeekCloser, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name, ok := d.files[id]
	if !ok || d.closed {
		return nil, ErrNoOutput
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("output store: %w", err)
	}
	return f, nil
}

// Discard removes an output, such as one that could not be written to its end. An unknown id is not
// an error.
func (d *DirOutputs) Discard(id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	name, ok := d.files[id]
	if !ok || d.closed {
		return nil
	}
	delete(d.files, id)
	return os.Remove(name)
}

// Close removes everything. Open readers go on where the system allows it.
func (d *DirOutputs) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.dir == "" {
		return nil
	}
	return os.RemoveAll(d.dir)
}

// cappedFile writes up to a cap, and notes at the end of the file how much was dropped.
type cappedFile struct {
	file    *os.File // not embedded: its other methods write past the cap
	left    int64
	dropped int64
}

// Write reports all of p as written: the command need not stop because no more is kept.
func (f *cappedFile) Write(p []byte) (int, error) {
	keep := p[:min(int64(len(p)), f.left)]
	f.dropped += int64(len(p) - len(keep))
	if len(keep) == 0 {
		return len(p), nil
	}
	n, err := f.file.Write(keep)
	f.left -= int64(n)
	if err != nil {
		return n, err
	}
	return len(p), nil
}

// Close writes down how much was dropped.
func (f *cappedFile) Close() error {
	var err error
	if f.dropped > 0 {
		_, err = fmt.Fprintf(f.file, "\n[... %d more bytes were not kept ...]\n", f.dropped)
	}
	return errors.Join(err, f.file.Close())
}
