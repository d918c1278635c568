package attractor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
)

// searchVars returns the environments of the providers whose vendors search the web.
func (b *bench) searchVars() map[string]func(string) string {
	return map[string]func(string) string{"anthropic": b.config().Getenv, "openai": b.openAI(),
		"gemini": variables("GEMINI_API_KEY", "k", "GEMINI_BASE_URL", b.url)}
}

// searchTurn returns an answer for which the vendor has searched the web.
func searchTurn() fakellm.Turn {
	return fakellm.Turn{Thinking: "I look it up.", Searches: []llm.WebSearch{{Query: "go news",
		Hits: []llm.Source{{URL: "https://go.dev/x", Title: "Go"}}}}, Text: "Go has news for everybody.",
		Cites: []llm.Source{{URL: "https://go.dev/x", Title: "Go"}}}
}

// searching returns a configuration that searches the web.
func (b *bench) searching() config {
	c := b.config()
	c.WebSearch = true
	return c
}

// offersSearch reports whether a request has a search of the web that the vendor runs.
func offersSearch(r *fakellm.Request) bool { return slices.Contains(r.Tools, llm.HostedWebSearch) }

// onlyVendors matches what only a vendor can read of a request.
var onlyVendors = regexp.MustCompile(`"(encrypted_content|encrypted_index|thoughtSignature|signature)":"[^"]+"`)

// A search and what the answer cites are events, with the same numbers live and in the journal.
// What the vendor encrypted is in the next request as it came, and after a resume, too; the search
// counts and costs. Then another provider gets the answer without it.
func TestV7_SearchInASession(t *testing.T) {
	for _, name := range []string{"anthropic", "openai", "gemini"} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, searchTurn(), fakellm.Turn{Text: "Yes."}, fakellm.Turn{Text: "Still."},
				fakellm.Turn{Text: "Other."})
			c := b.searching()
			c.Getenv = b.searchVars()[name]
			var live []agent.Event
			setup, err := prepare(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			setup.Options.OnEvent = func(ev agent.Event) { live = append(live, ev) }
			session, err := setup.Start(t.Context())
			if err != nil {
				t.Fatal(errors.Join(err, setup.Close()))
			}
			first, err := session.Submit(t.Context(), "What is new?")
			if err != nil {
				t.Error(err)
			}
			if _, err := session.Submit(t.Context(), "Really?"); err != nil {
				t.Error(err)
			}
			provider, model, _ := setup.Model()
			if err := errors.Join(session.Close(), setup.Close()); err != nil {
				t.Fatal(err)
			}
			facts, _ := catalog.New().Get(provider, model)
			tokens := first.Usage
			tokens.Searches = 0
			without, _ := facts.Cost(tokens)
			if first.Usage.Searches != 1 || math.Abs(first.CostUSD-without-facts.WebSearch) > 1e-9 {
				t.Errorf("the search cost %v of %v, usage %+v", first.CostUSD-without, first.CostUSD, first.Usage)
			}
			b.sameSearches(session.ID(), live, 3)

			c.Resume = session.ID()
			b.submit(c, "Once more?")
			requests := b.server.Requests()
			want := onlyVendors.FindAllString(string(requests[1].Body), -1)
			call := map[string]string{"openai": `"type":"web_search_call"`}[name]
			if len(want) == 0 || !strings.Contains(string(requests[1].Body), call) {
				t.Errorf("nothing of the search went back: %s", requests[1].Body)
			}
			got := onlyVendors.FindAllString(string(requests[2].Body), -1)
			if !slices.Equal(got[:min(len(got), len(want))], want) {
				t.Errorf("after the resume %q, want %q", got, want)
			}
			for _, r := range requests {
				if !offersSearch(r) {
					t.Errorf("request %d has no search", r.N)
				}
			}

			c.WebSearch, c.chosen.provider, c.chosen.model = false, ptr("openai-compatible"), ptr("some")
			c.Getenv = variables("OPENAI_COMPATIBLE_BASE_URL", b.url+"/v1", "OPENAI_COMPATIBLE_API_KEY", "k")
			b.submit(c, "And you?")
			last := b.lastRequest()
			if onlyVendors.MatchString(last) || strings.Contains(last, "web_search") ||
				!strings.Contains(last, "news for everybody") {
				t.Errorf("another provider gets %s", last)
			}
		})
	}
}

