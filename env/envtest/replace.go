package envtest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strconv"
	"sync"

	"github.com/attractor-go/attractor/env"
)

// replaceChecks check the optional interfaces for concurrent changes: env.Replacer, env.Locker and
// env.Resolver. Those that the environment does not implement are skipped.
var replaceChecks = []check{
	{name: "J9_ReplaceComparesContents", run: replaceComparesContents, needs: []Feature{Writing}},
	{name: "J9_ReplaceMakesFiles", run: replaceMakesFiles, needs: []Feature{Writing}},
	{name: "J9_ReplaceKeepsMode", run: replaceIfKeepsMode, needs: []Feature{Writing, Modes}},
	{name: "J9_ReplaceThroughLinks", run: replaceThroughLinks, needs: []Feature{Writing, Links}},
	{name: "J9_DeleteComparesContents", run: deleteComparesContents, needs: []Feature{Writing}},
	{name: "J9_NoReplacementIsLost", run: noReplacementIsLost, needs: []Feature{Writing}},
	{name: "J9_ReplaceEndedContext", run: replaceEndedContext, needs: []Feature{Writing}},
	{name: "J9_LockExcludes", run: lockExcludes, needs: []Feature{Writing}},
	{name: "J9_ResolveIsOneName", run: resolveIsOneName},
	{name: "J9_ResolveFollowsLinks", run: resolveFollowsLinks, needs: []Feature{Links}},
	{name: "J9_RefusesReplacing", run: refusesReplacing, unless: Writing},
}

// replacer returns the environment's Replacer, or skips the check.
func (t *tester) replacer() env.Replacer {
	t.Helper()
	r, ok := t.env.(env.Replacer)
	if !ok {
		t.Skip("not run: the environment is no env.Replacer")
	}
	if err := r.Delete(t.ctx, "absent", env.HashOf(nil)); errors.Is(err, errors.ErrUnsupported) {
		t.Skipf("not run: %v", err)
	}
	return r
}

// replaced replaces a file, which must succeed.
func (t *tester) replaced(name, was, data string) {
	t.Helper()
	t.must("Replace", t.replacer().Replace(t.ctx, name, env.HashOf([]byte(was)), []byte(data), 0o644))
	t.equal("content", t.read(name), data)
}

// notReplaced checks that a file with other content is not replaced.
func (t *tester) notReplaced(name string, was env.Hash, content string) {
	t.Helper()
	t.isError("Replace", t.replacer().Replace(t.ctx, name, was, []byte("lost"), 0o644), env.ErrChanged)
	t.equal("content", t.read(name), content)
}

func replaceComparesContents(t *tester) {
	t.write("f", "one", 0o644)
	t.replaced("f", "one", "two")
	t.notReplaced("f", env.HashOf([]byte("one")), "two")
	t.notReplaced("f", env.NoFile, "two")
	t.notReplaced("f", "two", "two") // not a hash
	t.write("f", "", 0o644)
	t.notReplaced("f", env.NoFile, "") // an empty file exists
	t.replaced("f", "", "three")
	t.write("f", "four", 0o644) // of the same size
	t.write("f", "five", 0o644)
	t.notReplaced("f", env.HashOf([]byte("four")), "five")
	t.sameNames(t.names("."), "f")
}

func replaceMakesFiles(t *tester) {
	r := t.replacer()
	t.isError("Replace of what is not there", r.Replace(t.ctx, "a/f", env.HashOf(nil), nil, 0o644), env.ErrChanged)
	t.sameNames(t.names("."))
	t.must("Replace", r.Replace(t.ctx, "a/b/f", env.NoFile, []byte("new"), 0o644))
	t.equal("content", t.read("a/b/f"), "new")
	t.sameNames(t.names("a/b"), "f")
	for _, name := range []string{"a", ".", "", "a/b/f/g", "new/"} {
		if err := r.Replace(t.ctx, name, env.NoFile, nil, 0o644); err == nil {
			t.Errorf("Replace wrote %q", name)
		}
	}
}

