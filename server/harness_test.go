package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/server"
)

type object = map[string]any

const (
	ownersToken = "0123456789abcdef0123456789abcdef"
	ciToken     = "ci3456789abcdef0123456789abcdefc"
	otherToken  = "other6789abcdef0123456789abcdefo"
)

// world has the directories of a server, and a model. They outlive the server.
type world struct {
	*testing.T
	root, state, store string
	model              *fakellm.Server
	url                string               // of the model
	before             func(*server.Server) // is called before a server serves; nil for nothing
}

func newWorld(t *testing.T, turns ...fakellm.Turn) *world {
	t.Helper()
	return newWorldOf(t, fakellm.Script(turns...))
}

func newWorldOf(t *testing.T, model fakellm.Model) *world {
	t.Helper()
	w := &world{T: t, root: realDir(t), state: filepath.Join(t.TempDir(), "server"), store: t.TempDir(),
		model: fakellm.New(model, fakellm.Options{})}
	web := httptest.NewServer(w.model)
	t.Cleanup(web.Close)
	w.url = web.URL
	return w
}

func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// options returns the options of a server in the world.
func (w *world) options() server.Options {
	return server.Options{State: w.state, Roots: []string{w.root}, Grace: 10 * time.Second,
		Limits: server.Limits{Requests: 1_000_000},
		Tokens: []server.Token{{Name: "owner", Token: ownersToken, Owner: true}, {Name: "ci", Token: ciToken},
			{Name: "other", Token: otherToken}},
		Config: attractor.Config{Store: journal.NewDir(w.store), Model: "anthropic/claude-sonnet-5-5",
			Vars: map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": w.url}, MCPWait: -1,
			Checkpoints: filepath.Join(w.store, "checkpoints")},
	}
}

// running is a server that serves.
type running struct {
	*world
	server *server.Server
	url    string
	stop   func() error
}

// start starts a server. It ends with the test.
func (w *world) start(change ...func(*server.Options)) *running {
	w.Helper()
	o := w.options()
	for _, c := range change {
		c(&o)
	}
	s, err := server.New(w.Context(), o)
	if err != nil {
		w.Fatal(err)
	}
	if w.before != nil {
		w.before(s)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, narrow{l}) }()
	r := &running{world: w, server: s, url: "http://" + l.Addr().String()}
	r.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	w.Cleanup(func() {
		if err := r.stop(); err != nil {
			w.Errorf("the server ended with %v", err)
		}
	})
	return r
}

// narrow is a listener whose connections keep little that is not read, as over a slow network.
type narrow struct{ net.Listener }

func (n narrow) Accept() (net.Conn, error) {
	conn, err := n.Listener.Accept()
	if err == nil {
		err = conn.(*net.TCPConn).SetWriteBuffer(4096)
	}
	return conn, err
}

// end ends the server in order.
func (r *running) end() {
	r.Helper()
	if err := r.stop(); err != nil {
		r.Error(err)
	}
}

// client sends requests with a token.
type client struct {
	*running
	token string
}

func (r *running) as(token string) *client { return &client{r, token} }

// answer is the answer to a request.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// object returns the body as an object.
func (a answer) object(t testing.TB) object {
	t.Helper()
	var o object
	if err := json.Unmarshal(a.body, &o); err != nil {
		t.Fatalf("%d: %q: %v", a.status, a.body, err)
	}
	return o
}

// request sends a request with pairs of headers, and checks the answer against the document.
func (c *client) request(method, path, body string, headers ...string) answer {
	c.Helper()
	a, err := c.try(method, path, strings.NewReader(body), headers...)
	if err != nil {
		c.Fatal(err)
	}
	return a
}

func (c *client) try(method, path string, body io.Reader, headers ...string) (answer, error) {
	req, err := http.NewRequestWithContext(c.Context(), method, c.url+path, body)
	if err != nil {
		return answer{}, err
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		} else {
			req.Header.Add(headers[i], headers[i+1])
		}
	}
	tr := &http.Transport{DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	a := answer{resp.StatusCode, resp.Header, data}
	checkAnswer(c.T, method, path, a)
	return a, err
}

