package fleettest

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/journal"
)

// twoTenants is a fleet of two tenants, whose limits are not the same.
var twoTenants = Options{Tenants: []fleet.Tenant{
	{Name: "acme", Weight: 3, Limit: 5, MaxQueued: 100, Budget: fleet.Budget{Tokens: 1000, USD: 2.5}},
	{Name: "evil", Limit: 1},
}}

var tenantChecks = []check{
	{name: "P9_Tenants", run: tenants, options: twoTenants},
	{name: "P9_TenantsSeeTheirOwn", run: tenantsSeeTheirOwn, options: twoTenants},
	{name: "P9_HostileTenant", run: hostileTenant, options: twoTenants},
	{name: "P2_Close", run: closes},
}

func tenants(t *tester) {
	e := t.engine()
	got, err := e.Tenants(t.ctx)
	t.ok(err)
	if diff := cmp.Diff(twoTenants.Tenants, got); diff != "" {
		t.Errorf("the tenants: %s", diff)
	}
	for _, name := range []string{"none", "", "ACME", "*", ">", "../acme", "acme.evil", fleet.DefaultTenant} {
		_, err := e.Open(t.ctx, name)
		t.is(err, fs.ErrNotExist, fmt.Sprintf("Open of %q", name))
	}
}

// tenantsSeeTheirOwn gives two tenants things of the same names and different contents. One at its
// limit does not hold up the other.
func tenantsSeeTheirOwn(t *tester) {
	e := t.engine()
	spaces := map[string]*fleet.Space{}
	for _, name := range []string{"acme", "evil"} {
		s, err := e.Open(t.ctx, name)
		t.ok(err)
		spaces[name] = s
		for _, id := range []string{"t", "more"} {
			_, isNew, err := s.Tasks.Submit(t.ctx, fleet.Task{ID: id, Prompt: "of " + name})
			t.ok(err)
			if !isNew {
				t.Errorf("%s: the task of another tenant is in the way", name)
			}
		}
		t.appended(s, "t", name)
		t.put(s, "artifacts/t/patch", "of "+name)
		t.ask(s, "t", name, time.Now())
		defer t.serve(s, "t", func(string) string { return name })()
	}
	t.claim(spaces["evil"], "w")
	t.nothingDue(spaces["evil"])
	for range 2 {
		if c := t.claim(spaces["acme"], "w"); c.Task().Prompt != "of acme" || c.Status().Tenant != "acme" {
			t.Errorf("acme: claimed %+v", c.Task())
		}
	}
	for name, s := range spaces {
		if got := t.kinds(s, "t"); got != name {
			t.Errorf("%s: the journal has %q", name, got)
		}
		t.holds(s, "artifacts/t/patch", "of "+name)
		if got := t.openIDs(s, ""); !slices.Equal(got, []string{"t:" + name}) {
			t.Errorf("%s: the asks are %q", name, got)
		}
		if got := t.request(s, "t", ""); got != name {
			t.Errorf("%s: a request is answered by %q", name, got)
		}
		if got := all(t, s.Tasks.List(t.ctx)); len(got) != 2 {
			t.Errorf("%s: lists %+v", name, got)
		}
	}
}

// hostileTenant lets a tenant guess all names of another one. It gets nothing and changes nothing.
func hostileTenant(t *tester) {
	acme, evil := t.space("acme"), t.space("evil")
	t.submit(acme, "t")
	c := t.claim(acme, "w")
	log := t.appended(acme, "t", "secret")
	hash, err := log.PutBlob(t.ctx, strings.NewReader("a secret"))
	t.ok(err)
	t.put(acme, "artifacts/t/patch", "a secret")
	t.ask(acme, "t", "call_1", time.Now())
	defer t.serve(acme, "t", func(string) string { return "a secret" })()
	heard := t.listen(acme, "")

	ids := append([]string{"t", "acme.t", "acme/t", "../acme/t", "../../acme/t", "acme>t", "acme", "t.*", "*.t"},
		hostileIDs...)
	guessing, stopGuessing := context.WithCancel(t.ctx)
	defer stopGuessing()
	every := t.listen(evil, "")
	t.appended(evil, "own", "own")
	for _, id := range ids {
		t.guess(guessing, evil, id, hash)
	}
	if _, err := t.blob(evil, "own", hash); err == nil {
		t.Error("a tenant reads a blob of another one by its hash")
	}
	for _, prefix := range []string{"", "artifacts/", "../acme", "*", ">"} {
		if got := all(t, evil.Objects.List(t.ctx, prefix)); len(got) > 0 {
			t.Errorf("List of %q = %+v", prefix, got)
		}
	}

	t.publish(acme, "t", "for acme")
	if got := heard(); got != "for acme" {
		t.Errorf("acme hears %q, want what itself has published", got)
	}
	t.publish(evil, "x", "for evil")
	for got := every(); got != "for evil"; got = every() {
		if got != "from evil" {
			t.Fatalf("evil hears %q", got)
		}
	}
	t.state(acme, "t", fleet.Running)
	t.ok(c.Extend(t.ctx))
	if c.Canceled() {
		t.Error("another tenant has canceled a task")
	}
	if got := t.openIDs(acme, ""); !slices.Equal(got, []string{"t:call_1"}) {
		t.Errorf("acme has the open asks %q", got)
	}
	t.holds(acme, "artifacts/t/patch", "a secret")
	t.ok(log.Append(t.ctx, 2, journal.Record{Kind: "more"}))
	if text, err := t.blob(acme, "t", hash); err != nil || text != "a secret" {
		t.Errorf("acme's blob is %q, %v", text, err)
	}
}

