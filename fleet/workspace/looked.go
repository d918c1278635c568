package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/attractor-go/attractor/env"
)

// lookAtRefs returns a text that changes when the refs of the repository in the working directory
// do, without running git. It is not known if that takes more than a few small files.
func lookAtRefs(ctx context.Context, e env.Environment) (text string, known bool) {
	l := refLook{ctx: ctx, env: e, left: maxLook}
	sum := sha256.New()
	l.to = sum
	head := l.file(".git/HEAD")
	if strings.Contains(head, ".invalid") { // the refs are in tables
		return "", false
	}
	l.file(".git/packed-refs")
	l.file(".git/shallow")
	l.dir(".git/refs")
	return hex.EncodeToString(sum.Sum(nil)), !l.unknown
}

// maxLook bounds the files that lookAtRefs reads, and maxLookFile the size of each.
const (
	maxLook     = 100
	maxLookFile = 64 << 10
)

// refLook is one look.
type refLook struct {
	ctx     context.Context
	env     env.Environment
	to      io.Writer
	left    int
	unknown bool
}

// file adds a file, which may be missing.
func (l *refLook) file(name string) string {
	data, err := l.read(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.unknown = true
	}
	l.add(name, err == nil, data)
	return data
}

func (l *refLook) read(name string) (data string, err error) {
	if l.left--; l.left < 0 {
		return "", errTooMuch
	}
	r, err := l.env.Open(l.ctx, name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	content, whole, err := readUpTo(nil, r, maxLookFile)
	if err == nil && !whole {
		err = errTooMuch
	}
	return string(content), err
}

// add adds a fact to the text.
func (l *refLook) add(name string, there bool, data string) {
	sum := sha256.Sum256([]byte(data))
	mark := byte('-')
	if there {
		mark = '+'
	}
	if _, err := l.to.Write(append(append([]byte(name), 0, mark), sum[:]...)); err != nil {
		l.unknown = true
	}
}

// dir adds what is below a directory. Remote branches do not count.
func (l *refLook) dir(name string) {
	if l.unknown || name == ".git/refs/remotes" {
		return
	}
	list, err := l.env.ReadDir(l.ctx, name)
	if err != nil {
		l.unknown = l.unknown || !errors.Is(err, fs.ErrNotExist)
		return
	}
	for _, info := range list {
		below := path.Join(name, info.Name)
		switch {
		case info.IsDir():
			l.dir(below)
		case info.Mode.IsRegular():
			l.file(below)
		default:
			l.unknown = true
		}
	}
}
