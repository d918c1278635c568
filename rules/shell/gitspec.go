package shell

import "strings"

// The options that many git commands share.
const (
	diffOptions = "patch no-patch unified? raw patch-with-raw patch-with-stat stat? compact-summary numstat shortstat " +
		"dirstat? summary name-only name-status color? no-color color-words? word-diff? word-diff-regex= " +
		"no-renames find-renames? find-copies? minimal patience histogram diff-algorithm= anchored= " +
		"diff-filter= pickaxe-all pickaxe-regex relative? no-relative text ignore-space-at-eol " +
		"ignore-space-change ignore-all-space ignore-blank-lines ignore-cr-at-eol ignore-matching-lines= " +
		"inter-hunk-context= function-context abbrev? no-abbrev full-index binary no-ext-diff no-textconv " +
		"src-prefix= dst-prefix= no-prefix default-prefix exit-code quiet check cached staged merge-base " +
		"ws-error-highlight= color-moved? no-color-moved ignore-submodules? no-indent-heuristic " +
		"indent-heuristic"
	diffShort  = "puU::RabwWzMCDS:G:l:sB"
	logOptions = "oneline pretty? format? decorate? no-decorate graph all branches? tags? remotes? max-count= skip= " +
		"since= after= until= before= author= committer= grep= all-match invert-grep regexp-ignore-case " +
		"extended-regexp fixed-strings perl-regexp basic-regexp merges no-merges min-parents? max-parents? " +
		"first-parent reverse date= relative-date date-order author-date-order topo-order follow full-history " +
		"simplify-merges ancestry-path? left-right left-only right-only cherry-pick cherry-mark cherry " +
		"boundary walk-reflogs reflog no-walk? do-walk parents children show-pulls source log-size no-notes " +
		"notes? mailmap no-mailmap use-mailmap abbrev-commit no-abbrev-commit objects count not exclude= " +
		"glob= full-diff name-only sparse dense remove-empty cc combined-all-paths diff-merges= " +
		"no-diff-merges encoding= no-expand-tabs expand-tabs? timestamp"
	logShort   = "n:0123456789iEFPgmctr"
	refOptions = "sort= format= contains? no-contains? merged? no-merged? points-at= " +
		"column? no-column color? no-color ignore-case count="
)

// gitTable holds the subcommands of git that only read, in the form of table. %d, %l and %r stand
// for the options of diff, log and lists of references.
const gitTable = `
annotate | text | bcfnselL:tpwMC | root show-stats date= porcelain line-porcelain incremental score-debug show-name show-number show-email abbrev? since= reverse first-parent color-lines color-by-age
blame | text | bcfnselL:tpwMC | root show-stats date= porcelain line-porcelain incremental score-debug show-name show-number show-email abbrev? since= reverse first-parent color-lines color-by-age
branch | text | arvi | %r list show-current all remotes verbose abbrev? no-abbrev omit-empty | max 0
cat-file | text | tpse | -
check-attr | text | a | all cached
check-ignore | text | qvn | quiet verbose non-matching no-index
cherry | text | v | abbrev? verbose
config | text | lz | list get get-all get-regexp global local system worktree show-origin show-scope name-only null type= bool int path default= all regexp includes no-includes
count-objects | text | vH | verbose human-readable
describe | text | - | all tags contains abbrev? candidates= exact-match debug long match= exclude= always first-parent dirty? broken?
diff | text | %drtmcq0123 | %d cc root no-commit-id always pretty? base ours theirs
diff-files | text | %drtmcq0123 | %d cc root no-commit-id always pretty? base ours theirs
diff-index | text | %drtmcq0123 | %d cc root no-commit-id always pretty? base ours theirs
diff-tree | text | %drtmcq0123 | %d cc root no-commit-id always pretty? base ours theirs
for-each-ref | text | spq | %r shell perl exclude= omit-empty include-root-refs
grep | text | aIiwvhHEGFPnlLzcoqWpA:B:C:e:0123456789 | cached text ignore-case word-regexp invert-match full-name extended-regexp basic-regexp fixed-strings perl-regexp line-number column name-only files-with-matches files-without-match null only-matching count color? no-color break heading show-function context= after-context= before-context= function-context and or not all-match quiet max-depth= recursive no-recursive threads= max-count=
log | text | %d%lqL: | %d %l decorate-refs=
ls-files | text | cdmoiskutvfzx: | cached deleted modified others ignored stage unmerged killed directory no-empty-directory eol full-name abbrev? debug exclude= exclude-standard error-unmatch deduplicate sparse format=
ls-tree | text | drtlz | long name-only name-status object-only full-name full-tree abbrev? format=
merge-base | text | a | all octopus independent is-ancestor fork-point
name-rev | text | - | tags refs= exclude= all name-only no-undefined always
notes | text | - | ref= | words - list show
range-diff | text | %d | %d creation-factor= no-dual-color left-only right-only
reflog | text | %d%lL: | %d %l decorate-refs= include-untracked only-untracked | words - show
remote | text | v | verbose all push | words - get-url
rev-list | text | %d%lq | %d %l
rev-parse | text | q | show-toplevel show-prefix show-cdup git-dir git-common-dir absolute-git-dir is-inside-work-tree is-inside-git-dir is-bare-repository is-shallow-repository abbrev-ref? short? verify quiet symbolic symbolic-full-name all branches? tags? remotes? show-superproject-working-tree show-object-format? sq not show-ref-format show-current path-format=
shortlog | text | nsec | numbered summary email committer group= all no-merges merges since= until= after= before= author= format?
show | text | %d%lqL: | %d %l decorate-refs=
show-ref | text | dsq | head heads tags branches dereference hash? abbrev? verify quiet exists
stash | text | %d%lL: | %d %l decorate-refs= include-untracked only-untracked | words list show
status | text | sbvzu:: | short branch show-stash porcelain? long verbose untracked-files? ignore-submodules? ignored? column? no-column ahead-behind no-ahead-behind renames no-renames find-renames? null
symbolic-ref | text | q | short quiet recurse no-recurse | max 1
tag | text | ln::i | %r list omit-empty | max 0
worktree | text | vz | porcelain verbose | words list
`

// gitSpec returns the harmless options of a subcommand of git.
func gitSpec(sub string) (spec, bool) {
	s, ok := row(gitTable, sub)
	s.short = strings.NewReplacer("%d", diffShort, "%l", logShort).Replace(s.short)
	s.long = strings.NewReplacer("%d", diffOptions, "%l", logOptions, "%r", refOptions).Replace(s.long)
	return s, ok
}
