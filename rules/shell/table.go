package shell

import (
	"math"
	"slices"
	"strings"
)

// table holds the commands that only read, one a row: the name, what its operands are, the short
// options and the long options that are harmless, and further properties of spec. A dash stands for
// no options. An option that is not there makes the command ask: among others those that write a
// file, run a program, read a list of files from a file, or never end.
//
// The options are those of the GNU programs, without those that mean something harmful to the
// programs of BSD, macOS or busybox.
const table = `
arch | text | - | -
b2sum | files | bzl: | binary tag zero length=
base32 | files | dw: | decode wrap= | max 1
base64 | files | dDw: | decode wrap= | max 1
basename | text | as:z | multiple suffix= zero
break | text | - | - | max 1
cal | text | 13jmy | - | max 2
cat | files | AbeEnstTuv | show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting
cksum | files | - | -
cmp | files | bi:ln:s | print-bytes ignore-initial= verbose bytes= silent quiet
column | files | tc:s:exo:N:R:H:d | table separator= output-separator= table-columns= table-right= json
comm | files | 123z | check-order nocheck-order output-delimiter= total zero-terminated
command | text | vV | -
continue | text | - | - | max 1
cut | files | b:c:d:f:nsz | bytes= characters= delimiter= fields= complement only-delimited output-delimiter= zero-terminated
date | text | d:uRI:: | date= utc universal rfc-email rfc-2822 iso-8601? rfc-3339=
df | names | ahHiklmPTt:x:B: | all human-readable si inodes local portability print-type type= exclude-type= block-size= total output?
diff | files | abBcC:dEeHiI:L:nNpqrstTuU:wx:yW:Z | brief unified? context? recursive new-file ignore-case ignore-all-space ignore-space-change ignore-blank-lines ignore-matching-lines= ignore-trailing-space side-by-side width= suppress-common-lines color? text exclude= minimal label= report-identical-files no-dereference strip-trailing-cr | tree always
dirname | text | z | zero
du | names | abchHklLmsSxPd:t:B: | all apparent-size bytes total human-readable si max-depth= summarize one-file-system threshold= block-size= exclude= separate-dirs time? | tree always
egrep | files | acEFGHhiIlLnoqsvwxyrRzZTUA:B:C:m:e:f:0123456789 | regexp= file= ignore-case invert-match word-regexp line-regexp count color? colour? files-with-matches files-without-match max-count= only-matching quiet silent no-messages byte-offset with-filename no-filename line-number initial-tab null after-context= before-context= context= text binary-files= include= exclude= exclude-dir= recursive dereference-recursive null-data fixed-strings extended-regexp basic-regexp | first e regexp f file | tree r R recursive dereference-recursive | from f file | links R dereference-recursive
exit | text | 0123456789 | - | max 1
expand | files | it: | initial tabs=
fd | names | HIusigFapL0t:e:E:d:c:S:1 | hidden no-ignore no-ignore-vcs unrestricted case-sensitive ignore-case glob regex fixed-strings absolute-path full-path follow print0 type= extension= exclude= max-depth= min-depth= exact-depth= color= size= changed-within= changed-before= max-results= quiet | first e | tree always
fdfind | names | HIusigFapL0t:e:E:d:c:S:1 | hidden no-ignore no-ignore-vcs unrestricted case-sensitive ignore-case glob regex fixed-strings absolute-path full-path follow print0 type= extension= exclude= max-depth= min-depth= exact-depth= color= size= changed-within= changed-before= max-results= quiet | first e | tree always
fgrep | files | acEFGHhiIlLnoqsvwxyrRzZTUA:B:C:m:e:f:0123456789 | regexp= file= ignore-case invert-match word-regexp line-regexp count color? colour? files-with-matches files-without-match max-count= only-matching quiet silent no-messages byte-offset with-filename no-filename line-number initial-tab null after-context= before-context= context= text binary-files= include= exclude= exclude-dir= recursive dereference-recursive null-data fixed-strings extended-regexp basic-regexp | first e regexp f file | tree r R recursive dereference-recursive | from f file | links R dereference-recursive
file | files | 0bhikLNnpr | brief mime mime-type mime-encoding dereference no-dereference keep-going no-pad raw print0
find | names | - | name= iname= path= ipath= wholename= iwholename= regex= iregex= regextype= lname= ilname= type= xtype= size= mtime= mmin= atime= amin= ctime= cmin= used= user= group= uid= gid= perm= links= inum= fstype= maxdepth= mindepth= printf= newer= anewer= cnewer= newermt= samefile= a and o or not print print0 ls prune quit true false depth d mount xdev noleaf empty executable readable writable nouser nogroup daystart follow warn nowarn | single
fmt | files | csuw: | crown-margin prefix= split-only tagged-paragraph uniform-spacing width= goal=
fold | files | bsw: | bytes spaces width=
free | text | bkmghtwl | human bytes kibi mebi gibi total wide si
gofmt | files | ldes | - | tree always
grep | files | abcEFGHhiIlLnoPqsvwxyrRzZTUA:B:C:m:e:f:0123456789 | regexp= file= ignore-case no-ignore-case invert-match word-regexp line-regexp count color? colour? files-with-matches files-without-match max-count= only-matching quiet silent no-messages byte-offset with-filename no-filename line-number initial-tab null after-context= before-context= context= text binary-files= include= exclude= exclude-dir= recursive dereference-recursive null-data fixed-strings extended-regexp basic-regexp perl-regexp line-buffered | first e regexp f file | tree r R recursive dereference-recursive | from f file | links R dereference-recursive
groups | text | - | -
head | files | n:c:qvz0123456789 | lines= bytes= quiet silent verbose zero-terminated
hexdump | files | bcCdn:os:vx | canonical length= skip= no-squeezing
hostname | text | fsidI | fqdn short ip-address all-ip-addresses domain | max 0
id | text | agGnruz | group groups name real user zero
join | files | 1:2:a:e:ij:o:t:v:z | ignore-case check-order nocheck-order header zero-terminated
jq | files | cCMnrRsSaej | compact-output null-input raw-output raw-input slurp sort-keys color-output monochrome-output ascii-output exit-status join-output tab indent= arg== argjson== | first
locale | text | a | all-locales | max 0
ls | names | aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1@O | all almost-all author escape block-size= ignore-backups color? directory dired classify? file-type format= full-time group-directories-first no-group human-readable si dereference dereference-command-line hide= hyperlink? indicator-style= inode ignore= kibibytes numeric-uid-gid literal hide-control-chars show-control-chars quote-name quoting-style= reverse recursive size sort= time= time-style= tabsize= width= context zero | tree R recursive
md5 | files | qrs: | -
md5sum | files | bzt | binary tag zero text
nl | files | b:d:f:h:i:l:n:ps:v:w: | body-numbering= section-delimiter= footer-numbering= header-numbering= line-increment= number-format= number-separator= starting-line-number= number-width= no-renumber
nproc | text | - | all ignore=
numfmt | text | d: | delimiter= field= format= from= from-unit= grouping header? invalid= padding= round= suffix= to= to-unit=
od | files | A:j:N:S:t:vw::abcdfilosx | address-radix= skip-bytes= read-bytes= format= output-duplicates width? endian= strings?
paste | files | d:sz | delimiters= serial zero-terminated
pwd | text | LP | logical physical | max 0
readlink | names | fenmqsvz | canonicalize canonicalize-existing canonicalize-missing no-newline zero quiet silent verbose
realpath | names | eLmPqsz | canonicalize-existing canonicalize-missing logical physical quiet strip no-symlinks zero relative-to= relative-base= | from relative-to relative-base
return | text | 0123456789 | - | max 1
rev | files | - | -
rg | files | acE:FHIhilLnNopPqsSuUvwxVA:B:C:m:e:f:g:t:T:M:r:j:d:0 | regexp= file= ignore-case case-sensitive smart-case invert-match word-regexp line-regexp count count-matches color= colors= files files-with-matches files-without-match max-count= only-matching quiet no-messages with-filename no-filename line-number no-line-number column null after-context= before-context= context= text glob= iglob= type= type-not= type-list fixed-strings pcre2 multiline multiline-dotall max-columns= max-columns-preview max-depth= maxdepth= max-filesize= hidden no-ignore no-ignore-vcs no-ignore-parent no-ignore-global no-config no-heading heading pretty vimgrep json replace= trim sort= sortr= stats threads= unrestricted passthru no-unicode one-file-system crlf encoding= engine= auto-hybrid-regex byte-offset path-separator= follow context-separator= field-match-separator= no-mmap mmap version no-binary binary | first e regexp f file files | tree always | from f file | links L follow
sed | files | nEre:suz | quiet silent regexp-extended expression= separate unbuffered null-data | first e expression
seq | text | ws: | equal-width separator= | max 2
sha1sum | files | bzt | binary tag zero text
sha224sum | files | bzt | binary tag zero text
sha256sum | files | bzt | binary tag zero text
sha384sum | files | bzt | binary tag zero text
sha512sum | files | bzt | binary tag zero text
shasum | files | ba:tU | binary text algorithm=
sleep | text | - | - | max 1
sort | files | bcCdfghik:mMnrRst:uVz | ignore-leading-blanks dictionary-order ignore-case general-numeric-sort human-numeric-sort ignore-nonprinting month-sort numeric-sort random-sort reverse sort= version-sort check? key= merge stable field-separator= unique zero-terminated parallel=
stat | names | c:fLlnqrstx | format= printf= dereference file-system terse
strings | files | afn:t:e:wo0123456789 | all bytes= radix= encoding= include-all-whitespace print-file-name
sum | files | rs | sysv
tac | files | brs: | before regex separator=
tail | files | n:c:qvz0123456789 | lines= bytes= quiet silent verbose zero-terminated
tr | text | cCdst | complement delete squeeze-repeats truncate-set1 | max 2
tree | names | adfilxsphugDFrtUvncCAQqNJXL:P:I:S | dirsfirst noreport prune gitignore filelimit= charset= matchdirs ignore-case du si inodes device sort= | tree always
tty | text | s | - | max 0
type | text | afpPt | -
uname | text | asnrvmpio | all kernel-name nodename kernel-release kernel-version machine processor hardware-platform operating-system | max 0
unexpand | files | at: | all tabs= first-only
uniq | files | cdDf:is:uw:z | count repeated all-repeated? skip-fields= ignore-case skip-chars= unique group? check-chars= zero-terminated | max 1
uptime | text | ps | pretty since | max 0
wait | text | nf | -
wc | files | clmLw | bytes chars lines max-line-length words total=
which | text | as | -
whoami | text | - | - | max 0
xxd | files | - | a b C e E i u p ps c= g= l= o= s= | single | max 1
`

