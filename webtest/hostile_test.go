package webtest

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// markup is what would run if a text became a part of the document.
const markup = `<script>window.pwned=1</script><img src=x onerror="window.pwned=1"><svg onload="window.pwned=1"><a href="javascript:window.pwned=1">x</a></svg>` +
	`<iframe srcdoc="<script>parent.pwned=1</script>"></iframe><style>body{display:none}</style><base href="http://127.0.0.1:1/"><form action="http://127.0.0.1:1/"><input autofocus onfocus="window.pwned=1"></form>` +
	`</script></style></pre></textarea><!-- --><![CDATA[ ]]> javascript:window.pwned=1 data:text/html,<script>1</script>`

// unseen is what a reader would not see, or would see in the wrong order: controls, escapes, marks
// of direction, empty characters.
const unseen = "\x00\x07\x08\x1b[31;5m\x1b]8;;javascript:window.pwned=1\x07x\x1b]0;title\x07\x7f\u0085\u009b31m " +
	"a\u202eb\u2066c\u2069\u200b\u200d\u2060\ufeff\u2028\u2029\u00ad\u3164\U000e0041\r\v\f"

// escapes returns raw outputs of commands that attack a terminal: the project's own and those of
// the collection beside the checkout.
func escapes(t testing.TB) []string {
	t.Helper()
	all := []string{markup, unseen, "\x1b[2J\x1b[H\x1bc", "\x1bP+q544e\x1b\\", strings.Repeat("\u0300", 500),
		strings.Repeat("\u202e", 300), "\xff\xfe\xc0\x80", "a\rb\r\nc"}
	data, err := os.ReadFile("../../shared/corpora/terminal_escape/cases.jsonl")
	if err != nil {
		t.Logf("the collection of escapes is not here, only %d cases of the project's own: %v", len(all), err)
		return all
	}
	for line := range strings.Lines(string(data)) {
		var c struct {
			Hex string `json:"hex"`
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		raw, err := hex.DecodeString(c.Hex)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(raw))
	}
	return all
}

// hostile makes a session in which every text that can be is an attack on who looks at it. It
// returns the session's id.
func hostile(t testing.TB) (*home, string) {
	t.Helper()
	bad := markup + unseen
	name := strings.NewReplacer("/", "_", "\x00", "").Replace(`<img src=x onerror="window.pwned=1">` +
		"\u202e\x1b[31m\u200b.txt")
	file := `<img src=x onerror="window.pwned=1">.txt`
	all := strings.Join(escapes(t), "\n")
	model := &script{summary: bad, turns: []fakellm.Turn{
		{Thinking: bad, Text: bad +
			"\n\n[link](javascript:window.pwned=1) ![x](http://127.0.0.1:1/x.png)\n\n```html\n" + bad + "\n```\n",
			Calls: []fakellm.Call{
				use("update_plan", object{"plan": []object{{"step": bad, "status": "in_progress"}},
					"explanation": bad}),
				use("write_file", object{"file_path": name, "content": all}),
				use("write_file", object{"file_path": file, "content": markup + "\nb\u202ec\n</pre>\n"}),
				use("shell", object{"command": "cat ./*.txt; : " + strings.ReplaceAll(bad, "\x00", ""),
					"description": bad}),
				use("ask_user", object{"question": bad, "options": []string{bad, "no"}}),
				use(`<b onclick="window.pwned=1">tool`+"\u202e", object{bad: bad}),
				{Name: "grep", Raw: `{"pattern": ` + bad},
				use("read_file", object{"file_path": bad}),
			}},
		{Calls: []fakellm.Call{use("write_file",
			object{"file_path": file, "content": "<script>window.pwned=1</script>\u202e\u200b\nb\u202ec\n"}),
			use("shell", object{"command": `head -c 10000000 /dev/zero | tr '\0' '<'`}),
			use("shell", object{"command": "echo '" + markup + "' >&2; exit 3"})}},
		{Text: bad},
	}}
	h := homeIn(t, t.TempDir(), `<img src=x onerror="window.pwned=1">`+"\u202e", model.answer,
		fakellm.Options{Words: 1000, Faults: map[int]fakellm.Fault{
			2: {Kind: fakellm.FaultStatus, Status: 503, Body: bad}, 5: {Kind: fakellm.FaultStatus, Status: 400,
				Body: `{"error":{"message":` + quote(bad) + `,"type":"x"}}`}}})
	c := h.converse("--yes", "--model", `<img src=x onerror="window.pwned=1">`+"\u202e", "--profile", "openai")
	c.say("user", object{"text": bad})
	c.say("answer", object{"ask": c.next("QUESTION")["ask"], "text": bad})
	c.next("PROCESSING_END")
	c.say("user", object{"text": bad})
	c.next("PROCESSING_END")
	c.end()
	return h, c.id
}

