//go:build unix

package cli

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// gotEvent is an event as a program reads it.
type gotEvent struct {
	Kind      string `json:"kind"`
	Seq       int64  `json:"seq"`
	Text      string `json:"text"`
	Reason    string `json:"reason"`
	Code      string `json:"code"`
	Line      int64  `json:"line"`
	ReplyTo   any    `json:"reply_to"`
	OK        bool   `json:"ok"`
	Error     string `json:"error"`
	Queued    bool   `json:"queued"`
	Ask       string `json:"ask"`
	How       string `json:"how"`
	Mode      string `json:"mode"`
	Tool      string `json:"tool"`
	Output    string `json:"output"`
	Plan      string `json:"plan"`
	Question  string `json:"question"`
	SessionID string `json:"session_id"`
	Arguments map[string]any
	Allow     []string
	Status    map[string]any
	raw       string
}

// program is a program that keeps a session open.
type program struct {
	*testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *os.File
	lines  *bufio.Reader
	stderr strings.Builder
	seen   []gotEvent
	passed []gotEvent // what next has passed over
}

// converse starts attractor run --input json with more arguments.
func (h *home) converse(args ...string) *program {
	h.Helper()
	return startProgram(h.T, h.command(append([]string{"run", "--input", "json"}, args...)...))
}

// startProgram starts a command that takes lines of JSON.
func startProgram(t *testing.T, cmd *exec.Cmd) *program {
	t.Helper()
	return startProgramTo(t, cmd, nil)
}

// startProgramTo is startProgram with a file for standard error.
func startProgramTo(t *testing.T, cmd *exec.Cmd, stderr *os.File) *program {
	t.Helper()
	p := &program{T: t, cmd: cmd}
	if p.cmd.Stderr = &p.stderr; stderr != nil {
		p.cmd.Stderr = stderr
	}
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	// a hang is a failure that shows what came before
	if err := read.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	p.out, p.cmd.Stdout, p.lines = read, write, bufio.NewReader(read)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := write.Close(); err != nil {
		t.Error(err)
	}
	t.Cleanup(func() {
		p.in.Close()
		p.out.Close()
		_ = p.cmd.Process.Kill() // it has ended unless the test failed
	})
	return p
}

// send writes a text as it is.
func (p *program) send(text string) {
	p.Helper()
	if _, err := io.WriteString(p.in, text); err != nil {
		p.Fatal(err)
	}
}

// say writes a line with the members of a type.
func (p *program) say(kind string, members map[string]any) {
	p.Helper()
	line := map[string]any{"type": kind}
	for name, value := range members {
		line[name] = value
	}
	data, err := json.Marshal(line)
	if err != nil {
		p.Fatal(err)
	}
	p.send(string(data) + "\n")
}

// next returns the next event of one of the kinds that it has not returned yet. Replies and events
// about asks may come before or after events of the session, so those that it passes over count
// later.
func (p *program) next(kinds ...string) gotEvent {
	p.Helper()
	for i, ev := range p.passed {
		if slices.Contains(kinds, ev.Kind) {
			p.passed = slices.Delete(p.passed, i, i+1)
			return ev
		}
	}
	for {
		line, err := p.lines.ReadString('\n')
		if err != nil {
			p.Fatalf("waiting for %v: %v; stderr: %s; so far:\n%s", kinds, err, p.stderr.String(), p.transcript())
		}
		ev := p.read(line)
		if slices.Contains(kinds, ev.Kind) {
			return ev
		}
		p.passed = append(p.passed, ev)
	}
}

// read notes an event.
func (p *program) read(line string) gotEvent {
	p.Helper()
	ev := gotEvent{raw: line}
	var otherForm *json.UnmarshalTypeError // a member that means something else in this kind
	if err := json.Unmarshal([]byte(line), &ev); err != nil && !errors.As(err, &otherForm) {
		p.Fatalf("%s: %v", line, err)
	}
	p.seen = append(p.seen, ev)
	return ev
}

// reply returns the next reply and checks what it says.
func (p *program) reply(line int64, problem string) gotEvent {
	p.Helper()
	ev := p.next("REPLY")
	if ev.Line != line || ev.OK != (problem == "") || !strings.Contains(ev.Error, problem) {
		p.Errorf("the reply is %s, want one to line %d with the error %q", ev.raw, line, problem)
	}
	return ev
}

// replies reads as many replies as it is told what they say, by their lines. They come in any
// order: those to inputs wait for what a /command runs, others do not.
func (p *program) replies(problems map[int64]string) {
	p.Helper()
	for range len(problems) {
		ev := p.next("REPLY")
		problem, is := problems[ev.Line]
		if !is || ev.OK != (problem == "") || !strings.Contains(ev.Error, problem) {
			p.Errorf("the reply is %s, want %v", ev.raw, problems)
		}
		delete(problems, ev.Line)
	}
}

// end reads to the end and checks the exit code. It returns the exit's text for people.
func (p *program) end(code int) string {
	p.Helper()
	for {
		line, err := p.lines.ReadString('\n')
		if err != nil {
			break
		}
		p.read(line)
	}
	return p.exit(code)
}

// exit waits for the process.
func (p *program) exit(code int) string {
	p.Helper()
	err := p.cmd.Wait()
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.Errorf("exit code %d (%v), want %d; stderr: %s\n%s", got, err, code, p.stderr.String(), p.transcript())
	}
	return p.stderr.String()
}

// count returns how many events of a kind there were.
func (p *program) count(kind string) int {
	n := 0
	for _, ev := range p.seen {
		if ev.Kind == kind {
			n++
		}
	}
	return n
}

