package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/server"
)

// A session from its beginning to its removal: an approval and a question are answered, all that is
// open is told to who watches, and the journal has whose token has answered.
func TestW1_Session(t *testing.T) {
	t.Parallel()
	w := newWorld(t, say("Writing.", write("a.txt", "x\n")),
		say("", use("ask_user", object{"question": "Which colour?", "options": []string{"red", "blue"}})), say("Done."))
	c := w.start().as(ciToken)
	all := c.watch("/v1/events")
	if first := all.until("SNAPSHOT")[0]; len(first.data["sessions"].([]any)) != 0 {
		t.Errorf("the first snapshot: %v", first.data)
	}
	id := c.create(object{"mode": "ask"})
	events := c.watch("/v1/sessions/" + id + "/events")
	c.line(id, object{"type": "user", "text": "write", "id": 7})
	asked := events.until("APPROVAL_REQUESTED")
	ask := asked[len(asked)-1].data["ask"]
	if s := c.state(id, "waiting"); s["asks"] != 1.0 || s["token"] != "ci" {
		t.Errorf("the session: %v", s)
	}
	status := c.line(id, object{"type": "status"})["status"].(object)
	if asks := status["asks"].([]any); len(asks) != 1 || asks[0].(object)["ask"] != ask {
		t.Errorf("the status: %v", status)
	}
	c.line(id, object{"type": "approve", "ask": ask, "decision": "allow"})
	more := events.until("QUESTION")
	note := slices.IndexFunc(more, func(e event) bool { return e.data["note"] == "answered" })
	if note < 0 || more[note].data["data"].(object)["by"] != "ci" || more[note].data["data"].(object)["allow"] != true {
		t.Errorf("the journal does not say who has answered: %v", kinds(more))
	}
	c.line(id, object{"type": "answer", "ask": more[len(more)-1].data["ask"], "text": "red"})
	end := events.until("PROCESSING_END")
	if last := end[len(end)-1].data; last["reason"] != "completed" || last["text"] != "Done." {
		t.Errorf("the end: %v", last)
	}
	c.state(id, "idle")
	var states []string
	for e := range all.events {
		s := e.data["session"].(object)
		if state := s["state"].(string); len(states) == 0 || states[len(states)-1] != state {
			states = append(states, state)
		}
		if s["state"] == "idle" && len(states) > 1 {
			break
		}
	}
	if states[0] != "idle" || !slices.Contains(states, "waiting") { // states that pass quickly may be skipped
		t.Errorf("the states were %q", states)
	}
	if a := c.request("GET", "/v1/sessions/"+id+"/files?path=a.txt", ""); string(a.body) != "x\n" {
		t.Errorf("the file: %d %s", a.status, a.body)
	}
	if a := c.request("GET", "/v1/sessions/"+id+"/diff", ""); !strings.Contains(string(a.body), "+x") {
		t.Errorf("the diff: %d %s", a.status, a.body)
	}
	if a := c.request("DELETE", "/v1/sessions/"+id, ""); a.status != http.StatusNoContent {
		t.Errorf("deleting: %d %s", a.status, a.body)
	}
	if gone := all.until("DELETED"); gone[len(gone)-1].data["id"] != id {
		t.Errorf("told: %v", gone)
	}
	c.refused(404, "not_found", "GET", "/v1/sessions/"+id, "")
	if left, err := filepath.Glob(filepath.Join(w.store, "*")); err != nil || slices.ContainsFunc(left,
		func(name string) bool { return strings.Contains(name, id) }) {
		t.Errorf("left of the journal: %v, %v", left, err)
	}
}

