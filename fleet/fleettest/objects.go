package fleettest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/fleet"
)

var objectChecks = []check{
	{name: "P5_Objects", run: objects},
	{name: "P5_ObjectNames", run: objectNames},
	{name: "P5_ObjectsAreWhole", run: objectsAreWhole},
	{name: "P5_ObjectsReplacedAtOnce", run: objectsReplacedAtOnce},
}

// artifact describes data under a name.
func artifact(name string, data []byte) fleet.Artifact {
	sum := sha256.Sum256(data)
	return fleet.Artifact{Name: name, Size: int64(len(data)), Hash: hex.EncodeToString(sum[:])}
}

// put stores an object and checks what is said about it.
func (t *tester) put(s *fleet.Space, name, data string) {
	t.Helper()
	got, err := s.Objects.Put(t.ctx, name, strings.NewReader(data))
	if want := artifact(name, []byte(data)); err != nil || got != want {
		t.Errorf("Put = %+v, %v, want %+v", got, err, want)
	}
}

// object reads an object.
func object(ctx context.Context, s *fleet.Space, name string) ([]byte, error) {
	r, err := s.Objects.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	return data, errors.Join(err, r.Close())
}

// holds checks what an object holds.
func (t *tester) holds(s *fleet.Space, name, want string) {
	t.Helper()
	if got, err := object(t.ctx, s, name); err != nil || string(got) != want {
		t.Errorf("object %.100q has %.100q, %v; want %.100q", name, got, err, want)
	}
}

// names returns the names of the objects that begin with prefix. It checks what the list says about
// them: each has its own name as content.
func (t *tester) names(s *fleet.Space, prefix string) (names []string) {
	t.Helper()
	for _, o := range all(t, s.Objects.List(t.ctx, prefix)) {
		if o != artifact(o.Name, []byte(o.Name)) {
			t.Errorf("listed as %+v", o)
		}
		names = append(names, o.Name)
	}
	return names
}

// objects checks that what one machine stores is on another one, until it is replaced or removed.
func objects(t *tester) {
	a, b := t.own(), t.own()
	large := make([]byte, 20<<20)
	source := rand.NewChaCha8([32]byte{1})
	_, err := source.Read(large)
	t.ok(err)
	for _, data := range []string{"one", "", "\x00\xff\n", string(large), "two"} {
		t.put(a, "x", data)
		t.holds(b, "x", data)
	}
	t.put(b, "y", "y")
	t.ok(b.Objects.Remove(t.ctx, "x", "none", "y"))
	for _, name := range []string{"x", "y", "none"} {
		_, err := a.Objects.Open(t.ctx, name)
		t.is(err, fs.ErrNotExist, "Open of "+name)
	}
	t.put(a, "x", "again")
	t.holds(b, "x", "again")
}

// objectNames checks that any text names an object, and that names are listed in order.
func objectNames(t *tester) {
	s := t.own()
	names := []string{"a", "A", "a.b", "a/b", "a/b/../c", "../x", "/", "*", ">", "a.*", " ", "a b ", "ü/日本", "$x", "-x",
		`\`, `"`, "%2F", "b/2", "b", "b/1", "b/1/x", strings.Repeat("x", 512),
		"artifacts/t/" + strings.Repeat("ü", 200)}
	for _, name := range names {
		t.put(s, name, name)
	}
	for _, name := range names {
		t.holds(s, name, name)
	}
	slices.Sort(names)
	for _, prefix := range []string{"", "b/", "b", "b/1", "a", "none", "*", ">"} {
		want := slices.DeleteFunc(slices.Clone(names),
			func(name string) bool { return !strings.HasPrefix(name, prefix) })
		if diff := cmp.Diff(want, append([]string{}, t.names(s, prefix)...)); diff != "" {
			t.Errorf("List of %q: %s", prefix, diff)
		}
	}
	for _, name := range []string{"", "a\nb", "a\x00", "\xff", strings.Repeat("x", 5000)} {
		_, err := s.Objects.Put(t.ctx, name, strings.NewReader("x"))
		t.is(err, fs.ErrInvalid, fmt.Sprintf("Put of %.20q", name))
		_, err = s.Objects.Open(t.ctx, name)
		if !errors.Is(err, fs.ErrInvalid) && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Open of %.20q = %v", name, err)
		}
	}
}

// objectsAreWhole checks that a Put that breaks off changes nothing.
func objectsAreWhole(t *tester) {
	s := t.own()
	t.put(s, "old", "old")
	half := strings.Repeat("half", 100_000)
	for _, name := range []string{"old", "new"} {
		broken := errors.New("the disk is gone")
		_, err := s.Objects.Put(t.ctx, name, io.MultiReader(strings.NewReader(half), iotest.ErrReader(broken)))
		t.is(err, broken, "Put of what cannot be read")
		ctx, cancel := context.WithCancel(t.ctx)
		_, err = s.Objects.Put(ctx, name, io.MultiReader(strings.NewReader(half), canceling(cancel)))
		t.refused(err, "Put whose context ends on the way")
	}
	t.holds(s, "old", "old")
	if got := t.names(s, ""); !slices.Equal(got, []string{"old"}) {
		t.Errorf("there are the objects %q, want one", got)
	}
}

// canceling is a reader that has nothing and ends a context.
type canceling context.CancelFunc

func (cancel canceling) Read([]byte) (int, error) { cancel(); return 0, io.EOF }

// objectsReplacedAtOnce checks that a reader gets one of the contents, or an error.
func objectsReplacedAtOnce(t *tester) {
	spaces := []*fleet.Space{t.own(), t.own()}
	content := func(n int) string { return strings.Repeat(fmt.Sprint(n%4), 300_000+n%4) }
	check := func(data []byte) {
		t.Helper()
		n := len(data) - 300_000
		if n < 0 || n > 3 || !bytes.Equal(data, []byte(content(n))) {
			t.Errorf("a reader gets %d bytes that nobody has put", len(data))
		}
	}
	t.put(spaces[0], "x", content(0))
	t.in(3, func(i int) {
		for n := range 6 {
			if i < 2 {
				t.put(spaces[i], "x", content(n+i))
			} else if data, err := object(t.ctx, spaces[1], "x"); err == nil { // it may fail because of a replacement
				check(data)
			}
		}
	})
	data, err := object(t.ctx, spaces[0], "x")
	t.ok(err)
	check(data)
}
