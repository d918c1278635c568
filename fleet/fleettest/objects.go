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
	"sync"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/fleet"
)

var objectChecks = []check{
	{name: "P5_Objects", run: objects},
	{name: "P5_ObjectNames", run: objectNames},
	{name: "P5_ObjectList", run: objectList},
	{name: "P5_ObjectsAreWhole", run: objectsAreWhole},
	{name: "P5_ObjectsReplacedAtOnce", run: objectsReplacedAtOnce},
	{name: "P5_LargeObject", run: largeObject},
}

// artifact describes data under a name.
func artifact(name string, data []byte) fleet.Artifact {
	sum := sha256.Sum256(data)
	return fleet.Artifact{Name: name, Size: int64(len(data)), Hash: hex.EncodeToString(sum[:])}
}

// put stores an object and checks what is said about it.
func (t *tester) put(s fleet.Space, name, data string) {
	t.Helper()
	got, err := s.Objects().Put(t.ctx, name, strings.NewReader(data))
	t.ok(err)
	if want := artifact(name, []byte(data)); got != want {
		t.Errorf("Put = %+v, want %+v", got, want)
	}
}

// object reads an object.
func object(ctx context.Context, s fleet.Space, name string) ([]byte, error) {
	r, err := s.Objects().Open(ctx, name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	return data, errors.Join(err, r.Close())
}

// holds checks what an object holds.
func (t *tester) holds(s fleet.Space, name, want string) {
	t.Helper()
	if got, err := object(t.ctx, s, name); err != nil || string(got) != want {
		t.Errorf("object %.100q has %.100q, %v; want %.100q", name, got, err, want)
	}
}

func objects(t *tester) {
	a, b := t.own(), t.own()
	_, err := a.Objects().Open(t.ctx, "none")
	t.is(err, fs.ErrNotExist, "Open of no object")
	t.put(a, "x", "one")
	t.holds(b, "x", "one")
	t.put(b, "x", "number two")
	t.holds(a, "x", "number two")
	t.put(a, "empty", "")
	t.holds(b, "empty", "")
	t.put(a, "bytes", "\x00\xff\n")
	t.holds(b, "bytes", "\x00\xff\n")
	t.ok(b.Objects().Remove(t.ctx, "x", "none", "empty"))
	for _, name := range []string{"x", "empty"} {
		_, err := a.Objects().Open(t.ctx, name)
		t.is(err, fs.ErrNotExist, "Open of a removed object")
	}
	t.put(a, "x", "again")
	t.holds(b, "x", "again")
	ended, end := context.WithCancel(t.ctx)
	end()
	_, err = a.Objects().Put(ended, "late", strings.NewReader("x"))
	t.refused(err, "Put after the end of its context")
}

func objectNames(t *tester) {
	s := t.own()
	names := []string{"a", "A", "a.b", "a/b", "a/b/../c", "../x", "/", "*", ">", "a.*", " ", "a b ", "ü/日本", "$x", "-x",
		`\`, `"`, "%2F", strings.Repeat("x", 512), "artifacts/t/" + strings.Repeat("ü", 200)}
	for _, name := range names {
		t.put(s, name, "of "+name)
	}
	for _, name := range names {
		t.holds(s, name, "of "+name)
	}
	var got []string
	for _, a := range all(t, s.Objects().List(t.ctx, "")) {
		got = append(got, a.Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff(names, got); diff != "" {
		t.Errorf("the names in order: %s", diff)
	}
	for _, name := range []string{"", "a\nb", "a\x00", "\xff", strings.Repeat("x", 5000)} {
		_, err := s.Objects().Put(t.ctx, name, strings.NewReader("x"))
		t.is(err, fs.ErrInvalid, fmt.Sprintf("Put of %.20q", name))
		_, err = s.Objects().Open(t.ctx, name)
		if !errors.Is(err, fs.ErrInvalid) && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Open of %.20q = %v", name, err)
		}
	}
}

func objectList(t *tester) {
	s := t.own()
	for _, name := range []string{"b/2", "a", "b", "b/1", "b.x", "b/1/x", "c"} {
		t.put(s, name, name)
	}
	for prefix, want := range map[string][]string{
		"b/":   {"b/1", "b/1/x", "b/2"},
		"b":    {"b", "b.x", "b/1", "b/1/x", "b/2"},
		"b/1":  {"b/1", "b/1/x"},
		"none": nil, "*": nil, ">": nil,
	} {
		var names []string
		for _, o := range all(t, s.Objects().List(t.ctx, prefix)) {
			names = append(names, o.Name)
			if o != artifact(o.Name, []byte(o.Name)) {
				t.Errorf("listed as %+v", o)
			}
		}
		if !slices.Equal(names, want) {
			t.Errorf("List of %q = %q, want %q", prefix, names, want)
		}
	}
}

// objectsAreWhole checks that a Put that breaks off changes nothing.
func objectsAreWhole(t *tester) {
	s := t.own()
	t.put(s, "old", "old")
	broken := errors.New("the disk is gone")
	for _, name := range []string{"old", "new"} {
		half := bytes.NewReader(bytes.Repeat([]byte("half"), 100_000))
		_, err := s.Objects().Put(t.ctx, name, io.MultiReader(half, iotest.ErrReader(broken)))
		t.is(err, broken, "Put of what cannot be read")
		ctx, cancel := context.WithCancel(t.ctx)
		_, err = s.Objects().Put(ctx, name, io.MultiReader(bytes.NewReader([]byte("half")), canceling(cancel),
			bytes.NewReader([]byte("rest"))))
		t.refused(err, "Put whose context ends on the way")
	}
	t.holds(s, "old", "old")
	_, err := s.Objects().Open(t.ctx, "new")
	t.is(err, fs.ErrNotExist, "Open of an object that was never whole")
	if list := all(t, s.Objects().List(t.ctx, "")); len(list) != 1 {
		t.Errorf("there are the objects %+v, want one", list)
	}
}

// canceling is a reader that has nothing and ends a context.
func canceling(cancel context.CancelFunc) io.Reader {
	return readerFunc(func([]byte) (int, error) { cancel(); return 0, io.EOF })
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// objectsReplacedAtOnce checks that a reader gets one of the contents, or an error.
func objectsReplacedAtOnce(t *tester) {
	a, b := t.own(), t.own()
	contents := map[string]bool{}
	var texts []string
	for i := range 4 {
		text := strings.Repeat(fmt.Sprint(i), 300_000+i)
		texts = append(texts, text)
		contents[text] = true
	}
	t.put(a, "x", texts[0])
	var writers sync.WaitGroup
	for i := range 2 {
		writers.Go(func() {
			for n := range 6 {
				t.put([]fleet.Space{a, b}[i], "x", texts[(n+i)%4])
			}
		})
	}
	read := 0
	for range 12 {
		r, err := b.Objects().Open(t.ctx, "x")
		t.ok(err)
		data, err := io.ReadAll(r) // it may fail because of a replacement
		if err == nil && !contents[string(data)] {
			t.Errorf("a reader gets %d bytes that nobody has put", len(data))
		}
		if err == nil {
			read++
		}
		t.ok(r.Close())
	}
	writers.Wait()
	data, err := object(t.ctx, a, "x")
	if err != nil || !contents[string(data)] {
		t.Errorf("afterwards there are %d bytes, %v", len(data), err)
	}
	t.Logf("%d of 12 reads between replacements were complete", read)
}

func largeObject(t *tester) {
	a, b := t.own(), t.own()
	data := make([]byte, 20<<20)
	source := rand.NewChaCha8([32]byte{1})
	_, err := source.Read(data)
	t.ok(err)
	got, err := a.Objects().Put(t.ctx, "large", bytes.NewReader(data))
	t.ok(err)
	if got != artifact("large", data) {
		t.Errorf("Put = %+v", got)
	}
	if back, err := object(t.ctx, b, "large"); err != nil || !bytes.Equal(back, data) {
		t.Errorf("read back: %d bytes, %v", len(back), err)
	}
	r, err := b.Objects().Open(t.ctx, "large")
	t.ok(err)
	_, err = io.ReadFull(r, make([]byte, 1000))
	t.ok(err)
	t.ok(r.Close()) // before the end
}