// structure returns the expression for what is in the document and must not be there: elements that
// the page's code does not make, listeners and addresses in attributes, and characters that cannot
// be seen.
func structure(elements string) string {
	return strings.ReplaceAll(`(() => {
		const problems = [];
		if (window.pwned !== undefined) problems.push("a script ran");
		const known = new Set((ELEMENTS + " html head body meta title link script button header nav h1 h2 h3 h4 span div p main section aside noscript dialog a ul ol li dl dt dd pre code " +
			"input select option label svg path g rect line circle text table caption thead tbody tr th td details summary form kbd small strong em time textarea fieldset legend canvas hr br figure figcaption b output mark").split(" "));
		for (const e of document.querySelectorAll("*")) {
			if (!known.has(e.localName)) problems.push("element " + e.localName);
			for (const a of e.attributes) {
				if (/^on/i.test(a.name)) problems.push("attribute " + a.name);
				if (["href", "src", "action", "srcdoc", "formaction", "xlink:href"].includes(a.name) && !/^(#|data:image\/svg\+xml,|blob:|\/?page\.(js|css)$)/.test(a.value))
					problems.push(e.localName + " " + a.name + "=" + a.value.slice(0, 200));
			}
		}
		const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		const hidden = /[\0-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2028\u2029\u2060-\u2069\ufeff\u3164]|[\u{e0000}-\u{e007f}]/u;
		while (walk.nextNode()) {
			const n = walk.currentNode;
			if (!n.parentElement.closest("script.data") && hidden.test(n.data)) problems.push("unseen in " + n.parentElement.outerHTML.slice(0, 120));
		}
		for (const e of document.querySelectorAll("[title], [aria-label], [placeholder]"))
			for (const name of ["title", "aria-label", "placeholder"]) if (hidden.test(e.getAttribute(name) || "")) problems.push("unseen in " + name + " of " + e.localName + "." + e.className);
		if (hidden.test(document.title)) problems.push("unseen in the title");
		return [...new Set(problems)].slice(0, 20);
	})()`, "ELEMENTS", quote(elements))
}

// intact checks that nothing of a session has become a part of the document.
func (p *page) intact(where string) {
	p.Helper()
	for _, problem := range eval[[]string](p, structure("")) {
		p.Errorf("%s: %s", where, problem)
	}
}

// openAll opens every row, one after the other, and does something with each.
func (p *page) openAll(do func(row int)) {
	p.Helper()
	p.keys("g")
	p.wait(`document.activeElement.matches("#timeline .row .head")`)
	for row := range 1000 {
		p.keys(kb.Enter)
		p.wait(`document.activeElement.parentElement.querySelector(".details .foot, .details .problem")`)
		do(row)
		p.keys(kb.Enter)
		place := eval[[]string](p,
			`["posinset", "setsize"].map((a) => document.activeElement.parentElement.getAttribute("aria-" + a))`)
		if place[0] == place[1] {
			return
		}
		p.keys("j")
		p.wait(`document.activeElement.parentElement.getAttribute("aria-posinset") != ` + quote(place[0]))
	}
}

// No text of a session becomes markup, runs, loads anything or hides something, wherever it stands.
func TestN5_HostileTexts(t *testing.T) {
	t.Parallel()
	h, id := hostile(t)
	v, p := h.view(), newPage(t)
	p.open(v.url)
	p.wait(`document.querySelectorAll("#list li .session").length >= 1`)
	p.intact("the list")
	p.shot("list")
	p.click("#list .session")
	p.ready()
	if !strings.Contains(v.url, "127.0.0.1") || !strings.Contains(eval[string](p, "location.hash"), id) {
		t.Errorf("at %s", eval[string](p, "location.href"))
	}
	p.intact("the session")
	p.shot("session")
	var seen string
	p.openAll(func(row int) {
		eval[bool](p, `document.querySelectorAll(".row.current .details button[aria-expanded=false], .row.current .details .gap").forEach((b) => b.click()), true`)
		p.intact("a row")
		seen += p.text(".row.current .details")
	})
	p.shot("rows")
	for _, want := range []string{"<script>window.pwned=1</script>", "onerror=", "RLO", "ESC", "NUL", "exit code",
		"javascript:window.pwned=1"} {
		if !strings.Contains(seen, want) {
			t.Errorf("%q is not shown anywhere", want)
		}
	}
	p.size(360, 740)
	p.keys("g")
	p.shot("narrow")
	for _, url := range p.requested() {
		if !strings.HasPrefix(url, strings.SplitN(v.url, "#", 2)[0]) && !strings.HasPrefix(url, "data:image/svg") &&
			!strings.HasPrefix(url, "data:,") {
			t.Errorf("the page asked for %.200s", url)
		}
	}
}
