package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/attractor-go/attractor/internal/atomicfile"
	"github.com/attractor-go/attractor/internal/userfiles"
)

// Store keeps the decisions of a user about projects: a file for each in a directory. Processes may
// use it at the same time; each change replaces one file. It is safe for concurrent use.
//
// A decision holds the texts of the files that it is about, up to 1 MiB, so that a difference can
// be shown. Only the user can read it.
type Store struct{ dir string }

// NewStore returns the store in a directory, which is made when the first decision is kept.
func NewStore(dir string) *Store { return &Store{dir} }

// State says what was decided about a project.
type State string

// The states. Only a trusted project may start and allow something.
const (
	Trusted   State = "trusted"   // these files, or there are none
	Undecided State = "undecided" // nothing was decided about the project
	Changed   State = "changed"   // the files differ from those that the decision is about
	Declined  State = "declined"  // these files
)

// Decision says what a Store knows about a snapshot.
type Decision struct {
	State State
	// Changes are the differences from the files that the last decision was about: all files, if
	// there was none.
	Changes []Change
	// Since is the time of the last decision.
	Since time.Time
}

// ErrDamaged reports that the file of a decision cannot be used. Its project is not trusted until
// the decision is revoked or made again.
var ErrDamaged = errors.New("the file with the decision is damaged")

// Decide returns what was decided about the files of a snapshot. A project without such files is
// trusted: Since is zero unless a user has trusted it as it is. A project with problems is not
// trusted.
func (s *Store) Decide(now *Snapshot) (Decision, error) {
	was, err := s.read(now.Root)
	if now.Empty() {
		d := Decision{State: Trusted}
		if err == nil && was.State == Trusted && was.Hash == now.Hash() {
			d.Since = was.Time
		}
		return d, nil // without files, a decision that cannot be read changes nothing
	}
	if errors.Is(err, fs.ErrNotExist) {
		return Decision{State: Undecided, Changes: changes(nil, now)}, nil
	}
	if err != nil {
		return Decision{State: Undecided, Changes: changes(nil, now)}, err
	}
	d := Decision{State: was.State, Since: was.Time}
	if was.Hash == now.Hash() && (len(now.Problems) == 0 || was.State == Declined) {
		return d, nil
	}
	d.State, d.Changes = Changed, changes(was.Files, now)
	if len(d.Changes) == 0 { // the hash is not that of the files
		return Decision{State: Undecided, Changes: changes(nil, now)},
			s.damaged(now.Root, errors.New("it contradicts itself"))
	}
	return d, nil
}

// Grant trusts the files of a snapshot. It returns an error if the snapshot has problems.
func (s *Store) Grant(now *Snapshot) error {
	if len(now.Problems) > 0 {
		return fmt.Errorf("%s cannot be trusted: %w", now.Root, now.Problems[0])
	}
	return s.write(now, Trusted)
}

// Decline keeps the decision not to trust the files of a snapshot.
func (s *Store) Decline(now *Snapshot) error { return s.write(now, Declined) }

// ErrNoDecision reports that nothing was decided about a project.
var ErrNoDecision = errors.New("there is no decision about this directory")

// Revoke forgets the decision about a directory, which need not exist any more.
func (s *Store) Revoke(root string) error {
	abs, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	if resolved, err := filepath.EvalSymlinks(abs); err == nil {
		abs = resolved
	}
	err = os.Remove(s.file(abs))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", abs, ErrNoDecision)
	}
	return err
}

// Entry is a decision in a list.
type Entry struct {
	Root  string    `json:"root,omitempty"`
	State State     `json:"state,omitempty"`
	Time  time.Time `json:"time,omitzero"`
	Files int       `json:"files"`
	Hash  string    `json:"hash,omitempty"`
	// Problem says why the decision cannot be read. Such a file trusts nothing.
	Problem string `json:"problem,omitempty"`
}

// List returns all decisions, in the order of their directories.
func (s *Store) List() (all []Entry, err error) {
	files, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, f := range files {
		if filepath.Ext(f.Name()) != ".json" {
			continue
		}
		name := filepath.Join(s.dir, f.Name())
		r, err := readRecord(name)
		switch {
		case errors.Is(err, fs.ErrNotExist): // revoked meanwhile
		case err == nil && s.file(r.Root) != name:
			all = append(all, Entry{Problem: name + ": it is about another directory; remove it"})
		case err != nil:
			all = append(all, Entry{Problem: name + ": " + reason(err) + "; remove it"})
		default:
			all = append(all, Entry{r.Root, r.State, r.Time, len(r.Files), r.Hash, ""})
		}
	}
	slices.SortFunc(all, func(a, b Entry) int { return strings.Compare(a.Root+a.Problem, b.Root+b.Problem) })
	return all, nil
}

// record is the content of a decision's file.
type record struct {
	Version int        `json:"version"`
	Root    string     `json:"root"`
	State   State      `json:"state"`
	Time    time.Time  `json:"time"`
	Hash    string     `json:"hash"`
	Files   []keptFile `json:"files"`
}

const (
	version   = 1
	maxRecord = 64 << 20 // bytes of a decision's file
)

// file returns the name of the file for a project.
func (s *Store) file(root string) string {
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:])+".json")
}

// read returns the decision about a project.
func (s *Store) read(root string) (*record, error) {
	r, err := readRecord(s.file(root))
	if err == nil && r.Root != root {
		err = fmt.Errorf("it is about %s", r.Root)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, s.damaged(root, err)
	}
	return r, err
}

func (s *Store) damaged(root string, err error) error {
	return fmt.Errorf("%s: %w: %s; to decide again, remove it", s.file(root), ErrDamaged, reason(err))
}

// readRecord reads and checks a decision's file.
func readRecord(name string) (*record, error) {
	info, err := os.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case runtime.GOOS != "windows" && info.Mode()&0o022 != 0:
		return nil, fmt.Errorf("others may change it (mode %v)", info.Mode().Perm())
	}
	data, err := userfiles.Read(name, maxRecord+1)
	if err != nil {
		return nil, err
	}
	return parseRecord(data)
}

// parseRecord parses and checks the content of a decision's file.
func parseRecord(data []byte) (*record, error) {
	if len(data) > maxRecord {
		return nil, fmt.Errorf("it has more than %d MiB", maxRecord>>20)
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, err
	}
	switch {
	case r.Version != version:
		return nil, fmt.Errorf("its version is %d, this program knows %d", r.Version, version)
	case r.State != Trusted && r.State != Declined:
		return nil, fmt.Errorf("its state is %q", r.State)
	case r.Root == "":
		return nil, errors.New("it names no directory")
	case len(r.Hash) != hex.EncodedLen(sha256.Size):
		return nil, errors.New("it has no hash")
	}
	return &r, nil
}

// write keeps a decision. It replaces the file as a whole.
func (s *Store) write(now *Snapshot, state State) error {
	if !utf8.ValidString(now.Root) {
		return fmt.Errorf("no decision can be kept about %q: the path is not UTF-8", now.Root)
	}
	data, err := json.MarshalIndent(record{version, now.Root, state, time.Now().UTC(), now.Hash(), keep(now)}, "", "\t")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	return atomicfile.Write(s.file(now.Root), append(data, '\n'))
}
