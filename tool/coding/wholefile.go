package coding

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
)

// maxWholeBytes is the largest file that edits and patches change, because they hold it in memory.
const maxWholeBytes = 64 << 20

// maxLines limits the lines of the files of a patch, and of a file in which an edit looks for a
// text that is not exactly there. They take about 100 bytes each, and several calls may run at
// once.
const maxLines = 1 << 20

// errTooLarge is returned for a file of more than maxWholeBytes.
var errTooLarge = fmt.Errorf("larger than %d MiB", maxWholeBytes>>20)

// readWhole returns the content of a file that is to be changed. It reads nothing of a file that is
// too large by its size, and not much more than maxWholeBytes of one that grows.
func readWhole(ctx context.Context, e env.Environment, name string) (content string, err error) {
	f, err := e.Open(ctx, name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := e.Stat(ctx, name)
	if err != nil {
		return "", err
	}
	if info.Size > maxWholeBytes {
		return "", errTooLarge
	}
	var b strings.Builder
	b.Grow(int(max(info.Size, 0)))
	n, err := io.Copy(&b, io.LimitReader(f, maxWholeBytes+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("reading %s: %w", texts.Shown(name), err)
	case n > maxWholeBytes:
		return "", errTooLarge
	}
	return b.String(), nil
}