func replaceIfKeepsMode(t *tester) {
	t.needsModes()
	t.must("Replace", t.replacer().Replace(t.ctx, "s", env.NoFile, []byte("one"), 0o700))
	t.equal("mode of a new file", t.stat("s").Mode.Perm(), fs.FileMode(0o700))
	t.replaced("s", "one", "two")
	t.equal("mode of a replaced file", t.stat("s").Mode.Perm(), fs.FileMode(0o700))
}

func replaceThroughLinks(t *tester) {
	t.write("dir/f", "one", 0o644)
	t.arrange("ln -s dir/f l; ln -s dir/new dangling")
	t.replaced("l", "one", "two")
	t.equal("target", t.read("dir/f"), "two")
	t.must("Replace", t.replacer().Replace(t.ctx, "dangling", env.NoFile, []byte("made"), 0o644))
	t.equal("target that was missing", t.read("dir/new"), "made")
	t.isError("Delete", t.replacer().Delete(t.ctx, "l", env.HashOf([]byte("one"))), env.ErrChanged)
	t.must("Delete of a link", t.replacer().Delete(t.ctx, "l", env.HashOf([]byte("two"))))
	t.sameNames(t.names("."), "dangling", "dir")
	t.equal("target after its link was deleted", t.read("dir/f"), "two")
}

func deleteComparesContents(t *tester) {
	t.write("dir/f", "one", 0o644)
	r := t.replacer()
	for _, was := range []env.Hash{env.HashOf([]byte("two")), env.NoFile} {
		t.isError("Delete", r.Delete(t.ctx, "dir/f", was), env.ErrChanged)
	}
	t.isError("Delete of what is not there", r.Delete(t.ctx, "g", env.HashOf(nil)), env.ErrChanged)
	t.equal("content", t.read("dir/f"), "one")
	t.must("Delete", r.Delete(t.ctx, "dir/f", env.HashOf([]byte("one"))))
	t.sameNames(t.names("dir"))
	if err := r.Delete(t.ctx, "dir", env.HashOf(nil)); err == nil {
		t.Error("a directory was deleted as if it were a file")
	}
}

// noReplacementIsLost has several goroutines count in one file. Each decides again when another one
// was faster.
func noReplacementIsLost(t *tester) {
	const counters, each = 3, 4
	r := t.replacer()
	t.write("count", "0", 0o644)
	var running sync.WaitGroup
	for range counters {
		running.Go(func() {
			for done := 0; done < each; {
				n, err := t.number("count")
				if err == nil {
					err = r.Replace(t.ctx, "count", env.HashOf([]byte(strconv.Itoa(n))), []byte(strconv.Itoa(n+1)),
						0o644)
				}
				switch {
				case err == nil:
					done++
				case !errors.Is(err, env.ErrChanged):
					t.Errorf("counting: %v", err)
					return
				}
			}
		})
	}
	running.Wait()
	t.equal("count", t.read("count"), strconv.Itoa(counters*each))
}

// number reads a number without ending the test.
func (t *tester) number(name string) (n int, err error) {
	f, err := t.env.Open(t.ctx, name)
	if err != nil {
		return 0, err
	}
	data, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, err
	}
	return strconv.Atoi(string(data))
}

func replaceEndedContext(t *tester) {
	t.write("f", "x", 0o644)
	ctx, gone := t.ended()
	was := env.HashOf([]byte("x"))
	t.isError("Replace", t.replacer().Replace(ctx, "f", was, []byte("y"), 0o644), gone)
	t.isError("Delete", t.replacer().Delete(ctx, "f", was), gone)
	t.equal("content", t.read("f"), "x")
	if l, ok := t.env.(env.Locker); ok {
		unlock, err := l.Lock(ctx, "f")
		if err == nil && t.excludes("f") {
			t.Error("Lock locked for a caller who has gone")
		}
		if unlock != nil {
			unlock()
		}
	}
}

