package natsfleet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/nats-io/nats.go"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/journal"
)

// embedded returns the only space of an embedded fleet.
func embedded(t *testing.T) *space {
	t.Helper()
	e, err := OpenEmbedded(t.Context(), filepath.Join(t.TempDir(), "store"), fleet.Budget{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := e.Open(t.Context(), fleet.DefaultTenant); err != nil {
		t.Fatal(err)
	}
	return inside(e, fleet.DefaultTenant)
}

// randomBytes returns n bytes that are the same each time.
func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(b) // never fails
	return b
}

func readObject(t *testing.T, o fleet.Objects, name string) []byte {
	t.Helper()
	r, err := o.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestP5_ObjectsOfEverySize(t *testing.T) {
	t.Parallel()
	o := embedded(t).Objects
	for _, size := range []int{0, 1, maxInline, maxInline + 1, maxPiece - 1, maxPiece, maxPiece + 1,
		3*maxPiece + 7} {
		data := randomBytes(size)
		a, err := o.Put(t.Context(), "a/b", iotest.HalfReader(bytes.NewReader(data)))
		if err != nil || a.Size != int64(size) {
			t.Fatalf("%d: %+v, %v", size, a, err)
		}
		if !bytes.Equal(readObject(t, o, "a/b"), data) {
			t.Errorf("%d bytes come back otherwise", size)
		}
	}
	info, err := o.(*objects).stream.Info(t.Context())
	if err != nil || info.State.Msgs != 5 { // the last head and its four pieces
		t.Errorf("replaced objects left something: %d messages, %v", info.State.Msgs, err)
	}
	if err := o.Remove(t.Context(), "a/b", "never"); err != nil {
		t.Error(err)
	}
	if _, err := o.Open(t.Context(), "a/b"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a removed object: %v", err)
	}
	if info, err = o.(*objects).stream.Info(t.Context()); err != nil || info.State.Msgs != 0 {
		t.Errorf("a removed object left something: %d messages, %v", info.State.Msgs, err)
	}
}

func TestP5_ObjectsAreWholeOrAbsent(t *testing.T) {
	t.Parallel()
	o := embedded(t).Objects
	broken := io.MultiReader(bytes.NewReader(randomBytes(2*maxPiece)), iotest.ErrReader(errors.New("broken")))
	if _, err := o.Put(t.Context(), "x", broken); err == nil {
		t.Fatal("half an object was stored")
	}
	if _, err := o.Open(t.Context(), "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("half an object: %v", err)
	}
	if _, err := o.Put(t.Context(), "x", strings.NewReader("whole")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ending := io.MultiReader(bytes.NewReader(randomBytes(2*maxPiece)),
		readerFunc(func([]byte) (int, error) { cancel(); return 0, io.EOF }))
	if _, err := o.Put(ctx, "x", ending); !errors.Is(err, context.Canceled) {
		t.Errorf("a Put whose context ended: %v", err)
	}
	if got := readObject(t, o, "x"); string(got) != "whole" {
		t.Errorf("half an object replaced another: %d bytes", len(got))
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestP5_ObjectsListedByPrefix(t *testing.T) {
	t.Parallel()
	o := embedded(t).Objects
	names := []string{"tree/a/1", "tree/a/2", "tree/a.b/1", "tree/ab/1", "tree", "tree//x", "artifacts/ü/*",
		"artifacts/>", "artifacts/a b", "/", "x/"}
	for _, n := range names {
		if _, err := o.Put(t.Context(), n, strings.NewReader(n)); err != nil {
			t.Fatalf("%q: %v", n, err)
		}
	}
	slices.Sort(names)
	for _, prefix := range []string{"", "t", "tree", "tree/", "tree/a", "tree/a/", "tree/a/1", "artifacts/", "none/",
		"/", "x/", "*"} {
		var got, want []string
		for a, err := range o.List(t.Context(), prefix) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, a.Name)
		}
		for _, n := range names {
			if strings.HasPrefix(n, prefix) {
				want = append(want, n)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, not %q", prefix, got, want)
		}
	}
	for _, bad := range []string{"", strings.Repeat("x", 512+1), "a\x00", "a\xff", "a\nb"} {
		if _, err := o.Put(t.Context(), bad, strings.NewReader("")); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
		if _, err := o.Open(t.Context(), bad); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", bad, err)
		}
		if err := o.Remove(t.Context(), bad); err != nil {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := o.Put(t.Context(), strings.Repeat("x/", 512/2), strings.NewReader("")); err != nil {
		t.Errorf("a long name: %v", err)
	}
}

func TestP5_ObjectsOfOneTask(t *testing.T) {
	t.Parallel()
	o := embedded(t).Objects.(*objects)
	for _, n := range []string{"tree/a/1", "artifacts/a/x/y", "tree/b/a/1", "tree/a", "a/a", "a", "tree/a.b/1"} {
		if _, err := o.Put(t.Context(), n, strings.NewReader(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.RemoveTask(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	var names []string
	for a, err := range o.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, a.Name)
	}
	if want := []string{"a", "a/a", "tree/a", "tree/a.b/1", "tree/b/a/1"}; !slices.Equal(names, want) {
		t.Errorf("%q, not %q", names, want)
	}
}

func TestP5_ObjectsReplacedAtOnce(t *testing.T) {
	t.Parallel()
	o := embedded(t).Objects
	var g sync.WaitGroup
	for i := range 4 {
		g.Go(func() {
			if _, err := o.Put(t.Context(), "x",
				bytes.NewReader(bytes.Repeat([]byte{byte(i)}, maxPiece+1+i))); err != nil {
				t.Error(err)
			}
		})
	}
	g.Wait()
	got := readObject(t, o, "x") // fails unless its hash is right
	if n := len(got) - maxPiece - 1; n < 0 || got[0] != byte(n) {
		t.Errorf("%d bytes, the first %d", len(got), got[0])
	}
	info, err := o.(*objects).stream.Info(t.Context())
	if err != nil || info.State.Msgs != 3 {
		t.Errorf("%d messages are left, not a head and two pieces; %v", info.State.Msgs, err)
	}
}

func TestP5_DamagedObject(t *testing.T) {
	t.Parallel()
	s := embedded(t)
	o := s.Objects.(*objects)
	if _, err := o.Put(t.Context(), "x", bytes.NewReader(randomBytes(3*maxPiece))); err != nil {
		t.Fatal(err)
	}
	tokens, _ := nameTokens("x") // of a good name
	h, err := o.head(t.Context(), headPrefix+tokens)
	if err != nil {
		t.Fatal(err)
	}
	h.Pieces[0], h.Pieces[1] = h.Pieces[1], h.Pieces[0]
	r := o.open(t.Context(), h)
	defer r.Close()
	if n, err := io.Copy(io.Discard, r); !errors.Is(err, journal.ErrCorrupt) {
		t.Errorf("%d bytes of a damaged object: %v", n, err)
	}
	r2, err := o.Open(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Remove(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, r2); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an object that was removed while it was read: %v", err)
	}
}

// Pieces of a Put whose process died, which belong to no object, go with their task.
func TestP5_PiecesOfNoObject(t *testing.T) {
	t.Parallel()
	s := embedded(t)
	o := s.Objects.(*objects)
	data := randomBytes(2 * maxPiece)
	for _, name := range []string{"tree/a/kept", "tree/a", "tree/b/kept"} {
		if _, err := o.Put(t.Context(), name, bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"tree/a/kept", "tree/a/never"} {
		tokens, _ := nameTokens(name) // of a good name
		dead := &nats.Msg{Subject: dataPrefix + tokens + ".dead", Data: data[:10]}
		if _, err := s.account.publish(t.Context(), dead); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.RemoveTask(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	info, err := o.stream.Info(t.Context())
	if err != nil || info.State.Msgs != 6 { // two heads with their two pieces each
		t.Errorf("%d messages are left, %v", info.State.Msgs, err)
	}
	for _, name := range []string{"tree/a", "tree/b/kept"} {
		if !bytes.Equal(readObject(t, o, name), data) {
			t.Errorf("%s is not what it was", name)
		}
	}
}
