package git

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/attractor-go/attractor/env"
)

const (
	maxSmall  = 64 << 10 // bytes of a file with a name or two
	maxConfig = 1 << 20
	maxPacked = 64 << 20  // bytes of packed-refs that are searched
	maxRead   = 256 << 20 // bytes that are read of one repository
)

var (
	errUnknown = errors.New("the repository has a form that is not known here")
	errBudget  = errors.New("looking at the repository takes too much")
)

// repository reads the files of a repository.
type repository struct {
	env       env.Environment
	root      string
	gitDir    string // of this work tree, or "" if it cannot be read
	commonDir string // of all work trees
	budget    int64  // bytes that may still be read
	sha256    bool
}

// spend subtracts n bytes from the budget, and fails if that is exceeded.
func (r *repository) spend(n int64) error {
	if r.budget -= n; r.budget < 0 {
		return errBudget
	}
	return nil
}

// read returns the content of a file, or errBudget if it has more than limit bytes.
func (r *repository) read(ctx context.Context, name string, limit int64) ([]byte, error) {
	return r.readSized(ctx, name, 0, limit)
}

// readSized reads a file of a known size, in case it has not changed.
func (r *repository) readSized(ctx context.Context, name string, size, limit int64) ([]byte, error) {
	f, err := r.env.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Grow(int(min(size, limit)) + bytes.MinRead)
	_, err = b.ReadFrom(io.LimitReader(f, limit+1))
	data := b.Bytes()
	if err = errors.Join(err, f.Close(), r.spend(int64(len(data)))); err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s: %w", name, errBudget)
	}
	return data, nil
}

// head returns the commit of HEAD, or "" before the first commit, and the branch. It reads the configuration first, which determines the
// length of ids.
func (r *repository) head(ctx context.Context) (commit, branch string, ok bool) {
	if r.gitDir == "" || r.configure(ctx) != nil {
		return "", "", false
	}
	text, err := r.read(ctx, path.Join(r.gitDir, "HEAD"), maxSmall)
	if err != nil {
		return "", "", false
	}
	value := strings.TrimSpace(string(text))
	ref, isRef := strings.CutPrefix(value, "ref:")
	if !isRef {
		id, ok := r.parseID(value)
		return id, "", ok
	}
	ref = strings.TrimSpace(ref)
	id, err := r.resolveRef(ctx, ref)
	if err != nil {
		return "", "", false
	}
	return id, strings.TrimPrefix(ref, "refs/heads/"), true
}

// configure reads the settings that affect how files are read. It ignores all other settings and included files.
func (r *repository) configure(ctx context.Context) error {
	text, err := r.read(ctx, path.Join(r.commonDir, "config"), maxConfig)
	if err != nil {
		return err
	}
	list, err := ParseConfig(string(text))
	if err != nil {
		return errUnknown
	}
	for _, setting := range list {
		value := strings.ToLower(setting.Value)
		switch setting.Name {
		case "extensions.objectformat":
			r.sha256 = value == "sha256"
			if !r.sha256 && value != "sha1" {
				return errUnknown
			}
		case "extensions.refstorage":
			if value != "files" {
				return errUnknown
			}
		}
	}
	return nil
}

// idLen returns the length of ids in bytes.
func (r *repository) idLen() int {
	if r.sha256 {
		return 32
	}
	return 20
}

// parseID returns the bytes of an id in hexadecimal.
func (r *repository) parseID(text string) (id string, ok bool) {
	raw, err := hex.DecodeString(text)
	return string(raw), err == nil && len(raw) == r.idLen()
}

// resolveRef returns the id of a ref, or "" if it does not exist, as before the first commit.
func (r *repository) resolveRef(ctx context.Context, ref string) (string, error) {
	for range 5 { // a ref may refer to another one
		if !strings.HasPrefix(ref, "refs/") || path.Clean(ref) != ref || path.Base(ref) == ".invalid" {
			return "", errUnknown
		}
		text, err := r.read(ctx, path.Join(r.commonDir, ref), maxSmall)
		if err != nil {
			return r.packedRef(ctx, ref)
		}
		value := strings.TrimSpace(string(text))
		if id, ok := r.parseID(value); ok {
			return id, nil
		}
		next, ok := strings.CutPrefix(value, "ref:")
		if !ok {
			return "", errUnknown
		}
		ref = strings.TrimSpace(next)
	}
	return "", errUnknown
}

// packedRef returns the id of a ref in packed-refs, or "".
func (r *repository) packedRef(ctx context.Context, ref string) (id string, err error) {
	f, err := r.env.Open(ctx, path.Join(r.commonDir, "packed-refs"))
	if err != nil {
		return "", nil // a repository without commits has none
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	limited := &io.LimitedReader{R: f, N: maxPacked}
	for lines := bufio.NewScanner(limited); lines.Scan(); {
		value, name, _ := bytes.Cut(lines.Bytes(), []byte(" "))
		if string(name) == ref {
			if id, ok := r.parseID(string(value)); ok {
				return id, nil
			}
		}
	}
	if limited.N == 0 {
		return "", errBudget
	}
	return "", nil
}