// What the server does not allow is refused, and leaves no session.
func TestW1_Caps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	outside := realDir(t)
	if err := os.Symlink(outside, filepath.Join(w.root, "link")); err != nil {
		t.Fatal(err)
	}
	s := w.start(func(o *server.Options) { o.Config.Budget.USD, o.Config.Budget.Tokens = 2, 1_000_000 })
	c := s.as(ciToken)
	for _, tt := range []struct {
		status int
		body   string
	}{
		{403, `{"dir":"` + outside + `"}`}, {403, `{"dir":"link"}`}, {403, `{"dir":"../x"}`},
		{403, `{"dir":"nothing"}`},
		{403, `{"dir":"/"}`}, {403, `{"mode":"full"}`}, {400, `{"mode":"bold"}`}, {400, `{"sandbox":"iron"}`},
		{403, `{"budget_usd":2.5}`}, {403, `{"budget_tokens":1000001}`}, {400, `{"budget_usd":-1}`},
		{400, `{"trust_project":true}`}, {400, `{"dir":7}`}, {400, `[`}, {400, `{} {}`}, {400, `{"model":"nobody/x"}`},
	} {
		code := map[int]string{403: "forbidden", 400: "invalid"}[tt.status]
		c.refused(tt.status, code, "POST", "/v1/sessions", tt.body)
	}
	if list := c.request("GET", "/v1/sessions", "").object(t)["sessions"].([]any); len(list) != 0 {
		t.Errorf("refused sessions: %v", list)
	}
	made := c.request("POST", "/v1/sessions", `{"budget_usd":1}`).object(t)
	if made["budget_usd"] != 1.0 || made["budget_tokens"] != 1_000_000.0 || made["dir"] != w.root ||
		made["mode"] != "ask" {
		t.Errorf("the session: %v", made)
	}
	id := made["id"].(string)
	for line, code := range map[string]int{
		`{"type":"set","mode":"full"}`: 403, `{"type":"set","budget_usd":0}`: 403, `{"type":"set","budget_usd":9}`: 403,
		`{"type":"set","budget_tokens":0}`: 403, `{"type":"approve","ask":"x","decision":"allow","mode":"full"}`: 403,
		`{"type":"user","text":"x","images":[{"path":"/etc/passwd"}]}`:        403,
		`{"type":"approve","ask":"x","decision":"allow","remember":"always"}`: 403,
		`{"type":"dance"}`: 400, `{"type":"user"}`: 400, `nothing`: 400, ``: 400,
		`{"type":"steer","text":"x"}`: 409, `{"type":"answer","ask":"x","text":"y"}`: 409, `{"type":"continue"}`: 409,
	} {
		a := c.request("POST", "/v1/sessions/"+id+"/lines", line)
		if a.status != code {
			t.Errorf("%s: %d %s, want %d", line, a.status, a.body, code)
		}
	}
	c.line(id, object{"type": "set", "mode": "accept-edits", "budget_usd": 1.5})
	if now := c.state(id, "idle"); now["mode"] != "accept-edits" || now["budget_usd"] != 1.5 {
		t.Errorf("after set: %v", now)
	}
	// the owner may keep rules, but no session may have more than the server
	s.as(ownersToken).refused(409, "conflict", "POST", "/v1/sessions/"+id+"/lines",
		`{"type":"approve","ask":"x","decision":"allow","remember":"always"}`)
	s.as(ownersToken).refused(403, "forbidden", "POST", "/v1/sessions/"+id+"/lines", `{"type":"set","mode":"full"}`)
}

// A server that confines commands lets nobody be confined less, and a read-only one lets nobody
// write.
func TestW1_LeastSandbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.start(func(o *server.Options) {
		o.Sandbox, o.MaxMode, o.Config.Mode = sandbox.Workspace, permit.ModeReadOnly, permit.ModeReadOnly
	}).as(ciToken)
	c.refused(403, "forbidden", "POST", "/v1/sessions", `{"sandbox":"off"}`)
	c.refused(403, "forbidden", "POST", "/v1/sessions", `{"sandbox":"workspace-weak"}`)
	c.refused(403, "forbidden", "POST", "/v1/sessions", `{"mode":"plan"}`)
}