// goTable holds the commands of go that only read, in the form of table.
const goTable = `
doc | names | - | all src u short c cmd | single
env | text | - | json changed | single
help | text | - | -
list | names | - | deps e f= find json? m test | single
version | text | - | - | max 0
`

// The options that many git commands share.
const (
	diffOptions = "patch no-patch unified? raw patch-with-raw patch-with-stat stat? compact-summary numstat " +
		"shortstat dirstat? summary name-only name-status color? no-color color-words? word-diff? word-diff-regex= " +
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

// operands says what the operands of a command are.
type operands string

const (
	files operands = "files" // files whose content it reads
	names operands = "names" // files of which it reads names and attributes
	text  operands = "text"  // no files
)

// spec describes the options of a command that are harmless. All others make it ask.
type spec struct {
	kind operands
	// options without a value; those followed by : have a value, those followed by :: may have one
	// in the same argument
	short  string
	single bool   // its long options have one dash
	long   string // between spaces: NAME without a value, NAME= with one, NAME== with two, NAME? with one only after =
	trees  string // options that make it read whole directories
	links  string // options that make it follow the symbolic links in these
	from   string // options whose value is a file that it reads
	first  bool   // the first operand is a pattern, a filter or a script
	other  string // options whose values are that instead
	max    int    // operands
	words  string // the first operand is one of these; behind a dash, or there is none
	// of a wrapper
	before int    // arguments in front of the command
	why    string // why the command is not all that it does; empty if it is
}

// arguments holds the parsed arguments of a command.
type arguments struct {
	options  []option
	operands []string
	// late holds the arguments as a system has them where options end at the first operand, as they
	// do with POSIXLY_CORRECT and on BSD and macOS. It is nil if that makes no difference.
	late *arguments
}

// option holds an option and its value. Short options are named by their letter.
type option struct{ name, value string }

// values returns the values of the options whose names are in a list.
func (p arguments) values(names string) (values []string) {
	for _, o := range p.options {
		if slices.Contains(strings.Fields(names), o.name) {
			values = append(values, o.value)
		}
	}
	return values
}

// has reports whether one of the options in a list was given.
func (p arguments) has(names string) bool { return len(p.values(names)) > 0 }

// parse splits arguments as getopt does. It returns what is not known to be harmless.
func (s spec) parse(args []string) (p arguments, why string) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		if len(a) > 1 && a[0] == '-' && len(p.operands) > 0 && p.late == nil {
			before := len(p.options)
			p.late = &arguments{options: p.options[:before:before], operands: slices.Concat(p.operands, args[i:])}
		}
		switch {
		case a == "--" && !s.single:
			p.operands = append(p.operands, args[i+1:]...)
			return p, ""
		case len(a) > 1 && a[0] == '-':
			used, ok := s.option(a, args[i+1:], &p)
			if !ok {
				return p, "may do more than read with " + a
			}
			i += used
		default:
			p.operands = append(p.operands, a)
		}
	}
	return p, ""
}

