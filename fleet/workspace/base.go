package workspace

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	blobs map[env.Hash]string // git's names, by our hash

	mu     sync.Mutex
	reader *blobReader // nil unless contents are read
}

// newBase reads all files of a commit. Those above max bytes are left out.
func newBase(ctx context.Context, g *git, files []treeFile, max int64) (*base, error) {
	b := &base{git: g, blobs: map[env.Hash]string{}}
	defer b.rest()
	seen := map[string]bool{}
	for _, f := range files {
		if f.mode == modeLink || f.mode == modeModule || f.size > max || seen[f.name] {
			continue
		}
		seen[f.name] = true
		data, err := b.read(ctx, f.name)
		if err != nil {
			return nil, err
		}
		b.blobs[env.HashOf(data)] = f.name
	}
	return b, nil
}

func (b *base) has(hash env.Hash) bool { return b.blobs[hash] != "" }

// open returns a content.
func (b *base) open(ctx context.Context, hash env.Hash) (io.ReadCloser, error) {
	if !b.has(hash) {
		return nil, fmt.Errorf("workspace: object %s: %w", hash, fs.ErrNotExist)
	}
	data, err := b.read(ctx, b.blobs[hash])
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != string(hash) {
		return nil, errDamaged
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// read returns a content by git's name. One git gives all of them, until rest is called.
func (b *base) read(ctx context.Context, name string) ([]byte, error) {
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
	return data, nil
}

// rest ends what read has started.
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

// read returns a content: git says a line with its name, type and size, the content, and a line
// break. If ctx ends, the reader is of no use any more.
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
