package llm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
)

func calls(ids ...string) llm.Message {
	m := llm.Message{Role: llm.RoleAssistant, Provider: "here"}
	for _, id := range ids {
		m.Parts = append(m.Parts, llm.ToolCall{ID: id, Name: "look", Args: "{}"})
	}
	return m
}

func results(ids ...string) llm.Message {
	var list []llm.ToolResult
	for _, id := range ids {
		list = append(list, llm.ToolResult{CallID: id, Name: "look", Content: llm.TextParts("saw " + id)})
	}
	return llm.ToolResults(list...)
}

// show formats a history as one line.
func show(messages []llm.Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(map[llm.Role]string{llm.RoleUser: "u", llm.RoleAssistant: "a", llm.RoleTool: "t",
			llm.RoleSystem: "s"}[m.Role] + "(")
		for i, p := range m.Parts {
			if i > 0 {
				b.WriteByte(' ')
			}
			switch p := p.(type) {
			case llm.Text:
				b.WriteString(strings.TrimSpace(p.Text) + p.Signature)
			case llm.ToolCall:
				b.WriteString("?" + p.ID + p.Signature)
			case llm.ToolResult:
				b.WriteString("!" + p.CallID)
				if p.IsError {
					b.WriteString(" missing")
				}
			case llm.Thinking:
				b.WriteString("~" + p.Text)
			case llm.Opaque:
				b.WriteString("#" + p.Data)
			case llm.Media:
				b.WriteString("*" + p.MIME)
			}
		}
		b.WriteString(") ")
	}
	return strings.TrimSpace(b.String())
}