// Nobody gets in without a token of the server, from the page of another origin, or by a name that
// only leads here.
func TestW1_Guard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.start(func(o *server.Options) { o.Hosts, o.BehindTLS = []string{"agents.example.org"}, true })
	c, nobody := s.as(ciToken), s.as("")
	const path = "/v1/sessions"
	for _, token := range []string{"", "x", ciToken[1:], ciToken + "x", strings.ToUpper(ciToken)} {
		s.as(token).refused(401, "unauthorized", "GET", path, "")
		s.as(token).refused(401, "unauthorized", "POST", path, "{}")
		s.as(token).refused(401, "unauthorized", "GET", "/v1/events", "")
	}
	nobody.refused(401, "unauthorized", "GET", path, "", "Authorization", "Basic "+ciToken)
	nobody.refused(401, "unauthorized", "GET", path, "", "Authorization", ciToken)
	nobody.refused(401, "unauthorized", "GET", path, "", "Authorization", "Bearer x", "Authorization",
		"Bearer "+ciToken)
	nobody.refused(401, "unauthorized", "GET", path+"?token="+ciToken, "")
	here := strings.TrimPrefix(s.url, "http://")
	for _, origin := range []string{"http://evil.example", "null", "https://" + here, "http://localhost"} {
		c.refused(403, "forbidden", "POST", path, "{}", "Origin", origin)
		c.refused(403, "forbidden", "GET", path, "", "Origin", origin)
	}
	c.refused(403, "forbidden", "POST", path, "{}", "Sec-Fetch-Site", "cross-site")
	for _, host := range []string{"evil.example", "evil.example:80", "127.0.0.1.evil.example",
		"agents.example.org.evil", "[::2]"} {
		c.refused(421, "forbidden", "GET", path, "", "Host", host)
		c.refused(421, "forbidden", "GET", "/health", "", "Host", host)
	}
	for _, headers := range [][]string{{"Origin", s.url}, {"Host", "localhost:7"}, {"Host", "agents.example.org"},
		{"Host", "agents.example.org", "Origin", "https://agents.example.org"}} {
		if a := c.request("GET", path, "", headers...); a.status != 200 {
			t.Errorf("%v: %d %s", headers, a.status, a.body)
		}
	}
	c.refused(404, "not_found", "GET", "/v1/nothing", "")
	c.refused(405, "invalid", "PUT", path, "")
	c.refused(403, "forbidden", "GET", "/metrics", "")
	for _, public := range []string{"/health", "/openapi.json"} {
		if a := nobody.request("GET", public, ""); a.status != 200 {
			t.Errorf("%s: %d", public, a.status)
		}
	}
	if a := s.as(ownersToken).request("GET", "/metrics", ""); !strings.Contains(string(a.body),
		"attractor_requests_total ") {
		t.Errorf("the metrics: %d %s", a.status, a.body)
	}
}

// HEAD is GET without a body, with a token and for what is public.
func TestW1_Head(t *testing.T) {
	t.Parallel()
	s := newWorld(t).start()
	for path, want := range map[string]int{"/health": 200, "/openapi.json": 200, "/v1/sessions": 401} {
		resp, err := http.Head(s.url + path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		resp.Body.Close()
		if resp.StatusCode != want || want == 200 && resp.ContentLength <= 0 {
			t.Errorf("%s: %d with %d bytes, want %d", path, resp.StatusCode, resp.ContentLength, want)
		}
	}
}

// A token does not see, watch, steer or remove what is another one's. The owner's does.
func TestW1_Tokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t, say("Writing.", write("a.txt", "x\n")), say("Done."))
	s := w.start()
	ci, other, owner := s.as(ciToken), s.as(otherToken), s.as(ownersToken)
	others := other.watch("/v1/events")
	others.until("SNAPSHOT")
	id := ci.create(object{})
	ci.line(id, object{"type": "user", "text": "write"})
	ci.state(id, "waiting")
	for _, path := range []string{"", "/events", "/diff", "/files?path=a.txt", "/outputs/" + strings.Repeat("0", 64)} {
		other.refused(404, "not_found", "GET", "/v1/sessions/"+id+path, "")
	}
	other.refused(404, "not_found", "DELETE", "/v1/sessions/"+id, "")
	other.refused(404, "not_found", "POST", "/v1/sessions/"+id+"/lines", `{"type":"interrupt"}`)
	if list := other.request("GET", "/v1/sessions", "").object(t)["sessions"].([]any); len(list) != 0 {
		t.Errorf("another token sees %v", list)
	}
	if list := owner.request("GET", "/v1/sessions", "").object(t)["sessions"].([]any); len(list) != 1 {
		t.Errorf("the owner sees %v", list)
	}
	events := owner.watch("/v1/sessions/" + id + "/events")
	asked := events.until("APPROVAL_REQUESTED")
	owner.line(id, object{"type": "approve", "ask": asked[len(asked)-1].data["ask"], "decision": "deny",
		"reason": "Not now."})
	for _, e := range events.until("PROCESSING_END") {
		if e.data["note"] == "answered" && (e.data["data"].(object)["by"] != "owner" ||
			e.data["data"].(object)["allow"] != false) {
			t.Errorf("the answer is noted as %v", e.data)
		}
	}
	mine := other.create(object{})
	if told := others.until("SESSION"); told[0].data["session"].(object)["id"] != mine {
		t.Errorf("another token was told %v", told[0].data)
	}
}

