package shell

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/git"
)

// git judges a git command: its options, the environment, and the configuration of its repository.
func (r *read) git(args []string) string {
	args, why := r.gitGlobals(args)
	switch {
	case why != "":
		return why
	case len(args) == 0, args[0] == "--version", args[0] == "version" && len(args) == 1:
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
	if why := gitForm(sub, p, args); why != "" {
		return why
	}
	r.operands = p.operands
	repo, why := r.safe(sub)
	if why != "" {
		return why
	}
	if why := repo.aliased(sub); why != "" {
		return why
	}
	if why := repo.shows(sub, p); why != "" {
		return why
	}
	r.files = append(r.files, File{Path: repo.Top, Tree: true, Names: true})
	return r.gitFiles(repo, sub, p)
}

// safe returns the repository in which a subcommand runs, or why it may start a program there. Where that does not matter, it returns
// what is known of the repository.
func (r *read) safe(sub string) (*repository, string) {
	why := r.gitVars()
	if why == "" {
		var repo *repository
		if repo, why = r.repository(r.dir, 0); why == "" {
			return repo, ""
		}
	}
	shows := sub == "config" || sub == "remote" // what the configuration says, which may be secret
	if !r.Observed || shows || r.dir == "" {
		return nil, why
	}
	return &repository{Repository: &git.Repository{Top: r.dir}}, ""
}

// gitGlobals reads the options in front of the subcommand, and changes the directory.
func (r *read) gitGlobals(args []string) (rest []string, why string) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--glob-pathspecs", "--noglob-pathspecs", "--icase-pathspecs":
		case "--version":
			return args, ""
		case "-C":
			if len(args) < 2 {
				return nil, "git -C has no directory"
			}
			dir, ok := absolute(r.dir, args[1])
			if !ok {
				return nil, "it is not known in which directory it runs"
			}
			r.dir, args = dir, args[1:]
		default:
			return nil, "git may run programs with " + args[0]
		}
		args = args[1:]
	}
	return args, ""
}

// gitVars returns why git may run programs or use other files because of its environment.
func (r *read) gitVars() string {
	for _, entry := range r.Vars {
		name, value, _ := strings.Cut(entry, "=")
		if value != "" && redirectsGit(name, value) {
			return "the variable " + name + " may make git run programs or use other files"
		}
	}
	return ""
}

// redirectsGit reports whether a variable can name a program that a reading command of git runs, a file that configures git, another
// repository, or a file that git writes. It goes by the words in the name, so that variables of later versions count too.
func redirectsGit(name, value string) bool {
	rest, ok := strings.CutPrefix(name, "GIT_")
	if !ok {
		return false
	}
	switch rest {
	case "SSH_COMMAND", "CONFIG_NOSYSTEM", "ATTR_NOSYSTEM", "CEILING_DIRECTORIES", "DISCOVERY_ACROSS_FILESYSTEM", "LITERAL_PATHSPECS", "GLOB_PATHSPECS",
		"NOGLOB_PATHSPECS", "ICASE_PATHSPECS", "NO_REPLACE_OBJECTS": // none of them matters for a command that reads and has no terminal
		return false
	}
	if strings.HasPrefix(rest, "TRACE") {
		return strings.Contains(value, "/") // the name of a file or a socket; other values are descriptors and switches
	}
	for _, harmless := range []string{"SSL_", "HTTP_", "PROXY_SSL_", "AUTHOR_", "COMMITTER_", "PS1_"} {
		if strings.HasPrefix(rest, harmless) {
			return false
		}
	}
	for _, word := range []string{"DIR", "FILE", "PATH", "TREE", "OBJECT", "CONFIG", "COMMAND", "EXEC", "DIFF", "ATTR", "PROXY", "BASE", "BACKEND", "SOURCE",
		"NAMESPACE", "PREFIX", "MONITOR", "HOOK", "TEST"} {
		if strings.Contains(rest, word) {
			return true
		}
	}
	return false
}

