package shell

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/internal/git"
)

// git judges a git command: its options, the environment, and the configuration of its repository.
func (r *read) git(args []string) string {
	options, args := gitGlobals(args)
	for _, o := range options {
		if why := r.gitGlobal(o); why != "" {
			return why
		}
	}
	if len(args) == 0 || args[0] == "version" && len(args) == 1 {
		return ""
	}
	sub, args := args[0], args[1:]
	s, ok := gitSpec(sub)
	if !ok {
		return "git " + sub + " is not known as a command that only reads"
	}
	p, why := s.parse(args)
	if why != "" {
		return "git " + sub + " " + why
	}
	if why := gitForm(sub, s, p, args); why != "" {
		return why
	}
	repo, settings, why := r.repository(sub, p.operands)
	for _, why := range []string{why, aliased(settings, sub), shows(settings, sub)} {
		if why != "" {
			return why
		}
	}
	r.files = append(r.files, File{Path: repo.Top, Tree: true, Names: true})
	return r.gitFiles(repo, sub, p)
}

// repository returns the repository in which a subcommand runs with its settings, or why it may
// start a program there. Where that does not matter, it returns what is known of the repository.
func (r *read) repository(sub string, operands []string) (repo *git.Repository, settings []git.Setting, why string) {
	if r.dir == "" {
		return nil, nil, "it is not known in which directory git runs"
	}
	if why = r.gitVars(); why == "" {
		var paths []string
		for _, name := range operands {
			file, _ := absolute(r.dir, name)
			paths = append(paths, file)
		}
		user := git.User{Home: r.Home, XDG: r.variable("XDG_CONFIG_HOME")}
		repo, settings, why = r.Machine.files().Reading(r.ctx, r.dir, user, paths)
	}
	if why == "" {
		why = recurses(settings, sub)
	}
	shows := sub == "config" || sub == "remote" // what the configuration says, which may be secret
	if why != "" && r.Observed && !shows {
		return &git.Repository{Top: r.dir}, nil, ""
	}
	return repo, settings, why
}

// gitGlobals splits off the options in front of the subcommand of git.
func gitGlobals(args []string) (options []option, rest []string) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		name, value, has := strings.Cut(args[0], "=")
		args = args[1:]
		valued := []string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--attr-source"}
		if !has && len(args) > 0 && slices.Contains(valued, name) {
			value, args = args[0], args[1:]
		}
		options = append(options, option{name, value})
	}
	return options, args
}

// gitGlobal returns why git may do more than read with an option in front of the subcommand, or
// changes the directory.
func (r *read) gitGlobal(o option) (why string) {
	switch o.name {
	case "--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--glob-pathspecs",
		"--noglob-pathspecs", "--icase-pathspecs", "--version":
		return ""
	case "-C":
		dir, ok := absolute(r.dir, o.value)
		if !ok {
			return "it is not known in which directory it runs"
		}
		r.dir = dir
		return ""
	}
	return "git may run programs with " + o.name
}

// gitVars returns why git may run programs or use other files because of its environment. Variables
// of later versions count too.
func (r *read) gitVars() string {
	for _, entry := range r.Vars {
		name, value, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "GIT_") && value != "" && !harmlessToGit().MatchString(name) {
			return "the variable " + name + " may make git run programs or use other files"
		}
	}
	return ""
}

// harmlessToGit matches the variables that do not matter for a command that reads and has no
// terminal.
var harmlessToGit = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("^GIT_((SSL|HTTP|PROXY_SSL|AUTHOR|COMMITTER|PS1)_.*|PAGER|EDITOR|SEQUENCE_EDITOR|" +
		"ASKPASS|SSH|SSH_COMMAND|SSH_VARIANT|TERMINAL_PROMPT|OPTIONAL_LOCKS|CONFIG_NOSYSTEM|ATTR_NOSYSTEM|" +
		"CEILING_DIRECTORIES|DISCOVERY_ACROSS_FILESYSTEM|(LITERAL|GLOB|NOGLOB|ICASE)_PATHSPECS|NO_REPLACE_OBJECTS)$")
})

