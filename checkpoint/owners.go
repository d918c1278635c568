package checkpoint

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/atomicfile"
)

// The roots of an owner's trees are the lines of a file whose name is that of the owner in
// hexadecimal. Other lines do not count.

// maxOwner bounds the bytes of an owner's name: a file name has at most 255.
const maxOwner = 120

func (d *Dir) ownerFile(owner string) string {
	return d.file(ownersName, hex.EncodeToString([]byte(owner)))
}

// keep makes it durable that an owner keeps a tree.
func (d *Dir) keep(owner string, root digest) (err error) {
	if owner == "" || len(owner) > maxOwner {
		return fmt.Errorf("checkpoint: the owner's name has %d bytes; it may have 1 to %d", len(owner), maxOwner)
	}
	file, err := os.OpenFile(d.ownerFile(owner), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("checkpoint: cannot keep a tree for %s: %w", owner, err)
	}
	// The line before may be one that a killed process has not completed.
	_, err = fmt.Fprintf(file, "\n%s\n", root.hash())
	if err = errors.Join(err, file.Sync(), file.Close(), atomicfile.SyncDir(d.file(ownersName))); err != nil {
		return fmt.Errorf("checkpoint: cannot keep a tree for %s: %w", owner, err)
	}
	return nil
}

// Release drops the trees of owners. [Dir.Collect] removes their objects if no other owner reaches
// them.
func (d *Dir) Release(ctx context.Context, owners ...string) error {
	for _, owner := range owners {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := ignore(os.Remove(d.ownerFile(owner)), os.ErrNotExist); err != nil {
			return fmt.Errorf("checkpoint: cannot release %s: %w", owner, err)
		}
	}
	return nil
}

// Owners returns the names of all owners, sorted.
func (d *Dir) Owners(ctx context.Context) (list []string, err error) {
	owners, err := d.owners()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint: cannot list the owners: %w", err)
	}
	for _, o := range owners {
		list = append(list, o.name)
	}
	slices.Sort(list)
	return list, nil
}

// owned lists what an owner keeps.
type owned struct {
	name  string
	roots []digest
	used  time.Time
}

// owners returns all owners with their trees.
func (d *Dir) owners() (list []owned, err error) {
	files, err := os.ReadDir(d.file(ownersName))
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		name, err := hex.DecodeString(f.Name())
		if err != nil {
			continue
		}
		info, err := f.Info()
		var data []byte
		if err == nil {
			data, err = os.ReadFile(d.file(ownersName, f.Name()))
		}
		if errors.Is(err, os.ErrNotExist) {
			continue // it was released
		}
		if err != nil {
			return nil, err
		}
		o := owned{name: string(name), used: info.ModTime()}
		for line := range strings.Lines(string(data)) {
			if root, ok := digestOf(env.Hash(strings.TrimSuffix(line, "\n"))); ok {
				o.roots = append(o.roots, root)
			}
		}
		list = append(list, o)
	}
	return list, nil
}
