//go:build unix

package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/profile/anthropic"
)

// trap describes one way in which a repository can name a program, and a git command that runs it.
type trap struct {
	name       string
	config     string // PROGRAM stands for the program
	attributes string
	hook       string   // in .git/hooks
	arm        string   // a script to run in the repository at the end
	spring     []string // the git command; nil if running the program takes more than a directory
	stdin      string
}

// traps returns a trap for each kind of program that git's configuration, hooks and attributes can
// name (git-config(1), githooks(5), gitattributes(5)).
func traps() []trap {
	status, add, diff := []string{"status"}, []string{"add", "a"}, []string{"diff"}
	list, sign := []string{"ls-remote", "origin"}, []string{"commit", "-S", "--allow-empty", "-m", "x"}
	remote := func(url string) string { return "[remote \"origin\"]\nurl = " + url + "\n" }
	all := []trap{
		{name: "filter.clean", config: "[filter \"x\"]\nclean = PROGRAM", attributes: "* filter=x", spring: status},
		{name: "filter.smudge", config: "[filter \"x\"]\nsmudge = PROGRAM", attributes: "* filter=x",
			spring: []string{"checkout", "a"}},
		{name: "filter.process", config: "[filter \"x\"]\nprocess = PROGRAM\nrequired", attributes: "* filter=x",
			spring: status},
		{name: "filter in info/attributes", config: "[filter \"x\"]\nclean = PROGRAM",
			arm: "mkdir -p .git/info; echo '* filter=x' > .git/info/attributes", spring: status},
		{name: "core.attributesFile", config: "[filter \"x\"]\nclean = PROGRAM\n[core]\nattributesFile = .git/z",
			arm: "echo '* filter=x' > .git/z", spring: status},
		{name: "include.path", config: "[include]\npath = x",
			arm: "printf '[filter \"x\"]\\nclean = %s\\n' \"$PROGRAM\" > .git/x", attributes: "* filter=x",
			spring: status},
		{name: "includeIf", config: "[includeIf \"gitdir:**\"]\npath = x",
			arm: "printf '[filter \"x\"]\\nclean = %s\\n' \"$PROGRAM\" > .git/x", attributes: "* filter=x",
			spring: status},
		{name: "config.worktree", config: "[extensions]\nworktreeConfig = true",
			arm:        "printf '[filter \"x\"]\\nclean = %s\\n' \"$PROGRAM\" > .git/config.worktree",
			attributes: "* filter=x", spring: status},
		{name: "core.fsmonitor", config: "[core]\nfsmonitor = PROGRAM", spring: status},
		{name: "a partial clone", config: "[core]\nrepositoryFormatVersion = 1\n[extensions]\npartialClone = origin\n" +
			remote(".") + "promisor = true\nuploadpack = PROGRAM",
			arm:    "t=$(git rev-parse HEAD:); rm -f .git/objects/$(echo $t | cut -c1-2)/$(echo $t | cut -c3-)",
			spring: status},
		{name: "core.hooksPath", config: "[core]\nhooksPath = .git/y",
			arm: "mkdir .git/y; cp \"$PROGRAM\" .git/y/post-index-change", spring: add},
		{name: "diff.external", config: "[diff]\nexternal = PROGRAM", spring: diff},
		{name: "diff.command", config: "[diff \"x\"]\ncommand = PROGRAM", attributes: "* diff=x", spring: diff},
		{name: "diff.textconv", config: "[diff \"x\"]\ntextconv = PROGRAM", attributes: "* diff=x", spring: diff},
		{name: "alias", config: "[alias]\nx = !PROGRAM\nlog = !PROGRAM\nstatus = !PROGRAM", spring: []string{"x"}},
		{name: "core.sshCommand", config: "[core]\nsshCommand = PROGRAM\n" + remote("ssh://localhost/x"), spring: list},
		{name: "core.gitProxy", config: "[core]\ngitProxy = PROGRAM\n" + remote("git://localhost/x"), spring: list},
		{name: "remote.uploadpack", config: remote(".") + "uploadpack = PROGRAM", spring: list},
		{name: "remote.receivepack", config: remote(".") + "receivepack = PROGRAM",
			spring: []string{"push", "origin", "HEAD:refs/heads/x"}},
		{name: "ext::", config: remote("ext::PROGRAM") + "[protocol \"ext\"]\nallow = always", spring: list},
		{name: "url.insteadOf", config: remote("https://localhost/x") +
			"[url \"ext::PROGRAM \"]\ninsteadOf = https://\n[protocol \"ext\"]\nallow = always", spring: list},
		{name: "credential.helper", config: "[credential]\nhelper = !PROGRAM", spring: []string{"credential", "fill"},
			stdin: "protocol=https\nhost=x\nusername=x\n\n"},
		{name: "credential.URL.helper", config: "[credential \"https://x\"]\nhelper = !PROGRAM",
			spring: []string{"credential", "fill"}, stdin: "protocol=https\nhost=x\nusername=x\n\n"},
		{name: "core.askPass", config: "[core]\naskPass = PROGRAM", spring: []string{"credential", "fill"},
			stdin: "protocol=https\nhost=x\nusername=x\n\n"},
		{name: "gpg.program", config: "[gpg]\nprogram = PROGRAM\n[log]\nshowSignature = true", spring: sign},
		{name: "gpg.ssh.program",
			config: "[gpg]\nformat = ssh\n[gpg \"ssh\"]\nprogram = PROGRAM\n[user]\nsigningKey = key::x", spring: sign},
		{name: "gpg.x509.program", config: "[gpg]\nformat = x509\n[gpg \"x509\"]\nprogram = PROGRAM", spring: sign},
		{name: "gpg.ssh.defaultKeyCommand", config: "[gpg]\nformat = ssh\n[gpg \"ssh\"]\ndefaultKeyCommand = PROGRAM",
			spring: sign},
		{name: "core.editor", config: "[core]\neditor = PROGRAM", spring: []string{"commit", "--allow-empty"}},
		{name: "sequence.editor", config: "[sequence]\neditor = PROGRAM",
			spring: []string{"rebase", "-i", "--autostash", "--root"}},
		{name: "tar.command", config: "[tar \"x\"]\ncommand = PROGRAM",
			spring: []string{"archive", "--format=x", "HEAD"}},
		{name: "trailer.cmd", config: "[trailer \"x\"]\nkey = x\ncmd = PROGRAM",
			spring: []string{"interpret-trailers", "--trailer", "x=y"}, stdin: "x\n"},
		{name: "trailer.command", config: "[trailer \"x\"]\nkey = x\ncommand = PROGRAM",
			spring: []string{"interpret-trailers"}, stdin: "x\n"},
		{name: "difftool.cmd", config: "[diff]\ntool = x\n[difftool \"x\"]\ncmd = PROGRAM\n[difftool]\nprompt = false",
			spring: []string{"difftool"}},
		// Git runs these only with a terminal, a merge, a network or a user's configuration.
		{name: "pagers", config: "[core]\npager = PROGRAM\n[pager]\nlog = PROGRAM\nstatus = PROGRAM\ndiff = PROGRAM"},
		{name: "merge.driver", config: "[merge \"x\"]\ndriver = PROGRAM\n[merge]\ntool = x\n[mergetool \"x\"]\ncmd " +
			"= PROGRAM", attributes: "* merge=x"},
		{name: "submodule.update", config: "[submodule \"x\"]\nupdate = !PROGRAM\nurl = ext::PROGRAM\nactive = true"},
		{name: "core.alternateRefsCommand", config: "[core]\nalternateRefsCommand = PROGRAM"},
		{name: "uploadpack.packObjectsHook", config: "[uploadpack]\npackObjectsHook = PROGRAM"},
		{name: "gc.recentObjectsHook", config: "[gc]\nrecentObjectsHook = PROGRAM"},
		{name: "hook.command", config: "[hook \"x\"]\nevent = post-index-change\ncommand = PROGRAM"},
		{name: "interactive.diffFilter", config: "[interactive]\ndiffFilter = PROGRAM"},
		{name: "viewers", config: "[man \"x\"]\ncmd = PROGRAM\n[browser \"x\"]\ncmd = PROGRAM\n[help]\nbrowser = x\n" +
			"[web]\nbrowser = x\n[guitool \"x\"]\ncmd = PROGRAM\n[instaweb]\nhttpd = PROGRAM"},
		{name: "mail", config: "[sendemail]\nsendmailCmd = PROGRAM\ntoCmd = PROGRAM\nccCmd = PROGRAM\nheaderCmd = " +
			"PROGRAM\n[imap]\ntunnel = PROGRAM"},
		{name: "remote.vcs", config: remote(".") + "vcs = x"},
		{name: "core.worktree", config: "[core]\nworktree = /"},
	}
	for _, hook := range []string{"post-index-change", "pre-commit", "post-checkout", "reference-transaction",
		"fsmonitor-watchman", "pre-auto-gc"} {
		all = append(all, trap{name: "hook " + hook, hook: hook})
	}
	return all
}