// looksLikeOption reports whether the argument after an option may be an option itself, for
// versions of a program in which the first has no value, or is not known without =. Patterns may
// begin with a dash.
func looksLikeOption(name, value string) bool {
	if len(value) < 2 || value[0] != '-' || value[1] >= '0' && value[1] <= '9' {
		return false
	}
	return name != "e" && name != "regexp" && name != "expression"
}

// option reads an argument that begins with a dash. It returns the number of further arguments that
// are used.
func (s spec) option(text string, following []string, p *arguments) (used int, ok bool) {
	long, ok := strings.CutPrefix(text, "--")
	if s.single {
		long = text[1:]
	} else if !ok {
		return s.cluster(text[1:], following, p)
	}
	name, value, has := strings.Cut(long, "=")
	knows := func(form string) bool { return slices.Contains(strings.Fields(s.long), name+form) }
	switch {
	case strings.Contains(name, "?"):
		return 0, false
	case knows("?"), has && knows("="), !has && knows(""):
	case has:
		return 0, false
	case knows("=") && len(following) > 0 && !looksLikeOption(name, following[0]):
		used, value = 1, following[0]
	case knows("==") && len(following) > 1:
		used, value = 2, following[0]
	default:
		return 0, false
	}
	p.options = append(p.options, option{name, value})
	return used, true
}

