package remote

import (
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// helper is a file of this machine that can be uploaded as a helper.
type helper struct {
	path string
	file *os.File
	size int64
	sum  string // SHA-256, in hexadecimal
	// loader is the program of the system that loads its shared libraries. It is empty if it needs
	// none.
	loader string
}

// maxHelper limits the bytes of a helper: attractor itself serves as one, too.
const maxHelper = 256 << 20

// openHelper opens and hashes a file. The caller closes it.
func openHelper(path string) (*helper, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	h := &helper{path: path, file: f}
	hash := sha256.New()
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxHelper) {
		err = fmt.Errorf("%s is not a file of at most %d MiB", path, maxHelper>>20)
	}
	if err == nil {
		h.size, err = io.Copy(hash, f)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	h.sum, h.loader = hex.EncodeToString(hash.Sum(nil)), loaderOf(f)
	return h, nil
}

// loaderOf returns the loader of a program, or "" if it needs none or is of a kind that does not
// say it.
func loaderOf(program io.ReaderAt) string {
	f, err := elf.NewFile(program)
	if err != nil {
		return ""
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			// without a name nothing is checked before the upload
			name, _ := io.ReadAll(io.LimitReader(p.Open(), 4<<10))
			return strings.TrimRight(string(name), "\x00")
		}
	}
	return ""
}

// name returns the name that the helper gets over there.
func (h *helper) name() string { return "attractor-remote-" + h.sum }

// close closes the file. A nil helper has none.
func (h *helper) close() error {
	if h == nil {
		return nil
	}
	return h.file.Close()
}

// send writes the file's content. It sends exactly as many bytes as were announced, or cuts the
// conduit.
func (h *helper) send(ctx context.Context, c *conduit) {
	buf := make([]byte, 64<<10)
	for at := int64(0); at < h.size && ctx.Err() == nil; {
		n, err := h.file.ReadAt(buf[:min(int64(len(buf)), h.size-at)], at)
		if n == 0 {
			c.cut(fmt.Errorf("read %s: %w", h.path, err))
			return
		}
		if _, err := c.Write(buf[:n]); err != nil {
			return // the answers end, too, and say why
		}
		at += int64(n)
		c.progress()
	}
}