// The same key is one request, whenever it comes again.
func TestW1_IdempotencyKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t, say("One."), say("Two."), say("Three."))
	s := w.start()
	c := s.as(ciToken)
	var ids sync.Map
	var creating sync.WaitGroup
	for range 8 {
		creating.Go(func() {
			a, err := c.try("POST", "/v1/sessions", strings.NewReader(`{}`), "Idempotency-Key", "k1")
			if err != nil || a.status != http.StatusCreated {
				t.Errorf("%d %s %v", a.status, a.body, err)
				return
			}
			var made object
			if err := json.Unmarshal(a.body, &made); err != nil {
				t.Error(err)
			}
			ids.Store(made["id"], true)
		})
	}
	creating.Wait()
	n := 0
	id := ""
	ids.Range(func(key, _ any) bool { n++; id = key.(string); return true })
	if n != 1 {
		t.Fatalf("%d sessions", n)
	}
	if s.as(otherToken).create(object{}, "Idempotency-Key", "k1") == id {
		t.Error("the key of one token is that of another")
	}
	c.refused(422, "key_reused", "POST", "/v1/sessions", `{"mode":"plan"}`, "Idempotency-Key", "k1")
	user, another := object{"type": "user", "text": "go"}, object{"type": "user", "text": "OTHER TEXT"}
	c.line(id, user, "Idempotency-Key", "k2")
	c.state(id, "idle")
	owner := s.as(ownersToken)
	owner.line(id, another, "Idempotency-Key", "k2")
	c.state(id, "idle")
	if got := len(w.model.Requests()); got != 2 {
		t.Errorf("the model was asked %d times for the inputs of two tokens with the same key", got)
	}
	if a := c.send(id, user, "Idempotency-Key", "k2"); a.status != 200 ||
		a.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("again: %d %v", a.status, a.header)
	}
	c.state(id, "idle")
	c.refused(409, "conflict", "POST", "/v1/sessions/"+id+"/lines", `{"type":"continue"}`, "Idempotency-Key", "k3")
	c.refused(409, "conflict", "POST", "/v1/sessions/"+id+"/lines", `{"type":"continue"}`, "Idempotency-Key", "k3")
	c.refused(400, "invalid", "POST", "/v1/sessions", `{}`, "Idempotency-Key", strings.Repeat("k", 256))
	s.end()

	s = w.start()
	c = s.as(ciToken)
	if again := c.create(object{}, "Idempotency-Key", "k1"); again != id {
		t.Errorf("after a restart the key is another session")
	}
	c.line(id, user, "Idempotency-Key", "k2")
	c.state(id, "idle")
	if got := len(w.model.Requests()); got != 2 {
		t.Errorf("the model was asked %d times for one input", got)
	}
	s.end()
	c = w.start().as(ciToken)
	c.refused(422, "key_reused", "POST", "/v1/sessions", `{"mode":"plan"}`, "Idempotency-Key", "k1")
	c.refused(422, "key_reused", "POST", "/v1/sessions/"+id+"/lines", `{"type":"user","text":"OTHER TEXT"}`,
		"Idempotency-Key", "k2")
}

