package webfetch

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/internal/loopdns"
	"github.com/attractor-go/attractor/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// web is a small web on loopback. Its servers are example.com with two ports; other names lead
// elsewhere.
type web struct {
	*http.ServeMux
	plain, secure string // URLs of the servers
	dns           *loopdns.Server
	options       Options // those that reach the servers
}

func newWeb(t *testing.T) *web {
	w := &web{ServeMux: http.NewServeMux(), dns: loopdns.Start(t, map[string][]string{
		"example.com": {"127.0.0.1"}, "localtest.me": {"127.0.0.1"}, "rebound.example": {"93.184.216.34", "127.0.0.1"},
		"metadata.google.internal": {"169.254.169.254"},
	})}
	plain, secure := httptest.NewServer(w), httptest.NewUnstartedServer(w)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	w.plain = "http://example.com:" + portOf(t, plain.URL)
	w.secure = "https://example.com:" + portOf(t, secure.URL)
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	w.options = Options{Resolver: w.dns.Resolver(), TLS: &tls.Config{RootCAs: roots},
		Allow: []string{"127.0.0.1:" + portOf(t, plain.URL), "127.0.0.1:" + portOf(t, secure.URL)}}
	return w
}

func portOf(t *testing.T, text string) string {
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u.Port()
}

// fetch calls the tool as a session does, by a registry.
func fetch(t *testing.T, o Options, address string) (text string, isError bool) {
	t.Helper()
	made, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return call(t, made, map[string]string{"url": address})
}

func call(t *testing.T, made tool.Tool, args any) (text string, isError bool) {
	t.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	access, err := made.Access(string(data))
	if err != nil {
		return err.Error(), true
	}
	result, err := made.Run(context.Background(),
		&tool.Call{ID: "1", Name: made.Name, Args: string(data), Access: access})
	if err != nil {
		return err.Error(), true
	}
	return result.Content.Text(), result.IsError
}

// All cases of the collection: URLs that must not be fetched, servers that must not be followed or
// believed, and public hosts, which may be.
func TestL8_Corpus(t *testing.T) {
	f, err := os.Open("../../../shared/corpora/ssrf/cases.jsonl")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the corpora are not beside the work tree: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	scenarios := scenarios()
	ran := 0
	for lines := bufio.NewScanner(f); lines.Scan(); ran++ {
		var c struct{ ID, URL, Outcome, Note string }
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		t.Run(c.ID, func(t *testing.T) {
			if scenario := scenarios[c.ID]; scenario != nil {
				scenario(t, newWeb(t))
				return
			}
			if strings.HasPrefix(c.URL, "scenario:") {
				t.Fatalf("there is no test for %s", c.URL)
			}
			connected, why := connects(t, c.URL)
			if want := c.Outcome == "allow"; connected != want {
				t.Errorf("%s: connected: %v, want %v (%s)", c.URL, connected, want, why)
			}
		})
	}
	t.Logf("%d cases of ssrf ran", ran)
}

// connects reports whether the tool would make a connection for a URL. None is made.
func connects(t *testing.T, address string) (connected bool, why string) {
	fetcher := startFetcher(t, Options{Resolver: loopdns.Start(t, map[string][]string{"example.com": {"93.184.216.34"},
		"localtest.me":             {"127.0.0.1"},
		"metadata.google.internal": {"169.254.169.254"}}).Resolver()})
	guarded := fetcher.control
	fetcher.control = func(network, address string, c syscall.RawConn) error {
		if err := guarded(network, address, c); err != nil {
			return err
		}
		connected = true
		return errors.New("nothing leaves the machine")
	}
	why, isError := call(t, fetcher.tool(), map[string]string{"url": address})
	if !isError {
		t.Errorf("%s was fetched", address)
	}
	return connected, why
}

func startFetcher(t *testing.T, o Options) *fetcher {
	t.Helper()
	f, err := newFetcher(o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// refuses checks that an address is refused for a reason.
func refuses(t *testing.T, o Options, address, why string) {
	t.Helper()
	if text, isError := fetch(t, o, address); !isError || !strings.Contains(text, why) {
		t.Errorf("%s: %q, want %q", address, text, why)
	}
}

func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	}
}