func (p *program) transcript() string {
	var all strings.Builder
	for _, ev := range p.seen {
		all.WriteString(ev.raw)
	}
	return all.String()
}

// close closes standard input.
func (p *program) close() {
	p.Helper()
	if err := p.in.Close(); err != nil {
		p.Error(err)
	}
}

// A program submits a task, approves with other arguments, refuses with a reason, answers a
// question, sends a second input while the first runs, and closes. Everything happens as it said,
// and the events are in order.
func TestN2_AConversation(t *testing.T) {
	t.Parallel()
	url, server := serve(t, nil,
		say("I write.", use("write_file", map[string]any{"file_path": "a.txt", "content": "one\n"})),
		say("I run.", use("shell", map[string]any{"command": "touch b.txt"})),
		say("I ask.", use("ask_user", map[string]any{"question": "Which colour?", "options": []string{"red", "blue"}})),
		say("The first."), say("The second."))
	h := newHome(t, url)
	p := h.converse()
	p.say("user", map[string]any{"text": "go", "id": "a"})
	if r := p.reply(1, ""); r.ReplyTo != "a" || r.Queued {
		t.Errorf("%s", r.raw)
	}
	ask := p.next("APPROVAL_REQUESTED")
	if ask.Tool != "write_file" || ask.Arguments["file_path"] != "a.txt" ||
		!strings.Contains(ask.Text, "wants to create a.txt") {
		t.Errorf("%s", ask.raw)
	}
	p.say("user", map[string]any{"text": "and then", "id": 7})
	if r := p.reply(2, ""); r.ReplyTo != 7.0 || !r.Queued {
		t.Errorf("%s", r.raw)
	}
	p.say("approve", map[string]any{"ask": ask.Ask, "decision": "allow",
		"args": map[string]any{"file_path": "a.txt", "content": "changed\n"}})
	p.reply(3, "")
	p.say("approve", map[string]any{"ask": ask.Ask, "decision": "deny"})
	p.reply(4, "answered already")
	ask = p.next("APPROVAL_REQUESTED")
	if ask.Arguments["content"] != "changed\n" { // what a person changed is asked about once more, as it is now
		t.Errorf("%s", ask.raw)
	}
	p.say("approve", map[string]any{"ask": ask.Ask, "decision": "allow"})
	p.reply(5, "")
	ask = p.next("APPROVAL_REQUESTED")
	p.say("answer", map[string]any{"ask": ask.Ask, "text": "yes"})
	p.reply(6, "about a tool call, not a question")
	p.say("approve", map[string]any{"ask": ask.Ask, "decision": "deny", "reason": "Not while it rains."})
	p.reply(7, "")
	question := p.next("QUESTION")
	if question.Question != "Which colour?" {
		t.Errorf("%s", question.raw)
	}
	p.say("answer", map[string]any{"ask": question.Ask, "text": "green"})
	p.reply(8, "")
	if end := p.next("PROCESSING_END"); end.Text != "The first." {
		t.Errorf("%s", end.raw)
	}
	if end := p.next("PROCESSING_END"); end.Text != "The second." {
		t.Errorf("%s", end.raw)
	}
	p.close()
	p.end(0)
	if data, err := os.ReadFile(filepath.Join(h.dir, "a.txt")); err != nil || string(data) != "changed\n" {
		t.Errorf("a.txt: %q, %v", data, err)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "b.txt")); err == nil {
		t.Error("what was refused ran")
	}
	told := string(server.Requests()[len(server.Requests())-1].Body)
	for _, want := range []string{"the user said no. Not while it rains.", "green", "and then"} {
		if !strings.Contains(told, want) {
			t.Errorf("the model was not told %q", want)
		}
	}
	var last int64
	for i, ev := range p.seen {
		if ev.Seq < last || i == 0 && ev.Kind != "SESSION_START" || i == len(p.seen)-1 && ev.Kind != "SESSION_END" {
			t.Errorf("event %d of %d: %s", i, len(p.seen), ev.raw)
		}
		last = ev.Seq
	}
	if p.count("APPROVAL_REQUESTED")+p.count("QUESTION") != p.count("ASK_ENDED") || p.count("REPLY") != 8 {
		t.Errorf("asks or replies are missing:\n%s", p.transcript())
	}
}