// A stream goes on behind any event, while the server runs, after a restart, and when nobody has
// the session open.
func TestW1_ResumeFromAnyEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, say("Writing.", write("a.txt", "x\n"), write("b.txt", "y\n")), say("Done."))
	s := w.start()
	c := s.as(ciToken)
	id := c.create(object{})
	path := "/v1/sessions/" + id + "/events"
	live := c.watch(path)
	c.line(id, object{"type": "user", "text": "write"})
	var all []event
	for range 2 {
		asked := live.until("APPROVAL_REQUESTED")
		all = append(all, asked...)
		c.line(id, object{"type": "approve", "ask": asked[len(asked)-1].data["ask"], "decision": "allow"})
	}
	all = append(all, live.until("PROCESSING_END")...)
	seen := map[string]bool{}
	for i, e := range all {
		if seen[e.id] || e.id == "" {
			t.Fatalf("event %d has the id %q: %v", i, e.id, kinds(all))
		}
		seen[e.id] = true
		again := c.watch(path, "Last-Event-ID", e.id)
		if i+1 < len(all) {
			if got, want := kinds(again.until("PROCESSING_END")), kinds(all[i+1:]); !slices.Equal(got, want) {
				t.Errorf("after %s: %q, want %q", e.id, got, want)
			}
		}
		again.cancel()
	}
	c.refused(400, "invalid", "GET", path+"?after=x", "")
	c.refused(400, "invalid", "GET", path, "", "Last-Event-ID", "-1")
	s.end()

	c = w.start().as(ciToken)
	var facts []string
	for _, e := range all {
		if !strings.Contains(e.id, ".") { // those of the host are in no journal
			facts = append(facts, e.kind()+" "+e.id)
		}
	}
	for i := range facts {
		_, after, _ := strings.Cut(facts[i], " ")
		again := c.watch(path + "?after=" + after)
		if i+1 < len(facts) {
			if got := kinds(again.until("PROCESSING_END")); !slices.Equal(got, facts[i+1:]) {
				t.Errorf("after %s: %q, want %q", after, got, facts[i+1:])
			}
		}
		again.cancel()
	}
	late := c.watch(path, "Last-Event-ID", all[len(all)-1].id)
	c.line(id, object{"type": "status"}) // opens it
	if got := late.until("SESSION_START"); got[len(got)-1].data["resumed"] != true {
		t.Errorf("told %v", kinds(got))
	}
}

// An ask is answered once, whoever is late.
func TestW1_AnswersTwiceAndLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, say("", write("a.txt", "x\n")), say("", write("b.txt", "y\n")), say("Done."))
	s := w.start()
	c := s.as(ciToken)
	id := c.create(object{})
	events := c.watch("/v1/sessions/" + id + "/events")
	c.line(id, object{"type": "user", "text": "write"})
	asked := events.until("APPROVAL_REQUESTED")
	first := asked[len(asked)-1].data["ask"]
	allow := fmt.Sprintf(`{"type":"approve","ask":%q,"decision":"allow"}`, first)
	var took sync.Map
	var answering sync.WaitGroup
	for i := range 8 {
		answering.Go(func() {
			a, err := s.as([]string{ciToken, ownersToken}[i%2]).try("POST", "/v1/sessions/"+id+"/lines",
				strings.NewReader(allow))
			if err != nil || a.status != 200 && a.status != 409 {
				t.Errorf("%d %s %v", a.status, a.body, err)
			}
			if a.status == 200 {
				took.Store(i, true)
			}
		})
	}
	answering.Wait()
	n := 0
	took.Range(func(any, any) bool { n++; return true })
	more := events.until("APPROVAL_REQUESTED")
	notes := 0
	for _, e := range more {
		if e.data["note"] == "answered" {
			notes++
		}
	}
	if n != 1 || notes != 1 {
		t.Errorf("%d answers counted, %d are noted", n, notes)
	}
	c.line(id, object{"type": "interrupt"})
	events.until("PROCESSING_END")
	late := more[len(more)-1].data["ask"]
	if why := c.refused(409, "conflict", "POST", "/v1/sessions/"+id+"/lines",
		fmt.Sprintf(`{"type":"approve","ask":%q,"decision":"allow"}`, late)); !strings.Contains(why, "cancelled") {
		t.Error(why)
	}
	if _, err := os.Stat(filepath.Join(w.root, "b.txt")); err == nil {
		t.Error("a late answer had an effect")
	}
}

