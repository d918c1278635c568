package webtest

import (
	"slices"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// The page shows what was searched for and found, and the sources below the answer. Only addresses
// of http and https are links, which tell the other side nothing of the page; titles stay texts.
func TestV7_SourcesInThePage(t *testing.T) {
	t.Parallel()
	pages := []llm.Source{{URL: "https://go.dev/x?a=1&b=<2>", Title: markup + unseen},
		{URL: "javascript:window.pwned=1", Title: "script"}, {URL: "data:text/html,<script>1</script>", Title: "data"},
		{URL: "//x.test/", Title: "relative"}, {URL: " https://y.test"}}
	h := newHome(t, fakellm.Script(fakellm.Turn{
		Searches: []llm.WebSearch{{Query: "go news", Hits: pages}, {Query: "more", Error: "too_many_requests"}},
		Text:     "Go has news for everybody.", Cites: pages}))
	c := h.converse("--yes", "--web-search")
	c.say("user", object{"text": "look"})
	c.next("PROCESSING_END")
	c.end()
	file := t.TempDir() + "/session.html"
	h.run("sessions", "export", c.id, "--html", file)
	p := newPage(t)
	p.open("file://" + file)
	p.ready()
	for _, text := range []string{"searched for go news", "Go has news"} {
		p.clickText("#timeline .row .head", text)
		p.wait(`document.querySelectorAll("#timeline .details .sources li").length > 0`)
		got := eval[[]string](p,
			`[...document.querySelectorAll("#timeline .details .sources a")].map((a) => a.getAttribute("href") + " " + a.rel)`)
		if want := []string{"https://go.dev/x?a=1&b=<2> noopener noreferrer nofollow"}; !slices.Equal(got, want) {
			t.Errorf("%s: the links are %q", text, got)
		}
		if n := eval[int](p, `document.querySelectorAll("#timeline .details .sources li").length`); n != len(pages) {
			t.Errorf("%s: %d sources are shown", text, n)
		}
		if eval[bool](p, `window.pwned !== undefined ||
			/[\x1b\u202e]/.test(document.querySelector("#timeline .details").innerText)`) {
			t.Errorf("%s: a title is more than a text", text)
		}
		p.shot("sources")
		p.clickText("#timeline .row .head", text)
		p.wait(`document.querySelectorAll("#timeline .details .sources li").length == 0`)
	}
	p.wait(withText("#timeline .row.k-search", "more: failed"))
}
