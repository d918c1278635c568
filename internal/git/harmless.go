package git

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/env"
)

// harmless lists the keys that a repository's configuration may have, one section a line: with them, no command of git that only reads
// starts a program where it has no terminal, reads other configuration, or gets objects from elsewhere. A section with .* is one with a subsection, and a * stands
// for all keys. What is not in it, such as keys of later versions of git, is not known to be harmless.
const harmless = `
advice *
alias *
am *
apply *
author *
blame *
branch *
branch.* *
checkout *
clean *
clone *
color *
color.* *
column *
commit *
commitgraph *
committer *
core abbrev attributesfile autocrlf bare bigfilethreshold checkroundtripencoding checkstat commentchar commentstring commitgraph compression createobject deltabasecachelimit editor eol excludesfile filemode fsync fsyncmethod hidedotfiles hookspath ignorecase ignorestat logallrefupdates longpaths loosecompression multipackindex packedgitlimit packedgitwindowsize pager precomposeunicode preferetcsymlinkrefs preloadindex prefersymlinkrefs protecthfs protectntfs quotepath repositoryformatversion restrictinheritedhandles safecrlf sharedrepository sparsecheckout sparsecheckoutcone splitindex sshcommand symlinks trustctime untrackedcache unsetenvvars usereplacerefs whitespace worktree
credential.* username usehttppath
diff algorithm autorefreshindex colormoved colormovedws context dirstat dstprefix guitool ignoresubmodules indentheuristic interhunkcontext mnemonicprefix noindex noprefix orderfile relative renamelimit renames srcprefix statgraphwidth statnamewidth suppressblankempty tool trustexitcode wordregex wserrorhighlight
diff.* algorithm binary cachetextconv funcname wordregex xfuncname
extensions compatobjectformat noop objectformat preciousobjects refstorage relativeworktrees worktreeconfig
feature *
fetch *
gc *
gerrit *
gitbutler *
gitflow *
gitflow.* *
github *
gitlab *
gpg format
grep *
gui *
gui.* *
http *
http.* *
i18n *
index *
init *
lfs *
lfs.* *
log abbrevcommit date decorate excludedecoration follow graphcolors initialdecorationset mailmap showroot
mailmap *
maintenance *
maintenance.* *
merge autostash branchdesc conflictstyle defaulttoupstream directoryrenames ff guitool log renamelimit renames stat suppressdest tool verbosity verifysignatures
merge.* name recursive
notes *
pack *
pager *
pull *
push *
rebase *
receive *
reftable *
remote pushdefault
remote.* fetch followremotehead gh-resolved glab-resolved mirror partialclonefilter proxy proxyauthmethod prune prunetags push pushurl serveroption skipdefaultupdate skipfetchall tagopt url
repack *
rerere *
reset *
revert *
safe *
showbranch *
sparse *
stash *
status aheadbehind branch displaycommentprefix relativepaths renamelimit renames short showstash showuntrackedfiles
submodule *
submodule.* *
svn *
svn-remote.* *
switch *
tag *
transfer *
url.* insteadof pushinsteadof
user *
versionsort *
worktree *
`

// harmlessKeys returns the keys of harmless by section.
var harmlessKeys = sync.OnceValue(func() map[string][]string {
	keys := map[string][]string{}
	for line := range strings.Lines(harmless) {
		if words := strings.Fields(line); len(words) > 0 {
			keys[words[0]] = words[1:]
		}
	}
	return keys
})

// Harmless reports whether a setting of a repository is known to start nothing.
func (s Setting) Harmless() bool {
	section, key := s.Section(), s.Key()
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

// Starts returns why git might start a program or use files of others in a repository, because of what the repository's configuration
// says, or "". A repository without drivers can only name those of the user by its attributes. Starts reads the settings and the place of the
// hooks into repo.
func (f Files) Starts(ctx context.Context, repo *Repository) string {
	repo.Hooks = path.Join(repo.CommonDir, "hooks")
	for _, name := range []string{repo.CommonDir + "/config", repo.CommonDir + "/config.worktree", repo.GitDir + "/config.worktree"} {
		data, err := f.Read(ctx, name)
		if missing(err) {
			continue
		}
		if err != nil {
			return "the configuration of git in " + name + " cannot be read here"
		}
		list, err := ParseConfig(string(data))
		if err != nil {
			return fmt.Sprintf("the configuration of git in %s cannot be parsed: %v", name, err)
		}
		repo.Settings = append(repo.Settings, list...)
		for _, s := range list {
			switch {
			case !s.Harmless():
				return fmt.Sprintf("the configuration of git has %s, which may run a program", s.Name)
			case s.Name == "core.hookspath" && (s.Value == "" || strings.HasPrefix(s.Value, "~")):
				return "the configuration of git names hooks in " + s.Value
			case s.Name == "core.hookspath":
				repo.Hooks = joined(repo.Top, s.Value)
			case s.Name == "core.worktree":
				if top, err := env.Resolve(ctx, f.Env, joined(repo.GitDir, s.Value)); err != nil || top != repo.Top {
					return "the configuration of git names another work tree: " + s.Value
				}
			}
		}
	}
	for _, name := range []string{"alternates", "http-alternates"} {
		if there, err := f.Exists(ctx, path.Join(repo.CommonDir, "objects/info", name)); there || err != nil {
			return "the repository has objects elsewhere: objects/info/" + name
		}
	}
	return ""
}
