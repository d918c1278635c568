package checkpoint

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/attractor-go/attractor/env"
)

// FuzzO3_Store reads stores of arbitrary packs, indexes and owners. What it gives has the right
// hash, and a collection and another batch work, or say why not.
func FuzzO3_Store(f *testing.F) {
	pack, index, owner := seedStore(f)
	f.Add(pack, index, owner, []byte(`{"workspace":"/w","owner":"s","pid":1}`))
	f.Add(pack[:len(pack)/2], []byte(indexMagic), []byte(ownerLine+"\"s\n"+rootLine+"\n"), []byte("{"))
	f.Add([]byte{}, []byte{}, []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, pack, index, owner, used []byte) {
		path := t.TempDir()
		d := openDir(t, path, DirOptions{})
		stem := d.file(packsName, "P")
		for name, data := range map[string][]byte{
			stem + packExt: pack, stem + indexExt: resummed(index), d.ownerFile("s"): owner,
			d.file(usesName, "u"+useExt): used,
		} {
			if err := os.WriteFile(name, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		useAnyStore(t, d)
	})
}

// resummed gives an index file the right checksum, so that its entries are used.
func resummed(index []byte) []byte {
	index = bytes.Clone(index)
	if n := len(index) - 4; n > 0 {
		s := checksum(index[:n])
		copy(index[n:], []byte{byte(s), byte(s >> 8), byte(s >> 16), byte(s >> 24)})
	}
	return index
}

func seedStore(f *testing.F) (pack, index, owner []byte) {
	d := openDir(f, f.TempDir(), DirOptions{})
	keepTree(f, d, "s", "one", "two", string(bytes.Repeat([]byte("three"), 5000)))
	for _, p := range d.packs {
		if err := p.writeIndex(); err != nil {
			f.Fatal(err)
		}
		pack, index = mustRead(f, p.path), mustRead(f, p.indexPath())
	}
	return pack, index, mustRead(f, d.ownerFile("s"))
}

func mustRead(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func useAnyStore(t *testing.T, d *Dir) {
	t.Helper()
	if err := d.refresh(); err != nil {
		t.Fatal(err)
	}
	var known []env.Hash
	for _, p := range d.packs {
		for i := range len(p.table) / indexEntry {
			known = append(known, p.at(i).object.hash())
		}
		for object := range p.tail {
			known = append(known, object.hash())
		}
	}
	for _, h := range known {
		r, err := d.Open(t.Context(), h)
		if err != nil {
			continue
		}
		data, err := io.ReadAll(io.LimitReader(r, 16<<20))
		if err == nil && len(data) < 16<<20 && env.HashOf(data) != h {
			t.Errorf("object %s has another content", h)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	kept := keepTree(t, d, "t", "kept")
	collect(t, d)
	if !all(has(t, d, kept...), true) {
		t.Error("an object that was kept is gone")
	}
	packs, err := filepath.Glob(d.file(packsName, "*"))
	if err != nil || len(packs) == 0 {
		t.Errorf("packs %v, %v", packs, err)
	}
}
