package git

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/env"
)

// harmless lists the keys that a repository's configuration may have, one section a line or
// several: with them, no command of git that only reads starts a program where it has no terminal,
// reads other configuration, or gets objects from elsewhere. A section with .* is one with a
// subsection, and a * stands for all keys. What is not in it, such as keys of later versions of
// git, is not known to be harmless.
const harmless = `
add *
advice *
alias *
am *
apply *
author *
bash *
blame blankboundary coloring date markignoredlines markunblamablelines showemail showroot
branch *
branch.* *
bugtraq *
checkout *
clean *
clone *
codespaces-theme *
cola *
color *
color.* *
column *
commit *
commitgraph *
committer *
completion *
core abbrev autocrlf bare bigfilethreshold checkroundtripencoding checkstat commentchar commentstring
core commitgraph compression configlocktimeout createobject deltabasecachelimit editor eol excludesfile
core filemode filesreflocktimeout fscache fsync fsyncmethod hidedotfiles hookspath ignorecase ignorestat
core logallrefupdates longpaths loosecompression maxtreedepth multipackindex notesref packedgitlimit
core packedgitwindowsize packedrefstimeout pager precomposeunicode preferetcsymlinkrefs prefersymlinkrefs
core preloadindex protecthfs protectntfs quotepath repositoryformatversion restrictinheritedhandles safecrlf
core sharedrepository sparsecheckout sparsecheckoutcone splitindex sshcommand symlinks trustctime unsetenvvars
core untrackedcache usereplacerefs warnambiguousrefs whitespace worktree
credential.* usehttppath username
devcontainers-theme *
diff algorithm autorefreshindex colormoved colormovedws context dirstat dstprefix guitool ignoresubmodules
diff indentheuristic interhunkcontext mnemonicprefix noindex noprefix relative renamelimit renames srcprefix
diff statgraphwidth statnamewidth suppressblankempty tool trustexitcode wordregex wserrorhighlight
diff.* algorithm binary cachetextconv funcname wordregex xfuncname
difftool *
extensions compatobjectformat noop objectformat preciousobjects refstorage relativeworktrees
extensions submodulepathconfig worktreeconfig
feature *
fetch *
fetch.* *
forge *
forge.* *
format attach cc coverletter from headers notes numbered outputdirectory signature signoff subjectprefix
format suffix thread to useautobase
fsck *
fsck.* *
gc *
gerrit *
git-town *
git-town-branch.* *
gitbutler *
gitflow *
gitflow.* *
github *
gitlab *
gitlens *
gitreview *
gk *
gpg format
grep *
gui *
gui.* *
help *
http *
http.* *
hub *
i18n *
index *
init *
interactive *
jj *
lfs *
lfs.* *
log abbrevcommit date decorate excludedecoration follow graphcolors initialdecorationset mailmap showroot
lsrefs *
machete *
machete.* *
magit *
magit.* *
maintenance *
maintenance.* *
merge autostash branchdesc conflictstyle defaulttoupstream directoryrenames ff guitool log renamelimit renames
merge renormalize stat suppressdest tool verbosity verifysignatures
merge.* name recursive
mergetool *
mergetool.* *
notes *
oh-my-zsh *
pack *
pager *
protocol version
pull *
push *
rebase *
receive *
reftable *
remote pushdefault
remote.* fetch followremotehead gh-resolved glab-resolved mirror proxy proxyauthmethod prune prunetags push
remote.* pushurl serveroption skipdefaultupdate skipfetchall tagopt url
remotes *
repack *
rerere *
reset *
revert *
safe *
sendemail *
sendemail.* *
showbranch *
sparse *
spr *
stash *
status aheadbehind branch comparebranches displaycommentprefix relativepaths renamelimit renames short
status showstash showuntrackedfiles
stgit *
submodule *
submodule.* *
svn *
svn-remote.* *
switch *
tag *
tar *
tgit *
trailer separators
transfer *
url.* insteadof pushinsteadof
user *
versionsort *
windows *
worktree *
`

// harmlessKeys returns the keys of harmless by section.
var harmlessKeys = sync.OnceValue(func() map[string][]string {
	keys := map[string][]string{}
	for line := range strings.Lines(harmless) {
		if words := strings.Fields(line); len(words) > 0 {
			keys[words[0]] = append(keys[words[0]], words[1:]...)
		}
	}
	return keys
})

// Harmless reports whether a setting of a repository is known to start nothing.
func (s Setting) Harmless() bool {
	section, key := s.Section(), s.Key()
	name := strings.ToLower(s.Name) // as Git LFS reads it
	if strings.HasPrefix(name, "lfs.customtransfer.") || strings.HasPrefix(name, "lfs.extension.") {
		return false // what the filter of Git LFS, which is the user's, starts
	}
	if s.No() {
		switch section + "." + key {
		case "core.fsmonitor", "log.showsignature", "status.submodulesummary", "remote.promisor":
			return true
		}
	}
	if s.Name != section+"."+key {
		section += ".*"
	}
	keys := harmlessKeys()[section]
	return slices.Contains(keys, key) || len(keys) == 1 && keys[0] == "*"
}

