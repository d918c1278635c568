package coding

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/names"
	"github.com/attractor-go/attractor/tool"
)

const (
	// maxDecisions is how often a change is decided anew because somebody else was faster.
	maxDecisions = 16
	// maxSeenBytes is how much of a file is read to know its whole content, where only a part of it is shown.
	maxSeenBytes = 8 << 20
)

// decision is what a file is to become.
type decision struct {
	was  content // what it was decided upon
	data []byte
}

// change reads a file, decides and writes, while no other session changes it, and decides again when somebody else was faster. It
// returns a result that says what has changed.
func change(ctx context.Context, call *tool.Call, name string, decide func() (decision, error)) (tool.Result, error) {
	unlock, err := env.Lock(ctx, call.Env, name)
	if err != nil {
		return tool.Result{}, err
	}
	defer unlock()
	for range maxDecisions {
		d, err := decide()
		if err != nil {
			return tool.Result{}, err
		}
		if err := mayChange(ctx, call, name); err != nil {
			return tool.Result{}, err
		}
		err = env.Replace(ctx, call.Env, name, d.was.hash, d.data, newFilePerm)
		if err == nil {
			var w writes
			w.add(name, d.was, contentOf(call, d.data))
			return w.result(ctx, call, nil), nil
		}
		if !errors.Is(err, env.ErrChanged) {
			return tool.Result{}, err
		}
	}
	return tool.Result{}, restless(name)
}

// restless returns the error of a file that changes faster than a change of it can be decided.
func restless(name string) error {
	return fmt.Errorf("%s is being changed by somebody else all the time; nothing was changed. Find out what writes it, then try again", names.Shown(name))
}

// mayChange refuses to change a file that needs an approval which the call does not have.
func mayChange(ctx context.Context, call *tool.Call, name string) error {
	if why := call.NeedsApproval(ctx, name); why != "" {
		return fmt.Errorf("%s was not changed, because that needs a person's approval: %s. Say what you want to change and why, or do without", names.Shown(name), why)
	}
	return nil
}

// sawFile returns what the session knows of a file whose content has a hash.
func sawFile(ctx context.Context, e env.Environment, name string, h env.Hash) []tool.Seen {
	path, err := env.Resolve(ctx, e, name)
	if err != nil {
		return nil
	}
	return []tool.Seen{{Path: path, Hash: h}}
}

// filesOf returns what a call's session has seen of files; nil when it does not remember.
func filesOf(call *tool.Call) tool.Files {
	if call.Session == nil {
		return nil
	}
	return call.Session.Files()
}

// reading is a file that is read, whatever part of it, and of which the whole content gets a hash.
type reading struct {
	file io.Reader
	sum  hash.Hash
	size int64
	end  bool
	err  error // the first one, but for the end of the file
}

func newReading(file io.Reader) *reading { return &reading{file: file, sum: sha256.New()} }

// Read implements io.Reader.
func (r *reading) Read(p []byte) (int, error) {
	n, err := r.file.Read(p)
	if r.size += int64(n); r.size <= maxSeenBytes {
		_, _ = r.sum.Write(p[:n]) // which never fails
	}
	r.end = r.end || isEOF(err)
	if err != nil && !isEOF(err) && r.err == nil {
		r.err = err
	}
	return n, err
}

// saw reads the rest of a file that is not too long and returns what the session has then seen.
func (r *reading) saw(ctx context.Context, e env.Environment, name string) []tool.Seen {
	if !r.end && r.size <= maxSeenBytes {
		if info, err := e.Stat(ctx, name); err != nil || info.Size > maxSeenBytes {
			return nil
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(r, maxSeenBytes+1-r.size)) // r keeps the error
	}
	if r.size > maxSeenBytes || r.err != nil {
		return nil
	}
	return sawFile(ctx, e, name, env.Hash(hex.EncodeToString(r.sum.Sum(nil))))
}
