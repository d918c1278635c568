package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/attractor-go/attractor/internal/webguard"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/secret"
)

const (
	// outputChunk and maxOutputChunk are the default and the largest size of a part of an output,
	// in bytes.
	outputChunk    = 64 << 10
	maxOutputChunk = 1 << 20
)

// serveOutput answers with a part of a whole output.
func (s *Server) serveOutput(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	masker, err := s.options.SessionMasker(id)
	if err != nil {
		return err
	}
	text, err := Output(w.Header(), r, s.options.Store, masker)
	if errors.Is(err, fs.ErrNotExist) {
		return s.noOutput(r.Context(), id)
	}
	if err != nil {
		return err
	}
	write(w, "text/plain; charset=utf-8", text)
	return nil
}

// noOutput returns the error for an output that is not there.
func (s *Server) noOutput(ctx context.Context, id string) error {
	log, err := s.options.Store.Read(ctx, id)
	if err != nil {
		return noSession(id, err)
	}
	if err := log.Close(); err != nil {
		return err
	}
	return refuse(http.StatusNotFound,
		"this output is not kept whole; --keep-outputs says how many bytes of outputs a session keeps")
}

// Output returns the part that a request wants of an output that a journal keeps: its path has the
// id of the session and the hash of the output, and its query may have offset and limit, which
// count the bytes of the text without the secrets that the masker knows. If there is more, the
// header Attractor-Next gets the offset of the next part. The error for an output that is not kept
// wraps fs.ErrNotExist.
func Output(h http.Header, r *http.Request, store journal.Store, m *secret.Masker) ([]byte, error) {
	offset, err := webguard.Number(r, "offset", 0, 0, int64(1)<<50)
	if err != nil {
		return nil, err
	}
	limit, err := webguard.Number(r, "limit", outputChunk, 0, maxOutputChunk)
	if err != nil {
		return nil, err
	}
	hash := r.PathValue("hash")
	if !journal.IsHash(hash) {
		return nil, refuse(http.StatusBadRequest,
			"an output is named by the 64 hexadecimal digits of its SHA-256, its output_blob")
	}
	text, more, err := outputPart(r.Context(), store, m, r.PathValue("id"), hash, offset, max(limit, utf8.UTFMax))
	if more {
		h.Set("Attractor-Next", strconv.FormatInt(offset+int64(len(text)), 10))
	}
	return text, err
}

// outputPart reads a part of an output without secrets, and reports whether there is more. It masks
// all of the text before the part as well, because what is a secret depends on it. No part ends
// within a character.
func outputPart(ctx context.Context, store journal.Store, m *secret.Masker, id, hash string, offset int64,
	limit int) (text []byte, more bool, err error) {
	log, err := store.Read(ctx, id)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	blob, err := log.Blob(ctx, hash)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, blob.Close()) }()
	part := &window{skip: offset, room: limit + 1}
	err = copyMasked(ctx, part, m.Stream(), blob)
	if err != nil && !errors.Is(err, errFull) {
		return nil, false, fmt.Errorf("the output cannot be read: %w", err)
	}
	if len(part.text) <= limit {
		return part.text, false, nil
	}
	return wholeRunes(part.text[:limit]), true, nil
}

// noSession returns the error for a session that cannot be read.
func noSession(id string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return refuse(http.StatusNotFound, "there is no session "+id+"; it may have been removed")
	}
	return err
}

// copyMasked copies from a reader to a writer, without secrets.
func copyMasked(ctx context.Context, to io.Writer, stream *secret.Stream, from io.Reader) error {
	for buffer := make([]byte, 64<<10); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := from.Read(buffer)
		if _, err := to.Write(stream.NextBytes(buffer[:n])); err != nil {
			return err
		}
		if err == io.EOF {
			_, err = io.WriteString(to, stream.Flush())
			return err
		}
		if err != nil {
			return err
		}
	}
}

// errFull says that a window is complete.
var errFull = errors.New("full")

// window keeps a part of what is written to it.
type window struct {
	skip int64 // bytes in front of the part
	room int   // bytes of the part that are missing
	text []byte
}

// Write implements [io.Writer]. Its error is errFull when the part is complete.
func (w *window) Write(p []byte) (int, error) {
	rest := p[min(w.skip, int64(len(p))):]
	w.skip -= int64(len(p) - len(rest))
	rest = rest[:min(w.room, len(rest))]
	w.text = append(w.text, rest...)
	if w.room -= len(rest); w.room == 0 {
		return len(p), errFull
	}
	return len(p), nil
}

// wholeRunes cuts off the beginning of a character at the end of a text.
func wholeRunes(text []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if at := len(text) - n; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				return text[:at]
			}
			break
		}
	}
	return text
}