// Every line that is wrong gets one reply, which names it and says what is wrong. Then the session
// goes on.
func TestN2_WrongLines(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("Well."))
	p := newHome(t, url).converse()
	wrong := []struct{ line, problem string }{
		{"garbage", "is not JSON"},
		{`{"type":"user"`, "unexpected end"},
		{`{"type":"user","text":"x"} {}`, "is not JSON"},
		{"\x00\xff\xfe", "is not in UTF-8"},
		{"\x00", "is not JSON"},
		{"[1]", "no object"},
		{"null", "no object"},
		{"12", "no object"},
		{"{}", "has no type; the types are user, steer"},
		{`{"type":7}`, "type must be a string"},
		{`{"type":"` + strings.Repeat("x", 10_000) + `"}`, "there is no type"},
		{`{"type":"user"}`, "needs a text or images"},
		{`{"type":"user","text":" "}`, "needs a text or images"},
		{`{"type":"user","text":["x"]}`, "text must be a string"},
		{`{"type":"user","TEXT":"x"}`, `user has no member "TEXT"; its members are type, id, text, images, key`},
		{`{"type":"user","text":"x","id":{}}`, "id must be a string or a number"},
		{`{"type":"user","text":"x","id":"` + strings.Repeat("x", 300) + `"}`, "id must be"},
		{`{"type":"user","images":[{"media_type":"image/png"}]}`, "images[0] needs either data"},
		{`{"type":"user","images":[{"media_type":"image/png","data":"%%%"}]}`, "images[0]: the image is not in Base64"},
		{`{"type":"user","images":[{"path":"/none.png"}]}`, "images[0]: cannot read the image"},
		{`{"type":"user","images":"x"}`, "images must be a list"},
		{`{"type":"steer","text":"x"}`, "no input is running"},
		{`{"type":"continue"}`, "there is no input to continue"},
		{`{"type":"continue","text":"x"}`, `continue has no member "text"; its members are type, id`},
		{`{"type":"answer","text":"x"}`, "answer needs ask"},
		{`{"type":"answer","ask":"x"}`, "either text, content"},
		{`{"type":"answer","ask":"x","action":"accept"}`, "decline or cancel"},
		{`{"type":"answer","ask":"x","content":[]}`, "content must be an object"},
		{`{"type":"answer","ask":"nobody-1","text":"x"}`, `there is no ask "nobody-1"`},
		{`{"type":"approve","ask":"nobody-1","decision":"allow"}`, `there is no ask "nobody-1"`},
		{`{"type":"approve","ask":"x","decision":"maybe"}`, "allow or deny"},
		{`{"type":"approve","ask":"x","decision":"deny","remember":"session"}`, "only for the decision allow"},
		{`{"type":"approve","ask":"x","decision":"allow","remember":"forever"}`, "session, project or always"},
		{`{"type":"approve","ask":"x","decision":"allow","mode":"plan"}`, "ends plan mode"},
		{`{"type":"set"}`, "set needs one of provider, model"},
		{`{"type":"set","mode":"wild"}`, "there is no mode"},
		{`{"type":"set","max_rounds":1.5}`, "max_rounds must be a whole number"},
		{`{"type":"set","max_rounds":-1}`, "cannot be negative"},
		{`{"type":"set","budget_usd":"1"}`, "budget_usd must be a number"},
		{`{"type":"set","answer_timeout":"soon"}`, "duration such as 90s"},
		{`{"type":"set","provider":"openai"}`, "set model with provider"},
		{`{"type":"set","max_turns":9,"effort":"enormous"}`, "enormous"},
		{`{"type":"user","text":"/no-such-command"}`, "there is no command /no-such-command"},
	}
	for i, w := range wrong {
		p.send(w.line + "\n")
		p.reply(int64(i+1), w.problem)
	}
	p.send("\n  \r\n") // empty lines are none
	p.send(`{"type":"user","text":"still there?","id":null}` + "\r\n")
	p.reply(int64(len(wrong)+3), "")
	if end := p.next("PROCESSING_END"); end.Text != "Well." {
		t.Errorf("%s", end.raw)
	}
	p.close()
	p.end(0)
}

// Lines that nobody understands are an error of whoever sends them. The last line needs no end.
func TestN2_TheWholeInput(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args  []string
		stdin string
		code  int
		texts []string // of PROCESSING_END
		says  string
	}{
		"nothing":            {nil, "", 0, nil, ""},
		"no line understood": {nil, "do this\nand that", 2, nil, "no line of the input was understood: 2 refused"},
		"no newline":         {nil, `{"type":"user","text":"a"}`, 0, []string{"one"}, ""},
		"a byte order mark":  {nil, "\ufeff" + `{"type":"user","text":"a"}`, 0, []string{"one"}, ""},
		"several inputs": {nil, `{"type":"user","text":"a"}` + "\n" + `{"type":"follow_up","text":"b"}` + "\n" +
			`{"type":"user","text":"c"}`, 0, []string{"one", "two", "three"}, ""},
		"a prompt as well": {[]string{"the", "prompt"}, `{"type":"user","text":"b"}`, 0, []string{"one", "two"}, ""},
		"a bad prompt": {[]string{"/nothing"}, `{"type":"user","text":"b"}`, 2, nil,
			"there is no command /nothing"},
		"close":   {nil, `{"type":"close"}` + "\n" + `{"type":"user","text":"b"}`, 0, nil, ""},
		"a limit": {[]string{"--max-turns", "1", "x"}, "", 0, []string{"one"}, ""},
		"beyond a limit": {[]string{"--max-turns", "1", "x"}, `{"type":"user","text":"b"}`, 3, []string{"one", ""},
			"max_turns"},
		"prompt from stdin": {[]string{"-"}, "x", 2, nil, "the prompt cannot be -"},
		"asked elsewhere":   {[]string{"--ask"}, "x", 2, nil, "the client is asked"},
		"bad timeout":       {[]string{"--answer-timeout", "-1s"}, "", 2, nil, "cannot be negative"},
		"bad form":          {[]string{"--input", "xml"}, "", 2, nil, "must be text or json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := serve(t, nil, say("one"), say("two"), say("three"))
			p := newHome(t, url).converse(c.args...)
			_, _ = io.WriteString(p.in, c.stdin) // a command line that is wrong reads nothing
			p.in.Close()
			said := p.end(c.code)
			if !strings.Contains(said, c.says) || c.says == "" && said != "" {
				t.Errorf("stderr %q, want %q", said, c.says)
			}
			var texts []string
			for _, ev := range p.seen {
				if ev.Kind == "PROCESSING_END" {
					texts = append(texts, ev.Text)
				}
			}
			if !slices.Equal(texts, c.texts) {
				t.Errorf("answers %q, want %q\n%s", texts, c.texts, p.transcript())
			}
		})
	}
}