// gitFiles adds the files that the operands may name. The whole tree and its history are taken for readable, since they were committed.
func (r *read) gitFiles(repo *repository, sub string, p arguments) string {
	switch sub {
	case "branch", "tag", "remote", "config", "stash", "reflog", "worktree", "for-each-ref", "show-ref", "symbolic-ref", "name-rev", "rev-parse", "merge-base":
		return ""
	}
	for i, name := range p.operands {
		if sub == "grep" && i == 0 && !p.has('e', "") {
			continue
		}
		if why := r.file(name, File{Tree: repo.GitDir == ""}); why != "" { // without a repository git diff compares whole directories
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
func gitForm(sub string, p arguments, args []string) string {
	n := len(p.operands)
	filtered := p.has(0, "list") || p.has(0, "contains") || p.has(0, "no-contains") || p.has(0, "merged") || p.has(0, "no-merged") || p.has(0, "points-at")
	fine := true
	switch {
	case sub == "config" && p.late != nil: // git takes what follows the name of a setting for its value
		return "git config may set " + p.operands[0] + ": write options before the name"
	case (sub == "stash" || sub == "worktree") && n > 0 && args[0] != p.operands[0]:
		return fmt.Sprintf("git %s may take %s for something else behind %s: write git %[1]s %[2]s first",
			sub, p.operands[0], args[0])
	}
	switch sub {
	case "branch":
		fine = n == 0 || filtered
	case "tag":
		fine = n == 0 || filtered || p.has('l', "list")
	case "remote":
		fine = n == 0 || n == 2 && args[0] == "get-url"
	case "config":
		get := p.has('l', "list") || p.has(0, "get") || p.has(0, "get-all") || p.has(0, "get-regexp")
		fine = get && n <= 2 || n == 1 && p.operands[0] != "edit" || n == 2 && (p.operands[0] == "get")
	case "stash":
		fine = n == 1 && p.operands[0] == "list" || n >= 1 && n <= 2 && p.operands[0] == "show"
	case "reflog":
		fine = n == 0 || p.operands[0] == "show" || n == 1 && p.operands[0] != "expire" && p.operands[0] != "delete" && p.operands[0] != "drop" && p.operands[0] != "write"
	case "worktree":
		fine = n == 1 && p.operands[0] == "list"
	case "notes":
		fine = n == 0 || p.operands[0] == "list" || p.operands[0] == "show"
	case "symbolic-ref":
		fine = n == 1
	}
	if !fine {
		return fmt.Sprintf("git %s %s may change the repository", sub, strings.Join(p.operands, " "))
	}
	for _, o := range p.options {
		if showsSignature(o.value) || strings.Contains(o.value, "signature") {
			return "git may run gpg for " + o.value
		}
		if o.name == "diff-merges" && strings.HasPrefix(o.value, "r") { // remerge
			return "git may run merge drivers for " + o.value
		}
	}
	return ""
}

// showsSignature reports whether a pretty format has a signature, which gpg checks. A sign may stand in front of the letter.
func showsSignature(format string) bool {
	for _, placeholder := range []string{"%G", "%+G", "%-G", "% G"} {
		if strings.Contains(format, placeholder) {
			return true
		}
	}
	return false
}

// repository is one that git would use, with the settings of the user and of the system.
type repository struct {
	*git.Repository
	users, own []git.Setting
}

// settings returns all settings that count in the repository.
func (r *repository) settings() []git.Setting { return slices.Concat(r.users, r.own) }

// maxNested limits how deep repositories in repositories are looked for.
const maxNested = 4

// repository returns the repository of a directory. It returns why git may run a program in it.
func (r *read) repository(dir string, depth int) (repo *repository, why string) {
	if dir == "" {
		return nil, "it is not known in which directory git runs"
	}
	files := r.Machine.files()
	repo = &repository{}
	if repo.Repository, why = files.Find(r.ctx, dir); why != "" {
		return nil, why
	}
	if repo.own, why = files.Starts(r.ctx, repo.Repository); why != "" {
		return nil, why
	}
	if repo.users, why = r.configuration(); why != "" {
		return nil, why
	}
	if why := r.programs(repo); why != "" {
		return nil, why
	}
	return repo, r.submodules(repo, depth)
}

// submodules checks the repositories inside a work tree, in which git status and diff run git in turn.
func (r *read) submodules(repo *repository, depth int) string {
	index, err := git.ReadIndex(r.ctx, r.Machine.files(), repo.Repository)
	if err != nil {
		return "the index of the repository cannot be read"
	}
	if n := len(index.Links); n > 50 || n > 0 && depth == maxNested {
		return "there are too many repositories in the repository"
	}
	for _, link := range index.Links {
		dir := path.Join(repo.Top, link)
		there, err := r.exists(r.ctx, path.Join(dir, ".git"))
		if err != nil {
			return "the repository " + dir + " cannot be read"
		}
		if !there {
			continue
		}
		if _, why := r.repository(dir, depth+1); why != "" {
			return why
		}
	}
	return ""
}
