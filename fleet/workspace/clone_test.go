package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/workspace"
)

// secretToken is found nowhere but at the server.
const secretToken = "s3cret-t0ken-of-the-tenant"

// cloning returns workspaces for a server, as a worker of many tenants has them.
func cloning(t testing.TB, s *gitServer, change ...func(*workspace.Options)) (fleet.Workspaces, string) {
	t.Helper()
	dir := t.TempDir()
	return newWorkspaces(t, append([]func(*workspace.Options){func(o *workspace.Options) {
		o.Dir, o.AllowDir, o.CAFile = dir, false, s.caFile
		o.Credentials = map[string]workspace.Credential{
			"bot":   {URL: s.URL + "/", Token: secretToken},
			"other": {URL: s.URL + "/", Token: secretToken, Tenants: []string{"acme"}},
			"far":   {URL: "https://example.com/", Token: secretToken},
		}
	}}, change...)...), dir
}

// A private repository is cloned with a credential, which nobody else sees: it is in no file, no
// variable of the task, and no error.
func TestP9_CredentialsStayWithTheClone(t *testing.T) {
	t.Parallel()
	s := serveGit(t, map[string]string{"a.git": newRepository(t)})
	s.token = secretToken
	lists := 0
	s.extra = func(http.ResponseWriter, *http.Request) bool { // while git runs
		lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, name := range lines {
			if data, err := os.ReadFile(name); err == nil && (strings.Contains(string(data), secretToken) ||
				strings.Contains(string(data), "Basic ")) {
				t.Errorf("the list of processes has the credential: %q", data)
			}
		}
		if err == nil && len(lines) > 0 {
			lists++
		}
		return false
	}
	w, dir := cloning(t, s)
	task := fleet.Task{ID: "t1", Repo: &fleet.Repo{URL: s.URL + "/a.git", Credential: "bot"}}
	ws := open(t, w, task, space(t).Objects, nil)
	must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(name)
		if strings.Contains(string(data), secretToken) || strings.Contains(string(data), "Basic") ||
			strings.Contains(string(data), "extraHeader") {
			t.Errorf("%s has the credential", name)
		}
		return err
	}))
	if out := do(t, ws, "env; git config --list --show-origin; git remote -v"); strings.Contains(out, secretToken) ||
		strings.Contains(out, "Authorization") {
		t.Errorf("the task sees %s", out)
	}
	if n := strings.Count(strings.Join(s.requests, "\n"), "Basic "); n == 0 {
		t.Error("the server saw no credential")
	}
	if lists == 0 {
		t.Error("nobody looked at the list of processes")
	}
	s.set(func() { s.token = "another" })
	_, err := w.Open(t.Context(), fleet.Task{ID: "t2", Repo: task.Repo}, space(t).Objects, nil)
	if err == nil || strings.Contains(err.Error(), secretToken) {
		t.Errorf("with a wrong credential: %v", err)
	}
}

