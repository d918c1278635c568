package webtest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/attractor-go/attractor/internal/peer"
)

// bound is the time that a test may take in the browser, on a machine that is busy with other
// tests.
const bound = 4 * time.Minute

// browser is a headless Chromium that is started when a test first needs it.
type browser struct {
	once onceError
	ctx  context.Context
	stop []context.CancelFunc
}

// start returns a context of the browser. It skips the test if there is none on this machine.
func (b *browser) start(t testing.TB) context.Context {
	t.Helper()
	program := peer.Browser(t)
	err := b.once.do(func() error {
		dir := filepath.Join(the.dir, "browser")
		if err := os.MkdirAll(filepath.Join(dir, "tmp"), 0o700); err != nil {
			return err
		}
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program),
			chromedp.UserDataDir(filepath.Join(dir, "profile")),
			chromedp.Env("TMPDIR="+filepath.Join(dir, "tmp"), "HOME="+dir, "XDG_CONFIG_HOME="+dir,
				"XDG_CACHE_HOME="+dir),
			chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-crash-reporter", true),
			chromedp.WindowSize(1280, 900),
			chromedp.Flag("enable-precise-memory-info", true), chromedp.Flag("hide-scrollbars", false),
			// Nothing but the page under test is asked for, not even to see whether there is a
			// network.
			chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost"))
		allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
		ctx, stop := chromedp.NewContext(allocator)
		b.ctx, b.stop = ctx, []context.CancelFunc{stop, stopAllocator}
		return chromedp.Do(ctx)
	})
	if err != nil {
		t.Fatalf("the browser does not start: %v", err)
	}
	return b.ctx
}

// close ends the browser and waits for its processes.
func (b *browser) close() {
	if b.ctx == nil {
		return
	}
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	if err := chromedp.Cancel(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "closing the browser:", err)
	}
	for _, stop := range b.stop {
		stop()
	}
}

// page is a tab of the browser with storage of its own. Whatever goes wrong in it fails the test:
// errors on the console, exceptions that nobody catches, requests that fail, and what the content
// security policy has blocked.
type page struct {
	testing.TB
	ctx context.Context

	mu       sync.Mutex
	problems []string
	requests []string
	allowed  []*regexp.Regexp
}

// newPage opens an empty tab with a desktop's width.
func newPage(t testing.TB) *page {
	t.Helper()
	return openTab(t, the.browser.start(t), chromedp.WithNewBrowserContext())
}

// tab opens another empty tab that shares the storage of this one.
func (p *page) tab() *page {
	p.Helper()
	return openTab(p.TB, p.ctx)
}

func openTab(t testing.TB, parent context.Context, options ...chromedp.ContextOption) *page {
	t.Helper()
	ctx, cancel := chromedp.NewContext(parent, options...)
	t.Cleanup(cancel)
	p := &page{TB: t}
	if err := chromedp.Listen(ctx, p.hear); err != nil {
		t.Fatal(err)
	}
	p.ctx, cancel = context.WithTimeout(ctx, bound)
	t.Cleanup(cancel)
	t.Cleanup(func() {
		for _, problem := range p.unexpected() {
			t.Errorf("the browser says: %s", problem)
		}
	})
	for _, enable := range []cdp.Command[cdp.Empty, cdp.Empty]{audits.Enable, log.Enable, runtime.Enable} {
		call(p, enable, cdp.Empty{})
	}
	call(p, network.Enable, network.EnableParams{})
	call(p, cdppage.Enable, cdppage.EnableParams{})
	p.size(1280, 900)
	return p
}

// hear notes what the browser tells of the page.
func (p *page) hear(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.problem("exception: " + e.ExceptionDetails.Text + " " + describe(e.ExceptionDetails.Exception))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning ||
			e.Type == runtime.ConsoleAPICalledTypeAssert {
			p.problem("console: " + describe(e.Args...))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			p.problem(fmt.Sprintf("log: %s %s", e.Entry.Text, e.Entry.URL))
		}
	case *audits.EventIssueAdded:
		details, _ := json.Marshal(e.Issue.Details)
		p.problem(fmt.Sprintf("issue: %s %s", e.Issue.Code, details))
	case *network.EventRequestWillBeSent:
		p.mu.Lock()
		p.requests = append(p.requests, e.Request.URL)
		p.mu.Unlock()
	case *network.EventLoadingFailed:
		if !e.Canceled {
			p.problem("request: " + e.ErrorText)
		}
	case *cdppage.EventJavascriptDialogOpening:
		p.problem("dialog: " + e.Message)
		go func() {
			_, _ = chromedp.Call(p.ctx, cdppage.HandleJavaScriptDialog, cdppage.HandleJavaScriptDialogParams{})
		}()
	case *cdppage.EventWindowOpen:
		p.problem("window: " + e.URL)
	}
}

// describe returns values of the page as a text.
func describe(values ...*runtime.RemoteObject) string {
	var texts []string
	for _, v := range values {
		if v == nil {
			continue
		}
		text := v.Description
		if text == "" {
			text = fmt.Sprint(v.Value)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " ")
}

func (p *page) problem(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = append(p.problems, text)
}

// allow says that problems which match are no failures of this test.
func (p *page) allow(pattern string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.allowed = append(p.allowed, regexp.MustCompile(pattern))
}

// unexpected returns the problems that the test has not allowed.
func (p *page) unexpected() (left []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
next:
	for _, problem := range p.problems {
		for _, allowed := range p.allowed {
			if allowed.MatchString(problem) {
				continue next
			}
		}
		left = append(left, problem)
	}
	return left
}

// requested returns the URLs that the page has asked for.
func (p *page) requested() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.requests...)
}

// call sends a command of the protocol to the tab.
func call[P, R any](p *page, command cdp.Command[P, R], params P) R {
	p.Helper()
	result, err := chromedp.Call(p.ctx, command, params)
	if err != nil {
		p.Fatalf("%s: %v", command.Method, err)
	}
	return result
}