// trapDir holds a directory with repositories and the program that their traps name. The program
// writes a line to the file mark.
type trapDir struct {
	*testing.T
	dir, program, mark string
}

func newTrapDir(t *testing.T) *trapDir {
	t.Helper()
	peer.Need(t, "git")
	dir := t.TempDir()
	f := &trapDir{t, dir, filepath.Join(dir, "program"), filepath.Join(dir, "mark")}
	f.writeFile(f.program, "#!/bin/sh\necho \"$0 $*\" >> "+f.mark+"\nexit 1\n")
	if err := os.Chmod(f.program, 0o755); err != nil {
		t.Fatal(err)
	}
	f.git(dir, "", "init", "-q", "--template=", "repo")
	f.writeFile(filepath.Join(f.repo(), "a"), "1\n")
	f.git(f.repo(), "", "add", "a")
	f.git(f.repo(), "", "commit", "-q", "-m", "one")
	return f
}

func (f *trapDir) repo() string { return filepath.Join(f.dir, "repo") }

func (f *trapDir) writeFile(name, text string) {
	f.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		f.Fatal(err)
	}
}

// git runs git and returns its output, with the error if it failed.
func (f *trapDir) git(dir, stdin string, args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + f.dir, "GIT_AUTHOR_NAME=T",
		"GIT_AUTHOR_EMAIL=t@example.org", "GIT_COMMITTER_NAME=T",
		"GIT_COMMITTER_EMAIL=t@example.org", "GIT_TERMINAL_PROMPT=0"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out) + err.Error()
	}
	return string(out)
}

