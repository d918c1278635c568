package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// steered is the page of a session that a command of a test has, over HTTP.
type steered struct {
	*testing.T
	base, token, id string
	client          *http.Client
	lines           *bufio.Scanner
}

var pageURL = regexp.MustCompile(`(http://127\.0\.0\.1:\d+)/#token=([\w-]+)&session=([\w-]+)`)

// openPage opens the page whose URL is in a text.
func openPage(t *testing.T, text string) *steered {
	t.Helper()
	m := pageURL.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no URL of a page in %q", text)
	}
	return &steered{T: t, base: m[1], token: m[2], id: m[3],
		client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}}
}

// request makes a request as the page does.
func (p *steered) request(method, path, body string, change ...func(*http.Request)) (int, string) {
	p.Helper()
	r, err := http.NewRequestWithContext(p.Context(), method, p.base+"/api/sessions/"+p.id+"/"+path,
		strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	r.Header.Set("Origin", p.base)
	r.Header.Set("Content-Type", "application/json")
	for _, f := range change {
		f(r)
	}
	answer, err := p.client.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		p.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// do sends a line and checks the error of its reply, which is empty if there must be none.
func (p *steered) do(line, problem string) {
	p.Helper()
	status, text := p.request(http.MethodPost, "do", line)
	var reply struct {
		OK    bool
		Error string
	}
	if err := json.Unmarshal([]byte(text), &reply); err != nil || status != http.StatusOK ||
		reply.OK != (problem == "") || !strings.Contains(reply.Error, problem) {
		p.Errorf("%s: status %d, %s, want the error %q", line, status, text, problem)
	}
}

// begin sends a line until it is taken: the conversation may still be at the end of what ran
// before.
func (p *steered) begin(s *screen, line string) {
	p.Helper()
	s.until(line, func() bool {
		_, text := p.request(http.MethodPost, "do", line)
		return strings.Contains(text, `"ok":true`)
	})
}

// watch begins to read the live events.
func (p *steered) watch() (stop func()) {
	p.Helper()
	ctx, cancel := context.WithCancel(p.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+"/api/sessions/"+p.id+"/watch", nil)
	if err != nil {
		p.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	answer, err := (&http.Client{Transport: p.client.Transport}).Do(r) // the other has a limit for the whole answer
	if err != nil {
		p.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK {
		p.Fatalf("watch: %s", answer.Status)
	}
	p.lines = bufio.NewScanner(answer.Body)
	p.lines.Buffer(nil, 16<<20)
	end := func() { cancel(); answer.Body.Close() }
	p.Cleanup(end)
	return end
}

// live returns the next live event of a kind. Of a LIVE it returns the one with an ask, or else
// with the text.
func (p *steered) live(kind string) gotEvent {
	p.Helper()
	for p.lines.Scan() {
		var m struct {
			Type  string
			Event json.RawMessage
		}
		if err := json.Unmarshal(p.lines.Bytes(), &m); err != nil {
			p.Fatalf("%s: %v", p.lines.Bytes(), err)
		}
		if m.Type != "live" {
			continue
		}
		var ev gotEvent
		var live struct{ Asks []json.RawMessage }
		if err := json.Unmarshal(m.Event, &ev); err != nil {
			p.Fatalf("%s: %v", m.Event, err)
		}
		if ev.Kind == "LIVE" && kind != "LIVE" {
			if err := json.Unmarshal(m.Event, &live); err != nil || len(live.Asks) == 0 {
				continue
			}
			ev = gotEvent{}
			if err := json.Unmarshal(live.Asks[0], &ev); err != nil {
				p.Fatal(err)
			}
		}
		if ev.raw = string(m.Event); ev.Kind == kind {
			return ev
		}
	}
	p.Fatalf("the page got no %s: %v", kind, p.lines.Err())
	return gotEvent{}
}

// viewing is a command with a page.
type viewing struct {
	*steered
	cmd    *exec.Cmd
	stderr *bufio.Reader
	stdout bytes.Buffer
	said   strings.Builder // on standard error
}

// startViewed starts a command without a terminal, and opens its page.
func startViewed(h *home, args ...string) *viewing {
	h.Helper()
	return startViewedCommand(h, h.command(args...))
}

// startViewedCommand is startViewed for a command.
func startViewedCommand(h *home, cmd *exec.Cmd) *viewing {
	h.Helper()
	v := &viewing{cmd: cmd}
	v.cmd.Stdout = &v.stdout
	read, write, err := os.Pipe()
	if err != nil {
		h.Fatal(err)
	}
	v.cmd.Stderr, v.stderr = write, bufio.NewReader(read)
	if err := v.cmd.Start(); err != nil {
		h.Fatal(err)
	}
	write.Close()
	h.Cleanup(func() {
		_ = v.cmd.Process.Kill() // it has ended unless the test failed
		read.Close()
	})
	for v.steered == nil {
		line, err := v.stderr.ReadString('\n')
		v.said.WriteString(line)
		if err != nil {
			h.Fatalf("no page: %s", v.said.String())
		}
		if pageURL.MatchString(line) {
			v.steered = openPage(h.T, line)
		}
	}
	return v
}

// wait waits for the end of the command and checks its exit code.
func (v *viewing) wait(code int) {
	v.Helper()
	rest, err := io.ReadAll(v.stderr)
	if err != nil {
		v.Error(err)
	}
	v.said.Write(rest)
	err = v.cmd.Wait()
	if got := v.cmd.ProcessState.ExitCode(); got != code {
		v.Errorf("exit code %d (%v), want %d:\n%s", got, err, code, v.said.String())
	}
}

// Without a terminal the page is asked. It approves, refuses and answers; the session ends by
// itself, says where it can be seen, and leaves no server behind.
func TestN5_ApprovedFromThePage(t *testing.T) {
	t.Parallel()
	u, server := serve(t, nil,
		say("I write.", use("write_file", map[string]any{"file_path": "a.txt", "content": "one\n"})),
		say("I run.", use("shell", map[string]any{"command": "touch b.txt"})),
		say("I ask.", use("ask_user", map[string]any{"question": "Which colour?", "options": []string{"red", "blue"}})),
		say("All done."))
	h := newHome(t, u)
	v := startViewed(h, "run", "--view", "go")
	stop := v.watch()
	ask := v.live("APPROVAL_REQUESTED")
	v.do(`{"type":"approve","ask":"`+ask.Ask+`","decision":"allow"}`, "")
	v.do(`{"type":"approve","ask":"`+ask.Ask+`","decision":"allow"}`, "answered already")
	stop() // a page that goes away answers nothing, and one that comes gets what is open
	v.watch()
	ask = v.live("APPROVAL_REQUESTED")
	v.do(`{"type":"approve","ask":"`+ask.Ask+`","decision":"deny","reason":"Not while it rains."}`, "")
	question := v.live("QUESTION")
	v.do(`{"type":"answer","ask":"`+question.Ask+`","text":"green"}`, "")
	v.wait(0)
	if got := v.stdout.String(); got != "All done.\n" {
		t.Errorf("the answer is %q", got)
	}
	if !strings.Contains(v.said.String(), "attractor view "+v.id[:8]) {
		t.Errorf("nobody says where the session can be seen:\n%s", v.said.String())
	}
	if h.made() != "a.txt" {
		t.Errorf("made %q", h.made())
	}
	told := string(server.Requests()[len(server.Requests())-1].Body)
	for _, want := range []string{"the user said no. Not while it rains.", "green"} {
		if !strings.Contains(told, want) {
			t.Errorf("the model was not told %q", want)
		}
	}
	if status, text := v.request(http.MethodPost, "do", `{"type":"status"}`); status != 0 {
		t.Errorf("the page goes on: %d %s", status, text)
	}
}

// Only the page itself steers: another origin, a wrong token, another name of the host and other
// forms are refused, and nothing happens.
func TestN5_OnlyThePageSteers(t *testing.T) {
	t.Parallel()
	u, _ := serve(t, nil, say("", touch("a")), say("Done."))
	h := newHome(t, u)
	v := startViewed(h, "run", "--view", "go")
	v.watch()
	ask := v.live("APPROVAL_REQUESTED")
	line := `{"type":"approve","ask":"` + ask.Ask + `","decision":"allow"}`
	for name, change := range map[string]func(*http.Request){
		"no token": func(r *http.Request) { r.Header.Del("Authorization") },
		"wrong token": func(r *http.Request) {
			r.Header.Set("Authorization", "Bearer "+strings.Repeat("A", len(v.token)))
		},
		"no origin":      func(r *http.Request) { r.Header.Del("Origin") },
		"another origin": func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
		"null origin":    func(r *http.Request) { r.Header.Set("Origin", "null") },
		"another host":   func(r *http.Request) { r.Host = "evil.example" },
		"GET":            func(r *http.Request) { r.Method = http.MethodGet },
		"another session": func(r *http.Request) {
			r.URL, _ = url.Parse(v.base + "/api/sessions/00000000-0000-4000-8000-000000000000/do")
		},
	} {
		if status, text := v.request(http.MethodPost, "do", line, change); status < 400 ||
			strings.Contains(text, `"ok":true`) {
			t.Errorf("%s: status %d, %s", name, status, text)
		}
	}
	v.do(`{"type":"approve","ask":"`+ask.Ask+`","decision":"deny"}`, "") // it has waited all the time
	v.wait(0)
	if h.made() != "" {
		t.Errorf("made %q", h.made())
	}
}

// An input is steered, gets a successor, and is interrupted from the page. The exit code is that of
// an interrupt.
func TestN5_SteeredAndInterruptedFromThePage(t *testing.T) {
	t.Parallel()
	u, asked := gatedModel(t, 0, say("Looking.", use("shell", map[string]any{"command": "ls"})), say("First."),
		say("", use("shell", map[string]any{"command": "echo > began; sleep 1000"})))
	h := newHome(t, u)
	v := startViewed(h, "run", "--view", "--yes", "go")
	request := <-asked
	v.watch()
	v.do(`{"type":"steer","text":"mind the gap"}`, "")
	v.do(`{"type":"user","text":"and then sleep"}`, "")
	v.do(`{"type":"set","mode":"ask"}`, "")
	v.do(`{"type":"set","mode":"full"}`, "")
	request.answer()
	request = <-asked
	if got := lastUser(request); !strings.Contains(got, "mind the gap") {
		t.Errorf("the model gets %q", got)
	}
	request.answer()
	request = <-asked
	if got := lastUser(request); !strings.Contains(got, "and then sleep") {
		t.Errorf("the model gets %q", got)
	}
	request.answer()
	for v.live("TOOL_CALL_START").Kind == "" {
	}
	v.do(`{"type":"interrupt"}`, "")
	v.wait(exitFailed)
	if !strings.Contains(v.said.String(), "interrupted") {
		t.Errorf("%s", v.said.String())
	}
}

// What nobody answers in time is refused, and the model is told. An answer after that is too late.
func TestN5_NobodyAtThePage(t *testing.T) {
	t.Parallel()
	u, asked := gatedModel(t, 1, say("", touch("a")), say("Then not."))
	h := newHome(t, u)
	v := startViewed(h, "run", "--view", "--answer-timeout", "50ms", "go")
	v.watch()
	request := <-asked
	if got := string(request.Body); !strings.Contains(got, "nobody answered the question about it within 50ms") {
		t.Errorf("the model gets %q", got)
	}
	v.do(`{"type":"approve","ask":"none-1","decision":"allow"}`, "there is no ask")
	request.answer()
	v.wait(0)
	if h.made() != "" {
		t.Errorf("made %q", h.made())
	}
}

// A program at standard input and the page are asked at once, and the program learns of the page's
// answer.
func TestN5_PageBesideAProgram(t *testing.T) {
	t.Parallel()
	u, _ := serve(t, nil, say("", touch("a")), say("Done."), say("More."))
	h := newHome(t, u)
	cmd := h.command("run", "--input", "json", "--view")
	file, err := os.Create(filepath.Join(h.home, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p := startProgramTo(t, cmd, file)
	p.say("user", map[string]any{"text": "go"})
	ask := p.next("APPROVAL_REQUESTED")
	said, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	page := openPage(t, string(said))
	page.watch()
	if got := page.live("APPROVAL_REQUESTED"); got.Ask != ask.Ask {
		t.Errorf("%s", got.raw)
	}
	page.do(`{"type":"approve","ask":"`+ask.Ask+`","decision":"allow"}`, "")
	p.next("ASK_ENDED")
	p.next("PROCESSING_END")
	page.do(`{"type":"user","text":"and more"}`, "")
	if end := p.next("PROCESSING_END"); end.Text != "More." {
		t.Errorf("%s", end.raw)
	}
	p.close()
	p.end(0)
	if h.made() != "a" || p.count("REPLY") != 1 {
		t.Errorf("made %q, %d replies", h.made(), p.count("REPLY"))
	}
}

// A signal ends a session whose page is open and asked something.
func TestN5_SignalWhileThePageIsAsked(t *testing.T) {
	t.Parallel()
	u, _ := serve(t, nil, say("", touch("a")))
	v := startViewed(newHome(t, u), "run", "--view", "go")
	v.watch()
	v.live("APPROVAL_REQUESTED")
	if err := v.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	v.wait(128 + int(syscall.SIGTERM))
	for v.lines.Scan() { // the stream ends
	}
}

// --view needs a journal, and says so.
func TestN5_ViewNeedsAJournal(t *testing.T) {
	t.Parallel()
	h := newHome(t, unusedURL)
	for _, args := range [][]string{{"run", "--view", "--no-journal", "go"}, {"run", "--view", "--no-journal",
		"--input", "json"}} {
		if out := h.run(exitUsage, args...); !strings.Contains(out.stderr, "cannot be used with --no-journal") {
			t.Errorf("%s", out.stderr)
		}
	}
}

// page opens the page whose URL is on a screen.
func (s *screen) page() *steered {
	s.Helper()
	s.until("the URL of the page", func() bool { return pageURL.MatchString(s.all()) })
	p := openPage(s.T, s.all())
	p.watch()
	return p
}

// run asks on the terminal and on the page at once. The first answer wins, and the other place says
// so.
func TestN5_TerminalAndPage(t *testing.T) {
	t.Parallel()
	u, _ := serve(t, nil, say("", touch("a")), say("", touch("b")),
		say("", use("ask_user", map[string]any{"question": "Which colour?"})), say("", touch("c")), say("Done."))
	h := chatHome(t, u)
	cmd := h.command("run", "--view", "go")
	s := onScreen(t, cmd, 160, 50)
	page := s.page()
	ask := page.live("APPROVAL_REQUESTED")
	s.expect("Allow it?")
	page.do(`{"type":"approve","ask":"`+ask.Ask+`","decision":"allow"}`, "")
	s.expect("Allowed in the viewer.")
	ask = page.live("APPROVAL_REQUESTED")
	s.until("the second question", func() bool { return strings.Count(s.all(), "Allow it?") >= 2 })
	ended := make(chan string, 1)
	go func() { ended <- page.live("ASK_ENDED").Ask }()
	for n, over := 1, false; !over; n++ { // a line right after the page's answer does not count
		s.send("n not this one")
		s.until("the end of the question, or that the line does not count", func() bool {
			select {
			case id := <-ended:
				if over = true; id != ask.Ask {
					t.Errorf("%s has ended, want %s", id, ask.Ask)
				}
			default:
			}
			return over || strings.Count(s.all(), "This line does not count") >= n
		})
	}
	page.do(`{"type":"approve","ask":"`+ask.Ask+`","decision":"allow"}`, "answered already")
	question := page.live("QUESTION")
	s.expect("Your answer:")
	page.do(`{"type":"answer","ask":"`+question.Ask+`","text":"green"}`, "")
	s.expect("Answered in the viewer.")
	ask = page.live("APPROVAL_REQUESTED")
	page.do(`{"type":"approve","ask":"`+ask.Ask+`","decision":"deny"}`, "")
	s.expect("Denied in the viewer.")
	s.expect("Done.")
	if code := s.ended(); code != 0 || h.made() != "a" {
		t.Errorf("exit code %d, made %q", code, h.made())
	}
}

// chat takes inputs from both places, and shows on the terminal what comes from the page. What was
// being typed is still there when the page has answered a question, and Enter right after that does
// not send it.
func TestN5_ChatAndPage(t *testing.T) {
	t.Parallel()
	u, asked := gatedModel(t, 0, say("Hello.", touch("a")), say("Written."), say("From the page."), say("Cut off."),
		say("Gone on."))
	h := chatHome(t, u)
	s := onScreen(t, chatting(h, "--view"), 160, 50)
	s.expect(ready)
	page := s.page()
	page.do(`{"type":"interrupt"}`, "nothing runs")
	page.do(`{"type":"steer","text":"x"}`, "no input is running")
	page.do(`{"type":"user","text":"/clear"}`, "is for the terminal")
	s.send("make a")
	request := <-asked
	s.typeText("half a mess")
	s.expect("half a mess")
	request.answer()
	ask := page.live("APPROVAL_REQUESTED")
	s.expect("Allow it?")
	page.do(`{"type":"approve","ask":"`+ask.Ask+`","decision":"allow"}`, "")
	s.expect("Allowed in the viewer.")
	s.expect("> half a mess")
	request = <-asked
	page.do(`{"type":"steer","text":"and mind the gap"}`, "")
	request.answer()
	request = <-asked // the steering came after the answer had begun
	if got := lastUser(request); !strings.Contains(got, "mind the gap") {
		t.Errorf("the model gets %q", got)
	}
	request.answer()
	s.expect("From the page.")
	s.until("the end of the turn", func() bool { return page.idle() })
	page.begin(s, `{"type":"user","text":"from afar"}`)
	s.expect("> from afar (in the viewer)")
	request = <-asked
	page.do(`{"type":"interrupt"}`, "")
	request.answer()
	s.until("the end of the turn", func() bool { return page.idle() })
	s.expect("> half a mess")
	s.typeText("age")
	for sent := false; !sent; { // Enter right after the page's answer does not send it
		s.press("Enter")
		select {
		case request = <-asked:
			sent = true
		case <-time.After(render.WithdrawnFor):
		}
	}
	if got := lastUser(request); !strings.Contains(got, "half a message") {
		t.Errorf("the model gets %q", got)
	}
	request.answer()
	s.expect("turns")
	s.press("C-d")
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// What the page sends while the terminal compacts is refused, and leaves the compaction alone.
func TestN5_PageWhileTheTerminalCompacts(t *testing.T) {
	t.Parallel()
	turns := slices.Repeat([]fakellm.Turn{say("Answer.")}, 11)
	u, asked := gatedModel(t, 9, turns...)
	s := onScreen(t, chatting(chatHome(t, u), "--view"), 160, 50)
	s.expect(ready)
	page := s.page()
	for i := range 9 {
		s.send("go on")
		s.until("the answer", func() bool { return strings.Count(s.all(), "done · ") == i+1 })
	}
	s.gone("working · ")
	s.send("/compact")
	request := <-asked
	for _, line := range []string{`{"type":"user","text":"from afar"}`, `{"type":"continue"}`, `{"type":"compact"}`} {
		page.do(line, "not yet: compacting")
	}
	request.answer()
	s.expect("compacted: a summary replaces")
	s.gone("compacting · ")
	page.do(`{"type":"user","text":"from afar"}`, "")
	(<-asked).answer()
	s.until("the answer", func() bool { return strings.Count(s.all(), "done · ") == 10 })
	s.press("C-d")
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// idle reports whether no input runs.
func (p *steered) idle() bool {
	_, text := p.request(http.MethodPost, "do", `{"type":"status"}`)
	return strings.Contains(text, `"state":"IDLE"`)
}

// What a person sends on the page is masked as other inputs are: neither the model nor the journal
// gets the secret.
func TestN5_SecretsFromThePage(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-of-the-page-1234567890"
	u, asked := gatedModel(t, 0, say("", use("ask_user", map[string]any{"question": "Which?"})), say("", touch("a")),
		say("Done."))
	h := newHome(t, u)
	cmd := h.command("run", "--view", "go")
	cmd.Env = append(cmd.Env, "DB_PASSWORD="+secret)
	v := startViewedCommand(h, cmd)
	v.watch()
	request := <-asked
	v.do(`{"type":"steer","text":"the password is `+secret+`"}`, "")
	request.answer()
	v.do(`{"type":"answer","ask":"`+v.live("QUESTION").Ask+`","text":"it is `+secret+`"}`, "")
	request = <-asked
	if got := string(request.Body); strings.Contains(got, secret) || strings.Count(got, "[secret DB_PASSWORD]") != 2 {
		t.Errorf("the model gets the secret, or not that there was one")
	}
	request.answer()
	v.do(`{"type":"approve","ask":"`+v.live("APPROVAL_REQUESTED").Ask+`","decision":"deny","reason":"because of `+
		secret+`"}`, "")
	request = <-asked
	if got := string(request.Body); strings.Contains(got, secret) || strings.Count(got, "[secret DB_PASSWORD]") != 3 {
		t.Errorf("the model gets the secret, or not that there was one")
	}
	request.answer()
	v.wait(0)
	if events := h.run(0, "sessions", "events", v.id).stdout; strings.Contains(events, secret) {
		t.Error("the journal has the secret")
	}
}

// A conversation that changes to another session shows that on the same server, and the old one can
// only be watched.
func TestN5_ChatChangesItsSession(t *testing.T) {
	t.Parallel()
	u, _ := serve(t, nil, say("Hello."))
	h := chatHome(t, u)
	s := onScreen(t, chatting(h, "--view"), 160, 50)
	s.expect(ready)
	first := s.page()
	first.do(`{"type":"user","text":"hi"}`, "")
	s.expect("Hello.")
	s.until("the end of the turn", first.idle)
	s.send("/clear")
	s.until("another URL", func() bool { return len(pageURL.FindAllString(s.all(), -1)) == 2 })
	all := pageURL.FindAllString(s.all(), -1)
	second := openPage(t, all[1])
	if second.base != first.base || second.token != first.token || second.id == first.id {
		t.Errorf("the pages are %q", all)
	}
	for first.lines.Scan() && !strings.Contains(first.lines.Text(), "SESSION_END") {
	}
	if status, text := first.request(http.MethodPost, "do",
		`{"type":"user","text":"more"}`); status != http.StatusConflict {
		t.Errorf("the old session: %d %s", status, text)
	}
	s.until("the new session", func() bool { return second.idle() })
	second.begin(s, `{"type":"user","text":"hi again"}`)
	s.expect("> hi again (in the viewer)")
	s.press("C-d")
	s.ended()
}