// gitFiles adds the files that the operands may name. The whole tree and its history are taken for
// readable, since they were committed.
func (r *read) gitFiles(repo *git.Repository, sub string, p arguments) string {
	switch sub {
	case "branch", "tag", "remote", "config", "stash", "reflog", "worktree", "for-each-ref", "show-ref", "symbolic-ref",
		"name-rev", "rev-parse", "merge-base":
		return ""
	}
	for i, name := range p.operands {
		if sub == "grep" && i == 0 && !p.has("e") {
			continue
		}
		// without a repository git diff compares whole directories
		if why := r.file(name, File{Tree: repo.GitDir == ""}); why != "" {
			return why
		}
		_, in, found := strings.Cut(name, ":") // REVISION:PATH, or :(magic)PATH
		if !found {
			continue
		}
		if _, after, magic := strings.Cut(in, ")"); magic {
			in = after
		}
		if len(in) > 2 && in[1] == ':' && in[0] >= '0' && in[0] <= '3' {
			in = in[2:]
		}
		for _, dir := range []string{repo.Top, r.dir} {
			if file, ok := absolute(dir, strings.TrimLeft(in, "/!^")); ok && in != "" {
				r.files = append(r.files, File{Path: file})
			}
		}
	}
	return ""
}

// gitForm returns why a subcommand that can also change something does more than show.
func gitForm(sub string, s spec, p arguments, args []string) string {
	n := len(p.operands)
	words, alone := strings.CutPrefix(s.words, "- ")
	fine := true
	switch {
	case sub == "config" && p.late != nil: // git takes what follows the name of a setting for its value
		return "git config may set " + p.operands[0] + ": write options before the name"
	case sub == "config":
		fine = p.has("l list get get-all get-regexp") && n <= 2 || n == 1 && p.operands[0] != "edit" ||
			n == 2 && p.operands[0] == "get"
	case words != "" && !alone && n > 0 && args[0] != p.operands[0]:
		return fmt.Sprintf("git %s may take %s for something else behind %s: write git %[1]s %[2]s first",
			sub, p.operands[0], args[0])
	case words != "":
		fine = n == 0 && alone || n > 0 && slices.Contains(strings.Fields(words), p.operands[0])
	default:
		fine = n <= s.max || p.has("l list contains no-contains merged no-merged points-at")
	}
	if !fine {
		return fmt.Sprintf("git %s %s may change the repository", sub, strings.Join(p.operands, " "))
	}
	for _, o := range p.options {
		if git.ShowsSignature(o.value) || strings.Contains(o.value, "signature") {
			return "git may run gpg for " + o.value
		}
		if o.name == "diff-merges" && strings.HasPrefix(o.value, "r") { // remerge
			return "git may run merge drivers for " + o.value
		}
	}
	return ""
}

// aliased returns why a command may run something else: a version of git that does not know the
// command, or is about to drop it, looks for an alias.
func aliased(settings []git.Setting, sub string) string {
	for _, s := range settings {
		if s.Name == "alias."+sub || strings.HasPrefix(s.Name, "alias."+sub+".") {
			return "the configuration of git has an alias " + sub
		}
	}
	return ""
}

// recurses returns why git grep may look into submodules: those of older commits, too, whose
// configuration may have it get missing objects by a program.
func recurses(settings []git.Setting, sub string) string {
	for _, s := range settings {
		if sub == "grep" && s.Name == "submodule.recurse" && !s.No() {
			return "git grep may run programs of submodules, because the configuration of git has submodule.recurse"
		}
	}
	return ""
}

// shows returns why a command may show a secret of the configuration.
func shows(settings []git.Setting, sub string) string {
	if sub != "config" && sub != "remote" {
		return ""
	}
	for _, s := range settings {
		url := s.Name + " " + s.Value
		_, after, has := strings.Cut(url, "://")
		host, _, _ := strings.Cut(after, "/")
		if has && strings.Contains(host, "@") && strings.Contains(host, ":") {
			return "the configuration of git has a URL with a password"
		}
		if key := s.Key(); strings.HasSuffix(key, "extraheader") || strings.Contains(key, "token") ||
			strings.Contains(key, "password") || strings.Contains(key, "secret") {
			return "the configuration of git has " + s.Name
		}
	}
	return ""
}
