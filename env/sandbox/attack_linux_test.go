package sandbox_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/loopdns"
	"github.com/attractor-go/attractor/internal/peer"
)

// confinement is a level with options, against which all attacks are run.
type confinement struct {
	name    string
	options sandbox.Options
	// permitted lists the effects that the level permits, and open those that it does not promise
	// to prevent, as SECURITY.md says.
	permitted, open []effect
	needsHelper     bool
	sameFiles       bool // as at another level, so that attacks on repositories find the same
}

func confinements() []confinement {
	return []confinement{
		{name: "read-only", options: sandbox.Options{Level: sandbox.ReadOnly}},
		{name: "workspace", options: sandbox.Options{Level: sandbox.Workspace}, permitted: []effect{inRoot}},
		{name: "workspace with the network", options: sandbox.Options{Level: sandbox.Workspace, Network: true},
			permitted: []effect{inRoot, toTCP, toUDP}, open: scoped(), sameFiles: true},
		{name: "workspace with a host", options: sandbox.Options{Level: sandbox.Workspace, AllowHosts: []string{named}},
			permitted: []effect{inRoot}, needsHelper: true, sameFiles: true},
		{name: "observe", options: sandbox.Options{Level: sandbox.Observe}, open: []effect{readIt, sees, leads}},
		{name: "observe of Linux 5.13", options: sandbox.Options{Level: sandbox.Observe}.Capped(1),
			open: []effect{readIt, sees, leads}, sameFiles: true},
		{name: "workspace-weak", options: sandbox.Options{Level: sandbox.WorkspaceWeak}, permitted: []effect{inRoot},
			needsHelper: true,
			open:        []effect{metadata, protected, nextGit, toUDP, toPath, readIt, sees}},
	}
}

// scoped returns what a command with the network reaches if the kernel cannot keep it from abstract
// sockets.
func scoped() []effect {
	if abi, _, _ := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0,
		unix.LANDLOCK_CREATE_RULESET_VERSION); abi >= 6 {
		return nil
	}
	return []effect{toAbs}
}

// programs holds the programs that the attacks need, and a directory of this process's own.
type programs struct{ attack, helper, own string }

// programsVar names the directory with the programs, for a test that runs as another user.
const programsVar = "ATTRACTOR_TEST_PROGRAMS"

// made reports whether built has made a directory.
var made atomic.Bool

// built returns the programs, built once.
var built = sync.OnceValues(func() (p programs, err error) {
	if p.own, err = os.MkdirTemp("", "attractor-attack-programs-"); err != nil {
		return p, err
	}
	made.Store(true)
	dir := cmp.Or(os.Getenv(programsVar), p.own)
	p.attack, p.helper = filepath.Join(dir, "attack"), filepath.Join(dir, "attractor-env")
	if dir != p.own {
		return p, nil
	}
	for name, source := range map[string]string{p.attack: "./testdata/attack", p.helper: "../../cmd/attractor-env"} {
		cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", name, source)
		// so that every clone finds it in the build cache
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath")
		if out, err := cmd.CombinedOutput(); err != nil {
			return p, fmt.Errorf("%w: %s", err, out)
		}
	}
	return p, nil
})

// removePrograms removes what built has made. It is for TestMain.
func removePrograms() error {
	if !made.Load() {
		return nil
	}
	p, _ := built() // its error was the test's
	return os.RemoveAll(p.own)
}

