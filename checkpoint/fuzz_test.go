package checkpoint

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"testing"

	"github.com/attractor-go/attractor/env"
)

// FuzzO3_Store reads stores of arbitrary packs and owners. What it gives has the right hash, and a
// collection and another batch work, or say why not.
func FuzzO3_Store(f *testing.F) {
	pack, owner := seedStore(f)
	f.Add(pack, owner, []byte(`{"Workspace":"/w","Owner":"s","PID":1}`))
	f.Add(pack[len(pack)/2:], []byte("\nabc"), []byte("{"))
	f.Add([]byte{}, []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, pack, owner, used []byte) {
		path := t.TempDir()
		d := openDir(t, path, DirOptions{})
		for name, data := range map[string][]byte{
			d.file(packsName, "P"+packExt): resummed(pack), d.ownerFile("s"): owner,
			d.file(usesName, "u"+useExt): used,
		} {
			if err := os.WriteFile(name, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		useAnyStore(t, d)
	})
}

// resummed gives a pack the right checksum of its table, so that its entries are used.
func resummed(pack []byte) []byte {
	pack = bytes.Clone(pack)
	end := len(pack) - trailerSize
	if end < 0 {
		return pack
	}
	n := min(binary.LittleEndian.Uint64(pack[end:]), uint64(end/entrySize))
	binary.LittleEndian.PutUint32(pack[end+8:], checksum(pack[end-int(n)*entrySize:end]))
	return pack
}

func seedStore(f *testing.F) (pack, owner []byte) {
	d := openDir(f, f.TempDir(), DirOptions{})
	keepTree(f, d, "s", "one", "two", string(bytes.Repeat([]byte("three"), 5000)))
	return mustRead(f, d.packsOf(f)[0]), mustRead(f, d.ownerFile("s"))
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
		for _, f := range p.objects {
			known = append(known, f.object.hash())
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
	if len(d.packsOf(t)) == 0 {
		t.Error("there are no packs")
	}
}
