package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/atomicfile"
	"github.com/attractor-go/attractor/internal/filelock"
	"github.com/attractor-go/attractor/permit"
)

// kept is what the server keeps of a session beside its journal.
type kept struct {
	ID           string        `json:"id"`
	Token        string        `json:"token"` // the name
	Created      time.Time     `json:"created"`
	Dir          string        `json:"dir"`
	Model        string        `json:"model,omitempty"`
	Effort       string        `json:"effort,omitempty"`
	Mode         permit.Mode   `json:"mode"`
	Sandbox      sandbox.Level `json:"sandbox"`
	BudgetUSD    float64       `json:"budget_usd,omitempty"`
	BudgetTokens int           `json:"budget_tokens,omitempty"`
	Request      string        `json:"request,omitempty"`  // the hash of the request that created it, if that had a key
	Fork         string        `json:"fork,omitempty"`     // the session that it is a fork of
	Turn         int           `json:"turn,omitempty"`     // after which it begins
	SameDir      bool          `json:"same_dir,omitempty"` // it works in the directory of that session
	// Open says that the server has the session open. Deaths counts how often the server died in
	// succession while the input was open, up to maxDeaths. Then the session is held until a client
	// lets it go on.
	Open   bool `json:"open,omitempty"`
	Deaths int  `json:"deaths,omitempty"`
}

// held reports whether the session has an input that does not go on by itself.
func (k *kept) held() bool { return k.Deaths >= maxDeaths }

// register is the file with what is kept of all sessions. Its directory belongs to one server.
type register struct {
	dir  string
	lock *os.File

	writing sync.Mutex
}

// registered is the content of the file.
type registered struct {
	// Drained says that the server has ended in order, so that open inputs do not count as deaths.
	Drained  bool   `json:"drained"`
	Sessions []kept `json:"sessions"`
}

// ErrInUse means that another server has the state directory.
var ErrInUse = errors.New("another server uses it")

// lockTime is how long a server waits for one that was killed, which may still be ending.
const lockTime = 2 * time.Second

// openRegister locks a directory, which it makes if necessary, and reads its register.
func openRegister(ctx context.Context, dir string) (*register, registered, error) {
	var content registered
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, content, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, content, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lockTime, ErrInUse)
	defer cancel()
	take := func() error { return filelock.TryLock(lock, filelock.Exclusive) }
	if err := filelock.Wait(ctx, take); err != nil {
		return nil, content, errors.Join(err, lock.Close())
	}
	r := &register{dir: dir, lock: lock}
	data, err := os.ReadFile(r.file())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r, content, nil
	case err == nil:
		err = json.Unmarshal(data, &content)
	}
	if err != nil {
		return nil, content, errors.Join(fmt.Errorf("%s cannot be read: %w", r.file(), err), r.close())
	}
	return r, content, nil
}

// file returns the name of the file.
func (r *register) file() string { return filepath.Join(r.dir, "sessions.json") }

// write replaces the file by what now returns, durably.
func (r *register) write(now func() registered) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	data, err := json.Marshal(now())
	if err == nil {
		err = atomicfile.Write(r.file(), data)
	}
	if err != nil {
		return fmt.Errorf("cannot write the register of sessions: %w", err)
	}
	return atomicfile.SyncDir(r.dir)
}

// close lets another server use the directory.
func (r *register) close() error { return r.lock.Close() }
