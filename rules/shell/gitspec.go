package shell

import (
	"math"
	"strings"
)

// The options that many git commands share.
const (
	diffOptions = "patch no-patch unified? raw patch-with-raw patch-with-stat stat? compact-summary numstat shortstat dirstat? summary name-only name-status " +
		"color? no-color color-words? word-diff? word-diff-regex= no-renames find-renames? find-copies? minimal patience histogram diff-algorithm= " +
		"anchored= diff-filter= pickaxe-all pickaxe-regex relative? no-relative text ignore-space-at-eol ignore-space-change ignore-all-space " +
		"ignore-blank-lines ignore-cr-at-eol ignore-matching-lines= inter-hunk-context= function-context abbrev? no-abbrev full-index binary " +
		"no-ext-diff no-textconv src-prefix= dst-prefix= no-prefix default-prefix exit-code quiet check cached staged merge-base ws-error-highlight= " +
		"color-moved? no-color-moved ignore-submodules? no-indent-heuristic indent-heuristic"
	diffShort  = "puU::RabwWzMCDS:G:l:sB"
	logOptions = "oneline pretty? format? decorate? no-decorate decorate-refs= graph all branches? tags? remotes? max-count= skip= since= after= until= before= " +
		"author= committer= grep= all-match invert-grep regexp-ignore-case extended-regexp fixed-strings perl-regexp basic-regexp merges no-merges " +
		"min-parents? max-parents? first-parent reverse date= relative-date date-order author-date-order topo-order follow full-history simplify-merges " +
		"ancestry-path? left-right left-only right-only cherry-pick cherry-mark cherry boundary walk-reflogs reflog no-walk? do-walk parents children show-pulls " +
		"source log-size no-notes notes? mailmap no-mailmap use-mailmap abbrev-commit no-abbrev-commit objects count not exclude= glob= full-diff " +
		"name-only sparse dense remove-empty cc combined-all-paths diff-merges= no-diff-merges encoding= no-expand-tabs expand-tabs? timestamp"
	logShort  = "n:0123456789iEFPgmctrL:"
	refFormat = "sort= format= contains? no-contains? merged? no-merged? points-at= column? no-column color? no-color ignore-case count= "
)

// gitSpec returns the harmless options of a subcommand of git.
func gitSpec(sub string) (spec, bool) {
	short, long := "", ""
	switch sub {
	case "status":
		short, long = "sbvzu::",
			"short branch show-stash porcelain? long verbose untracked-files? ignore-submodules? ignored? column? no-column ahead-behind no-ahead-behind renames no-renames find-renames? null"
	case "diff", "diff-tree", "diff-index", "diff-files":
		short, long = diffShort+"rtmcq0123", diffOptions+" cc root no-commit-id always pretty? base ours theirs"
	case "log", "show", "rev-list":
		short, long = diffShort+logShort+"q", diffOptions+" "+logOptions
		if sub == "rev-list" { // which takes these for itself, without a value
			short, long = strings.Replace(short, "L:", "", 1), strings.Replace(long, "decorate-refs=", "", 1)
		}
	case "stash", "reflog":
		short, long = diffShort+logShort, diffOptions+" "+logOptions+" include-untracked only-untracked"
	case "shortlog":
		short, long = "nsec", "numbered summary email committer group= all no-merges merges since= until= after= before= author= format?"
	case "blame", "annotate":
		short, long = "bcfnselL:tpwMC",
			"root show-stats date= porcelain line-porcelain incremental score-debug show-name show-number show-email abbrev? since= reverse first-parent color-lines color-by-age"
	case "grep":
		short, long = "aIiwvhHEGFPnlLzcoqWpA:B:C:e:0123456789",
			"cached text ignore-case word-regexp invert-match full-name extended-regexp basic-regexp fixed-strings perl-regexp line-number column name-only files-with-matches files-without-match null only-matching count color? no-color break heading show-function context= after-context= before-context= function-context and or not all-match quiet max-depth= recursive no-recursive threads= max-count="
	case "ls-files":
		short, long = "cdmoiskutvfzx:",
			"cached deleted modified others ignored stage unmerged killed directory no-empty-directory eol full-name abbrev? debug exclude= exclude-standard error-unmatch deduplicate sparse format="
	case "ls-tree":
		short, long = "drtlz", "long name-only name-status object-only full-name full-tree abbrev? format="
	case "cat-file":
		short, long = "tpse", ""
	case "rev-parse":
		short, long = "q", "show-toplevel show-prefix show-cdup git-dir git-common-dir absolute-git-dir is-inside-work-tree is-inside-git-dir is-bare-repository is-shallow-repository abbrev-ref? short? verify quiet symbolic symbolic-full-name all branches? tags? remotes? show-superproject-working-tree show-object-format? sq not show-ref-format show-current path-format="
	case "describe":
		short, long = "", "all tags contains abbrev? candidates= exact-match debug long match= exclude= always first-parent dirty? broken?"
	case "name-rev":
		short, long = "", "tags refs= exclude= all name-only no-undefined always"
	case "merge-base":
		short, long = "a", "all octopus independent is-ancestor fork-point"
	case "for-each-ref":
		short, long = "spq", refFormat+"shell perl exclude= omit-empty include-root-refs"
	case "show-ref":
		short, long = "dsq", "head heads tags branches dereference hash? abbrev? verify quiet exists"
	case "branch":
		short, long = "arvi", refFormat+"list show-current all remotes verbose abbrev? no-abbrev omit-empty"
	case "tag":
		short, long = "ln::i", refFormat+"list omit-empty"
	case "remote":
		short, long = "v", "verbose all push"
	case "config":
		short, long = "lz", "list get get-all get-regexp global local system worktree show-origin show-scope name-only null type= bool int path default= all regexp includes no-includes"
	case "worktree":
		short, long = "vz", "porcelain verbose"
	case "count-objects":
		short, long = "vH", "verbose human-readable"
	case "check-ignore":
		short, long = "qvn", "quiet verbose non-matching no-index"
	case "check-attr":
		short, long = "a", "all cached"
	case "symbolic-ref":
		short, long = "q", "short quiet recurse no-recurse"
	case "cherry":
		short, long = "v", "abbrev? verbose"
	case "notes":
		short, long = "", "ref="
	case "range-diff":
		short, long = diffShort, diffOptions+" creation-factor= no-dual-color left-only right-only"
	default:
		return spec{}, false
	}
	return spec{short: short, long: long, max: math.MaxInt}, true
}
