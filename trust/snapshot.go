package trust

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
)

// Snapshot holds the files of a project that start or allow something, as they were read once. It
// does not change and is safe for concurrent use.
type Snapshot struct {
	// Root is the absolute path of the project, without symbolic links.
	Root string
	// Files are in the order of their names.
	Files []File
	// Problems lists what could not be read, or must not be. A project that has problems cannot be
	// trusted.
	Problems []Problem
	// Unwatched says which files have hooks or servers that may run more than is among the Files.
	// Each reason begins with the command of the hook, or the name of the server.
	Unwatched []Problem
}

// File is a file of a project, or a symbolic link to a directory.
type File struct {
	// Name is relative to the root, with slashes.
	Name string
	// Kind says why the file is part of the snapshot.
	Kind Kind
	// Executable reports whether the file has an executable bit.
	Executable bool
	// Link is the target of a symbolic link as it is written, or empty. Data is then the content of
	// the file that the link leads to. A link to a directory has no data: the files in the
	// directory follow.
	Link string
	Data []byte
}

// Kind says what the files of a place do.
type Kind string

// The kinds of files.
const (
	Settings Kind = "settings" // permission rules and hooks
	Servers  Kind = "servers"  // MCP servers
	Hooks    Kind = "hooks"    // hooks, and files in a directory for them
	Commands Kind = "commands" // prompts that a person calls by name
	Skills   Kind = "skills"   // instructions and scripts that the model may use
	Agents   Kind = "agents"   // definitions of subagents
	Script   Kind = "script"   // a file that a hook or a server names
)

// Problem is what is wrong with a file.
type Problem struct {
	Name   string // relative to the root
	Reason string
}

// Error implements error.
func (p Problem) Error() string { return p.Name + ": " + p.Reason }

// Empty reports whether the project has nothing that starts or allows something.
func (s *Snapshot) Empty() bool { return len(s.Files) == 0 && len(s.Problems) == 0 }

// File returns the file of a name, or nil.
func (s *Snapshot) File(name string) *File {
	i, found := slices.BinarySearchFunc(s.Files, name, func(f File, name string) int {
		return strings.Compare(f.Name, name)
	})
	if !found {
		return nil
	}
	return &s.Files[i]
}

// Err returns the problem of a file, or that of a directory above it, or nil.
func (s *Snapshot) Err(name string) error {
	for _, p := range s.Problems {
		if p.Name == name || strings.HasPrefix(name, p.Name+"/") {
			return p
		}
	}
	return nil
}

// Hash returns a hash over names, modes, links and contents in hexadecimal. Two snapshots with the
// same files have the same hash. Their roots do not matter.
func (s *Snapshot) Hash() string {
	h := sha256.New()
	text := func(b []byte) {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b)))) // a hash never returns an error
		h.Write(b)
	}
	text([]byte("attractor trust 1"))
	for i := range s.Files {
		f := &s.Files[i]
		text([]byte(f.Name))
		text([]byte{bit(f.Executable), bit(f.Link != "")})
		text([]byte(f.Link))
		text(f.Data)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// ErrChanged reports that a file is no longer the one that the snapshot holds.
var ErrChanged = errors.New("the file has changed since it was read")

// Unchanged returns an error unless the file on the disk is the one in the snapshot, with the same
// mode and content, through the same links. Call it right before something that reads the file by
// its name. The error wraps [ErrChanged] if the file differs, is missing or is not in the snapshot.
func (s *Snapshot) Unchanged(name string) error {
	known := s.File(path.Clean(name))
	if known == nil {
		return fmt.Errorf("%s: %w: it was not there, or nothing named it", name, ErrChanged)
	}
	root, err := os.OpenRoot(s.Root)
	if err != nil {
		return err
	}
	defer root.Close() // it was only read
	now, err := readFile(root, known.Name, maxFile)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w: %s", name, ErrChanged, reason(err))
	case now.Executable != known.Executable:
		return fmt.Errorf("%s: %w: it has another mode", name, ErrChanged)
	case now.Link != known.Link:
		return fmt.Errorf("%s: %w: it leads to another place", name, ErrChanged)
	case string(now.Data) != string(known.Data):
		return fmt.Errorf("%s: %w", name, ErrChanged)
	}
	return nil
}