// What a task gets wrong is said in its own words, and as an error that stays.
func TestP5_WrongRepositories(t *testing.T) {
	t.Parallel()
	source := newRepository(t)
	s := serveGit(t, map[string]string{"a.git": source})
	blank := filepath.Join(t.TempDir(), "blank")
	must(t, os.Mkdir(blank, 0o755))
	runGit(t, blank, "init", "-q")
	runGit(t, s.dir, "clone", "-q", "--bare", blank, "blank.git")
	w, _ := cloning(t, s)
	url := s.URL + "/a.git"
	s.extra = func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case strings.HasPrefix(r.URL.Path, "/private"):
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "no", http.StatusUnauthorized)
		case strings.HasPrefix(r.URL.Path, "/elsewhere"):
			http.Redirect(w, r, "http://127.0.0.1:1/a.git/info/refs", http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/moved"):
			http.Redirect(w, r, strings.Replace(r.URL.String(), "moved", "a", 1), http.StatusMovedPermanently)
		case strings.HasPrefix(r.URL.Path, "/forbidden"):
			http.Error(w, "no", http.StatusForbidden)
		default:
			return false
		}
		return true
	}
	for i, test := range []struct {
		repo fleet.Repo
		want string
	}{
		{fleet.Repo{URL: s.URL + "/none.git"}, "there is no repository at"},
		{fleet.Repo{URL: s.URL + "/private.git"}, "does not let us in"},
		{fleet.Repo{URL: s.URL + "/forbidden.git"}, "does not let us in"},
		{fleet.Repo{URL: s.URL + "/elsewhere.git"}, "a protocol other than"},
		{fleet.Repo{URL: s.URL + "/moved.git", Credential: "bot"}, "has moved"},
		{fleet.Repo{URL: url, Ref: "nowhere"}, `repo.ref "nowhere" does not exist in`},
		{fleet.Repo{URL: url, Ref: strings.Repeat("0", 39) + "1"}, "does not exist in"},
		{fleet.Repo{URL: url, Ref: "--upload-pack=touch x"}, "is not the name of a branch"},
		{fleet.Repo{URL: url, Ref: "main:refs/heads/x"}, "is not the name of a branch"},
		{fleet.Repo{URL: url, Ref: "../x"}, "is not the name of a branch"},
		{fleet.Repo{URL: s.URL + "/blank.git"}, "has no commits"},
		{fleet.Repo{URL: url, Credential: "none"}, `the credential "none"`},
		{fleet.Repo{URL: url, Credential: "other"}, `the credential "other"`},
		{fleet.Repo{URL: url, Credential: "far"}, "is not for"},
		{fleet.Repo{URL: source}, "is on this machine"},
		{fleet.Repo{URL: "file://" + source}, "is on this machine"},
		{fleet.Repo{URL: "http://127.0.0.1/a.git"}, "over https and ssh only"},
		{fleet.Repo{URL: "git://127.0.0.1/a.git"}, "over https and ssh only"},
		{fleet.Repo{URL: "ext::sh -c touch% x"}, "is not a URL"},
		{fleet.Repo{URL: "ext::sh"}, "give https://"},
		{fleet.Repo{URL: "https://user:" + secretToken + "@127.0.0.1/a.git"}, "has a password"},
		{fleet.Repo{URL: "ssh://-oProxyCommand=touch/x"}, "is not a URL"},
		{fleet.Repo{URL: "-oProxyCommand=touch@x:y"}, "is not a URL"},
		{fleet.Repo{URL: "a@-oProxyCommand=x:y"}, "give https://"},
		{fleet.Repo{URL: "a@host:-x"}, "give https://"},
		{fleet.Repo{URL: "--upload-pack=touch"}, "is not a URL"},
		{fleet.Repo{URL: ""}, "is not a URL"},
		{fleet.Repo{URL: "https://127.0.0.1/a b"}, "is not a URL"},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			_, err := w.Open(t.Context(), fleet.Task{ID: "t1", Repo: &test.repo}, space(t).Objects, nil)
			if _, ok := errors.AsType[*fleet.PermanentError](err); !ok || !strings.Contains(err.Error(), test.want) ||
				strings.Contains(err.Error(), secretToken) {
				t.Errorf("%+v: %v, want %s, permanent", test.repo, err, test.want)
			}
		})
	}
	moved := open(t, w, fleet.Task{ID: "moved", Repo: &fleet.Repo{URL: s.URL + "/moved.git"}}, space(t).Objects, nil)
	if got, want := listing(t, dirOf(moved)), listing(t, source); got != want { // without a credential
		t.Errorf("a repository that has moved is cloned as %s, not %s", got, want)
	}
	s.Close()
	_, err := w.Open(t.Context(), fleet.Task{ID: "t1", Repo: &fleet.Repo{URL: url}}, space(t).Objects, nil)
	if _, ok := errors.AsType[*fleet.PermanentError](err); ok || err == nil {
		t.Errorf("a server that is down is %v, want an error that may go away", err)
	}
}

