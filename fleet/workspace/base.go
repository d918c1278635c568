package workspace

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/fleet/internal/repourl"
)

// base has the contents of the cloned commit. They are not stored, because every owner clones the
// commit.
type base struct {
	git   *git
	blobs map[env.Hash]string // git's names, by our hash
}

// newBase reads all files of a commit. Unless spool is empty, it writes their contents into that
// directory under our hashes. It leaves out files above max bytes.
func newBase(ctx context.Context, c *clone, max int64, spool string) (*base, error) {
	b := &base{git: c.git, blobs: map[env.Hash]string{}}
	var names bytes.Buffer
	for _, f := range c.files {
		if f.mode != modeLink && f.mode != modeModule && f.size <= max {
			names.WriteString(f.name + "\n")
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	from, to := io.Pipe()
	var git sync.WaitGroup
	git.Go(func() {
		_ = to.CloseWithError(b.git.run(ctx, &names, to, "cat-file", "--batch")) // it returns no error
	})
	err := b.readAll(bufio.NewReader(from), spool)
	cancel()
	_ = from.Close() // it returns no error
	git.Wait()
	if err != nil {
		return nil, fmt.Errorf("workspace: reading the cloned commit: %w", err)
	}
	return b, nil
}

// readAll reads the output of git cat-file: for each content a line with its name, type and size,
// the content, and a line break.
func (b *base) readAll(in *bufio.Reader, spool string) error {
	for {
		line, err := in.ReadString('\n')
		if err == io.EOF && line == "" {
			return nil
		}
		if err != nil {
			return err
		}
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return fmt.Errorf("git cat-file says %q", repourl.Shown(line))
		}
		size, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			return err
		}
		if err := b.readOne(in, fields[0], size, spool); err != nil {
			return err
		}
		if _, err := in.Discard(1); err != nil {
			return err
		}
	}
}

// readOne reads a content.
func (b *base) readOne(in io.Reader, name string, size int64, spool string) error {
	sum := sha256.New()
	content := io.TeeReader(io.LimitReader(in, size), sum)
	temp := filepath.Join(spool, "new")
	var err error
	if spool == "" {
		_, err = io.Copy(io.Discard, content)
	} else {
		_, err = writeFile(temp, content)
	}
	hash := hex.EncodeToString(sum.Sum(nil))
	if err == nil && spool != "" {
		err = os.Rename(temp, filepath.Join(spool, hash))
	}
	b.blobs[env.Hash(hash)] = name
	return err
}

func (b *base) has(hash env.Hash) bool { return b.blobs[hash] != "" }

// open returns a content that is not in the spool.
func (b *base) open(ctx context.Context, hash env.Hash) (io.ReadCloser, error) {
	var data bytes.Buffer
	if err := b.git.run(ctx, nil, &data, "cat-file", "blob", b.blobs[hash]); err != nil {
		return nil, fmt.Errorf("workspace: reading the cloned commit: %w", err)
	}
	if env.HashOf(data.Bytes()) != hash {
		return nil, errDamaged
	}
	return io.NopCloser(&data), nil
}
