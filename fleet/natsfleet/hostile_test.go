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
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/journal"
)

// hostileClient connects with the credentials of tenant a, without this package. Errors are what
// the server says later.
func hostileClient(t *testing.T, s *Server) (nc *nats.Conn, complaints chan error) {
	t.Helper()
	complaints = make(chan error, 1000)
	nc, err := nats.Connect(s.URL(), nats.UserInfo(clientUser("a"), string(tenantToken("a"))),
		nats.CustomInboxPrefix(clientInbox),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { complaints <- err }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc, complaints
}

// denied waits for the server's complaint about a subject.
func denied(t *testing.T, complaints chan error, subject string) {
	t.Helper()
	for {
		select {
		case err := <-complaints:
			if strings.Contains(err.Error(), `"`+subject+`"`) {
				return
			}
		case <-time.After(await.Limit):
			t.Errorf("%s is not refused", subject)
			return
		}
	}
}

// twoTenants returns a server on which tenants a and b each have a task, a journal, a blob, an
// object and an ask, all with the same names, and the server's state.
func twoTenants(t *testing.T) (s *Server, spaces map[string]*fleet.Space, state func() string) {
	t.Helper()
	s = serve(t, testConfig(t))
	spaces = map[string]*fleet.Space{}
	for _, name := range []string{"a", "b"} {
		space, err := s.own.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		spaces[name] = space
		_, _, err = space.Tasks.Submit(t.Context(), fleet.Task{ID: "t-" + name, Prompt: "secret of " + name})
		if err != nil {
			t.Fatal(err)
		}
		log, err := space.Journals.Create(t.Context(), "t-"+name)
		if err != nil {
			t.Fatal(err)
		}
		data, _ := json.Marshal("secret of " + name) // a string
		_, blob := log.PutBlob(t.Context(), strings.NewReader("blob of "+name))
		_, put := space.Objects.Put(t.Context(), "artifacts/t-"+name+"/x", strings.NewReader("object of "+name))
		if err := errors.Join(log.Append(t.Context(), 1, journal.Record{Kind: "k", Data: data}), blob, put, log.Close(),
			space.Asks.Put(t.Context(), fleet.Ask{Task: "t-" + name, ID: "c", Kind: fleet.AskApproval,
				Text: "ask of " + name})); err != nil {
			t.Fatal(err)
		}
	}
	return s, spaces, func() string {
		var all []string
		for name := range spaces {
			all = append(all, streamStates(t, name, inside(s.own, name).account))
		}
		all = append(all, streamStates(t, "operator", s.own.operator))
		slices.Sort(all)
		return strings.Join(all, "\n")
	}
}

// streamStates describes the streams and consumers of an account.
func streamStates(t *testing.T, name string, a *account) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Limit) // without a deadline a busy server has two seconds
	defer cancel()
	var all []string
	streams := a.js.ListStreams(ctx)
	for info := range streams.Info() {
		config, err := json.Marshal(info.Config)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(name, " ", string(config), info.State.Msgs, info.State.LastSeq,
			info.State.Consumers))
	}
	if err := streams.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

func TestP9_HostileClientWithoutAGateway(t *testing.T) {
	t.Parallel()
	s, spaces, state := twoTenants(t)
	before := state()
	nc, complaints := hostileClient(t, s)

	subjects := []string{
		"$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST", "$JS.API.STREAM.CREATE.mine",
		"$JS.API.STREAM.UPDATE.objects",
		"$JS.API.STREAM.DELETE.objects", "$JS.API.STREAM.PURGE.objects", "$JS.API.STREAM.MSG.GET.objects",
		"$JS.API.STREAM.MSG.DELETE.objects",
		"$JS.API.STREAM.INFO.tasks", "$JS.API.STREAM.SNAPSHOT.tasks", "$JS.API.DIRECT.GET.journal-0",
		"$JS.API.DIRECT.GET.tasks.tasks.t-a",
		"$JS.API.CONSUMER.CREATE.journal-0.mine", "$JS.API.CONSUMER.DURABLE.CREATE.queue.mine",
		"$JS.API.CONSUMER.MSG.NEXT.queue.queue",
		"$JS.API.ACCOUNT.PURGE.TENANT_b", "$JS.API.META.LEADER.STEPDOWN", "$JS.ACK.queue.queue.1.1.1.1.1",
		"$KV.fleet.registry",
		"objects.head._eA", "journal.0.t-a", "journal-blob.0.t-a.x", "tasks.t-a", "task.t-a", "queue.t-a", "ask.t-a.c",
		"asks.t-a.c", "live.t-a", "ctl.t-a",
		"$SYS.REQ.SERVER.PING", "$SYS.REQ.USER.INFO", "$SYS.REQ.ACCOUNT.TENANT_b.CONNZ",
		"$SYS.ACCOUNT.TENANT_b.CONNECT", "$NRG.V.x", "_R_.x",
		"_INBOX.worker.x", clientInbox + ".x", "anything",
	}
	for _, subject := range subjects {
		if err := nc.PublishRequest(subject, nc.NewInbox(), []byte("{}")); err != nil {
			t.Fatal(err)
		}
		denied(t, complaints, subject)
	}
	for _, subject := range []string{">", "*", "*.>", "$SYS.>", "$JS.>", "$KV.>", "live.>", "ctl.t-a", "journal.>",
		"journal-news.>", "fleet.>", "fleet.tasks.submit",
		"_INBOX.>", "_INBOX.*.>", gatewayInbox + ".>", "_R_.>", "objects.>"} {
		for _, queue := range []string{"", gatewayQueue} {
			if _, err := nc.QueueSubscribeSync(subject, queue); err != nil {
				t.Fatal(err)
			}
			denied(t, complaints, subject)
		}
	}
	if after := state(); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	for name, space := range spaces {
		if got := readObject(t, space.Objects, "artifacts/t-"+name+"/x"); string(got) != "object of "+name {
			t.Errorf("%s has %q", name, got)
		}
	}
}