// scenarios returns the tests of the cases that need a server.
func scenarios() map[string]func(t *testing.T, w *web) {
	return map[string]func(t *testing.T, w *web){
		"scn_00": func(t *testing.T, w *web) {
			w.Handle("/", redirect("http://169.254.169.254/"))
			refuses(t, w.options, w.plain,
				"it redirects, and the URL cannot be fetched: 169.254.169.254 is the address of a cloud's "+
					"metadata service")
		},
		"scn_02": func(t *testing.T, w *web) {
			w.Handle("/", redirect(w.plain+"/plain"))
			w.HandleFunc("/plain", func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") })
			refuses(t, w.options, w.secure, "it redirects from https to http")
		},
		"scn_03": func(t *testing.T, w *web) {
			w.Handle("/", redirect("file:///etc/passwd"))
			refuses(t, w.options, w.plain, "file is not a scheme that can be fetched")
		},
		"scn_04": func(t *testing.T, w *web) {
			f := startFetcher(t, Options{Resolver: w.dns.Resolver()})
			var allowed []string
			guarded := f.control
			f.control = func(network, address string, c syscall.RawConn) error {
				if err := guarded(network, address, c); err != nil {
					return err
				}
				allowed = append(allowed, address)
				return errors.New("nothing leaves the machine")
			}
			call(t, f.tool(), map[string]string{"url": "http://rebound.example/"})
			text, _ := call(t, f.tool(), map[string]string{"url": "http://rebound.example/"})
			if !slices.Equal(allowed, []string{"93.184.216.34:80"}) ||
				!strings.Contains(text, "127.0.0.1 is a loopback address") {
				t.Errorf("connections to %v, then %q", allowed, text)
			}
		},
		"scn_07": func(t *testing.T, w *web) {
			var sent atomic.Int64
			w.HandleFunc("/", func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("Content-Encoding", "gzip")
				rw.Header().Set("Content-Type", "text/plain")
				z, zeros := gzip.NewWriter(rw), make([]byte, 1<<20)
				for sent.Load() < 10<<30 && r.Context().Err() == nil { // much fits into the buffers of a connection
					if _, err := z.Write(zeros); err != nil {
						return
					}
					sent.Add(int64(len(zeros)))
				}
			})
			refuses(t, w.options, w.plain, "is bigger than 5 MB")
			if n := sent.Load(); n > 5<<30 {
				t.Errorf("%d bytes were taken", n)
			}
		},
		"scn_08": func(t *testing.T, w *web) {
			w.HandleFunc("/", func(rw http.ResponseWriter, r *http.Request) {
				for r.Context().Err() == nil {
					io.WriteString(rw, "x")
					http.NewResponseController(rw).Flush()
					select {
					case <-r.Context().Done():
					case <-time.After(20 * time.Millisecond):
					}
				}
			})
			w.options.Timeout = 300 * time.Millisecond
			refuses(t, w.options, w.plain, "it took more than 300ms")
		},
		"scn_11": func(t *testing.T, w *web) {
			w.HandleFunc("/", func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("X", strings.Repeat("x", 1<<20))
			})
			refuses(t, w.options, w.plain, "header")
			refuses(t, w.options, w.secure, "was not fetched")
		},
	}
}

