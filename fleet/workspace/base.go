package workspace

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/env"
)

// base has the contents of the cloned commit, which need not be stored: whoever clones the commit
// has them.
type base struct {
	git   *git
	blobs map[[sha256.Size]byte]string // git's names, by our hash

	mu     sync.Mutex
	reader *blobReader // nil unless contents are read
}

// newBase reads all files of a commit. Those above max bytes are left out.
func newBase(ctx context.Context, g *git, commit string, max int64) (*base, error) {
	names := &bytes.Buffer{}
	seen := map[string]bool{}
	list := lineWriter{end: 0, do: func(line string) error {
		meta, _, _ := strings.Cut(line, "\t")
		fields := strings.Fields(meta)
		if len(fields) == 4 && fields[1] == "blob" && fields[0] != modeLink && !seen[fields[2]] {
			if size, err := strconv.ParseInt(fields[3], 10, 64); err == nil && size <= max {
				seen[fields[2]] = true
				names.WriteString(fields[2] + "\n")
			}
		}
		return nil
	}}
	if err := g.run(ctx, nil, &list, "ls-tree", "-r", "-z", "-l", "--full-tree", commit); err != nil {
		return nil, err
	}
	b := &base{git: g, blobs: make(map[[sha256.Size]byte]string, len(seen))}
	r, w := io.Pipe()
	hashed := make(chan error, 1)
	go func() {
		err := b.hash(bufio.NewReader(r))
		hashed <- errors.Join(err, r.CloseWithError(err))
	}()
	err := g.run(ctx, names, w, "cat-file", "--batch", "--buffer")
	errClose := w.CloseWithError(err)
	return b, errors.Join(err, errClose, <-hashed)
}

// modeLink is how git calls a symbolic link.
const modeLink = "120000"

// hash takes the output of git cat-file --batch: a line with name, type and size, the content, a
// line break.
func (b *base) hash(r *bufio.Reader) error {
	sum := sha256.New()
	for {
		line, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) && line == "" {
			return nil
		}
		fields := strings.Fields(line)
		if err != nil || len(fields) != 3 {
			return fmt.Errorf("workspace: git cat-file says %q: %w", shown(line), errors.Join(err, fs.ErrInvalid))
		}
		size, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			return err
		}
		sum.Reset()
		if _, err := io.CopyN(sum, r, size); err != nil {
			return err
		}
		if _, err := r.Discard(1); err != nil {
			return err
		}
		b.blobs[[sha256.Size]byte(sum.Sum(nil))] = fields[0]
	}
}

func (b *base) has(hash env.Hash) bool {
	_, ok := b.find(hash)
	return ok
}

func (b *base) find(hash env.Hash) (string, bool) {
	var key [sha256.Size]byte
	if n, err := hex.Decode(key[:], []byte(hash)); err != nil || n != len(key) {
		return "", false
	}
	name, ok := b.blobs[key]
	return name, ok
}

// open returns a content. One git gives all of them, until rest is called.
func (b *base) open(ctx context.Context, hash env.Hash) (io.ReadCloser, error) {
	name, ok := b.find(hash)
	if !ok {
		return nil, fmt.Errorf("workspace: object %s: %w", hash, fs.ErrNotExist)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reader == nil {
		b.reader = startReader(b.git)
	}
	data, err := b.reader.read(ctx, name)
	if err != nil {
		b.stop()
		return nil, fmt.Errorf("workspace: reading the cloned commit: %w", err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != string(hash) {
		return nil, errDamaged
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// rest ends what open has started.
func (b *base) rest() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stop()
}

func (b *base) stop() {
	if b.reader != nil {
		b.reader.close()
		b.reader = nil
	}
}

// blobReader asks a git for contents.
type blobReader struct {
	ask    *io.PipeWriter
	answer *io.PipeReader
	lines  *bufio.Reader
	cancel context.CancelFunc
	ended  chan struct{}
}

// startReader starts a git that answers until close is called.
func startReader(g *git) *blobReader {
	in, ask := io.Pipe()
	answer, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	r := &blobReader{ask: ask, answer: answer, lines: bufio.NewReader(answer), cancel: cancel,
		ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		err := g.run(ctx, in, out, "cat-file", "--batch")
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		_, _ = in.CloseWithError(err), out.CloseWithError(err) // neither returns an error
	}()
	return r
}

// read returns a content. If ctx ends, the reader is of no use any more.
func (r *blobReader) read(ctx context.Context, name string) (data []byte, err error) {
	stop := context.AfterFunc(ctx, r.cancel)
	defer stop()
	if _, err := r.ask.Write([]byte(name + "\n")); err != nil {
		return nil, err
	}
	line, err := r.lines.ReadString('\n')
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(line)
	if len(fields) != 3 {
		return nil, fmt.Errorf("git cat-file says %q", shown(line))
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return nil, err
	}
	data = make([]byte, size+1)
	_, err = io.ReadFull(r.lines, data)
	return data[:size], err
}

func (r *blobReader) close() {
	r.cancel()
	_, _ = r.ask.Close(), r.answer.Close() // neither returns an error
	<-r.ended
}
