package webtest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The harness tells of everything that can go wrong in a page. The other tests rely on that.
func TestN5_TheBrowserTellsWhatGoesWrong(t *testing.T) {
	tests := []struct{ name, policy, body, want string }{
		{"nothing", "default-src 'none'; script-src 'self'; img-src data:", `<script src="/good.js"></script>`, ""},
		{"an inline script", "script-src 'self'", `<script>window.ran = 1</script>`, "ContentSecurityPolicyIssue"},
		{"a style in markup", "style-src 'self'", `<p style="color: red">x</p>`, "ContentSecurityPolicyIssue"},
		{"markup from a text", "require-trusted-types-for 'script'; trusted-types 'none'",
			`<script src="/markup.js"></script>`, "exception: "},
		{"an exception", "", `<script>throw new Error("of a test")</script>`, "of a test"},
		{"a rejected promise", "", `<script>Promise.reject(new Error("of a test"))</script>`, "of a test"},
		{"an error on the console", "", `<script>console.error("of a test")</script>`, `console: "of a test"`},
		{"a missing file", "", `<script src="/none.js"></script>`, "404"},
		{"a server that is not there", "", `<img src="http://127.0.0.1:1/x.png">`, "ERR_"},
		{"a dialog", "", `<script>alert("of a test")</script>`, "dialog: of a test"},
		{"a field without a name", "", `<input>`, "GenericIssue"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPage(t)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/":
					w.Header().Set("Content-Security-Policy", tt.policy)
					w.Header().Set("Content-Type", "text/html; charset=utf-8")
					_, _ = w.Write([]byte(`<!doctype html><html lang="en"><title>x</title><link rel="icon" href="data:,">` + tt.body))
				case "/good.js", "/markup.js":
					w.Header().Set("Content-Type", "text/javascript")
					if r.URL.Path == "/markup.js" {
						_, _ = w.Write([]byte(`document.documentElement.innerHTML = "<p>x";`))
					}
				default:
					http.NotFound(w, r)
				}
			}))
			t.Cleanup(server.Close)
			p.open(server.URL)
			p.wait(`document.readyState == "complete"`)
			problems := strings.Join(p.unexpected(), "\n")
			// some are told a moment after the page has loaded
			for i := 0; i < 200 && !strings.Contains(problems, tt.want); i++ {
				p.wait("true")
				problems = strings.Join(p.unexpected(), "\n")
			}
			p.allow("") // they are wanted here
			if tt.want == "" && problems != "" || !strings.Contains(problems, tt.want) {
				t.Errorf("problems %q, want %q", problems, tt.want)
			}
			if requests := p.requested(); len(requests) == 0 || requests[0] != server.URL+"/" {
				t.Errorf("requests %q", requests)
			}
		})
	}
}

// The harness does what a person does with a mouse, keys and settings.
func TestN5_TheBrowserActs(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy",
			"default-src 'none'; script-src 'self'; img-src data:; require-trusted-types-for 'script'; "+
				"trusted-types 'none'")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path == "/page.js" {
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = w.Write([]byte(`document.querySelector("button").onclick = () => { document.querySelector("input").focus(); localStorage.clicked = "yes"; };`))
			return
		}
		_, _ = w.Write([]byte(`<!doctype html><html lang="en"><title>x</title><link rel="icon" href="data:,"><p hidden><button>no</button></p><button id="b">yes</button><label>Text <input id="i" autocomplete="off"></label><script src="/page.js"></script>`))
	}))
	t.Cleanup(server.Close)
	p.open(server.URL)
	eval[bool](p, `document.querySelector("#b").onclick = document.querySelector("button").onclick, true`)
	p.click("#b")
	p.keys("typed")
	p.wait(`document.querySelector("input").value == "typed"`)
	p.prefer("prefers-color-scheme", "dark", "prefers-reduced-motion", "reduce")
	p.wait(`matchMedia("(prefers-color-scheme: dark)").matches && matchMedia("(prefers-reduced-motion: reduce)").matches`)
	p.size(360, 640)
	p.wait(`innerWidth == 360`)
	other := p.tab()
	other.open(server.URL)
	other.wait(`localStorage.clicked == "yes"`)
	p.shot("end")
}