// A whole output is read in parts, and a file only if the session has changed it and no link leads
// out of its directory.
func TestW1_OutputsAndFiles(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(realDir(t), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, say("", use("shell", object{"command": "seq 200000"}), write("a.txt", "x\n"),
		write("b.txt", "x\n")), say("Done."))
	c := w.start(full).as(ciToken)
	id := c.create(object{})
	events := c.watch("/v1/sessions/" + id + "/events")
	c.line(id, object{"type": "user", "text": "go"})
	blob := ""
	for _, e := range events.until("PROCESSING_END") {
		if b, ok := e.data["output_blob"].(string); ok {
			blob = b
		}
	}
	var text strings.Builder
	for next := "0"; next != ""; {
		a := c.request("GET", "/v1/sessions/"+id+"/outputs/"+blob+"?limit=500000&offset="+next, "")
		if a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		text.Write(a.body)
		next = a.header.Get("Attractor-Next")
	}
	if n := strings.Count(text.String(), "\n"); n < 200_000 {
		t.Errorf("%d lines of output", n)
	}
	c.refused(404, "not_found", "GET", "/v1/sessions/"+id+"/outputs/"+strings.Repeat("0", 64), "")
	c.refused(400, "invalid", "GET", "/v1/sessions/"+id+"/outputs/x", "")
	c.refused(400, "invalid", "GET", "/v1/sessions/"+id+"/outputs/"+blob+"?offset=-1", "")
	if err := os.Remove(filepath.Join(w.root, "b.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(w.root, "b.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.root, "own.txt"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"b.txt", "own.txt", "../secret", outside, ".", "/etc/passwd", "a.txt%00"} {
		c.refused(404, "not_found", "GET", "/v1/sessions/"+id+"/files?path="+path, "")
	}
	c.refused(400, "invalid", "GET", "/v1/sessions/"+id+"/files", "")
	for _, path := range []string{"a.txt", "./a.txt", filepath.Join(w.root, "a.txt")} {
		if a := c.request("GET", "/v1/sessions/"+id+"/files?path="+path, ""); string(a.body) != "x\n" {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

// The line close ends a session, and the next line opens it again as it was.
func TestW1_CloseAndOpenAgain(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, func(r *fakellm.Request) fakellm.Turn { return say(fmt.Sprint("Answer ", r.Turn())) })
	w.before = func(s *server.Server) { s.SetRest(0) }
	s := w.start()
	c := s.as(ciToken)
	id := c.create(object{"mode": "accept-edits", "effort": "low"})
	for range 2 {
		events := c.watch("/v1/sessions/" + id + "/events?after=" + fmt.Sprint(c.state(id, "idle")["last_event"]))
		c.line(id, object{"type": "user", "text": "go"})
		events.until("PROCESSING_END")
		c.line(id, object{"type": "close"})
		events.until("SESSION_END")
		c.line(id, object{"type": "status"})
	}
	if st := c.line(id, object{"type": "status"})["status"].(object); st["mode"] != "accept-edits" ||
		st["effort"] != "low" {
		t.Errorf("the status: %v", st)
	}
	await.For(t, "the session to be put away", func() bool {
		s.server.PutAway()
		return c.request("GET", "/v1/sessions/"+id, "").object(t)["usage"] == nil
	})
	c.line(id, object{"type": "user", "text": "go"})
	c.state(id, "idle")
}

// An undo puts the sessions at rest away that have the directory too, and waits for none: one that
// works, or that another token has, is named.
func TestW1_UndoBesideOthers(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, func(r *fakellm.Request) fakellm.Turn {
		switch {
		case strings.Contains(fmt.Sprint(r.Messages[len(r.Messages)-1]), "ask"):
			return say("", use("ask_user", object{"question": "Which?"}))
		case r.Turn() == 0:
			return say("", write("a.txt", "x\n"))
		}
		return say("Done.")
	})
	path := filepath.Join(w.root, "a.txt")
	s := w.start()
	c := s.as(ciToken)
	changed := func(c *client, line object) (id string) {
		id = c.create(object{"mode": "accept-edits"})
		events := c.watch("/v1/sessions/" + id + "/events")
		c.line(id, line)
		events.until("PROCESSING_END")
		return id
	}
	rests := changed(c, object{"type": "user", "text": "go"})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	id := changed(c, object{"type": "user", "text": "go"})
	plan := c.line(id, object{"type": "undo"})["plan"]
	c.line(id, object{"type": "undo", "plan": plan})
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the undo has left the file: %v", err)
	}
	c.line(rests, object{"type": "user", "text": "go on"}) // opens it again
	c.state(rests, "idle")

	others := changed(s.as(otherToken), object{"type": "user", "text": "go"})
	c.mustWaitFor(id, others)
	s.as(otherToken).line(others, object{"type": "close"})
	asks := c.create(object{})
	c.line(asks, object{"type": "user", "text": "ask"})
	c.state(asks, "waiting")
	c.mustWaitFor(id, asks)
	c.line(asks, object{"type": "interrupt"})
	c.state(asks, "idle")
	c.line(id, object{"type": "redo"})
}

// mustWaitFor fails the test unless a redo of a session is refused because of another one.
func (c *client) mustWaitFor(id, other string) {
	c.Helper()
	if why := c.refused(409, "conflict", "POST", "/v1/sessions/"+id+"/lines",
		`{"type": "redo"}`); !strings.Contains(why, other) {
		c.Errorf("the redo is refused with %q, not because of %s", why, other)
	}
}

// What the server allows now holds for sessions from before, too, and a budget ends an input.
func TestW1_CapsHold(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, func(r *fakellm.Request) fakellm.Turn {
		return say("", write(fmt.Sprintf("%d.txt", r.Turn()), "x\n"))
	})
	dir := filepath.Join(w.root, "dir")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := w.start(full)
	c := s.as(ciToken)
	id, elsewhere := c.create(object{"mode": "full", "budget_tokens": 20_000}), c.create(object{})
	events := c.watch("/v1/sessions/" + id + "/events")
	c.line(id, object{"type": "user", "text": "go"})
	if end := events.until("PROCESSING_END"); end[len(end)-1].data["reason"] != "budget_tokens" {
		t.Errorf("the end: %v", end[len(end)-1].data)
	}
	s.end()

	s = w.start(func(o *server.Options) { o.MaxMode = permit.ModeAsk })
	c = s.as(ciToken)
	c.line(id, object{"type": "set", "budget_tokens": 1_000_000})
	if st := c.line(id, object{"type": "status"})["status"].(object); st["mode"] != "ask" {
		t.Errorf("a session from before has the mode %v", st["mode"])
	}
	c.line(id, object{"type": "continue"})
	c.state(id, "waiting")
	s.end()

	c = w.start(func(o *server.Options) { o.Roots = []string{dir} }).as(ciToken)
	c.refused(403, "forbidden", "POST", "/v1/sessions/"+elsewhere+"/lines", `{"type":"user","text":"go"}`)
	await.For(t, "the open session to be refused", func() bool {
		session := c.request("GET", "/v1/sessions/"+id, "").object(t)
		return strings.Contains(fmt.Sprint(session["problem"]), "roots") && session["state"] == "idle"
	})
}