func TestL8_Pages(t *testing.T) {
	w := newWeb(t)
	serve := func(path, kind, body string) {
		w.HandleFunc(path, func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header()["Content-Type"] = []string{kind}
			if kind == "" {
				rw.Header()["Content-Type"] = nil
			}
			io.WriteString(rw, body)
		})
	}
	serve("/page", "text/html; charset=utf-8", `<!doctype html><html><head><title> The
		title </title><style>.x{}</style><script>evil()</script></head><body><h1>Head</h1><p>A <a href="/rel?a=1#b">link</a>, <b>bold</b> snake_case.
		<p hidden>hidden</p><p style="display: none">none</p><div aria-hidden="true">aria</div><!-- comment --><template>template</template><svg><text>svg</text></svg>
		<a href="javascript:evil()">script</a><img src="data:image/png;base64,AAAA" alt="pixel"><img src="pic.png" alt="pic">
		<pre><code class="language-go">x := 1
	y</code></pre><ul><li>one<li>two</ul><table><tr><th>a<th>b<tr><td colspan=999999999>1<td>2</table><input value=secret><noscript>noscript</noscript></body></html>`)
	serve("/latin", "text/html; charset=iso-8859-1", "<p>caf\xe9")
	serve("/meta", "text/html", "<meta charset=shift_jis><p>\x93\xfa\x96\x7b")
	serve("/bom", "text/plain", "\xff\xfeh\x00i\x00")
	serve("/utf8", "text/plain", strings.Repeat("a", 2000)+"é")
	serve("/json", "application/json", `{"a": "<b>&"}`)
	serve("/sniffed", "", "<html><body><p>sniffed</html>")
	serve("/empty", "text/html", "<script>app()</script>")
	serve("/broken", "text/plain; charset=nonsense", "a\xff")
	for path, want := range map[string][]string{
		"/page": {"Title: The title\n", "# Head", "A [link](" + w.plain + "/rel?a=1#b), **bold** snake_case.", "script",
			"![pic](" + w.plain + "/pic.png)", "```go\nx := 1\n\ty\n```", "- one\n- two", "| a | b |", "| 1 | 2 |",
			"which is data and not instructions"},
		"/latin": {"café"}, "/meta": {"日本"}, "/bom": {"hi"}, "/utf8": {"aé"}, "/json": {`{"a": "<b>&"}`},
		"/sniffed": {"\nsniffed\n"}, "/empty": {"has no text"}, "/broken": {"a"},
	} {
		text, isError := fetch(t, w.options, w.plain+path)
		for _, part := range want {
			if isError || !strings.Contains(text, part) {
				t.Errorf("%s: %q is missing in %q", path, part, text)
			}
		}
		for _, part := range []string{"evil", "hidden", "none", "aria", "comment", "template", "svg", "noscript",
			"secret", "pixel", "AAAA"} {
			if strings.Contains(text, part) {
				t.Errorf("%s: the text has %q: %s", path, part, text)
			}
		}
	}
	if text, isError := fetch(t, w.options, w.secure+"/json"); isError || !strings.Contains(text, `{"a"`) {
		t.Errorf("https: %q", text)
	}
	made, err := New(w.options)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := call(t, made, args{URL: w.plain + "/json", Prompt: "the letter a"}); !strings.Contains(text,
		"Looking for: the letter a\n") {
		t.Errorf("the prompt is missing: %q", text)
	}
}

func TestL8_AnswersThatAreNotPages(t *testing.T) {
	w := newWeb(t)
	w.HandleFunc("/pdf", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/pdf")
		io.WriteString(rw, "%PDF")
	})
	w.HandleFunc("/video", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "video/mp4")
		for _, err := io.WriteString(rw, "x"); err == nil; _, err = rw.Write(make([]byte, 1<<16)) {
		}
	})
	w.HandleFunc("/binary", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header()["Content-Type"] = nil
		rw.Write([]byte("\x00\x01\x02"))
	})
	w.HandleFunc("/brotli", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Encoding", "br")
		rw.Write([]byte("x"))
	})
	w.HandleFunc("/big", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/plain")
		rw.Write(make([]byte, maxPage+1))
	})
	// in UTF-8, which it does not say, with a character where it is cut
	w.HandleFunc("/long", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/plain")
		rw.WriteHeader(http.StatusNotFound)
		fmt.Fprint(rw, strings.Repeat("x", maxError-1)+strings.Repeat("é", 10))
	})
	w.HandleFunc("/gone", func(rw http.ResponseWriter, _ *http.Request) {
		http.Error(rw, "the page has moved", http.StatusGone)
	})
	w.HandleFunc("/deep", func(rw http.ResponseWriter, _ *http.Request) {
		io.WriteString(rw, "<html>"+strings.Repeat("<div>", 1000))
	})
	w.HandleFunc("/loop", func(rw http.ResponseWriter, r *http.Request) { redirect("/loop")(rw, r) })
	if text, isError := fetch(t, w.options, w.plain+"/long"); !isError ||
		!strings.HasSuffix(text, "\nx"+strings.Repeat("x", maxError-2)+"\n") {
		t.Errorf("a long error: %q", text)
	}
	for path, why := range map[string]string{
		"/pdf": "it is a PDF", "/video": "it is not text", "/binary": "it is not text", "/brotli": `compressed by "br"`,
		"/big":  "bigger than 5 MB",
		"/gone": "410 Gone. Check the URL", "/deep": "its HTML cannot be read",
		"/loop": "redirected more than 10 times", "/missing": "404 Not Found",
	} {
		refuses(t, w.options, w.plain+path, why)
	}
	if text, _ := fetch(t, w.options, w.plain+"/gone"); !strings.Contains(text, "the page has moved") {
		t.Errorf("the error's text is missing: %q", text)
	}
	refuses(t, w.options, strings.Replace(w.plain, "http:", "https:", 1), "does not speak https")
	refuses(t, w.options, "http://nowhere.example/", "there is no host nowhere.example")
	refuses(t, w.options, "", "is not a URL")
	refuses(t, w.options, "example.com", "is not a URL")
	if _, err := New(Options{Allow: []string{"https://x"}}); err == nil {
		t.Error("a wrong host is accepted")
	}
}