// An answer goes to the subject that the call names. The gateway must not be talked into writing
// elsewhere.
func TestP9_HostileInboxes(t *testing.T) {
	t.Parallel()
	s, _, state := twoTenants(t)
	before := state()
	nc, _ := hostileClient(t, s)
	for _, inbox := range []string{
		"journal.0.t-a", "journal.0.t-b", "$JS.API.STREAM.DELETE.objects", "$KV.fleet.registry", "tasks.t-a",
		"objects.head._eA", "live.t-a",
		"fleet.tasks.cancel", gatewayInbox + ".x", "_INBOX.x", "$SYS.REQ.SERVER.PING", "",
	} {
		for _, op := range []string{"tasks.get", "tasks.list", "journals.records", "nonsense"} {
			if err := nc.PublishMsg(&nats.Msg{Subject: callSubject + op, Reply: inbox,
				Data: []byte(`{"id":"t-a","from":1,"to":9}`)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	// The last call comes after the others, and is answered.
	c, err := remote{nc}.call(t.Context(), "tasks.get", request{ID: "t-a"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.ReadAll(c); err != nil {
		t.Error(err)
	}
	waitIdle(t, s.gateways["a"])
	same := func() bool { return state() == before }
	// A consumer that the server was too busy to remove ends a minute later, that is after one
	// wait.
	if !await.Holds(same) {
		await.For(t, "the streams as they were", same)
	}
}

// waitIdle waits until a gateway has done all calls.
func waitIdle(t *testing.T, g *gateway) {
	t.Helper()
	await.For(t, "the end of all calls", func() bool { return len(g.slots) == 0 })
}

func TestP9_HostileCalls(t *testing.T) {
	t.Parallel()
	s, spaces, _ := twoTenants(t)
	here, end, err := OpenTenant(t.Context(), s.URL(), "a", OpenOptions{Token: string(tenantToken("a"))})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	r := here.Tasks.(remoteTasks).remote

	all, err := collect(here.Tasks.List(t.Context()))
	if err != nil || len(all) != 1 || all[0].ID != "t-a" {
		t.Errorf("the tasks: %v, %v", all, err)
	}
	for _, id := range []string{"t-b", "../b/t-b", "*", ">", "t-*", "", "t-a.>", strings.Repeat("x", 200), "ü", "t b",
		"t-b\r\nPUB x 0\r\n", "$JS"} {
		if _, _, err := here.Tasks.Get(t.Context(), id); !errors.Is(err, fs.ErrNotExist) &&
			!errors.Is(err, fs.ErrInvalid) {
			t.Errorf("Get of %q: %v", id, err)
		}
		if _, err := here.Journals.Read(t.Context(), id); err == nil {
			t.Errorf("%q has a journal", id)
		}
		if err := here.Tasks.Cancel(t.Context(), id); err == nil {
			t.Errorf("%q was canceled", id)
		}
		if err := here.Asks.Answer(t.Context(), id, "c", fleet.Answer{Allow: true}); err == nil {
			t.Errorf("%q was answered", id)
		}
		if _, err := here.Bus.Request(t.Context(), id, []byte("interrupt")); err == nil {
			t.Errorf("%q has an owner", id)
		}
		if _, err := here.Objects.Open(t.Context(), "artifacts/"+id+"/x"); err == nil {
			t.Errorf("%q has an object", id)
		}
	}
	log, err := spaces["b"].Journals.Read(t.Context(), "t-b")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for _, op := range []string{"tasks.claim", "journals.create", "journals.append", "journals.remove", "objects.put",
		"objects.remove", "asks.put", "bus.publish", "bus.serve"} {
		if _, err := get[json.RawMessage](t.Context(), r, op, request{ID: "t-a"}); err == nil {
			t.Errorf("%s is done", op)
		}
	}
	for _, bad := range []string{"", "null", "[", `{"id":7}`, "\x00", strings.Repeat("[", 100_000),
		strings.Repeat(" ", 1<<20)} {
		c, err := r.call(t.Context(), "tasks.get", json.RawMessage("{}"))
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		m := &nats.Msg{Subject: callSubject + "tasks.get", Reply: r.nc.NewInbox(), Data: []byte(bad)}
		sub, err := r.nc.SubscribeSync(m.Reply)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.nc.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
		answer, err := sub.NextMsg(10 * time.Second)
		if err != nil || !bytes.Contains(answer.Data, []byte(`"text"`)) {
			t.Errorf("%.20q: %v, %v", bad, answer, err)
		}
	}
	if _, st, err := spaces["b"].Tasks.Get(t.Context(), "t-b"); err != nil || st.State != fleet.Queued {
		t.Errorf("the other tenant's task: %v, %v", st, err)
	}
	if asks, err := collect(spaces["b"].Asks.Open(t.Context(), "")); err != nil || len(asks) != 1 {
		t.Errorf("the other tenant's asks: %v, %v", asks, err)
	}
}

// A tenant that stores all that it may does not keep the others from storing.
func TestP9_HostileStore(t *testing.T) {
	t.Parallel()
	config := testConfig(t)
	config.Tenants[0].MaxStore = 2 << 20
	s := serve(t, config)
	submit := func(tenant, id string) error {
		t.Helper()
		space, err := s.own.Open(t.Context(), tenant)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = space.Tasks.Submit(t.Context(), fleet.Task{ID: id, Prompt: strings.Repeat("x", 300_000)})
		return err
	}
	var err error
	for i := 0; i < 20 && err == nil; i++ {
		err = submit("a", fmt.Sprint("t", i))
	}
	if err == nil || !strings.Contains(err.Error(), "resource limits exceeded") {
		t.Errorf("tenant a stores more than it may: %v", err)
	}
	for i := range 10 {
		if err := submit("b", fmt.Sprint("t", i)); err != nil {
			t.Errorf("tenant b: %v", err)
		}
	}
}

func TestP9_OtherCredentials(t *testing.T) {
	t.Parallel()
	s := serve(t, testConfig(t))
	token := string(tenantToken("a"))
	for _, user := range []string{operatorUser, workerUser("a"), workerUser("b"), clientUser("b"), gatewayUser("a"),
		"sys", "admin", "", "server"} {
		nc, err := target{url: s.URL()}.connect(t.Context(), user, token)
		if !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%q: %v", user, err)
		}
		if err == nil {
			nc.Close()
		}
	}
	for _, tenant := range []string{"b", "c", ""} {
		if _, _, err := OpenTenant(t.Context(), s.URL(), tenant, OpenOptions{Token: token}); !errors.Is(err,
			nats.ErrAuthorization) {
			t.Errorf("%q: %v", tenant, err)
		}
	}
	for _, o := range []nats.Option{nats.Token(token), nats.UserInfo(clientUser("a"), ""),
		nats.UserInfo(clientUser("a"), token+" "), nats.Name("nobody")} {
		if nc, err := nats.Connect(s.URL(), o); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%v", err)
			nc.Close()
		}
	}
	if _, err := Open(t.Context(), s.URL(), OpenOptions{Token: token}); !errors.Is(err, nats.ErrAuthorization) ||
		!strings.Contains(err.Error(), "refuses the token") {
		t.Errorf("a tenant as the operator: %v", err)
	}
	if _, _, err := OpenTenant(t.Context(), s.URL(), "c", OpenOptions{Token: token}); !errors.Is(err,
		nats.ErrAuthorization) {
		t.Errorf("an unknown tenant: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, s.URL(), OpenOptions{Token: operatorToken}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	if _, err := Open(t.Context(), "nats://"+peer.Address(t).String(), OpenOptions{Token: token}); err == nil ||
		!strings.Contains(err.Error(), "no server answers") {
		t.Errorf("no server: %v", err)
	}
}