// Many clients at once get each event once and in order, and each input is done once.
func TestW4_ManyClients(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, func(r *fakellm.Request) fakellm.Turn {
		if r.Turn()%2 == 0 {
			return say("Writing.", write(fmt.Sprintf("%d.txt", r.Turn()), "x\n"))
		}
		return say("Done.")
	})
	s := w.start(full)
	c := s.as(ciToken)
	const inputs, watchers = 5, 12
	var ids []string
	for range 3 {
		ids = append(ids, c.create(object{"mode": "full"}))
	}
	var working sync.WaitGroup
	for i := range watchers {
		id := ids[i%len(ids)]
		live := c.watch("/v1/sessions/" + id + "/events")
		working.Go(func() {
			last, ends := "", 0
			for ends < inputs {
				e, ok := <-live.events
				if !ok {
					t.Error("the stream has ended")
					return
				}
				if e.id == last {
					t.Errorf("%s came twice", last)
				}
				if last = e.id; e.kind() == "PROCESSING_END" {
					ends++
				}
			}
		})
	}
	for _, id := range ids {
		for i := range inputs {
			line := fmt.Sprintf(`{"type":"user","text":"go","key":"%d"}`, i)
			for range 2 { // both clients send all of them
				working.Go(func() {
					if a, err := c.try("POST", "/v1/sessions/"+id+"/lines", strings.NewReader(line)); err != nil ||
						a.status != 200 {
						t.Errorf("%d %s %v", a.status, a.body, err)
					}
				})
			}
		}
	}
	working.Wait()
	for _, id := range ids {
		c.state(id, "idle")
		if files, err := filepath.Glob(filepath.Join(w.root, "*.txt")); err != nil || len(files) != inputs {
			t.Errorf("session %s: %d files, %v", id, len(files), err)
		}
	}
}