func needPrograms(t *testing.T) programs {
	t.Helper()
	p, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// output runs a script in an environment and returns what it printed. A script that does not end is
// killed.
func (w *world) output(t *testing.T, e env.Environment, script string) string {
	t.Helper()
	var out strings.Builder
	_, err := env.Run(t.Context(), e, env.Command{Script: script, Output: func(_ int, p []byte) { out.Write(p) }},
		5*time.Minute)
	if err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	return out.String()
}

// enter returns an environment in a world's root, confined or not.
func (w *world) enter(t *testing.T, c *confinement, p programs) (env.Environment, func()) {
	t.Helper()
	lo := env.LocalOptions{Environ: w.environ(), Env: w.vars(), Vars: env.VarsAll, Grace: -1,
		Containment: env.ContainGroup} // the sandbox alone has to hold
	ends := []func() error{}
	if c == nil {
		url, end := w.openProxy()
		lo.Env = append(lo.Env, "HTTPS_PROXY="+url)
		ends = append(ends, func() error { end(); return nil })
	} else {
		o := c.options
		if o.AllowHosts != nil {
			here := []string{"127.0.0.1"}
			o.AllowHosts, o.Resolver = w.allowed(), loopdns.Start(t,
				map[string][]string{named: here, unnamed: here, hidden: here}).Resolver()
		}
		o.Environ, o.Helper, o.State = w.environ(), p.helper, t.TempDir()
		box, err := sandbox.New(w.root, o)
		if errors.Is(err, errors.ErrUnsupported) {
			peer.Missing(t, "%v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		lo, ends = box.Confine(lo), append(ends, box.Close)
	}
	l, err := env.NewLocal(w.root, lo)
	if err != nil {
		t.Fatal(err)
	}
	ends = append(ends, l.Close)
	return l, func() {
		t.Helper()
		for _, end := range slices.Backward(ends) {
			if err := end(); err != nil {
				t.Error(err)
			}
		}
		if left := w.placeholders(); len(left) > 0 {
			t.Errorf("placeholders are left: %q", left)
		}
	}
}

// usedUp returns a file that an attack has removed or made, without which the next one would mean
// something else, or "".
func (w *world) usedUp() string {
	if _, err := os.Stat(w.root + "/evil.sh"); err == nil {
		return w.root + "/evil.sh, which an attack on repositories has made"
	}
	for _, name := range []string{
		w.tool, w.root + "/.git/HEAD", w.root + "/.git/objects", w.root + "/.git/refs", w.root + "/nested/.git/HEAD",
		w.root + "/module/.git",
	} {
		if _, err := os.Stat(name); err != nil {
			return name
		}
	}
	return ""
}

// Each attack has its effect outside, so that its script is known to work.
func TestL12_AttacksOutside(t *testing.T) {
	peer.Need(t, "setpriv")
	t.Parallel() // with the tests of the other levels: all of them wait for the kernel most of the time
	p := needPrograms(t)
	w, fresh := newWorld(t, p.attack), true
	for i, a := range attacks() {
		if a.does == "" || a.root && os.Getuid() != 0 || !*everywhere && i%partOutside != 0 {
			continue
		}
		if strings.Contains(a.script, "$TCP6") && w.ports["tcp6"] == "" || strings.Contains(a.script, "$UDP6") &&
			w.ports["udp["] == "" {
			t.Logf("%s: no IPv6 here", a.name)
			continue
		}
		found, out := w.outside(t, a, p)
		if len(found[a.does]) == 0 && !fresh { // an earlier attack may have left nothing to do for this one
			w.end()
			w = newWorld(t, p.attack)
			found, out = w.outside(t, a, p)
		}
		if len(found[a.does]) == 0 {
			t.Errorf("%s: the script has no effect %q outside, only %q:\n%s", a.name, a.does, found, out)
		}
		fresh = false
		if len(found[signalled]) > 0 || w.usedUp() != "" {
			w.end()
			w, fresh = newWorld(t, p.attack), true
		}
	}
}

// outside runs an attack without a sandbox and returns its effects and its output.
func (w *world) outside(t *testing.T, a attack, p programs) (found map[effect][]string, out string) {
	t.Helper()
	e, end := w.enter(t, nil, p)
	out = w.output(t, e, a.script)
	end()
	if a.on != "" {
		w.userGit()
	}
	return w.effects(out), out
}

// No attack has an effect that its level promises to prevent.
func TestL12_Attacks(t *testing.T) {
	t.Parallel()
	p := needPrograms(t)
	for _, c := range confinements() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.attacked(t, p)
		})
	}
}

// together counts the attacks that run as one command. At the level workspace-weak, where many
// effects are not promised to be prevented and commands start fast, each attack is a command.
const together = 16