// excludes reports whether nobody else can lock a file now. It tries only as long as it takes to
// notice another holder.
func (t *tester) excludes(names ...string) bool {
	ctx, cancel := context.WithTimeout(t.ctx, waitLimit/1000)
	defer cancel()
	unlock, err := env.Lock(ctx, t.env, names...)
	if err != nil {
		return true
	}
	unlock()
	return false
}

// lockExcludes checks that a lock excludes others under every name of the file, and that the file
// can be locked again afterwards.
func lockExcludes(t *tester) {
	l, ok := t.env.(env.Locker)
	if !ok {
		t.Skip("not run: the environment is no env.Locker")
	}
	t.write("f", "x", 0o644)
	t.write("dir/g", "x", 0o644)
	unlock, err := l.Lock(t.ctx, "f", "dir/new", "")
	t.must("Lock", err)
	if !t.excludes("f") {
		t.Skip("not run: the environment's locks do nothing, as those of a wrapper around one without")
	}
	for _, names := range [][]string{{t.absolute("f")}, {"./dir/..//f"}, {"dir/new"}, {"dir/g", "f"}, {"f", "dir/g"}} {
		if !t.excludes(names...) {
			t.Errorf("Lock locked %q although somebody has it", names)
		}
	}
	if r, ok := t.env.(env.Replacer); ok { // the holder of the lock can change the file
		t.must("Replace of a file that is locked by ourselves",
			r.Replace(t.ctx, "f", env.HashOf([]byte("x")), []byte("y"), 0o644))
	}
	unlock()
	unlock, err = l.Lock(t.ctx, "dir/new", "f", "f")
	t.must("Lock, after it was given back", err)
	unlock()
	t.sameNames(t.names("."), "dir", "f")
	t.sameNames(t.names("dir"), "g")
}

// resolver returns the environment's Resolver, or skips the check.
func (t *tester) resolver() func(name string) string {
	t.Helper()
	r, ok := t.env.(env.Resolver)
	if !ok {
		t.Skip("not run: the environment is no env.Resolver")
	}
	return func(name string) string {
		t.Helper()
		to, err := r.Resolve(t.ctx, name)
		if err != nil {
			t.Fatalf("Resolve %s: %v", name, err)
		}
		return to
	}
}

func resolveIsOneName(t *tester) {
	resolve := t.resolver()
	t.put("dir/f", "x", 0o644)
	one := resolve("dir/f")
	for _, name := range []string{"./dir/f", "dir/../dir//f", t.absolute("dir/f"), one} {
		t.equal("name of one file", resolve(name), one)
	}
	t.equal("content under the resolved name", t.read(one), "x")
	t.equal("name of what is not there", resolve("./no/where"), resolve("no/where"))
	if resolve("dir/f") == resolve("dir/g") {
		t.Error("two files have one name")
	}
	if _, err := t.env.(env.Resolver).Resolve(t.ctx, ""); err == nil {
		t.Error("an empty name leads somewhere")
	}
}

func resolveFollowsLinks(t *tester) {
	resolve := t.resolver()
	t.put("dir/f", "x", 0o644)
	t.arrange("ln -s dir/f l; ln -s dir d; ln -s dir/new dangling")
	t.equal("name of a link's target", resolve("l"), resolve("dir/f"))
	t.equal("name through a link", resolve("d/f"), resolve("dir/f"))
	t.equal("name of a target that is not there", resolve("dangling"), resolve("dir/new"))
}

func refusesReplacing(t *tester) {
	r, ok := t.env.(env.Replacer)
	if !ok {
		t.Skip("not run: the environment is no env.Replacer")
	}
	t.put("f", "x", 0o644)
	was := env.HashOf([]byte("x"))
	t.isError("Replace", r.Replace(t.ctx, "f", was, []byte("y"), 0o644), fs.ErrPermission)
	t.isError("Replace with a new file", r.Replace(t.ctx, "g", env.NoFile, nil, 0o644), fs.ErrPermission)
	t.isError("Delete", r.Delete(t.ctx, "f", was), fs.ErrPermission)
	t.sameNames(t.names("."), "f")
	t.equal("content", t.read("f"), "x")
}
