package coding

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"unicode/utf8"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/tool"
)

// maxSeenBytes is the largest file that is read to its end for its hash when only a part of it is
// shown.
const maxSeenBytes = 8 << 20

// seenFile returns what the session knows of a file whose content has the hash.
func seenFile(ctx context.Context, e env.Environment, name string, h env.Hash) []tool.Seen {
	path, err := env.Resolve(ctx, e, name)
	if err != nil {
		return nil
	}
	return []tool.Seen{{Path: path, Hash: h}}
}

// sessionOf returns the call's session. A call without a session gets one that has nothing.
func sessionOf(call *tool.Call) tool.Session {
	if call.Session == nil {
		return new(tool.Plain)
	}
	return call.Session
}

// hashingReader hashes the content of a file while it is read.
type hashingReader struct {
	file io.Reader
	sum  hash.Hash
	size int64
	end  bool
	err  error // the first error other than io.EOF
	text utf8Check
}

func newHashingReader(file io.Reader) *hashingReader {
	return &hashingReader{file: file, sum: sha256.New()}
}

// Read implements io.Reader.
func (r *hashingReader) Read(p []byte) (int, error) {
	n, err := r.file.Read(p)
	if r.size += int64(n); r.size <= maxSeenBytes {
		_, _ = r.sum.Write(p[:n]) // it never fails
	}
	r.text.write(p[:n])
	r.end = r.end || isEOF(err)
	if err != nil && !isEOF(err) && r.err == nil {
		r.err = err
	}
	return n, err
}

// notUTF8 reports whether what was read of the file is not UTF-8.
func (r *hashingReader) notUTF8() bool { return r.text.broken || r.end && r.text.invalid() }

// seen reads the rest of the file, if it is not too long, and returns what the session has seen of
// it.
func (r *hashingReader) seen(ctx context.Context, e env.Environment, name string) []tool.Seen {
	if !r.end && r.size <= maxSeenBytes {
		if info, err := e.Stat(ctx, name); err != nil || info.Size > maxSeenBytes {
			return nil
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(r, maxSeenBytes+1-r.size)) // r keeps the error
	}
	if r.size > maxSeenBytes || r.err != nil {
		return nil
	}
	return seenFile(ctx, e, name, env.Hash(hex.EncodeToString(r.sum.Sum(nil))))
}

// utf8Check finds out whether a content is UTF-8 while it is read.
type utf8Check struct {
	rest   []byte // the beginning of a character that the next piece ends
	broken bool   // it is not UTF-8
}

// write takes the next piece of the content.
func (c *utf8Check) write(p []byte) {
	for len(c.rest) > 0 && len(p) > 0 && !c.broken && !utf8.FullRune(c.rest) {
		c.rest, p = append(c.rest, p[0]), p[1:]
	}
	if c.broken || len(p) == 0 && !utf8.FullRune(c.rest) {
		return
	}
	whole := wholeRunes(p)
	c.broken = !utf8.Valid(c.rest) || !utf8.Valid(whole)
	c.rest = append(c.rest[:0], p[len(whole):]...)
}

// invalid reports whether the content, of which this was all, is not UTF-8.
func (c *utf8Check) invalid() bool { return c.broken || !utf8.Valid(c.rest) }

// notUTF8 returns the line about a file that is not UTF-8.
func (d Dialect) notUTF8(name string) string {
	return fmt.Sprintf(
		"[%s is not UTF-8: its other bytes are shown as \uFFFD. Only ASCII text can be put into it; for other text, "+
			"convert it with %s and `iconv` first.]",
		texts.Shown(name),
		d.word("shell"),
	)
}
