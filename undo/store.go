package undo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/internal/fault"
	"github.com/attractor-go/attractor/internal/shquote"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/sessions"
)

// UserDir returns the directory of the user's checkpoints: $XDG_STATE_HOME/attractor/checkpoints,
// else ~/.local/state/attractor/checkpoints.
func UserDir(getenv func(string) string) (string, error) {
	state, err := userfiles.StateDir(getenv)
	if err != nil {
		return "", fault.Errorf(sessions.ErrNoStore, "there is no directory to keep checkpoints in: %w", err)
	}
	return filepath.Join(state, "attractor", "checkpoints"), nil
}

// Release removes what the store of checkpoints keeps for sessions that a store of sessions does
// not have any more.
func Release(ctx context.Context, getenv func(string) string, sessions journal.Store) error {
	dir, err := UserDir(getenv)
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	store, err := checkpoint.OpenDir(dir, checkpoint.DirOptions{})
	if err != nil {
		return err
	}
	owners, err := store.Owners(ctx)
	if err != nil {
		return err
	}
	entries, err := sessions.List(ctx)
	if err != nil {
		return err
	}
	gone := slices.DeleteFunc(owners, func(owner string) bool {
		return slices.ContainsFunc(entries, func(e journal.Entry) bool { return e.ID == owner })
	})
	if len(gone) == 0 {
		return nil
	}
	if err := store.Release(ctx, gone...); err != nil {
		return err
	}
	return store.Collect(ctx)
}

// Workspace returns the name of a directory in the store, given the command that leads to its
// machine.
func Workspace(command []string, dir string) string {
	if len(command) == 0 {
		return dir
	}
	return shquote.Shown(command...) + ":" + dir
}

// NewRecorder returns a recorder of a workspace for a session.
func NewRecorder(store checkpoint.Store, dir, workspace, owner string) *checkpoint.Recorder {
	index := filepath.Join(dir, "index", workspaceKey(workspace))
	if os.MkdirAll(filepath.Dir(index), 0o700) != nil {
		index = "" // without it, more is read
	}
	return checkpoint.NewRecorder(checkpoint.RecorderOptions{Store: store, Owner: owner, Index: index,
		Skip: ownFiles(filepath.Dir(dir), workspace)})
}

// ownFiles returns the names that this program's directory has in a workspace. The names of either
// may have symbolic links.
func ownFiles(dir, workspace string) []string {
	list := []string{filepath.ToSlash(dir)}
	realDir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return list
	}
	realTop, err := filepath.EvalSymlinks(workspace) // there is none if it is on another machine
	if err != nil {
		return list
	}
	if rel, err := filepath.Rel(realTop, realDir); err == nil && filepath.IsLocal(rel) {
		list = append(list, filepath.ToSlash(filepath.Join(workspace, rel)))
	}
	return list
}

// workspaceKey returns a name for files about a workspace.
func workspaceKey(workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	return hex.EncodeToString(sum[:16])
}

// undoFile returns the file for the plan of an undo.
func undoFile(checkpoints, workspace, session string) string {
	return filepath.Join(checkpoints, "undo", workspaceKey(workspace)+"."+session)
}

// Unfinished returns the files of undos of a workspace that were interrupted.
func Unfinished(checkpoints, workspace string) (files []string) {
	dir := filepath.Join(checkpoints, "undo")
	entries, _ := os.ReadDir(dir) // there is none before the first undo
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), workspaceKey(workspace)+".") {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files
}

// sessionOf returns the session whose undo has a plan in a file.
func sessionOf(file string) string {
	_, session, _ := strings.Cut(filepath.Base(file), ".")
	return sessions.ShortID(session)
}