func TestG11_Repair(t *testing.T) {
	u := llm.User
	foreign := func(parts ...llm.Part) llm.Message {
		return llm.Message{Role: llm.RoleAssistant, Provider: "there", Parts: parts}
	}
	own := func(parts ...llm.Part) llm.Message {
		return llm.Message{Role: llm.RoleAssistant, Provider: "here", Parts: parts}
	}
	signed := llm.Parts{llm.Thinking{Text: "hm", Signature: "s"}, llm.Text{Text: "x", Signature: "+s"},
		llm.ToolCall{ID: "1", Signature: "+s"},
		llm.Opaque{Provider: "there", Data: "1"}, llm.Opaque{Provider: "here", Data: "2"}}
	orphan := "Result of an earlier call of look: saw"
	for name, tt := range map[string]struct {
		in   []llm.Message
		want string
	}{
		"in order": {[]llm.Message{llm.System("s"), u("x"), calls("1", "2"), results("2", "1"), u("y")},
			"s(s) u(x) a(?1 ?2) t(!2 !1) u(y)"},
		"nothing":        {nil, ""},
		"missing at end": {[]llm.Message{u("x"), calls("1", "2")}, "u(x) a(?1 ?2) t(!1 missing !2 missing)"},
		"missing":        {[]llm.Message{calls("1"), u("x"), llm.Assistant("y")}, "a(?1) t(!1 missing) u(x) a(y)"},
		"one of two": {[]llm.Message{calls("1", "2"), results("2"), llm.Assistant("y")},
			"a(?1 ?2) t(!2) t(!1 missing) a(y)"},
		"late": {[]llm.Message{calls("1"), u("x"), results("1"), u("y")}, "a(?1) t(!1) u(x) u(y)"},
		"partly late": {[]llm.Message{calls("1", "2"), results("1"), u("x"), results("2"), u("y")},
			"a(?1 ?2) t(!1) t(!2) u(x) u(y)"},
		"one each": {[]llm.Message{calls("1", "2"), results("1"), results("2")}, "a(?1 ?2) t(!1) t(!2)"},
		"too late": {[]llm.Message{calls("1"), llm.Assistant("y"), u("x"), llm.Assistant("z"), results("1")},
			"a(?1) a(y) t(!1 missing) u(x) a(z) u(" + orphan + " 1)"},
		"turn of two":      {[]llm.Message{calls("1"), calls("2"), results("1", "2")}, "a(?1) a(?2) t(!1 !2)"},
		"no call":          {[]llm.Message{u("x"), results("1"), u("y")}, "u(x) u(" + orphan + " 1) u(y)"},
		"twice":            {[]llm.Message{calls("1"), results("1"), results("1")}, "a(?1) t(!1) u(" + orphan + " 1)"},
		"one with no call": {[]llm.Message{calls("1"), results("0", "1")}, "a(?1) t(!1) u(" + orphan + " 0)"},
		"no call, others":  {[]llm.Message{calls("1"), results("0"), results("1")}, "a(?1) t(!1) u(" + orphan + " 0)"},
		"same id again": {[]llm.Message{calls("1"), results("1"), calls("1"), results("1"), calls("1")},
			"a(?1) t(!1) a(?1) t(!1) a(?1) t(!1 missing)"},
		"same id at once": {[]llm.Message{calls("1", "1"), results("1", "1")}, "a(?1 ?1) t(!1 !1)"},
		"mixed": {[]llm.Message{calls("1"), {Role: llm.RoleUser,
			Parts: llm.Parts{results("1").Parts[0], llm.Text{Text: "x"}}}}, "a(?1) u(!1 x)"},
		"mixed, late": {[]llm.Message{calls("1"), u("w"),
			{Role: llm.RoleUser, Parts: llm.Parts{llm.Text{Text: "x"}, results("1").Parts[0]}}},
			"a(?1) t(!1) u(w) u(x)"},
		"mixed, incomplete": {[]llm.Message{calls("1", "2"),
			{Role: llm.RoleUser, Parts: llm.Parts{results("1").Parts[0], llm.Text{Text: "x"}}}, results("2")},
			"a(?1 ?2) t(!1) t(!2) u(x)"},
		"text of a tool": {[]llm.Message{calls("1"),
			{Role: llm.RoleTool, Parts: llm.Parts{llm.Text{Text: "x"}, results("1").Parts[0]}}}, "a(?1) t(!1) u(x)"},
		"only text":       {[]llm.Message{u("w"), {Role: llm.RoleTool, Parts: llm.TextParts("x")}}, "u(w) u(x)"},
		"foreign":         {[]llm.Message{foreign(signed...), results("1")}, "a(x ?1 #2) t(!1)"},
		"own":             {[]llm.Message{own(signed...), results("1")}, "a(~hm x+s ?1+s #2) t(!1)"},
		"nobody's":        {[]llm.Message{{Role: llm.RoleAssistant, Parts: signed[:2]}}, "a(x)"},
		"foreign thought": {[]llm.Message{u("x"), foreign(signed[0]), u("y")}, "u(x) u(y)"},
		"empty": {[]llm.Message{u("x"), own(), u(" \n"), llm.Assistant(""), {Role: llm.RoleTool}, u("y")},
			"u(x) u(y)"},
		"empty ends a turn": {[]llm.Message{calls("1"), u(" "), own(), results("1")},
			"a(?1) t(!1 missing) u(" + orphan + " 1)"},
		"signed blank": {[]llm.Message{own(llm.Text{Signature: "+s"})}, "a(+s)"},
		"media": {[]llm.Message{{Role: llm.RoleUser, Parts: llm.Parts{llm.Media{MIME: "image/png"}}}},
			"u(*image/png)"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, show(llm.Repair(tt.in, "here"))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestG11_LostResultKeepsItsContent(t *testing.T) {
	picture := llm.Media{MIME: "image/png", Data: []byte{1}}
	got := llm.Repair([]llm.Message{llm.ToolResults(llm.ToolResult{CallID: "1", IsError: true,
		Content: llm.Parts{llm.Text{Text: "no"}, picture}})}, "p")
	want := []llm.Message{{Role: llm.RoleUser,
		Parts: llm.Parts{llm.Text{Text: "Error result of an earlier call of a tool:\n"}, llm.Text{Text: "no"},
			picture}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	missing := llm.Repair([]llm.Message{{Role: llm.RoleAssistant,
		Parts: llm.Parts{llm.ToolCall{ID: "1", Name: "patch", Free: true}}}}, "p")
	if r, ok := missing[1].Parts[0].(llm.ToolResult); !ok || r.Name != "patch" || !r.Free || !r.IsError ||
		r.Content.Text() == "" {
		t.Errorf("%+v", missing[1])
	}
}

// historyGen returns a generator of histories, most of them broken.
func historyGen() *rapid.Generator[[]llm.Message] {
	id := rapid.SampledFrom([]string{"1", "2", "3"})
	part := rapid.Custom(func(t *rapid.T) llm.Part {
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return llm.Text{Text: rapid.SampledFrom([]string{"x", " ", ""}).Draw(t, "text"),
				Signature: rapid.SampledFrom([]string{"", "s"}).Draw(t, "signature")}
		case 1:
			return llm.Thinking{Text: "hm", Signature: "s"}
		case 2:
			return llm.Opaque{Provider: rapid.SampledFrom([]string{"anthropic", "there"}).Draw(t, "by"),
				Data: `{"type":"compaction"}`}
		}
		return llm.ToolCall{ID: id.Draw(t, "id"), Name: "look", Args: "{}"}
	})
	message := rapid.Custom(func(t *rapid.T) llm.Message {
		switch rapid.IntRange(0, 4).Draw(t, "role") {
		case 0:
			return llm.User(rapid.SampledFrom([]string{"x", "y", ""}).Draw(t, "text"))
		case 1:
			return llm.Message{Role: llm.RoleUser,
				Parts: llm.Parts{llm.Text{Text: "z"}, results(id.Draw(t, "id")).Parts[0]}}
		case 2:
			return llm.Message{Role: llm.RoleAssistant,
				Provider: rapid.SampledFrom([]string{"anthropic", "there"}).Draw(t, "by"),
				Parts:    rapid.SliceOfN(part, 0, 3).Draw(t, "parts")}
		}
		return results(rapid.SliceOfN(id, 0, 3).Draw(t, "ids")...)
	})
	return rapid.SliceOfN(message, 0, 12)
}

// same reports whether two messages are the same values in memory, as a Memo compares them.
func same(a, b llm.Message) bool {
	return a.Role == b.Role && len(a.Parts) == len(b.Parts) && len(a.Parts) > 0 && &a.Parts[0] == &b.Parts[0]
}

func TestG11_RepairProperties(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		history := historyGen().Draw(t, "history")
		whole := llm.Repair(history, "anthropic")
		if why := unpaired(whole); why != "" {
			t.Fatalf("%s in %s, from %s", why, show(whole), show(history))
		}
		again := llm.Repair(whole, "anthropic")
		if len(again) != len(whole) {
			t.Fatalf("repaired again: %s\nwas %s", show(again), show(whole))
		}
		for i := range whole {
			if !same(again[i], whole[i]) {
				t.Fatalf("repaired again, message %d is another", i)
			}
		}
		for i := range history {
			begins := history[i].Role == llm.RoleAssistant && (i == 0 || history[i-1].Role != llm.RoleAssistant)
			before := llm.Repair(history[:i], "anthropic")
			if begins {
				if len(before) > len(whole) || !cmp.Equal(before, whole[:len(before)]) {
					t.Fatalf("at %d:\n%s\nis no prefix of\n%s", i, show(before), show(whole))
				}
			}
			// Apart from missing results, what was made of the messages up to here stays, in the
			// same order.
			rest := whole
			for _, m := range before {
				if m.Role == llm.RoleTool && m.Parts[0].(llm.ToolResult).IsError {
					continue
				}
				at := slices.IndexFunc(rest, func(w llm.Message) bool { return cmp.Equal(w, m) })
				if at < 0 {
					t.Fatalf("at %d: %s is not kept, in order, in\n%s", i, show([]llm.Message{m}), show(whole))
				}
				rest = rest[at+1:]
			}
		}
	})
}

// unpaired describes a call without exactly one result before anything else, a result without a
// call, or an empty message.
func unpaired(messages []llm.Message) string {
	var open []string
	turn := false
	for i, m := range messages {
		if m.Role == llm.RoleAssistant {
			if !turn && len(open) > 0 {
				return fmt.Sprintf("calls %v open at %d", open, i)
			}
			turn = true
			for _, c := range m.Parts.ToolCalls() {
				open = append(open, c.ID)
			}
			continue
		}
		turn = false
		content := len(m.Parts) == 0
		for _, p := range m.Parts {
			r, ok := p.(llm.ToolResult)
			at := slices.Index(open, r.CallID)
			switch {
			case !ok:
				content = true
			case at < 0:
				return fmt.Sprintf("result %s without a call at %d", r.CallID, i)
			default:
				open = slices.Delete(open, at, at+1)
			}
		}
		if content && len(open) > 0 || len(m.Parts) == 0 {
			return fmt.Sprintf("message %d before the results, or empty", i)
		}
	}
	if len(open) > 0 {
		return fmt.Sprintf("calls %v open at the end", open)
	}
	return ""
}

// A correct history is returned unchanged, so that a memo recognizes it.
func TestG11_RepairKeepsIdentity(t *testing.T) {
	history := []llm.Message{llm.System("s"), llm.User("x"), calls("1", "2"), results("1"), results("2"), llm.User("y"),
		{Role: llm.RoleAssistant, Provider: "here", Parts: llm.Parts{llm.Thinking{Text: "hm", Signature: "s"},
			llm.Text{Text: "z"}}}}
	for i, m := range llm.Repair(history, "here") {
		if !same(m, history[i]) || m.Provider != history[i].Provider {
			t.Errorf("message %d is another: %+v", i, m)
		}
	}
}

// Whatever history goes in, a server as strict as the API accepts what comes out.
func TestG11_RepairedHistoriesAreAccepted(t *testing.T) {
	server := fakellm.New(func(*fakellm.Request) fakellm.Turn { return fakellm.Turn{Text: "ok"} }, fakellm.Options{})
	p, err := anthropic.New(anthropic.Options{APIKey: "k", BaseURL: "http://x.test",
		HTTPClient: llmtest.PipeClient(t, server)})
	if err != nil {
		t.Fatal(err)
	}
	client := llm.Client{Providers: []llm.Provider{p}}
	seed.Check(t, func(rt *rapid.T) {
		history := append([]llm.Message{llm.User("begin")}, historyGen().Draw(rt, "history")...)
		history = slices.DeleteFunc(history, func(m llm.Message) bool { // the server did not sign them
			return m.Provider == "anthropic" && slices.ContainsFunc(m.Parts,
				func(p llm.Part) bool { _, ok := p.(llm.Thinking); return ok })
		})
		var ids []string // within a turn: the API refuses duplicate ids, and no server sends them
		for _, m := range history {
			if m.Role != llm.RoleAssistant {
				ids = nil
			}
			for _, c := range m.Parts.ToolCalls() {
				if slices.Contains(ids, c.ID) {
					return
				}
				ids = append(ids, c.ID)
			}
		}
		repaired := append(llm.Repair(history, "anthropic"), llm.User("go on"))
		if _, err := client.Complete(t.Context(), &llm.Request{Model: "m", Messages: repaired}); err != nil {
			rt.Fatalf("%v\n%s\nfrom %s", err, show(repaired), show(history))
		}
	})
}

// BenchmarkRepair repairs a correct history of 1000 rounds.
func BenchmarkRepair(b *testing.B) {
	history := []llm.Message{llm.User("x")}
	for range 1000 {
		history = append(history, calls("1", "2"), results("1", "2"))
	}
	for b.Loop() {
		if got := llm.Repair(history, "here"); len(got) != len(history) {
			b.Fatal(len(got))
		}
	}
}
