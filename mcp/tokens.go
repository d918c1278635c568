package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/attractor-go/attractor/internal/atomicfile"
	"github.com/attractor-go/attractor/internal/filelock"
)

// Login holds the tokens that a user got for a server, and what is needed to refresh and to revoke
// them. The tokens belong to one resource of one issuer: they are sent to no other place.
type Login struct {
	Server             string    `json:"server"`   // URL of the MCP server
	Resource           string    `json:"resource"` // what the server calls itself
	Issuer             string    `json:"issuer"`
	TokenEndpoint      string    `json:"tokenEndpoint"`
	RevocationEndpoint string    `json:"revocationEndpoint,omitempty"`
	ClientID           string    `json:"clientId"`
	ClientSecret       string    `json:"clientSecret,omitempty"`
	AuthMethod         string    `json:"authMethod,omitempty"` // how the client shows its secret
	Scopes             []string  `json:"scopes,omitempty"`     // granted
	Wanted             []string  `json:"wanted,omitempty"`     // scopes that the server has asked for since then
	AccessToken        string    `json:"accessToken"`
	RefreshToken       string    `json:"refreshToken,omitempty"`
	Expiry             time.Time `json:"expiry,omitzero"` // of the access token, zero if it is not known
}

// TokenStore keeps logins. It is safe for concurrent use.
type TokenStore interface {
	// Login returns the login for the server with a URL, or nil if there is none.
	Login(ctx context.Context, server string) (*Login, error)
	// Change calls a function with the login for a server, or nil if there is none that can be
	// used, and keeps what the function returns. It forgets the login if that is nil, and changes
	// nothing if there is an error. No other call of Change for this server runs meanwhile, in any
	// process that uses the store: a function that refreshes tokens sends each refresh token once.
	Change(ctx context.Context, server string, change func(*Login) (*Login, error)) error
}

// FileTokens implements [TokenStore] with a file for each server in a directory. Only the user can
// read them. Several processes may use it.
type FileTokens struct{ dir string }

// NewFileTokens returns the store in a directory, which is made when the first login is kept.
func NewFileTokens(dir string) *FileTokens { return &FileTokens{dir} }

// ErrTokens reports that the file of a login cannot be used.
var ErrTokens = errors.New("the file with the login cannot be used")

const (
	maxTokenFile = 1 << 20
	tokenLock    = time.Minute // for how long a process waits until another one has refreshed a token
)

// Login returns the login for a server.
func (f *FileTokens) Login(_ context.Context, server string) (*Login, error) {
	name := f.file(server)
	data, err := readPrivate(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	l := new(Login)
	if err == nil {
		err = json.Unmarshal(data, l)
	}
	if err == nil && l.Server != server {
		err = errors.New("it is about another server")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", name, ErrTokens, err)
	}
	return l, nil
}

// Change changes the login for a server. A file that cannot be used counts as none.
func (f *FileTokens) Change(ctx context.Context, server string, change func(*Login) (*Login, error)) error {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, tokenLock)
	defer cancel()
	lock, err := os.OpenFile(f.file(server)+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close() // that unlocks it
	err = filelock.Wait(ctx, func() error { return filelock.TryLock(lock, filelock.Exclusive) })
	if err != nil && ctx.Err() != nil {
		err = errors.New("another process holds it")
	}
	if err != nil {
		return fmt.Errorf("cannot lock the login for %s: %w", server, err)
	}
	was, err := f.Login(ctx, server)
	if err != nil && !errors.Is(err, ErrTokens) {
		return err
	}
	now, err := change(was)
	if err != nil {
		return err
	}
	if now == nil {
		if err := os.Remove(f.file(server)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	data, err := json.MarshalIndent(now, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(f.file(server), data)
}

// file returns the name of the file for a server.
func (f *FileTokens) file(server string) string {
	sum := sha256.Sum256([]byte(server))
	return filepath.Join(f.dir, hex.EncodeToString(sum[:16])+".json")
}

// readPrivate reads a file that nobody but the user can read or change.
func readPrivate(name string) ([]byte, error) {
	info, err := os.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case runtime.GOOS != "windows" && info.Mode()&0o077 != 0:
		return nil, fmt.Errorf("others can read it (mode %v)", info.Mode().Perm())
	case info.Size() > maxTokenFile:
		return nil, fmt.Errorf("it has more than %d bytes", maxTokenFile)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() // it was only read
	return io.ReadAll(io.LimitReader(file, maxTokenFile))
}