// attacked runs all attacks against a level and prints how many it held. Attacks run together, and
// again one by one if any of them has had an effect.
func (c *confinement) attacked(t *testing.T, p programs) {
	s := &siege{t: t, level: c, programs: p}
	s.begin()
	defer func() { s.end() }()
	s.reachesNamed()
	all := attacks()
	if c.sameFiles && !*everywhere {
		all = slices.DeleteFunc(all, func(a attack) bool { return a.on != "" })
	}
	if c.options.Level == sandbox.WorkspaceWeak && *partOfWeak > 1 {
		n := 0
		all = slices.DeleteFunc(all, func(attack) bool { n++; return n%*partOfWeak != 0 })
	}
	for _, some := range c.batches(all) {
		if len(some) == 1 {
			s.attack(some[0])
		} else {
			s.attackTogether(some)
		}
	}
	t.Logf("%s, as user %d: %d attacks, %d held, %d that are not promised got through", c.name, os.Getuid(), len(all),
		s.held, s.notPromised)
	if len(all) < 60 {
		t.Errorf("there are only %d attacks", len(all))
	}
}

// batches divides attacks into those that run as one command. Attacks on repositories run together
// if each is on another one, because each needs a repository that no other has touched.
func (c *confinement) batches(all []attack) [][]attack {
	var batches [][]attack
	open := false // the last batch takes more
	for _, a := range all {
		if a.on != "" {
			continue
		}
		if single := a.alone || c.options.Level == sandbox.WorkspaceWeak; single || !open ||
			len(batches[len(batches)-1]) == together {
			batches, open = append(batches, nil), !single
		}
		batches[len(batches)-1] = append(batches[len(batches)-1], a)
	}
	var onRepositories [][]attack
	for _, a := range all {
		if a.on == "" {
			continue
		}
		at := slices.IndexFunc(onRepositories, func(some []attack) bool {
			return c.options.Level != sandbox.WorkspaceWeak &&
				!slices.ContainsFunc(some, func(b attack) bool { return a.on == b.on })
		})
		if at < 0 {
			at, onRepositories = len(onRepositories), append(onRepositories, nil)
		}
		onRepositories[at] = append(onRepositories[at], a)
	}
	return append(batches, onRepositories...)
}

// siege runs attacks in worlds that are confined by a level.
type siege struct {
	t                 *testing.T
	level             *confinement
	programs          programs
	world             *world
	inside            env.Environment
	leave             func()
	held, notPromised int
}

func (s *siege) begin() {
	s.t.Helper()
	s.world = newWorld(s.t, s.programs.attack)
	s.inside, s.leave = s.world.enter(s.t, s.level, s.programs)
}

func (s *siege) end() {
	s.t.Helper()
	s.leave()
	s.world.end()
}

// reachesNamed checks that commands reach a host that they may reach through the proxy, so that the
// attacks on it mean something.
func (s *siege) reachesNamed() {
	s.t.Helper()
	if s.level.options.AllowHosts == nil {
		return
	}
	out := s.world.output(s.t, s.inside,
		`"$TOOL" proxytls "`+named+`:$TLSPORT" `+named+
			`; "$TOOL" proxyget "http://$PLAIN/" "$PLAIN" "http://$PLAIN/" "$PLAIN"`)
	if want := "done: proxytls\ngot it\ngot it\ndone: proxyget\n"; out != want {
		s.t.Errorf("the named host answered %q, want %q", out, want)
	}
}

// renew begins again with a new world if the last attack has used up this one.
func (s *siege) renew() {
	s.t.Helper()
	if s.world.usedUp() != "" {
		s.end()
		s.begin()
	}
}

// attack runs one attack and reports what it has done.
func (s *siege) attack(a attack) {
	s.t.Helper()
	s.renew()
	out := s.world.output(s.t, s.inside, a.script)
	if a.on != "" {
		s.world.userGit()
	}
	through, open := s.level.judge(s.world.effects(out))
	switch {
	case len(through) > 0:
		s.t.Errorf("%s:\n\t%s\nhas got through:\n\t%s\nIt printed:\n%s", a.name, a.script, few(through), out)
	case len(open) > 0:
		s.notPromised++
		s.t.Logf("%s: not promised, and it happened:\n\t%s", a.name, few(open))
	default:
		s.held++
	}
}