// cluster reads the short options of one argument. It returns the number of further arguments that
// are used.
func (s spec) cluster(letters string, following []string, p *arguments) (used int, ok bool) {
	for i := range len(letters) {
		at := strings.IndexByte(s.short, letters[i])
		if at < 0 || letters[i] == ':' {
			return 0, false
		}
		name := letters[i : i+1]
		if at+1 == len(s.short) || s.short[at+1] != ':' {
			p.options = append(p.options, option{name: name})
			continue
		}
		if i+1 < len(letters) {
			p.options = append(p.options, option{name, letters[i+1:]})
			return 0, true
		}
		if strings.HasPrefix(s.short[at+1:], "::") {
			p.options = append(p.options, option{name: name})
			return 0, true
		}
		if len(following) == 0 {
			return 0, false
		}
		if looksLikeOption(name, following[0]) {
			return 0, false
		}
		p.options = append(p.options, option{name, following[0]})
		return 1, true
	}
	return 0, true
}

// specOf returns the row of a command in the table.
func specOf(program string) (spec, bool) { return row(table, program) }

// row returns the row of a command in a table.
func row(table, program string) (spec, bool) {
	_, row, found := strings.Cut(table, "\n"+program+" | ")
	if !found || program == "" || strings.ContainsAny(program, " |\n") {
		return spec{}, false
	}
	row, _, _ = strings.Cut(row, "\n")
	fields := strings.Split(row, " | ")
	s := spec{kind: operands(fields[0]), max: math.MaxInt}
	s.short, s.long = strings.Trim(fields[1], "-"), strings.Trim(fields[2], "-")
	for _, field := range fields[3:] {
		switch name, value, _ := strings.Cut(field, " "); name {
		case "tree":
			s.trees = value
		case "single":
			s.single = true
		case "links":
			s.links = value
		case "from":
			s.from = value
		case "first":
			s.first, s.other = true, value
		case "max":
			s.max = int(value[0] - '0') // TestL2_Table checks the rows
		case "words":
			s.words = value
		case "before":
			s.before = int(value[0] - '0')
		case "why":
			s.why = value
		}
	}
	return s, true
}