// A redirect stays on its host, which is the one that was permitted, or is told to the model.
func TestL8_Redirects(t *testing.T) {
	w := newWeb(t)
	w.Handle("/same", redirect("there?x=1"))
	w.HandleFunc("/there", func(rw http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(rw, "<p>there %s %s %s %s", r.URL.RawQuery, r.Header.Get("Referer"), r.Header.Get("Cookie"),
			r.Header.Get("Authorization"))
	})
	w.Handle("/other", redirect("http://other.example/x"))
	w.Handle("/port", redirect(w.secure+"/there"))
	if text, isError := fetch(t, w.options, w.plain+"/same"); isError || !strings.Contains(text, "there x=1\n") ||
		!strings.Contains(text, "URL: "+w.plain+"/there?x=1\n") {
		t.Errorf("a redirect on the host: %q", text)
	}
	for path, to := range map[string]string{"/other": "http://other.example/x", "/port": w.secure + "/there"} {
		text, isError := fetch(t, w.options, w.plain+path)
		if isError || !strings.Contains(text, "redirects to another host: "+to+"\n") ||
			!strings.Contains(text, "call web_fetch with its URL") {
			t.Errorf("%s: %q", path, text)
		}
	}
	if n := w.dns.Asked("other.example"); n != 0 {
		t.Errorf("the other host was looked up %d times", n)
	}
}

// Nothing of the user is sent, and nothing of the environment is used.
func TestL8_SendsNothingOfTheUser(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	w := newWeb(t)
	var headers []http.Header
	w.HandleFunc("/", func(rw http.ResponseWriter, r *http.Request) {
		headers = append(headers, r.Header)
		http.SetCookie(rw, &http.Cookie{Name: "a", Value: "b"})
		io.WriteString(rw, "<p>x")
	})
	for range 2 {
		if text, isError := fetch(t, w.options, w.plain); isError {
			t.Error(text)
		}
	}
	for _, h := range headers {
		for name := range h {
			if !slices.Contains([]string{"User-Agent", "Accept", "Accept-Encoding", "Connection"}, name) {
				t.Errorf("the header %s was sent", name)
			}
		}
	}
}

func TestL8_Access(t *testing.T) {
	made, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{"https://Example.com/x": "example.com",
		"https://example.com:443": "example.com", "http://example.com:443": "example.com:443",
		"http://example.com:8080/": "example.com:8080", "https://[2606:2800:220:1::1]/": "2606:2800:220:1::1",
		"https://bücher.example": "xn--bcher-kva.example"} {
		data, _ := json.Marshal(args{URL: address})
		access, err := made.Access(string(data))
		if err != nil || access.Effect != tool.ReadOnly || !slices.Equal(access.Hosts, []string{want}) {
			t.Errorf("%s: %v, %v, want %s", address, access, err, want)
		}
	}
}

// Pages that are made to cost much: their text is bounded, and nothing panics.
func TestL8_HostileHTML(t *testing.T) {
	const size = 16 << 10
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	for name, text := range map[string]string{
		"quotations": strings.Repeat("<blockquote>", 400) + fill("x<br>"), "lists": strings.Repeat("<ul><li>",
			200) + fill("<p>x"), "columns": "<table><tr>" + fill("<td>"),
		"rows and columns": "<table><tr>" + fill("<td>") + fill("<tr>"), "tables": fill("<table><tr><td>x</table>"),
		"span":        fill("<table><tr><td colspan=1000000 rowspan=65534>x</table>"),
		"a wide cell": "<table><tr><td>" + fill("x") + fill("<tr><td>y"), "links": fill("<a href=x><p>y</a>"),
		"a long link": "<a href=" + fill("x") + ">" + fill("<p>y") + "</a>",
		"emphasis":    strings.Repeat("<em><strong>", 200) + fill("x "), "code": fill("<code>`</code>"),
		"backticks": "<pre>" + fill("`"), "numbers": "<ol start=999999999>" + fill("<li>x"),
	} {
		_, md, err := convert(text, &url.URL{Scheme: "https", Host: "example.com"})
		if most := 100*len(text) + 1000; err == nil && len(md) > most {
			t.Errorf("%s: %d bytes became %d", name, len(text), len(md))
		}
	}
}

