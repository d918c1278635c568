package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/attractor-go/attractor/tool"
)

// person is a session with somebody who answers questions.
type person struct {
	tool.Plain
	mu     sync.Mutex
	asked  []tool.Question
	answer func(ctx context.Context, q tool.Question) (tool.Answer, error)
}

func (p *person) Ask(ctx context.Context, q tool.Question) (tool.Answer, error) {
	p.mu.Lock()
	p.asked = append(p.asked, q)
	p.mu.Unlock()
	return p.answer(ctx, q)
}

// Servers ask during a call: those of 2026-07-28 by an unfinished result, earlier ones by a
// request.
func TestM1_Questions(t *testing.T) {
	for program, protocol := range map[string]string{"lab": "2026-07-28", "legacy": "2025-11-25"} {
		t.Run(program, func(t *testing.T) {
			s := ready(t, Options{Servers: []Server{as(t, "lab", program)}, Answers: true})
			if st := s.Status()[0]; st.Protocol != protocol {
				t.Fatalf("the protocol is %s", st.Protocol)
			}
			p := &person{answer: func(context.Context, tool.Question) (tool.Answer, error) {
				return tool.Answer{Content: json.RawMessage(`{"day":"Monday"}`)}, nil
			}}
			if o := run(t.Context(), t, s, "mcp__lab__book", `{}`,
				tool.Call{Session: p}); o.Model.Text() != "accept Monday" {
				t.Errorf("the result is %q", o.Model.Text())
			}
			if q := p.asked[0]; q.Text != `Which\u{202e} day?` || q.Source != "MCP server lab" || !q.Now ||
				!strings.Contains(string(q.Form), `"day"`) {
				t.Errorf("asked %+v", q)
			}
			p.answer = func(context.Context, tool.Question) (tool.Answer, error) {
				return tool.Answer{Action: tool.ActionDecline}, nil
			}
			if o := run(t.Context(), t, s, "mcp__lab__book", `{}`,
				tool.Call{Session: p}); o.Model.Text() != "decline <nil>" {
				t.Errorf("the result is %q", o.Model.Text())
			}
			if o := run(t.Context(), t, s, "mcp__lab__book", `{}`, tool.Call{}); o.Model.Text() != "decline <nil>" {
				t.Errorf("with nobody there the result is %q", o.Model.Text())
			}
			p.answer = func(context.Context, tool.Question) (tool.Answer, error) {
				return tool.Answer{Text: "I have opened it"}, nil
			}
			o := run(t.Context(), t, s, "mcp__lab__enter", `{}`, tool.Call{Session: p})
			if q := p.asked[len(p.asked)-1]; o.Model.Text() != "accept" ||
				!strings.Contains(q.Text, "at example.com: https://example.com/login?x=1") || q.Form != nil {
				t.Errorf("the result is %q after %+v", o.Model.Text(), q)
			}
		})
	}
}

// Without anybody who answers, servers are told so.
func TestM1_NoQuestions(t *testing.T) {
	s := ready(t, Options{Servers: []Server{as(t, "lab", "lab")}})
	if o := run(t.Context(), t, s, "mcp__lab__book", `{}`, tool.Call{}); !o.IsError || !strings.Contains(o.Model.Text(),
		"does not support elicitation") {
		t.Errorf("the result is %q", o.Model.Text())
	}
}

// A question of an old server does not say to which of several calls it belongs, so the person is
// told.
func TestM1_QuestionsOfSeveralCalls(t *testing.T) {
	s := ready(t, Options{Servers: []Server{as(t, "lab", "legacy")}, Answers: true})
	var both atomic.Int32
	met := make(chan struct{})
	p := &person{}
	p.answer = func(ctx context.Context, q tool.Question) (tool.Answer, error) {
		if both.Add(1) == 2 {
			close(met)
		}
		select {
		case <-met:
		case <-ctx.Done():
		}
		return tool.Answer{Content: json.RawMessage(`{"day":"Monday"}`)}, nil
	}
	var calls sync.WaitGroup
	for range 2 {
		calls.Go(func() {
			if o := run(t.Context(), t, s, "mcp__lab__book", `{}`,
				tool.Call{Session: p}); o.Model.Text() != "accept Monday" {
				t.Errorf("the result is %q", o.Model.Text())
			}
		})
	}
	calls.Wait()
	told := 0
	for _, q := range p.asked {
		if strings.Contains(q.Text, "2 calls run at this server") {
			told++
		}
	}
	if told == 0 {
		t.Errorf("asked %+v", p.asked)
	}
}