// sameSearches checks the n events of the session's searches and texts, live and from the journal.
func (b *bench) sameSearches(id string, live []agent.Event, n int) {
	b.Helper()
	log, err := b.store.Read(context.Background(), id)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := log.Close(); err != nil {
			b.Error(err)
		}
	}()
	lines := func(ev agent.Event) string {
		switch e := ev.(type) {
		case *agent.WebSearch:
			return fmt.Sprint(e.Seq, " ", e.WebSearch.String())
		case *agent.AssistantTextEnd:
			return fmt.Sprint(e.Seq, " ", e.Text, e.Sources)
		}
		return ""
	}
	var shown, kept []string
	for _, ev := range live {
		if text := lines(ev); text != "" {
			shown = append(shown, text)
		}
	}
	if err := agent.Project(context.Background(), log, func(ev agent.Event) {
		if text := lines(ev); text != "" {
			kept = append(kept, text)
		}
	}); err != nil {
		b.Error(err)
	}
	if diff := cmp.Diff(shown, kept); diff != "" || len(shown) != n ||
		!strings.Contains(shown[0], "searched for go news") ||
		!strings.Contains(strings.Join(shown, "\n"), "everybody.[Go · https://go.dev/x]") {
		b.Errorf("live %q, from the journal %q", shown, kept)
	}
}

// It is off by default, and refused with the reason where nothing can be searched.
func TestV7_SearchIsRefused(t *testing.T) {
	b := newBench(t, fakellm.Turn{Text: "a"})
	b.submit(b.config(), "the task")
	if offersSearch(b.server.Requests()[0]) {
		t.Error("a session that nobody has let search the web can")
	}
	vars := b.searchVars()
	for name, tt := range map[string]struct {
		change func(*config)
		want   string
	}{
		"provider": {func(c *config) {
			c.Getenv = variables("DEEPSEEK_API_KEY", "k", "DEEPSEEK_BASE_URL", b.url)
		}, "no search of the web that deepseek runs for its models is known; there is one of anthropic, openai, " +
			"gemini; leave the search out (--web-search)"},
		"router": {func(c *config) {
			c.Getenv = variables("OPENROUTER_API_KEY", "k")
			c.chosen.model = ptr("anthropic/claude-sonnet-4.5")
		}, "no search of the web that openrouter runs"},
		"local": {func(c *config) {
			c.Getenv, c.chosen.provider, c.chosen.model = variables("OLLAMA_HOST", b.url), ptr("ollama"), ptr("qwen3")
		}, "no search of the web that ollama runs"},
		"model": {func(c *config) { c.Getenv, c.chosen.model = vars["gemini"], ptr("gemini-2.5-pro") },
			"the model gemini-2.5-pro of gemini has no search of the web that works beside other tools"},
		"effort": {func(c *config) {
			c.Getenv, c.chosen.model, c.chosen.effort = vars["openai"], ptr("gpt-5"), ptr("minimal")
		},
			"the model gpt-5 has no search of the web with the effort minimal"},
		"price": {func(c *config) {
			c.Getenv = variables("DEEPSEEK_API_KEY", "k", "DEEPSEEK_BASE_URL", b.url)
			c.chosen.model, c.Models = ptr("m"), []llm.Model{{ID: "m", Provider: "deepseek", WebSearch: 0.01}}
		}, "no search of the web that deepseek runs"},
		"sandbox": {func(c *config) { c.Sandbox.Level = sandbox.Workspace },
			"the sandbox (level workspace) has not the whole network: give it that (--network)"},
		"hosts": {func(c *config) {
			c.Sandbox.Level, c.Sandbox.AllowHosts = sandbox.Workspace, []string{"go.dev"}
		}, "give it that (--network)"},
	} {
		t.Run(name, func(t *testing.T) {
			c := b.searching()
			tt.change(&c)
			setup, err := prepare(t.Context(), c)
			if err == nil {
				err = errors.Join(errors.New("it was opened"), setup.Close())
			}
			if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %s", err, tt.want)
			}
		})
	}
	c := b.searching() // of a model that the catalog lacks, the provider decides
	c.chosen.model = ptr("claude-of-tomorrow")
	if b.submit(c, "the task"); !offersSearch(b.server.Requests()[1]) {
		t.Error("an unknown model of a vendor that searches cannot")
	}
}

// Rules decide about it as about WebSearch: one that denies or asks leaves it out, and says so.
func TestV7_SearchAndRules(t *testing.T) {
	for name, tt := range map[string]struct {
		change  func(*config)
		offered bool
		told    string
	}{
		"flag denies":    {func(c *config) { c.Deny = []string{"WebSearch"} }, false, ""},
		"by its name":    {func(c *config) { c.Deny = []string{"web_search"} }, false, ""},
		"another denied": {func(c *config) { c.Deny = []string{"WebFetch"} }, true, "WebFetch denies nothing"},
		"allowed":        {func(c *config) { c.Allow = []string{"WebSearch"} }, true, ""},
		"plan":           {func(c *config) { c.Mode = permit.ModePlan }, true, ""},
		"read-only":      {func(c *config) { c.Mode = permit.ModeReadOnly }, true, ""},
		"file denies":    {nil, false, "The model cannot search the web: a rule denies it: WebSearch"},
		"file asks": {nil, false, "a rule asks about it: WebSearch, and its vendor, who runs the search, " +
			"asks nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, fakellm.Turn{Text: "a"})
			c := b.searching()
			if verb, file := strings.CutPrefix(name, "file "); file {
				list := strings.TrimSuffix(strings.Replace(verb, "denies", "denys", 1), "s")
				b.write(".attractor/rules.json", `{"permissions": {"`+list+`": ["WebSearch"]}}`)
				c.TrustProject = true
			} else {
				tt.change(&c)
			}
			var told []string
			b.submit(c, "the task", func(o *agent.Options) {
				o.OnEvent = func(ev agent.Event) {
					if w, ok := ev.(*agent.Warning); ok {
						told = append(told, w.Text)
					}
				}
			})
			if got := offersSearch(b.server.Requests()[0]); got != tt.offered {
				t.Errorf("offered %v", got)
			}
			if all := strings.Join(told, "\n"); !strings.Contains(all, tt.told) || tt.told == "" && len(told) > 0 {
				t.Errorf("told was %q, want %q", told, tt.told)
			}
		})
	}
}