// fifo makes a FIFO in the directory and returns its path.
func (h *home) fifo(name string) string {
	h.Helper()
	path := filepath.Join(h.dir, name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		h.Fatal(err)
	}
	return path
}

// deaf returns a command that ignores the signals which end others, and says to a FIFO that it
// runs. The FIFO ends with it.
func deaf(fifo string) string {
	return fmt.Sprintf("trap '' TERM INT HUP; exec 9>%s; echo runs >&9; while :; do sleep 1000; done", fifo)
}

// waitFor waits until a deaf command runs, and returns a function that waits until it has ended.
func (h *home) waitFor(fifo string) (ended func()) {
	h.Helper()
	f, err := os.Open(fifo) // when the command opens its end
	if err != nil {
		h.Fatal(err)
	}
	lines := bufio.NewReader(f)
	if line, err := lines.ReadString('\n'); err != nil || line != "runs\n" {
		h.Fatalf("%q, %v", line, err)
	}
	return func() {
		h.Helper()
		defer f.Close()
		if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
			h.Errorf("%q, %v", rest, err)
		}
	}
}

// An interrupt ends a command that ignores signals, and keeps the session, which goes on with
// continue.
func TestN2_Interrupt(t *testing.T) {
	t.Parallel()
	h := newHome(t, "")
	fifo := h.fifo("gate")
	url, _ := serve(t, nil, say("", use("shell", map[string]any{"command": deaf(fifo)})), say("On it goes."),
		say("Next."))
	h.url = url
	p := h.converse("--yes")
	p.say("user", map[string]any{"text": "go"})
	ended := h.waitFor(fifo)
	p.reply(1, "")
	p.say("interrupt", nil)
	ended()
	if end := p.next("PROCESSING_END"); end.Reason != "interrupted" {
		t.Errorf("%s", end.raw)
	}
	p.say("continue", nil)
	if end := p.next("PROCESSING_END"); end.Text != "On it goes." {
		t.Errorf("%s", end.raw)
	}
	p.say("continue", nil)
	for i, problem := range []string{"", "", "the last input is complete"} {
		p.reply(int64(i+2), problem)
	}
	// the interrupt comes before it is taken, or ends it, or comes too late
	p.say("user", map[string]any{"text": "again"})
	p.say("interrupt", nil)
	replies := []gotEvent{p.next("REPLY"), p.next("REPLY")}
	end := gotEvent{Reason: "completed"}
	if taken := replies[0].OK && replies[1].OK; taken {
		end = p.next("PROCESSING_END")
	} else if said := replies[0].Error + replies[1].Error; !strings.Contains(said, "an interrupt came before") {
		t.Error(said)
	}
	p.close()
	code := 0
	if end.Reason == "interrupted" {
		code = 1
	}
	p.end(code)
}

// An interrupt cancels a question about a call. An answer that comes after it is too late, and the
// call does not run.
func TestN2_InterruptedQuestion(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("", use("shell", map[string]any{"command": "touch ran"})))
	h := newHome(t, url)
	p := h.converse()
	p.say("user", map[string]any{"text": "go"})
	p.reply(1, "")
	ask := p.next("APPROVAL_REQUESTED")
	p.say("interrupt", nil)
	p.say("approve", map[string]any{"ask": ask.Ask, "decision": "allow"})
	p.reply(2, "")
	p.reply(3, "was cancelled")
	if end := p.next("PROCESSING_END"); end.Reason != "interrupted" {
		t.Errorf("%s", end.raw)
	}
	p.close()
	if said := p.end(1); !strings.Contains(said, "interrupted") || !strings.Contains(said, "attractor run --resume") {
		t.Errorf("stderr %q", said)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "ran")); err == nil {
		t.Error("the call ran")
	}
}

// What nobody answers is denied after the limit. A later answer is an error that says so.
func TestN2_NeverAnswered(t *testing.T) {
	t.Parallel()
	url, server := serve(t, nil, say("", use("shell", map[string]any{"command": "touch ran"}),
		use("ask_user", map[string]any{"question": "Which?"})), say("Alone, then."))
	h := newHome(t, url)
	p := h.converse("--answer-timeout", "50ms")
	p.say("user", map[string]any{"text": "go"})
	p.reply(1, "")
	ask := p.next("APPROVAL_REQUESTED", "QUESTION")
	if end := p.next("ASK_ENDED"); end.How != "timed_out" {
		t.Errorf("%s", end.raw)
	}
	if end := p.next("PROCESSING_END"); end.Text != "Alone, then." {
		t.Errorf("%s", end.raw)
	}
	p.say("approve", map[string]any{"ask": ask.Ask, "decision": "allow"})
	if r := p.next("REPLY"); r.OK || !strings.Contains(r.Error, "timed out, so the answer came too late") {
		t.Errorf("%s", r.raw)
	}
	p.close()
	p.end(0)
	told := string(server.Requests()[1].Body)
	if strings.Count(told, "nobody answered") != 2 || !strings.Contains(told, "within 50ms") {
		t.Errorf("the model was told: %s", told)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "ran")); err == nil {
		t.Error("the call ran")
	}
}

