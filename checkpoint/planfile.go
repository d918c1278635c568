package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/attractor-go/attractor/internal/atomicfile"
)

// maxPlanFile limits the bytes of a plan's file.
const maxPlanFile = 256 << 20

// ErrUnfinished reports that an undo was not begun because an earlier one has not been finished;
// see Resume.
var ErrUnfinished = errors.New("an earlier undo was interrupted and has to be finished first")

// ReadPlan reads the plan of an undo that was interrupted. The error wraps fs.ErrNotExist if there
// is none.
func ReadPlan(file string) (_ *Plan, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	p := new(Plan)
	if err := json.NewDecoder(io.LimitReader(f, maxPlanFile)).Decode(p); err != nil {
		return nil, fmt.Errorf("the plan of an undo in %s cannot be read; remove the file to give up the rest of that undo: %w", file, err)
	}
	if p.Version != planVersion {
		return nil, fmt.Errorf("the plan of an undo in %s has the form %d, and this program knows %d: finish it with the program that began it, or "+
			"remove the file to give it up", file, p.Version, planVersion)
	}
	for i := range p.Steps {
		if s := &p.Steps[i]; !s.complete() {
			return nil, fmt.Errorf("the plan of an undo in %s is damaged: its step %d (%q) is incomplete; remove the file to give up the rest of that undo",
				file, i+1, s.Op)
		}
	}
	return p, nil
}

// complete reports whether a step has the states that its operation needs.
func (s *Step) complete() bool {
	switch s.Op {
	case OpOpen, OpRemove:
		return s.Was != nil
	}
	return s.Want != nil
}

// save writes the plan durably to a file that does not exist. Only the user may read it.
func (p *Plan) save(file string) error {
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(ErrUnfinished, err)
	}
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(file, append(data, '\n')); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(file))
}

// discard removes the file of a plan that is finished.
func discard(file string) error {
	return errors.Join(os.Remove(file), atomicfile.SyncDir(filepath.Dir(file)))
}