// guess tries one id, as the tenant that it does not belong to.
func (t *tester) guess(ctx context.Context, s *fleet.Space, id, hash string) {
	t.Helper()
	gets := func(what string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s of %q gets something of another tenant", what, id)
		}
	}
	if id != "" {
		_, _, err := s.Tasks.Get(ctx, id)
		gets("Get", err)
		gets("Cancel", s.Tasks.Cancel(ctx, id))
	}
	_, err := s.Journals.Read(ctx, id)
	gets("Read", err)
	_, err = s.Journals.Open(ctx, id)
	gets("Open", err)
	_, err = s.Journals.Fork(ctx, id, "copy", 1, nil)
	gets("Fork", err)
	gets("Remove", s.Journals.Remove(ctx, id))
	for _, name := range []string{"artifacts/" + id + "/patch", id + "/artifacts/t/patch", hash, "blobs/" + hash} {
		_, err = s.Objects.Open(ctx, name)
		gets("Open of an object", err)
	}
	// Removing what another tenant has is no error; it must have no effect.
	_ = s.Objects.Remove(ctx, "artifacts/"+id+"/patch")
	_ = s.Asks.Remove(ctx, id)
	_ = s.Tasks.Remove(ctx, id)
	gets("Answer", s.Asks.Answer(ctx, id, "call_1", fleet.Answer{Allow: true}))
	short, cancel := context.WithTimeout(ctx, 2*t.Unit)
	defer cancel()
	_, err = s.Asks.Wait(short, id, "call_1")
	gets("Wait", err)
	_, err = s.Bus.Request(short, id, []byte("x"))
	gets("Request", err)
	_ = s.Bus.Publish(ctx, id, []byte("from evil")) // whom it reaches is seen later
}

// closes checks that an engine that was closed refuses all, ends what waits in it, and leaves the
// others alone.
func closes(t *tester) {
	e := t.engine()
	s, err := e.Open(t.ctx, fleet.DefaultTenant)
	t.ok(err)
	other := t.own()
	t.submit(s, "t")
	held := t.claim(s, "w")
	t.ask(s, "t", "1", time.Now())
	waits := []func() error{
		func() error { _, err := s.Tasks.Claim(t.ctx, "w", long); return err },
		func() error { _, err := s.Asks.Wait(t.ctx, "t", "1"); return err },
		func() error { return lastError(s.Tasks.Watch(t.ctx, "")) },
		func() error { return lastError(s.Bus.Listen(t.ctx, "")) },
	}
	ended := make(chan error)
	for _, wait := range waits {
		go func() { ended <- wait() }()
	}
	t.ok(e.Close())
	for range waits {
		if err := <-ended; err == nil || t.ctx.Err() != nil {
			t.Errorf("what waits in an engine that is closed ends with %v", err)
		}
	}
	_, _, err = s.Tasks.Get(t.ctx, "t")
	t.refused(err, "Get of a closed engine")
	t.refused(held.Extend(t.ctx), "Extend of a closed engine")
	_, err = s.Objects.Put(t.ctx, "x", strings.NewReader("x"))
	t.refused(err, "Put of a closed engine")
	_, err = s.Journals.Create(t.ctx, "t")
	t.refused(err, "Create of a closed engine")
	_, err = e.Leases().Acquire(t.ctx, fleet.WorkerInfo{Name: "w"}, long)
	t.refused(err, "Acquire of a closed engine")
	if err := e.Close(); err != nil {
		t.Logf("Close again = %v", err)
	}
	t.state(other, "t", fleet.Running)
	t.ok(other.Asks.Answer(t.ctx, "t", "1", fleet.Answer{Allow: true}))
}