// When the input ends, what waits for an answer is denied, what is queued is done, and the session
// ends in order.
func TestN2_ClosedInput(t *testing.T) {
	t.Parallel()
	url, server := serve(t, nil, say("", use("shell", map[string]any{"command": "touch ran"})), say("Without it."),
		say("", use("shell", map[string]any{"command": "touch ran"})), say("The queued one."))
	h := newHome(t, url)
	p := h.converse()
	p.say("user", map[string]any{"text": "go"})
	p.say("user", map[string]any{"text": "queued"})
	p.next("APPROVAL_REQUESTED")
	p.close()
	if end := p.next("ASK_ENDED"); end.How != "cancelled" {
		t.Errorf("%s", end.raw)
	}
	if end := p.next("PROCESSING_END"); end.Text != "Without it." {
		t.Errorf("%s", end.raw)
	}
	if end := p.next("PROCESSING_END"); end.Text != "The queued one." {
		t.Errorf("%s", end.raw)
	}
	p.end(0)
	if told := string(server.Requests()[3].Body); strings.Count(told,
		"nobody is there to give it (the input has ended)") != 2 {
		t.Errorf("the model was told: %s", told)
	}
	if p.count("APPROVAL_REQUESTED") != 1 {
		t.Errorf("nobody can answer, and there are more asks:\n%s", p.transcript())
	}
}

// A program that is killed while a command runs takes the command with it. The session ends in
// order, and another program goes on with it.
func TestN2_ProgramGone(t *testing.T) {
	t.Parallel()
	h := newHome(t, "")
	fifo := h.fifo("gate")
	url, _ := serve(t, nil, say("", use("shell", map[string]any{"command": deaf(fifo)})), say("Finished."))
	h.url = url
	p := h.converse("--yes")
	p.say("user", map[string]any{"text": "go"})
	ended := h.waitFor(fifo)
	p.close() // as the kernel does for a program that is killed
	if err := p.out.Close(); err != nil {
		t.Error(err)
	}
	ended()
	p.exit(1)
	id := h.sessions()[0].ID
	if out := h.run(0, "run", "--yes", "--resume", id); out.stdout != "Finished.\n" {
		t.Errorf("%q", out.stdout)
	}
}

// A signal ends the session in order while it waits for an answer, and while it waits for lines.
func TestN2_Signals(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("", use("shell", map[string]any{"command": "touch ran"})), say("Finished."))
	h := newHome(t, url)
	p := h.converse()
	p.say("user", map[string]any{"text": "go"})
	p.next("APPROVAL_REQUESTED")
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.end(128 + int(syscall.SIGTERM))
	if last := p.seen[len(p.seen)-1]; last.Kind != "SESSION_END" || p.count("ASK_ENDED") != 1 {
		t.Errorf("the end is %s", p.transcript())
	}
	id := h.sessions()[0].ID
	p = h.converse("--resume", id)
	p.say("status", nil)
	if r := p.next("REPLY"); r.Status["state"] != "IDLE" {
		t.Errorf("%s", r.raw)
	}
	p.say("continue", nil)
	p.say("status", nil)
	if end := p.next("PROCESSING_END"); end.Text != "Finished." {
		t.Errorf("%s", end.raw)
	}
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	p.end(128 + int(syscall.SIGINT))
}

// Settings hold from the next model call on. The mode and the limits are those of the session.
func TestN2_Set(t *testing.T) {
	t.Parallel()
	url, server := serve(t, nil, say("One."),
		say("", use("write_file", map[string]any{"file_path": "a.txt", "content": "x"})),
		say("", use("shell", map[string]any{"command": "touch b.txt"})), say("Never."))
	h := newHome(t, url)
	p := h.converse("first")
	p.next("PROCESSING_END")
	p.say("set", map[string]any{"model": "claude-opus-5", "effort": "low", "mode": "accept-edits",
		"answer_timeout": "1ms", "max_rounds": 2})
	if changed := p.next("MODE_CHANGED"); changed.Mode != "accept-edits" {
		t.Errorf("%s", changed.raw)
	}
	p.reply(1, "")
	p.say("status", nil)
	if r := p.reply(2, ""); r.Status["mode"] != "accept-edits" || r.Status["model"] != "claude-opus-5" ||
		r.Status["effort"] != "low" {
		t.Errorf("%s", r.raw)
	}
	p.say("user", map[string]any{"text": "second"})
	if end := p.next("PROCESSING_END"); end.Reason != "max_tool_rounds" {
		t.Errorf("%s", end.raw)
	}
	p.close()
	p.end(3)
	if r := server.Requests()[1]; r.Model != "claude-opus-5" || r.Effort != "low" {
		t.Errorf("the second input was for %s with effort %s", r.Model, r.Effort)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "a.txt")); err != nil {
		t.Error(err)
	}
	if p.count("APPROVAL_REQUESTED") != 1 || p.count("ASK_ENDED") != 1 {
		t.Errorf("%s", p.transcript())
	}
}

// A failed model call ends the input and keeps the session.
func TestN2_FailedModelCall(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, map[int]fakellm.Fault{1: {Kind: fakellm.FaultStatus, Status: 401}}, say("Well."))
	p := newHome(t, url).converse()
	p.say("user", map[string]any{"text": "go"})
	if end := p.next("PROCESSING_END"); end.Reason != "error" {
		t.Errorf("%s", end.raw)
	}
	p.say("continue", nil)
	if end := p.next("PROCESSING_END"); end.Text != "Well." {
		t.Errorf("%s", end.raw)
	}
	p.close()
	p.end(0)

	url, _ = serve(t, map[int]fakellm.Fault{1: {Kind: fakellm.FaultStatus, Status: 401}}, say("Well."))
	p = newHome(t, url).converse("go")
	p.close()
	if said := p.end(4); !strings.Contains(said, "API key") {
		t.Errorf("stderr %q", said)
	}
}