func TestM1_Sampling(t *testing.T) {
	s := ready(t, Options{Servers: []Server{as(t, "lab", "legacy")}})
	if o := run(t.Context(), t, s, "mcp__lab__think", `{}`, tool.Call{}); !strings.Contains(o.Model.Text(),
		"servers get no access to the model") {
		t.Errorf("the server says %q", o.Model.Text())
	}
}

// Only addresses for a browser are shown.
func TestM1_AddressesForPeople(t *testing.T) {
	s := new(server)
	for _, address := range []string{"file:///etc/passwd", "javascript:alert(1)", "https://", "data:text/html,x",
		"vscode://x/y"} {
		if q, err := s.question(params(address), 0); err == nil {
			t.Errorf("%s is shown: %+v", address, q)
		}
	}
}

// A call fails because a person has to open an address first. It is made again once the person has,
// and otherwise the model gets the error.
func TestM1_AddressBeforeACall(t *testing.T) {
	one := func(address string) string {
		return `{"mode":"url","message":"Log in.","url":"` + address + `","elicitationId":"1"}`
	}
	accept, decline := tool.Answer{Action: tool.ActionAccept}, tool.Answer{Action: tool.ActionDecline}
	for name, c := range map[string]struct {
		data   string
		nobody bool // nobody can answer
		answer tool.Answer
		asked  int
		want   string
	}{
		"opened": {`{"elicitations":[` + one("https://example.com/a") + `]}`, false, accept, 1,
			"in after 2 tries"},
		"two": {`{"elicitations":[` + one("https://example.com/a") + `,` + one("https://example.com/b") +
			`]}`, false, accept, 2, "in after 2 tries"},
		"declined": {`{"elicitations":[` + one("https://example.com/a") + `,` + one("https://example.com/b") +
			`]}`, false, decline, 1, `failed with error -32042: closed\u{202e}`},
		"nobody": {`{"elicitations":[` + one("https://example.com/a") + `]}`, true, accept, 0,
			"failed with error -32042"},
		"no browser": {`{"elicitations":[` + one("javascript:alert(1)") + `]}`, false, accept, 0,
			"failed with error -32042"},
		"a form": {`{"elicitations":[{"mode":"form","message":"Name?","requestedSchema":{"type":"object"}}]}`,
			false, accept, 0, "failed with error -32042"},
		"none":    {`{"elicitations":[null]}`, false, accept, 0, "failed with error -32042"},
		"no list": {`{"elicitations":"x"}`, false, accept, 0, "failed with error -32042"},
		"too many": {`{"elicitations":[` + strings.Repeat(one("https://example.com/a")+",",
			maxRequests) + one("https://example.com/a") + `]}`, false, accept, 0, "failed with error -32042"},
		"something else": {`7`, false, accept, 0, "failed with error -32042"},
	} {
		t.Run(name, func(t *testing.T) {
			s := ready(t, Options{Servers: []Server{as(t, "door", "door")}, Answers: !c.nobody})
			p := &person{answer: func(context.Context, tool.Question) (tool.Answer, error) { return c.answer, nil }}
			o := run(t.Context(), t, s, "mcp__door__enter", `{"data":`+c.data+`}`, tool.Call{Session: p})
			if !strings.Contains(o.Model.Text(), c.want) || len(p.asked) != c.asked ||
				o.IsError != strings.Contains(c.want, "failed") {
				t.Errorf("asked %+v; the result is %q", p.asked, o.Model.Text())
			}
		})
	}
}
