package git

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
)

// The types of objects, as packs number them.
const (
	commitObject = 1
	treeObject   = 2
	blobObject   = 3
	offsetDelta  = 6
	idDelta      = 7
)

// maxObject limits the size of an object that is read, in bytes.
const maxObject = 8 << 20

var errMissing = errors.New("the object is not here")

// object returns the content of an object of a type.
func (r *repository) object(ctx context.Context, id string, kind int) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	data, err := r.loose(ctx, id, kind)
	if !errors.Is(err, errMissing) {
		return data, err
	}
	return r.packed(ctx, id, kind)
}

// loose returns the content of an object that has a file of its own.
func (r *repository) loose(ctx context.Context, id string, kind int) (data []byte, err error) {
	name := hex.EncodeToString([]byte(id))
	f, err := r.env.Open(ctx, path.Join(r.commonDir, "objects", name[:2], name[2:]))
	if err != nil {
		return nil, errMissing
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := r.inflate(io.LimitReader(f, maxObject))
	if err != nil {
		return nil, err
	}
	in := bufio.NewReader(io.LimitReader(z, maxObject+100))
	head, err := in.ReadSlice(0)
	if err != nil {
		return nil, err
	}
	word, size, _ := bytes.Cut(head[:len(head)-1], []byte(" "))
	n, err := strconv.Atoi(string(size))
	if want := map[int]string{commitObject: "commit", treeObject: "tree", blobObject: "blob"}[kind]; err != nil || string(word) != want {
		return nil, fmt.Errorf("object %s: %w", name, errUnknown)
	}
	return r.readFull(in, n)
}

// inflate returns a reader of compressed data. It is valid until the next call, which uses its memory again.
func (r *repository) inflate(in io.Reader) (io.Reader, error) {
	if again, ok := r.inflating.(zlib.Resetter); ok {
		return r.inflating, again.Reset(in, nil)
	}
	var err error
	r.inflating, err = zlib.NewReader(in)
	return r.inflating, err
}

// readFull reads n bytes. It does not trust n, which a hostile file may claim.
func (r *repository) readFull(in io.Reader, n int) ([]byte, error) {
	if n < 0 || n > maxObject {
		return nil, errBudget
	}
	if err := r.spend(int64(n)); err != nil {
		return nil, err
	}
	var b bytes.Buffer // grows with the data, not with n
	if _, err := io.CopyN(&b, in, int64(n)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