// A resumed session searches only as far as this process was told to allow it, whatever it was
// offered before; and a session that has begun without can be given it.
func TestV7_ResumedSearch(t *testing.T) {
	b := newBench(t, fakellm.Turn{Text: "a"}, fakellm.Turn{Text: "b"}, fakellm.Turn{Text: "c"}, fakellm.Turn{Text: "d"})
	c := b.searching()
	id, _ := b.submit(c, "one")
	c.Resume = id
	for i, on := range []bool{false, true, false} {
		c.WebSearch = on
		b.submit(c, "more")
		if r := b.server.Requests()[i+1]; offersSearch(r) != on {
			t.Errorf("request %d: offered %v, want %v", r.N, !on, on)
		}
	}
}

// A model that is chosen later and cannot search goes on without, which is told.
func TestV7_SearchAndAnotherModel(t *testing.T) {
	b := newBench(t, fakellm.Turn{Text: "a"}, fakellm.Turn{Text: "b"})
	c := b.searching()
	c.Getenv = b.searchVars()["gemini"]
	c.chosen.model = ptr("gemini-3-flash-preview")
	setup, err := prepare(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	setup.Options.OnEvent = func(ev agent.Event) {
		if w, ok := ev.(*agent.Warning); ok {
			told = append(told, w.Text)
		}
	}
	session, err := setup.Start(t.Context())
	if err != nil {
		t.Fatal(errors.Join(err, setup.Close()))
	}
	_, first := session.Submit(t.Context(), "one")
	changed := setup.SetModel(t.Context(), "", "gemini-2.5-pro")
	_, second := session.Submit(t.Context(), "two")
	if err := errors.Join(first, changed, second, session.Close(), setup.Close()); err != nil {
		t.Fatal(err)
	}
	requests := b.server.Requests()
	if !offersSearch(requests[0]) || offersSearch(requests[1]) {
		t.Errorf("offered %v and %v", offersSearch(requests[0]), offersSearch(requests[1]))
	}
	if !slices.ContainsFunc(told, func(s string) bool { return strings.HasSuffix(s, "the session goes on without") }) {
		t.Errorf("told was %q", told)
	}
}

// An agent whose file names WebSearch has it, and one whose file does not has not.
func TestV7_AgentsSearch(t *testing.T) {
	for tools, want := range map[string]bool{"Read, WebSearch": true, "Read": false} {
		b := newFarm(t)
		b.script("look", fakellm.Turn{Text: "looked"})
		b.script("go", calls(t, "spawn_agent", object{"task": "look", "agent": "a"}),
			calls(t, "wait", object{"agent_id": "agent-1"}), fakellm.Turn{Text: "done"})
		b.write(".claude/agents/a.md", "---\nname: a\ndescription: b\ntools: "+tools+"\n---\nLOOK AROUND")
		c := b.searching()
		c.TrustProject = true
		b.submit(c, "go")
		children := 0
		for _, r := range b.server.Requests() {
			if !strings.Contains(r.System, "LOOK AROUND") {
				continue
			}
			if children++; offersSearch(r) != want {
				t.Errorf("%s: offered %v", tools, !want)
			}
		}
		if children == 0 {
			t.Error("no agent was started")
		}
	}
}

// A pause of the vendor is gone on with, and the search counts once.
func TestV7_PausedSearch(t *testing.T) {
	paused := searchTurn()
	paused.Stop, paused.Text, paused.Cites = "pause_turn", "Wait. ", nil
	b := newBench(t, paused, fakellm.Turn{Text: "Here."})
	_, result := b.submit(b.searching(), "the task")
	if result.Text != "Wait. Here." || result.Usage.Searches != 1 || result.Reason != agent.ReasonCompleted {
		t.Errorf("%q, %s, %+v", result.Text, result.Reason, result.Usage)
	}
	if last := b.lastRequest(); !strings.Contains(last, `"encrypted_content":"`) {
		t.Errorf("the pause does not go back: %s", last)
	}
}