// takeOver writes to the journal of the only session, as another process does that takes it over.
// GiveBack removes what was written.
func (h *home) takeOver() (giveBack func()) {
	h.Helper()
	journals, err := filepath.Glob(filepath.Join(h.home, ".local/state/attractor/sessions/*.jsonl"))
	if err != nil || len(journals) != 1 {
		h.Fatal(journals, err)
	}
	before, err := os.ReadFile(journals[0])
	if err != nil {
		h.Fatal(err)
	}
	write := func(content string) {
		if err := os.WriteFile(journals[0], []byte(content), 0o600); err != nil {
			h.Fatal(err)
		}
	}
	write(string(before) + "{}\n")
	return func() { write(string(before)) }
}

// A session that another process has taken over ends for the program, which has not ended its
// input, whether that is found out by an input or by a line at rest.
func TestN2_TakenOver(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"user", "set"} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			url, _ := serve(t, nil, say("One."), say("Two."))
			h := newHome(t, url)
			p := h.converse("go")
			p.next("PROCESSING_END")
			h.takeOver()
			p.say(line, map[string]map[string]any{"user": {"text": "on"}, "set": {"effort": "high"}}[line])
			if told := p.next("WARNING"); told.Code != "taken_over" || !strings.Contains(told.Text, "another process") {
				t.Errorf("%s", told.raw)
			}
			if said := p.end(1); !strings.Contains(said, "taken over by another process") {
				t.Errorf("stderr %q", said)
			}
		})
	}
}

// The clients of examples/jsonclient run a task and a second one against the command: edits are
// approved, commands are refused, a question is answered, and the texts are printed.
func TestN2_ExampleClients(t *testing.T) {
	t.Parallel()
	builder := exec.Command("go", "build", "-o", filepath.Join(t.TempDir(), "client"), "../../examples/jsonclient/go")
	if out, err := builder.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	script, err := filepath.Abs("../../examples/jsonclient/client.py")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		command []string
		answer  string
	}{
		"python": {[]string{peer.Need(t, "python3"), script}, "red"},
		"go":     {[]string{builder.Args[3]}, "as you like"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, server := serve(t, nil,
				say("I write. ", use("write_file", map[string]any{"file_path": "a.txt", "content": "one\n"})),
				say("I run. ", use("shell", map[string]any{"command": "touch b.txt"})),
				say("I ask. ", use("ask_user",
					map[string]any{"question": "Which?", "options": []string{"red", "blue"}})),
				say("The first. "), say("The second. "))
			h, bin := newHome(t, url), t.TempDir()
			if err := os.Symlink(self, filepath.Join(bin, "attractor")); err != nil {
				t.Fatal(err)
			}
			cmd := attractorCommand(t)
			cmd.Path, cmd.Args, cmd.Dir = c.command[0], append(c.command, "do it", "do more"), h.dir
			cmd.Env = append(cmd.Env, "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+h.home, "XDG_RUNTIME_DIR="+h.home,
				"ANTHROPIC_API_KEY=key-of-a-test", "ANTHROPIC_BASE_URL="+url)
			out := runCommand(t, cmd)
			if out.code != 0 || out.stderr != "" {
				t.Errorf("exit code %d, stderr %s", out.code, out.stderr)
			}
			for _, text := range []string{"I write. \n", "I run. \n", "I ask. \n", "The first. \n", "The second. \n"} {
				if !strings.Contains(out.stdout, text) {
					t.Errorf("%q was not printed: %s", text, out.stdout)
				}
			}
			_, wrote := os.Stat(filepath.Join(h.dir, "a.txt"))
			if _, ran := os.Stat(filepath.Join(h.dir, "b.txt")); wrote != nil || ran == nil {
				t.Errorf("a.txt: %v, b.txt: %v", wrote, ran)
			}
			requests := server.Requests()
			if told := string(requests[len(requests)-1].Body); !strings.Contains(told, `"`+c.answer+`"`) ||
				!strings.Contains(told, "do more") || !strings.Contains(told, "the user said no.") {
				t.Errorf("the model was told: %s", told)
			}
		})
	}
}

// A hundred thousand lines get as many replies, also if the program reads none of them at first. An
// interrupt reaches the session while the program does not read.
func TestN2_ManyLines(t *testing.T) {
	t.Parallel()
	h := newHome(t, "")
	fifo := h.fifo("gate")
	url, _ := serve(t, nil, say("", use("shell", map[string]any{"command": deaf(fifo)})), say("Finished."))
	h.url = url
	p := h.converse("--yes")
	p.say("user", map[string]any{"text": "go"})
	ended := h.waitFor(fifo)
	p.reply(1, "")
	const unread, all = 1000, 20_000
	p.send(strings.Repeat("garbage\n", unread)) // whose replies are more than a pipe holds
	p.say("interrupt", nil)
	ended() // although nothing was read yet
	wrote := make(chan error, 1)
	go func() {
		_, err := io.WriteString(p.in, strings.Repeat("{\"type\":\"status\"}\n", all))
		wrote <- err
	}()
	for line := int64(2); line <= all+unread+2; line++ {
		if r := p.next("REPLY"); r.Line != line || r.OK != (line > unread+1) {
			t.Fatalf("reply %d: %s", line, r.raw)
		}
		p.seen = nil
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	if end := p.next("PROCESSING_END"); end.Reason != "interrupted" {
		t.Errorf("%s", end.raw)
	}
	p.close()
	p.end(1)
}

// An oversized line is skipped, whatever it holds, and the session goes on. So it does after a line
// without a newline for long.
func TestN2_OversizedInput(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("Well."))
	p := newHome(t, url).converse()
	p.send(`{"type":"user","text":"` + strings.Repeat("x", 33<<20) + `"}` + "\n")
	p.reply(1, "longer than 32 MiB")
	p.say("user", map[string]any{"text": "and now?"})
	p.reply(2, "")
	p.close()
	if end := p.next("PROCESSING_END"); end.Text != "Well." {
		t.Errorf("%s", end.raw)
	}
	p.end(0)
}