// makeRepo copies the repository, adds the traps, and changes a file without changing its size, so
// that git must read it.
func (f *trapDir) makeRepo(repo string, traps ...trap) {
	f.Helper()
	if err := os.CopyFS(repo, os.DirFS(f.repo())); err != nil {
		f.Fatal(err)
	}
	config, err := os.ReadFile(filepath.Join(repo, ".git/config"))
	if err != nil {
		f.Fatal(err)
	}
	text, attributes := string(config), ""
	for _, trap := range traps {
		text += strings.ReplaceAll(trap.config, "PROGRAM", f.program) + "\n"
		attributes += trap.attributes + "\n"
		if trap.hook != "" {
			if err := os.MkdirAll(filepath.Join(repo, ".git/hooks"), 0o755); err != nil {
				f.Fatal(err)
			}
			if err := os.Symlink(f.program, filepath.Join(repo, ".git/hooks", trap.hook)); err != nil {
				f.Fatal(err)
			}
		}
	}
	for _, trap := range traps {
		if trap.arm == "" {
			continue
		}
		cmd := exec.Command("sh", "-c", trap.arm)
		cmd.Dir, cmd.Env = repo, append(os.Environ(), "PROGRAM="+f.program)
		if out, err := cmd.CombinedOutput(); err != nil {
			f.Fatalf("%v: %s", err, out)
		}
	}
	f.writeFile(filepath.Join(repo, ".git/config"), text)
	f.writeFile(filepath.Join(repo, ".gitattributes"), attributes)
	f.writeFile(filepath.Join(repo, "a"), "2\n")
}

// takeMark returns and removes the lines that the program has written.
func (f *trapDir) takeMark() string {
	data, err := os.ReadFile(f.mark)
	if err != nil {
		return ""
	}
	if err := os.Remove(f.mark); err != nil {
		f.Fatal(err)
	}
	return string(data)
}

