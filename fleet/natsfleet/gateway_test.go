package natsfleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/memfleet"
	"github.com/attractor-go/attractor/journal"
)

// gatewayPair returns a space in memory, and the same space as a client has it, through a server.
func gatewayPair(t *testing.T) (there, here *fleet.Space, s *Server) {
	t.Helper()
	m := memfleet.New(memfleet.Options{Tenants: []fleet.Tenant{{Name: "a", MaxQueued: 100}}})
	there, err := m.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	s = serve(t, testConfig(t))
	s.gateways["a"].close()
	to := inProcess(s.server)
	to.inbox = gatewayInbox
	nc, err := to.connect(t.Context(), gatewayUser("a"), gatewayPassword(s.token, "a"))
	if err != nil {
		t.Fatal(err)
	}
	if s.gateways["a"], err = openGateway(t.Context(), nc, there); err != nil {
		t.Fatal(err)
	}
	here, end, err := OpenTenant(t.Context(), s.URL(), "a", OpenOptions{Token: string(tenantToken("a"))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	return there, here, s
}

// collect returns what an iterator yields, and its error.
func collect[T any](items func(func(T, error) bool)) (all []T, err error) {
	for v, err := range items {
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
	return all, nil
}

func TestP9_ClientsTasks(t *testing.T) {
	t.Parallel()
	_, here, _ := gatewayPair(t)
	tasks := here.Tasks
	task := fleet.Task{ID: "t1", Prompt: "<do> it", Labels: map[string]string{"k": "v"}}
	s, isNew, err := tasks.Submit(t.Context(), task)
	if err != nil || !isNew || s.State != fleet.Queued || s.Tenant != "a" {
		t.Errorf("submitted: %+v, %v, %v", s, isNew, err)
	}
	if _, isNew, err = tasks.Submit(t.Context(), task); err != nil || isNew {
		t.Errorf("again: %v, %v", isNew, err)
	}
	if _, _, err = tasks.Submit(t.Context(), fleet.Task{ID: "t1", Prompt: "else"}); !errors.Is(err,
		fleet.ErrDifferent) {
		t.Errorf("another task: %v", err)
	}
	if _, _, err = tasks.Submit(t.Context(), fleet.Task{ID: "t2", Tenant: "b", Prompt: "else"}); !errors.Is(err,
		fs.ErrInvalid) {
		t.Errorf("another tenant's task: %v", err)
	}
	if got, _, err := tasks.Get(t.Context(), "t1"); err != nil || got.Prompt != task.Prompt {
		t.Errorf("%+v, %v", got, err)
	}
	if _, _, err := tasks.Get(t.Context(), "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no task: %v", err)
	}
	var states []fleet.State
	for s, err := range tasks.Watch(t.Context(), "t1") {
		if err != nil {
			t.Fatal(err)
		}
		if states = append(states, s.State); s.State.Final() {
			break
		}
		if err := tasks.Cancel(t.Context(), "t1"); err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(states) != "[queued canceled]" {
		t.Errorf("watched: %v", states)
	}
	for i := range 99 {
		if _, _, err := tasks.Submit(t.Context(), fleet.Task{ID: fmt.Sprint("more", i), Prompt: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := collect(tasks.List(t.Context())); err != nil || len(all) != 100 {
		t.Errorf("listed: %d, %v", len(all), err)
	}
	_, _, err = tasks.Submit(t.Context(), fleet.Task{ID: "last", Prompt: "x"})
	for i := 0; err == nil && i < 3; i++ {
		_, _, err = tasks.Submit(t.Context(), fleet.Task{ID: fmt.Sprint("last", i), Prompt: "x"})
	}
	if limit := (*fleet.LimitError)(nil); !errors.As(err, &limit) || limit.Tenant != "a" {
		t.Errorf("too many: %v", err)
	}
	if err := tasks.Remove(t.Context(), "t1"); err != nil {
		t.Error(err)
	}
	if err := tasks.Remove(t.Context(), "more1"); err == nil {
		t.Error("a task that is not final was removed")
	}
}

func TestP9_ClientsJournals(t *testing.T) {
	t.Parallel()
	there, here, _ := gatewayPair(t)
	log, err := there.Journals.Create(t.Context(), "s.1")
	if err != nil {
		t.Fatal(err)
	}
	add := func(n int64, data string) {
		if err := log.Append(t.Context(), n, journal.Record{Kind: "k", Data: json.RawMessage(data)}); err != nil {
			t.Fatal(err)
		}
	}
	add(1, `{"a":"<1>"}`)
	add(2, `"`+strings.Repeat("x", 3*pieceSize)+`"`)
	blob := randomBytes(5*pieceSize + 1)
	hash, err := log.PutBlob(t.Context(), bytes.NewReader(blob))
	if err != nil {
		t.Fatal(err)
	}
	r, err := here.Journals.Read(t.Context(), "s.1")
	if err != nil || r.Len() != 2 {
		t.Fatal(r, err)
	}
	add(3, "3")
	all, err := collect(r.Records(t.Context(), 1))
	if err != nil || len(all) != 2 || string(all[0].Data) != `{"a":"<1>"}` || len(all[1].Data) != 3*pieceSize+2 {
		t.Errorf("%d records, %v", len(all), err)
	}
	b, err := r.Blob(t.Context(), hash)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(b); err != nil || !bytes.Equal(got, blob) {
		t.Errorf("a blob of %d bytes, %v", len(got), err)
	}
	if _, err := r.Blob(t.Context(), strings.Repeat("0", 64)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no blob: %v", err)
	}
	if err := errors.Join(b.Close(), r.Close()); err != nil {
		t.Error(err)
	}
	if list, err := here.Journals.List(t.Context()); err != nil || len(list) != 1 || list[0].ID != "s.1" {
		t.Errorf("%v, %v", list, err)
	}
	var got []int64
	for rec, err := range here.Journals.Follow(t.Context(), "s.1", 2) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, rec.N); rec.N == 3 {
			add(4, "4")
		}
		if rec.N == 4 {
			break
		}
	}
	if fmt.Sprint(got) != "[2 3 4]" {
		t.Errorf("followed: %v", got)
	}
	if _, err := here.Journals.Read(t.Context(), "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no journal: %v", err)
	}
}

func TestP9_ClientsObjectsBusAndAsks(t *testing.T) {
	t.Parallel()
	there, here, _ := gatewayPair(t)
	data := randomBytes(35*pieceSize + 1) // more than fits into a few pages
	if _, err := there.Objects.Put(t.Context(), "artifacts/t/x", bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(readObject(t, here.Objects, "artifacts/t/x"), data) {
		t.Error("an object is not what it was")
	}
	if all, err := collect(here.Objects.List(t.Context(), "artifacts/")); err != nil || len(all) != 1 ||
		all[0].Size != int64(len(data)) {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := here.Objects.Open(t.Context(), "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no object: %v", err)
	}

	if _, err := here.Bus.Request(t.Context(), "t", []byte("?")); !errors.Is(err, fleet.ErrNoOwner) {
		t.Errorf("no owner: %v", err)
	}
	stop, err := there.Bus.Serve(t.Context(), "t", func(_ context.Context, q []byte) []byte { return append(q, '!') })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if got, err := here.Bus.Request(t.Context(), "t", []byte("\x00?")); err != nil || string(got) != "\x00?!" {
		t.Errorf("%q, %v", got, err)
	}
	var heard []string
	for m, err := range here.Bus.Listen(t.Context(), "t") {
		if err != nil {
			t.Fatal(err)
		}
		if heard = append(heard, string(m)); m == nil {
			for _, m := range []string{"1", "", "2"} {
				if err := there.Bus.Publish(t.Context(), "t", []byte(m)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if string(m) == "2" {
			break
		}
	}
	if !slices.Equal(heard, []string{"", "1", "", "2"}) {
		t.Errorf("heard %q", heard)
	}

	ask := fleet.Ask{Task: "t", ID: "c1", Kind: fleet.AskQuestion, Text: "Why?", At: time.Unix(1, 0).UTC()}
	if err := there.Asks.Put(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
	if all, err := collect(here.Asks.Open(t.Context(), "")); err != nil || len(all) != 1 || all[0].Text != "Why?" {
		t.Errorf("%v, %v", all, err)
	}
	answer := fleet.Answer{Text: "So."}
	if err := here.Asks.Answer(t.Context(), "t", "c1", answer); err != nil {
		t.Error(err)
	}
	if err := here.Asks.Answer(t.Context(), "t", "c1", fleet.Answer{Text: "No."}); !errors.Is(err,
		fleet.ErrAnswered) {
		t.Errorf("a second answer: %v", err)
	}
	if got, err := here.Asks.Wait(t.Context(), "t", "c1"); err != nil || got.Text != "So." {
		t.Errorf("%v, %v", got, err)
	}
}

// What only workers do is refused here, before the server would refuse it.
func TestP9_ClientsMayNot(t *testing.T) {
	t.Parallel()
	s := remote{}.space()
	_, claim := s.Tasks.Claim(t.Context(), "w", time.Second)
	_, create := s.Journals.Create(t.Context(), "x")
	_, open := s.Journals.Open(t.Context(), "x")
	_, fork := s.Journals.Fork(t.Context(), "x", "y", 1, nil)
	_, put := s.Objects.Put(t.Context(), "x", nil)
	_, own := s.Bus.Serve(t.Context(), "x", nil)
	for i, err := range []error{
		claim, create, open, fork, put, own, s.Journals.Remove(t.Context(), "x"), s.Objects.Remove(t.Context(),
			"x"),
		s.Bus.Publish(t.Context(), "x", nil), s.Asks.Put(t.Context(), fleet.Ask{}),
		s.Asks.Remove(t.Context(), "x"),
	} {
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// Those who watch go on after the gateway that they watched through has ended, and miss nothing.
func TestP9_WatchersOutliveAGateway(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("", func(t *testing.T) {
		there, here, s := gatewayPair(t)
		log, err := there.Journals.Create(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		add := func(n int64) {
			if err := log.Append(t.Context(), n, journal.Record{Kind: "k"}); err != nil {
				t.Fatal(err)
			}
		}
		add(1)
		var once sync.Once
		next := int64(1)
		for rec, err := range here.Journals.Follow(t.Context(), "s", 1) {
			if err != nil {
				t.Fatal(err)
			}
			if rec.N != next {
				t.Fatalf("record %d, not %d", rec.N, next)
			}
			if next++; next > 3 {
				break
			}
			once.Do(func() {
				s.gateways["a"].close()
				to := inProcess(s.server)
				to.inbox = gatewayInbox
				nc, err := to.connect(t.Context(), gatewayUser("a"), gatewayPassword(s.token, "a"))
				if err != nil {
					t.Fatal(err)
				}
				if s.gateways["a"], err = openGateway(t.Context(), nc, there); err != nil {
					t.Fatal(err)
				}
			})
			add(next)
		}
	})
}

func TestP3_LongErrorsAreCut(t *testing.T) {
	w := encodeError(fmt.Errorf("%s: %w", strings.Repeat("ü", 1<<20), fs.ErrInvalid))
	if len(w.Text) > maxErrorText+10 || !utf8.ValidString(w.Text) || !errors.Is(w.decode(), fs.ErrInvalid) {
		t.Errorf("%d bytes, %q", len(w.Text), w.Code)
	}
}