// Images reach the model, in Base64 and from files. A text that the session has had under its key
// is not taken again, also by another process.
func TestN2_ImagesAndKeys(t *testing.T) {
	t.Parallel()
	url, server := serve(t, nil, say("Seen."), say("Two."))
	h := newHome(t, url)
	const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	data, err := base64.StdEncoding.DecodeString(pixel)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.dir, "a.png"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	p := h.converse()
	input := map[string]any{"text": "what is it?", "key": "task-1",
		"images": []map[string]any{{"media_type": "image/png", "data": pixel}, {"path": "a.png"}}}
	p.say("user", input)
	p.reply(1, "")
	p.next("PROCESSING_END")
	p.say("user", input)
	p.reply(2, "")
	p.close()
	p.end(0)
	if n := strings.Count(string(server.Requests()[0].Body), pixel); n != 2 || len(server.Requests()) != 1 {
		t.Errorf("%d images, %d requests", n, len(server.Requests()))
	}
	p = h.converse("--resume", h.sessions()[0].ID)
	p.say("user", input)
	p.say("user", map[string]any{"text": "more", "key": "task-2"})
	p.reply(1, "")
	p.reply(2, "")
	if end := p.next("PROCESSING_END"); end.Text != "Two." {
		t.Errorf("%s", end.raw)
	}
	p.close()
	p.end(0)
}

// With --output-schema each input has a result that fits. Steering reaches the input that runs.
func TestN2_SchemaAndSteering(t *testing.T) {
	t.Parallel()
	url, server := serve(t, nil, say("", use("shell", map[string]any{"command": "true; touch x"})), say(`{"n":1}`),
		say(`{"n":2}`))
	h := newHome(t, url)
	schema := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(schema,
		[]byte(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	p := h.converse("--output-schema", schema)
	p.say("user", map[string]any{"text": "first"})
	ask := p.next("APPROVAL_REQUESTED")
	p.say("steer", map[string]any{"text": "Mind the gap."})
	p.reply(1, "")
	p.reply(2, "")
	p.say("approve", map[string]any{"ask": ask.Ask, "decision": "allow", "remember": "session"})
	if end := p.next("PROCESSING_END"); end.Text != `{"n":1}` {
		t.Errorf("%s", end.raw)
	}
	p.say("user", map[string]any{"text": "second"})
	if end := p.next("PROCESSING_END"); end.Text != `{"n":2}` {
		t.Errorf("%s", end.raw)
	}
	p.say("steer", map[string]any{"text": "Too late."})
	p.reply(3, "")
	p.reply(4, "")
	p.reply(5, "no input is running")
	p.close()
	p.end(0)
	if told := string(server.Requests()[1].Body); !strings.Contains(told, "Mind the gap.") ||
		p.count("STEERING_INJECTED") != 1 {
		t.Errorf("the model was told: %s", told)
	}
}

// What is remembered holds: for the session, or for later sessions too. Plan mode ends with an
// approval that names the next mode.
func TestN2_RememberedAndPlanned(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("", use("shell", map[string]any{"command": "touch a"})),
		say("", use("shell", map[string]any{"command": "touch b"})), say("One."),
		say("", use("exit_plan_mode", map[string]any{"plan": "I write c."})),
		say("", use("write_file", map[string]any{"file_path": "c", "content": "x"})), say("Two."))
	h := newHome(t, url)
	p := h.converse()
	p.say("user", map[string]any{"text": "go"})
	p.reply(1, "")
	ask := p.next("APPROVAL_REQUESTED")
	if !slices.Equal(ask.Allow, []string{"Bash(touch:*)"}) {
		t.Errorf("%s", ask.raw)
	}
	p.say("approve", map[string]any{"ask": ask.Ask, "decision": "allow", "mode": "full", "remember": "always"})
	p.reply(2, "not about one")
	if _, err := os.Stat(filepath.Join(h.home, ".local/state/attractor/rules.json")); err == nil {
		t.Error("a refused line has kept a rule")
	}
	p.say("approve", map[string]any{"ask": ask.Ask, "decision": "allow", "remember": "always"})
	p.reply(3, "")
	p.next("PROCESSING_END")
	if p.count("APPROVAL_REQUESTED") != 1 {
		t.Errorf("asked again: %s", p.transcript())
	}
	p.say("set", map[string]any{"mode": "plan"})
	p.say("user", map[string]any{"text": "plan"})
	p.reply(4, "")
	p.reply(5, "")
	ask = p.next("APPROVAL_REQUESTED")
	if ask.Plan != "I write c." {
		t.Errorf("%s", ask.raw)
	}
	p.say("approve", map[string]any{"ask": ask.Ask, "decision": "allow", "mode": "accept-edits"})
	p.reply(6, "")
	if end := p.next("PROCESSING_END"); end.Text != "Two." {
		t.Errorf("%s", end.raw)
	}
	if n := p.count("MODE_CHANGED"); n != 2 {
		t.Errorf("%d changes of the mode", n)
	}
	p.close()
	p.end(0)
	if out := h.run(0, "rules", "check", "touch d"); !strings.Contains(out.stdout, "allow") {
		t.Errorf("%s", out.stdout)
	}
}

// Who gives up the session by close gets an exit code that says whether an input was cut off.
// Another program goes on with it, and then with what was queued.
func TestN2_Close(t *testing.T) {
	t.Parallel()
	h := newHome(t, "")
	fifo := h.fifo("gate")
	url, _ := serve(t, nil, say("", use("shell", map[string]any{"command": deaf(fifo)})), say("Finished."),
		say("The queued one."))
	h.url = url
	p := h.converse("--yes")
	p.say("user", map[string]any{"text": "go"})
	ended := h.waitFor(fifo)
	p.say("user", map[string]any{"text": "later"})
	p.reply(1, "")
	p.reply(2, "")
	p.say("close", nil)
	ended()
	if said := p.end(1); !strings.Contains(said, "closed while an input was running") {
		t.Errorf("stderr %q", said)
	}
	p = h.converse("--resume", h.sessions()[0].ID, "--yes")
	p.say("continue", nil)
	for _, text := range []string{"Finished.", "The queued one."} {
		if end := p.next("PROCESSING_END"); end.Text != text {
			t.Errorf("%s", end.raw)
		}
	}
	p.say("close", nil)
	p.end(0)
}

// Without anybody who asks for more, --timeout ends the session.
func TestN2_Timeout(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("One."))
	p := newHome(t, url).converse("--timeout", "2s", "go")
	if said := p.end(3); !strings.Contains(said, "--timeout") {
		t.Errorf("stderr %q", said)
	}
	if n := len(p.seen); n == 0 || p.seen[n-1].Kind != "SESSION_END" {
		t.Error(p.transcript())
	}
}

