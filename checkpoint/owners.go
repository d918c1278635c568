package checkpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/atomicfile"
	"github.com/attractor-go/attractor/internal/filelock"
)

// The trees of an owner are in a file: a line with the owner's name, and one for each root. An
// incomplete line at the end does not count.

const (
	ownerLine = "owner "
	rootLine  = "root "
	maxOwner  = 1024 // bytes of a name
)

func (d *Dir) ownerFile(owner string) string {
	sum := sha256.Sum256([]byte(owner))
	return d.file(ownersName, hex.EncodeToString(sum[:]))
}

// keep makes it durable that an owner keeps a tree.
func (d *Dir) keep(ctx context.Context, owner string, root digest) (err error) {
	if owner == "" || len(owner) > maxOwner {
		return fmt.Errorf("checkpoint: the owner's name has %d bytes; it may have 1 to %d", len(owner), maxOwner)
	}
	file, err := hold(ctx, d.ownerFile(owner), filelock.Exclusive, lockWait)
	if err != nil {
		return fmt.Errorf("checkpoint: cannot lock the owner %s: %w", owner, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	data, err := io.ReadAll(file)
	if err != nil {
		return fmt.Errorf("checkpoint: cannot read the trees of %s: %w", owner, err)
	}
	kept := parseOwner(data)
	if slices.Contains(kept.roots, root) && kept.name == owner {
		now := time.Now()
		return os.Chtimes(file.Name(), now, now)
	}
	end := bytes.LastIndexByte(data, '\n') + 1
	var lines []byte
	if end == 0 {
		lines = fmt.Appendf(lines, "%s%s\n", ownerLine, strconv.Quote(owner))
	}
	lines = fmt.Appendf(lines, "%s%s\n", rootLine, root.hash())
	if err := d.extend(file, int64(end), lines); err != nil {
		return fmt.Errorf("checkpoint: cannot keep a tree for %s: %w", owner, err)
	}
	return nil
}

// extend writes lines at the end of the last complete one, and makes them durable.
func (d *Dir) extend(file heldFile, end int64, lines []byte) error {
	err := file.Truncate(end)
	if err == nil {
		_, err = file.WriteAt(lines, end)
	}
	if err == nil {
		err = file.Sync()
	}
	if err == nil && end == 0 {
		err = atomicfile.SyncDir(d.file(ownersName))
	}
	if err != nil {
		return errors.Join(err, file.Truncate(end))
	}
	return nil
}

// owned is the content of an owner's file.
type owned struct {
	name  string
	roots []digest
	path  string
	used  time.Time
}

func parseOwner(data []byte) (o owned) {
	for line := range bytes.Lines(data) {
		text, complete := strings.CutSuffix(string(line), "\n")
		if !complete {
			break
		}
		if quoted, ok := strings.CutPrefix(text, ownerLine); ok {
			if name, err := strconv.Unquote(quoted); err == nil {
				o.name = name
			}
			continue
		}
		root, ok := strings.CutPrefix(text, rootLine)
		if object, valid := digestOf(env.Hash(root)); ok && valid {
			o.roots = append(o.roots, object)
		}
	}
	return o
}

// Release implements Store. [Dir.Collect] gives the room back.
func (d *Dir) Release(ctx context.Context, owners ...string) error {
	var errs []error
	for _, owner := range owners {
		if err := ctx.Err(); err != nil {
			return errors.Join(append(errs, err)...)
		}
		if err := ignore(os.Remove(d.ownerFile(owner)), os.ErrNotExist); err != nil {
			errs = append(errs, fmt.Errorf("checkpoint: cannot release %s: %w", owner, err))
		}
	}
	return errors.Join(errs...)
}

// Owners returns the names of all owners, sorted.
func (d *Dir) Owners(ctx context.Context) ([]string, error) {
	owners, err := d.owners()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint: cannot list the owners: %w", err)
	}
	var list []string
	for _, o := range owners {
		if o.name != "" {
			list = append(list, o.name)
		}
	}
	slices.Sort(list)
	return list, nil
}

// owners returns all owners with their trees.
func (d *Dir) owners() ([]owned, error) {
	entries, err := os.ReadDir(d.file(ownersName))
	if err != nil {
		return nil, err
	}
	var list []owned
	for _, e := range entries {
		o, err := readOwner(d.file(ownersName, e.Name()))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, nil
}

func readOwner(path string) (o owned, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return o, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return o, err
	}
	o = parseOwner(data)
	o.path, o.used = path, info.ModTime()
	return o, nil
}