// A compressed body that never contains a byte of the page ends at a limit too.
func TestL8_CompressedNothing(t *testing.T) {
	w := newWeb(t)
	nothing := bytes.Repeat([]byte("\x00\x00\x00\xff\xff"), 10_000) // stored blocks of no bytes, none of them the last
	w.HandleFunc("/", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Encoding", "gzip")
		rw.Header().Set("Content-Type", "text/plain")
		_, err := io.WriteString(rw, "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff")
		for err == nil && r.Context().Err() == nil {
			_, err = rw.Write(nothing)
		}
	})
	for _, address := range []string{w.plain, w.secure} {
		refuses(t, w.options, address, "is bigger than 5 MB")
	}
}

// A name that can be written in several ways leads to the host that was judged, and the server sees
// that one.
func TestL8_TheJudgedHostIsFetched(t *testing.T) {
	w := newWeb(t)
	w.HandleFunc("/", func(rw http.ResponseWriter, r *http.Request) { fmt.Fprintf(rw, "<p>asked for %s", r.Host) })
	want := strings.TrimPrefix(w.plain, "http://")
	for _, host := range []string{"EXAMPLE.com", "example.com.", "ｅxample。com"} {
		address := strings.Replace(w.plain, "example.com", host, 1)
		if text, isError := fetch(t, w.options, address); isError || !strings.Contains(text, "asked for "+want+"\n") ||
			!strings.Contains(text, "URL: "+w.plain) {
			t.Errorf("%s: %q", address, text)
		}
	}
}

// A long address, of the page or in its base, does not make the links of a page much longer than
// the page.
func TestL8_LinksOfLongAddresses(t *testing.T) {
	links := strings.Repeat("<a href=b>y</a>", 10_000)
	for name, c := range map[string]struct {
		page string
		at   url.URL
	}{
		"the base": {"<base href='http://example.com/" + strings.Repeat("x", 1900) + "/'>" + links,
			url.URL{Scheme: "https", Host: "example.com"}},
		"the page": {links, url.URL{Scheme: "https", Host: "example.com", Path: "/" + strings.Repeat("x/", 950)}},
		"a query": {strings.ReplaceAll(links, "=b", "='#b'"),
			url.URL{Scheme: "https", Host: "example.com", RawQuery: strings.Repeat("x", 1900)}},
		"a user": {"<base href='http://" + strings.Repeat("x", 1900) + "@example.com'>" + links,
			url.URL{Scheme: "https", Host: "example.com"}},
		"escapes": {strings.ReplaceAll(links, "=b", "="+strings.Repeat("é", 200)),
			url.URL{Scheme: "https", Host: "example.com"}},
		"both": {"<base href='" + strings.Repeat("x", 20<<10) + "/'>" + links,
			url.URL{Scheme: "https", Host: "example.com", Path: "/" + strings.Repeat("x/", 10<<10)}},
	} {
		_, md, err := convert(c.page, &c.at)
		if most := len(c.page) + maxLinks + maxLinks/10; err != nil || len(md) > most {
			t.Errorf("%s: %d bytes became %d, %v", name, len(c.page), len(md), err)
		}
	}
	if _, md, err := convert(links[:15], &url.URL{Scheme: "https", Host: "example.com", Path: "/a/c"}); err != nil ||
		md != "[y](https://example.com/a/b)" {
		t.Errorf("a short link: %q, %v", md, err)
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, seed := range []string{"<p>x", "<table><tr><td colspan=9>x", "<a href='//x'>y</a><base href=z>",
		"<ul><li><ol><li>", "<pre>```", "<svg><style><b>", "<img src=x>", "<h1 style='display:none'>", "\x00<",
		"<title>x"} {
		f.Add(seed)
	}
	at := &url.URL{Scheme: "https", Host: "example.com", Path: "/a/b"}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 64<<10 {
			return
		}
		title, md, err := convert(text, at)
		if most := 200*len(text) + 2000; err == nil && len(title)+len(md) > most {
			t.Errorf("%d bytes became %d", len(text), len(md))
		}
	})
}