// What a /command runs is asked about, and can be approved while the command waits for it. Its
// model is that of its input alone.
func TestN2_Commands(t *testing.T) {
	t.Parallel()
	url, server := serve(t, nil, say("One."), say("Two."))
	h := newHome(t, url)
	file := filepath.Join(h.home, ".claude", "commands", "deploy.md")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("---\nmodel: claude-opus-5\n---\nIt printed: !`touch ran; echo deployed $1`\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	p := h.converse()
	p.say("user", map[string]any{"text": "/deploy here"})
	ask := p.next("APPROVAL_REQUESTED")
	p.say("approve", map[string]any{"ask": ask.Ask, "decision": "allow"})
	p.replies(map[int64]string{1: "", 2: ""})
	p.next("PROCESSING_END")
	p.say("user", map[string]any{"text": "and now?"})
	p.next("PROCESSING_END")
	p.say("user", map[string]any{"text": "/deploy there"})
	p.next("APPROVAL_REQUESTED")
	p.say("interrupt", nil)
	p.reply(3, "")
	p.replies(map[int64]string{4: "stopped", 5: ""})
	p.close()
	p.end(0)
	requests := server.Requests()
	if len(requests) != 2 || requests[0].Model != "claude-opus-5" || !strings.Contains(string(requests[0].Body),
		"It printed: deployed here") || requests[1].Model == "claude-opus-5" {
		t.Errorf("%d requests, for %s and %s", len(requests), requests[0].Model, requests[1].Model)
	}
}

// An input that a killed process has left open ends as interrupted when another process gives the
// session a new one.
func TestN2_AfterAKill(t *testing.T) {
	t.Parallel()
	h := newHome(t, "")
	fifo := h.fifo("gate")
	url, _ := serve(t, nil, say("",
		use("shell", map[string]any{"command": "exec 9>" + fifo + "; echo runs >&9; sleep 1000"})),
		say("Something else."))
	h.url = url
	p := h.converse("--yes")
	p.say("user", map[string]any{"text": "go"})
	ended := h.waitFor(fifo)
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.end(-1)
	p = h.converse("--yes", "--resume", h.sessions()[0].ID)
	p.say("user", map[string]any{"text": "something else"})
	for _, reason := range []string{"interrupted", "completed"} {
		if end := p.next("PROCESSING_END"); end.Reason != reason {
			t.Errorf("%s, want it %s", end.raw, reason)
		}
	}
	ended() // the next process in the directory has ended what the killed one left
	p.close()
	p.end(0)
}

// What the model asks and what a reply says has no secrets, and a reply does not repeat a long
// line.
func TestN2_SecretsInAsks(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("", use("ask_user",
		map[string]any{"question": "Is it key-of-a-test?", "options": []string{"key-of-a-test"}})), say("Done."))
	h := newHome(t, url)
	p := h.converse()
	p.say("set", map[string]any{"model": "key-of-a-test", "provider": "key-of-a-test"})
	if r := p.reply(1, "[secret ANTHROPIC_API_KEY]"); strings.Contains(r.raw, "key-of-a-test") {
		t.Error(r.raw)
	}
	p.say("answer", map[string]any{"ask": strings.Repeat("x", 100_000), "text": "y"})
	if r := p.reply(2, "there is no ask"); len(r.raw) > 5000 {
		t.Errorf("a reply of %d bytes", len(r.raw))
	}
	p.send("{\"type\":\"status\",\"id\":\"\xff\"}\n")
	if r := p.reply(3, "not in UTF-8"); !utf8.ValidString(r.raw) {
		t.Errorf("%q", r.raw)
	}
	p.say("user", map[string]any{"text": "go"})
	asked := p.next("QUESTION")
	if strings.Contains(asked.raw, "key-of-a-test") || !strings.Contains(asked.raw, "[secret ANTHROPIC_API_KEY]") {
		t.Error(asked.raw)
	}
	p.say("answer", map[string]any{"ask": asked.Ask, "action": "decline"})
	p.next("PROCESSING_END")
	p.close()
	p.end(0)
}