// line sends a line to a session, which has to succeed, and returns the reply.
func (c *client) line(id string, line object, headers ...string) object {
	c.Helper()
	a := c.send(id, line, headers...)
	if a.status != http.StatusOK {
		c.Fatalf("%v: %d %s", line, a.status, a.body)
	}
	return a.object(c.T)
}

// send sends a line to a session.
func (c *client) send(id string, line object, headers ...string) answer {
	c.Helper()
	data, err := json.Marshal(line)
	if err != nil {
		c.Fatal(err)
	}
	return c.request("POST", "/v1/sessions/"+id+"/lines", string(data), headers...)
}

// create creates a session.
func (c *client) create(wanted object, headers ...string) (id string) {
	c.Helper()
	data, err := json.Marshal(wanted)
	if err != nil {
		c.Fatal(err)
	}
	a := c.request("POST", "/v1/sessions", string(data), headers...)
	if a.status != http.StatusCreated {
		c.Fatalf("%d %s", a.status, a.body)
	}
	return a.object(c.T)["id"].(string)
}

// refused sends a request and checks the status and the code of its refusal.
func (c *client) refused(status int, code, method, path, body string, headers ...string) string {
	c.Helper()
	a := c.request(method, path, body, headers...)
	p := object{}
	if len(a.body) > 0 {
		p = a.object(c.T)
	}
	if a.status != status || p["code"] != code {
		c.Errorf("%s %s %.200s: %d %s, want %d %s", method, path, body, a.status, a.body, status, code)
	}
	return fmt.Sprint(p["detail"])
}

// state waits until a session has a state, and returns it.
func (c *client) state(id, state string) (session object) {
	c.Helper()
	await.For(c.T, "the state "+state, func() bool {
		session = c.request("GET", "/v1/sessions/"+id, "").object(c.T)
		return session["state"] == state
	})
	return session
}

// event is a server-sent event.
type event struct {
	id   string
	data object
}

func (e event) kind() string { return fmt.Sprint(e.data["kind"]) }

// watch is a stream of events.
type watch struct {
	*testing.T
	events chan event
	cancel func()
}

// watch watches a stream. It ends with the test.
func (c *client) watch(path string, headers ...string) *watch {
	c.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, "GET", c.url+path, nil)
	if err != nil {
		c.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	tr := &http.Transport{DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		c.Fatal(err)
	}
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || got != "text/event-stream" {
		c.Fatalf("%s: %d %s", path, resp.StatusCode, got)
	}
	w := &watch{T: c.T, events: make(chan event, 100_000), cancel: cancel}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(w.events)
		defer resp.Body.Close()
		name := "Event"
		if path == "/v1/events" {
			name = "Change"
		}
		w.read(resp.Body, name)
	}()
	c.Cleanup(func() { cancel(); <-done })
	return w
}

// read reads events until the stream ends.
func (w *watch) read(body io.Reader, schema string) {
	lines := bufio.NewReaderSize(body, 1<<20)
	var e event
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		switch line = strings.TrimSuffix(line, "\n"); {
		case strings.HasPrefix(line, "id: "):
			e.id = line[4:]
		case strings.HasPrefix(line, "data: "):
			if err := checkValue(schema, []byte(line[6:])); err != nil {
				w.Errorf("%s: %v", line, err)
			}
			if err := json.Unmarshal([]byte(line[6:]), &e.data); err != nil {
				w.Errorf("%s: %v", line, err)
			}
		case line == "" && e.data != nil:
			w.events <- e
			e = event{}
		}
	}
}