// MayStart reports whether a setting may start a program for a user, who has a terminal and runs
// commands that change something.
func (s Setting) MayStart() bool {
	section, key := s.Section(), s.Key()
	if s.external() != "" {
		return true
	}
	switch section {
	case "pager", "alias", "difftool", "mergetool", "sendemail", "svn", "stgit":
		return true
	case "interactive":
		return key == "difffilter"
	case "pretty": // has formats, which may only have gpg started, which counts by itself
		return false
	case "format":
		return key != "pretty" && !s.Harmless()
	case "delta": // a pager, whose settings are those of its output
		return key == "pager"
	case "submodule":
		return strings.HasPrefix(s.Value, "!")
	case "gc":
		return strings.HasSuffix(key, "hook")
	case "core":
		return !s.Harmless() || slices.Contains([]string{"hookspath", "pager", "editor", "sshcommand"}, key)
	}
	return !s.Harmless()
}

// Command returns what a setting that may start a program starts, as a shell reads it.
func (s Setting) Command() string {
	if command := s.external(); command != "" {
		return command
	}
	return strings.TrimPrefix(s.Value, "!")
}

// external returns the command of a remote that is a program, as git-remote-ext(1) has it, or "". A
// setting names it by its value, or, to put it in the place of others, by its subsection.
func (s Setting) external() string {
	_, rest, _ := strings.Cut(s.Name, ".")
	for _, url := range []string{s.Value, strings.TrimSuffix(rest, "."+s.Key())} {
		if command, ok := strings.CutPrefix(url, "ext::"); ok {
			return command
		}
	}
	return ""
}

// Starts returns the settings of a repository, and why git might start a program or use files of
// others there because of what the repository has, or "". A repository without drivers can only
// name those of the user by its attributes. Hooks are left to the caller.
func (f Files) Starts(ctx context.Context, repo *Repository) (settings []Setting, why string) {
	if why := f.leadsOut(ctx, repo); why != "" {
		return nil, why
	}
	for i, name := range repo.configFiles() {
		list, why := f.settings(ctx, name)
		if why != "" {
			return nil, why
		}
		if why := unclearIDs(list, i == 0); why != "" {
			return nil, why
		}
		for _, s := range list {
			if why := f.setting(ctx, repo, s); why != "" {
				return nil, why
			}
		}
		settings = append(settings, list...)
	}
	return settings, ""
}

// unclearIDs returns why it depends on the version of git how long ids are in a repository with
// these settings, or "". All versions take extensions from its main file only.
func unclearIDs(settings []Setting, main bool) string {
	version, format := "", false
	for _, s := range settings {
		switch {
		case s.Section() == "extensions" && !main:
			return "the configuration of a work tree has " + s.Name
		case s.Name == "core.repositoryformatversion":
			version = s.Value
		case s.Name == "extensions.objectformat":
			format = true
		}
	}
	if format && version != "1" {
		return "the configuration of git has extensions.objectformat without core.repositoryformatversion = 1"
	}
	return ""
}

// setting returns why a setting of a repository may start a program or lead elsewhere, or "".
func (f Files) setting(ctx context.Context, repo *Repository, s Setting) string {
	switch {
	case !s.Harmless():
		return fmt.Sprintf("the configuration of git has %s, which may run a program", s.Name)
	case s.Name == "core.hookspath" && !s.isPath():
		return "the configuration of git names hooks in " + s.Value
	case s.Name == "extensions.refstorage" && s.Value != "files" && s.Value != "reftable":
		return "the configuration of git has refs in " + s.Value
	case s.Name == "core.worktree":
		if top, err := env.Resolve(ctx, f.Env, joined(repo.GitDir, s.Value)); !s.isPath() || err != nil ||
			top != repo.Top {
			return "the configuration of git names another work tree: " + s.Value
		}
	}
	return ""
}

// isPath reports whether all versions of git take the value for the same path. It has no ~ and the
// like.
func (s Setting) isPath() bool {
	return s.Value != "" && !strings.HasPrefix(s.Value, "-") &&
		strings.Trim(s.Value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/@+-") == ""
}

// leadsOut returns why the repository's files may be others' files: objects elsewhere, and symbolic
// links to where git would read instead. A link to the hooks is none, because it is looked through.
// A split index counts as well, because reading it changes it.
func (f Files) leadsOut(ctx context.Context, repo *Repository) string {
	for _, name := range []string{"alternates", "http-alternates"} {
		if there, err := f.Exists(ctx, path.Join(repo.CommonDir, "objects/info", name)); there || err != nil {
			return "the repository has objects elsewhere: objects/info/" + name
		}
	}
	dirs := []string{repo.GitDir, repo.CommonDir, repo.CommonDir + "/objects", repo.CommonDir + "/objects/pack",
		repo.CommonDir + "/objects/info"}
	if head, err := f.Read(ctx, path.Join(repo.GitDir, "HEAD")); err == nil {
		ref := strings.TrimSpace(strings.TrimPrefix(string(head), "ref:"))
		for dir := path.Dir(ref); strings.HasPrefix(dir, "refs"); dir = path.Dir(dir) {
			dirs = append(dirs, path.Join(repo.CommonDir, dir))
		}
	}
	for _, dir := range slices.Compact(dirs) {
		list, err := f.Env.ReadDir(ctx, dir)
		if missing(err) {
			continue
		}
		if err != nil {
			return dir + " cannot be read here"
		}
		for _, e := range list {
			switch {
			case e.Mode&fs.ModeSymlink != 0 && e.Name != "hooks":
				return fmt.Sprintf("the repository has a symbolic link, %s, instead of a file", path.Join(dir, e.Name))
			case strings.HasPrefix(e.Name, "sharedindex."):
				return "the repository has a split index"
			}
		}
	}
	return ""
}