// Every kind of ref can be named, and the next owner has the same commit when the branch has moved
// on, also if the server gives out no single commits.
func TestP5_TheCommitIsPinned(t *testing.T) {
	t.Parallel()
	source := newRepository(t)
	s := serveGit(t, map[string]string{"a.git": source})
	commit := runGit(t, source, "rev-parse", "HEAD~1")
	head := runGit(t, source, "rev-parse", "HEAD")
	for ref, want := range map[string][2]string{"": {head, "refs/heads/main"}, "main": {head, "refs/heads/main"},
		"v1":              {head, head},
		"refs/heads/main": {head, "refs/heads/main"}, "refs/tags/v1": {head, head}, commit: {commit, commit}} {
		t.Run(ref, func(t *testing.T) {
			w, _ := cloning(t, s)
			o := space(t).Objects
			task := fleet.Task{ID: "t1", Repo: &fleet.Repo{URL: s.URL + "/a.git", Ref: ref}}
			p := point(t, open(t, w, task, o, nil))
			if p.Base != want[0] || p.Head != want[1] {
				t.Errorf("the point is %+v, want %v", p, want)
			}
		})
	}
	w, _ := cloning(t, s)
	o := space(t).Objects
	task := fleet.Task{ID: "t1", Repo: &fleet.Repo{URL: s.URL + "/a.git"}}
	p := point(t, open(t, w, task, o, nil))
	bare := filepath.Join(s.dir, "a.git")
	other := filepath.Join(t.TempDir(), "other")
	runGit(t, s.dir, "clone", "-q", bare, other)
	write(t, other, map[string]string{"later": "x"})
	runGit(t, other, "add", "-A")
	runGit(t, other, "commit", "-q", "-m", "later")
	runGit(t, other, "push", "-q", "origin", "HEAD")
	for _, protocol := range []string{"2", "0"} { // in version 0, servers give out branches alone
		runGit(t, bare, "config", "uploadpack.allowAnySHA1InWant", "false")
		s.set(func() {
			s.extra = func(_ http.ResponseWriter, r *http.Request) bool {
				if protocol == "0" {
					r.Header.Del("Git-Protocol")
				}
				return false
			}
		})
		next, _ := cloning(t, s)
		again := open(t, next, task, o, p)
		if now := point(t, again); now.Base != p.Base || now.Root != p.Root {
			t.Errorf("the next owner has %+v instead of %+v", now, p)
		}
	}
	// A commit that is gone cannot be cloned again.
	runGit(t, bare, "update-ref", "refs/heads/main", commit)
	runGit(t, bare, "update-ref", "-d", "refs/tags/v1")
	runGit(t, bare, "reflog", "expire", "--expire=now", "--all")
	runGit(t, bare, "gc", "-q", "--prune=now")
	next, _ := cloning(t, s)
	_, err := next.Open(t.Context(), task, o, p)
	if _, ok := errors.AsType[*fleet.PermanentError](err); !ok || !strings.Contains(err.Error(), p.Base) {
		t.Errorf("a commit that is gone: %v", err)
	}
}

// A server that does not answer is left as soon as nobody waits, with all that was started.
func TestP5_CloningEnds(t *testing.T) {
	t.Parallel()
	s := serveGit(t, map[string]string{"a.git": newRepository(t)})
	reached := make(chan struct{}, 100)
	s.extra = func(_ http.ResponseWriter, r *http.Request) bool {
		reached <- struct{}{}
		<-r.Context().Done() // when git is gone
		return true
	}
	task := fleet.Task{ID: "t1", Repo: &fleet.Repo{URL: s.URL + "/a.git"}}
	w, dir := cloning(t, s)
	gone := errors.New("nobody waits")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-reached
		cancel(gone)
	}()
	if _, err := w.Open(ctx, task, space(t).Objects, nil); !errors.Is(err, gone) {
		t.Errorf("a clone that nobody wants: %v", err)
	}
	short, dirShort := cloning(t, s, func(o *workspace.Options) { o.Limits.CloneTime = time.Second })
	if _, err := short.Open(t.Context(), task, space(t).Objects, nil); err == nil || !strings.Contains(err.Error(),
		"took more than 1s") {
		t.Errorf("a clone that takes too long: %v", err)
	}
	for _, dir := range []string{dir, dirShort} {
		if left, err := filepath.Glob(filepath.Join(dir, "*", "*")); err != nil || len(left) > 0 {
			t.Errorf("left: %v %v", left, err)
		}
	}
}