// until returns the events up to the next one of a kind.
func (w *watch) until(kind string) (events []event) {
	w.Helper()
	for {
		e, ok := <-withLimit(w.T, w.events)
		if !ok {
			w.Fatalf("the stream has ended without %s, after %v", kind, kinds(events))
		}
		if events = append(events, e); e.kind() == kind {
			return events
		}
	}
}

// withLimit returns a channel with the next value.
func withLimit(t *testing.T, events <-chan event) <-chan event {
	t.Helper()
	one := make(chan event, 1)
	if e := await.Receive(t, "the next event", events); e.data != nil {
		one <- e
	}
	close(one)
	return one
}

func kinds(events []event) (list []string) {
	for _, e := range events {
		list = append(list, e.kind()+" "+e.id)
	}
	return list
}

// document returns the schemas, and the operations.
var document = sync.OnceValue(func() (d struct {
	Paths map[string]map[string]struct {
		Responses map[string]struct {
			Content map[string]struct{ Schema json.RawMessage }
		}
	}
	Components struct{ Schemas map[string]json.RawMessage }
}) {
	data, err := server.Document()
	if err == nil {
		err = json.Unmarshal(data, &d)
	}
	if err != nil {
		panic(err)
	}
	return d
})

// validators holds a validator for each schema.
var validators sync.Map

// checkValue checks JSON against a schema of the document.
func checkValue(schema string, data []byte) error {
	valid, ok := validators.Load(schema)
	if !ok {
		defs := object{}
		for name, s := range document().Components.Schemas {
			defs[name] = s
		}
		text, err := json.Marshal(object{"$ref": "#/components/schemas/" + schema, "$defs": defs})
		if err != nil {
			return err
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(bytes.ReplaceAll(text, []byte("#/components/schemas/"), []byte("#/$defs/")),
			&s); err != nil {
			return err
		}
		if valid, err = s.Resolve(nil); err != nil {
			return err
		}
		validators.Store(schema, valid)
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return err
	}
	return valid.(*jsonschema.Resolved).Validate(value)
}

// checkAnswer checks an answer against the document.
func checkAnswer(t *testing.T, method, path string, a answer) {
	t.Helper()
	path, _, _ = strings.Cut(path, "?")
	kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	for pattern, methods := range document().Paths {
		op, ok := methods[strings.ToLower(method)]
		if !ok || !matches(pattern, path) {
			continue
		}
		response, ok := op.Responses[fmt.Sprint(a.status)]
		if !ok {
			response = op.Responses["default"]
		}
		if a.status == http.StatusNoContent && response.Content == nil {
			return
		}
		content, ok := response.Content[kind]
		var ref struct {
			Ref string `json:"$ref"`
		}
		if !ok || json.Unmarshal(content.Schema, &ref) != nil {
			t.Errorf("%s %s answers %d with %q, which the document does not have", method, path, a.status, kind)
			return
		}
		if ref.Ref != "" {
			if err := checkValue(filepath.Base(ref.Ref), a.body); err != nil {
				t.Errorf("%s %s answers %d %s: %v", method, path, a.status, a.body, err)
			}
		}
		return
	}
	if kind != "application/problem+json" || checkValue("Problem", a.body) != nil {
		t.Errorf("%s %s is in no document, and its answer is %d %q", method, path, a.status, a.body)
	}
}

// matches reports whether a path is one of a pattern.
func matches(pattern, path string) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != got[i] && !strings.HasPrefix(want[i], "{") {
			return false
		}
	}
	return true
}

// say returns a turn of the model.
func say(text string, calls ...fakellm.Call) fakellm.Turn {
	return fakellm.Turn{Text: text, Calls: calls}
}

// use returns a call.
func use(name string, args object) fakellm.Call {
	data, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return fakellm.Call{Name: name, Args: data}
}

// write returns a call that writes a file.
func write(name, text string) fakellm.Call {
	return use("write_file", object{"file_path": name, "content": text})
}

// full lets sessions run everything.
func full(o *server.Options) { o.MaxMode, o.Config.Mode = permit.ModeFull, permit.ModeFull }