// attackTogether runs several attacks as one command. If any of them has had an effect or has not
// come to its end, it runs each of them in a new world.
func (s *siege) attackTogether(some []attack) {
	s.t.Helper()
	s.renew()
	var script strings.Builder
	for _, a := range some {
		fmt.Fprintf(&script, "bash -c '%s'\necho '%s'\n", strings.ReplaceAll(a.script, "'", `'\''`), came)
	}
	out := s.world.output(s.t, s.inside, script.String())
	if some[0].on != "" {
		s.world.userGit()
	}
	through, open := s.level.judge(s.world.effects(out))
	ended := 0
	for line := range strings.Lines(out) {
		if strings.HasSuffix(line, came+"\n") {
			ended++
		}
	}
	if len(through)+len(open) == 0 && ended == len(some) {
		s.held += len(some)
		return
	}
	s.end()
	s.begin()
	before := s.held
	for _, a := range some {
		s.attack(a)
	}
	if s.held == before+len(some) && len(through)+len(open) > 0 {
		s.t.Errorf("%s to %s: one of them has got through, but not when they ran one by one:\n\t%s\nThey printed:\n%s",
			some[0].name, some[len(some)-1].name, few(append(through, open...)), out)
	}
}

// came says in the output of attacks that run together that one of them has come to its end.
const came = "CAME TO THE END"

// few returns the first of several lines.
func few(lines []string) string {
	if more := len(lines) - 4; more > 0 {
		lines = append(lines[:4:4], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n\t")
}

// judge returns which effects a level promised to prevent, and which it did not.
func (c confinement) judge(found map[effect][]string) (through, open []string) {
	for _, e := range slices.Sorted(maps.Keys(found)) {
		switch {
		case slices.Contains(c.permitted, e):
		case slices.Contains(c.open, e):
			open = append(open, string(e)+": "+found[e][0])
		default:
			through = append(through, found[e]...)
		}
	}
	return through, open
}

// everywhere makes the tests of attacks try all of them at all levels and outside, and
// TestL12_AsNobody also outside, which TestL12_AttacksOutside shows for this user.
var everywhere = flag.Bool("attacks.everywhere", false,
	"try all attacks at all levels and outside of a sandbox, also as another user")

// partOutside is how many of the attacks TestL12_AttacksOutside tries otherwise: one in so many.
// They change only with their scripts.
const partOutside = 3

// partOfWeak is what TestL12_AsNobody gives the level workspace-weak, whose mechanism does the same
// for all users.
var partOfWeak = flag.Int("attacks.weak", 1, "try every nth attack at the level workspace-weak")

// The attacks fail as another user too, for whom sandboxes are made of user namespaces: at one
// level of each mechanism.
func TestL12_AsNobody(t *testing.T) {
	t.Parallel() // with TestL12_Attacks: both wait for the kernel most of the time
	if os.Getuid() != 0 {
		t.Skip("this is not root, so TestL12_Attacks runs as an ordinary user")
	}
	setpriv := peer.Need(t, "setpriv")
	p := needPrograms(t)
	const nobody = 65534
	dir, err := os.MkdirTemp(placeOfWorlds(t), "attractor-nobody-") // the path of a socket can have only 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	for name, source := range map[string]string{"test": os.Args[0], "attack": p.attack, "attractor-env": p.helper} {
		data, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		if err := peer.WriteProgram(filepath.Join(dir, name), data); err != nil {
			t.Fatal(err)
		}
	}
	for _, own := range []string{"tmp", "home", "w"} {
		if err := errors.Join(os.Mkdir(filepath.Join(dir, own), 0o755), os.Chown(filepath.Join(dir, own), nobody,
			nobody)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	tests, levels, weak := "^(TestL12_Attacks|TestL6_.*|TestL12_Outlives)$/"+
		"^(workspace|workspace-weak|observe|observe_of_Linux_5.13)$", 4, "-attacks.weak=3"
	if *everywhere {
		tests, levels, weak = "^(TestL12_Attacks|TestL6_.*|TestL12_Outlives|TestL12_AttacksOutside)$",
			len(confinements()), "-attacks.weak=1"
	}
	cmd := exec.Command(setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", filepath.Join(dir, "test"),
		"-test.v", "-test.run="+tests, weak)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir+"/home", "TMPDIR="+dir+"/tmp", programsVar+"="+dir,
		worldsVar+"="+dir+"/w", "XDG_STATE_HOME=", "XDG_RUNTIME_DIR=")
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, " attacks, ") {
			t.Log(strings.TrimSpace(line))
		}
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if n := strings.Count(string(out), " attacks, "); n != levels {
		t.Errorf("%d of %d levels were attacked:\n%s", n, levels, out)
	}
}