// Describing a repository in the prompt runs no program that it names, whereas git runs it.
func TestI2_PromptRunsNoProgram(t *testing.T) {
	f := newTrapDir(t)
	for i, trap := range traps() {
		t.Run(trap.name, func(t *testing.T) {
			repo := filepath.Join(f.dir, "repo"+string(rune('A'+i)))
			f.makeRepo(repo, trap)
			prompt, err := attractor.SystemPrompt(context.Background(), repo,
				agent.Options{Profile: anthropic.Profile()})
			if err != nil || !strings.Contains(prompt, "Is git repository: yes") ||
				!strings.Contains(prompt, "Working directory: "+repo+"\n") {
				t.Errorf("%v\n%s", err, prompt)
			}
			if ran := f.takeMark(); ran != "" {
				t.Errorf("rendering the prompt ran: %s", ran)
			}
			if trap.spring == nil {
				return
			}
			if out := f.git(repo, trap.stdin, trap.spring...); f.takeMark() == "" {
				t.Errorf("git %v does not run the program, so this case proves nothing: %s", trap.spring, out)
			}
		})
	}
}

// No command runs git or a program named by the repository or the environment in somebody else's
// checkout.
func TestI2_CommandInAHostileCheckout(t *testing.T) {
	f := newTrapDir(t)
	repo := filepath.Join(f.dir, "hostile")
	f.makeRepo(repo, traps()...)
	bin := filepath.Join(f.dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"git", "ssh", "gpg", "less", "vi"} {
		if err := os.Symlink(f.program, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	url, _ := serve(t, nil, fakellm.Turn{Text: "I looked."})
	host := []string{"ANTHROPIC_API_KEY=key-of-a-test", "ANTHROPIC_BASE_URL=" + url, "GIT_DIR=" + repo + "/.git",
		"GIT_WORK_TREE=" + repo, "GIT_EXTERNAL_DIFF=" + f.program,
		"GIT_SSH_COMMAND=" + f.program, "GIT_SSH=" + f.program, "GIT_ASKPASS=" + f.program, "SSH_ASKPASS=" + f.program,
		"GIT_PAGER=" + f.program, "PAGER=" + f.program,
		"GIT_EDITOR=" + f.program, "EDITOR=" + f.program, "GIT_PROXY_COMMAND=" + f.program, "GIT_EXEC_PATH=" + bin,
		"GIT_TRACE=" + f.mark, "GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=" + f.program}
	for _, args := range [][]string{{"prompt"}, {"prompt", "--dir", ".git"}, {"run", "--read-only", "look"},
		{"run", "--yes", "look"},
		{"tool", "list_dir", `{"path":"."}`, "--profile", "gemini"}, {"sessions", "list"}, {"tools"}, {"models"},
		{"version"}} {
		cmd := attractorCommand(t, args...)
		cmd.Dir = repo
		cmd.Env = append(append(cmd.Env, host...), "PATH="+bin+":"+os.Getenv("PATH"))
		if got := runCommand(t, cmd); got.code != 0 {
			t.Errorf("%v: exit code %d: %s", args, got.code, got.stderr)
		}
		if ran := f.takeMark(); ran != "" {
			t.Errorf("%v ran: %s", args, ran)
		}
	}
}

// The demo runs git, but only in the repository that it has made, even if the environment names
// another.
func TestI2_DemoInAHostileCheckout(t *testing.T) {
	t.Parallel()
	f := newTrapDir(t)
	repo := filepath.Join(f.dir, "hostile")
	f.makeRepo(repo, trap{config: "[core]\nfsmonitor = PROGRAM\n[diff]\nexternal = PROGRAM"})
	cmd := attractorCommand(t, "demo", "--dir", filepath.Join(repo, "demo"))
	cmd.Dir = repo
	cmd.Env = append(cmd.Env, "GIT_DIR="+filepath.Join(repo, ".git"), "GIT_WORK_TREE="+repo,
		"GIT_EXTERNAL_DIFF="+f.program, "GIT_PAGER="+f.program)
	if got := runCommand(t, cmd); got.code != 0 || !strings.Contains(got.stderr, "✓ shell git diff") {
		t.Errorf("demo: exit code %d: %s", got.code, got.stderr)
	}
	if ran := f.takeMark(); ran != "" {
		t.Errorf("demo ran: %s", ran)
	}
}
