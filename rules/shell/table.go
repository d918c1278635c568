package shell

import (
	_ "embed" // the tables
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
//
//go:embed tables/reading.txt
var table string

// goTable holds the commands of go that only read, in the form of table.
//
//go:embed tables/go.txt
var goTable string

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
//
//go:embed tables/git.txt
var gitTable string

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
	for line := range strings.Lines(table) {
		row, found := strings.CutPrefix(line, program+" | ")
		if found && !strings.Contains(program, "|") {
			return specOfRow(strings.TrimSpace(row)), true
		}
	}
	return spec{}, false
}

// specOfRow reads a row without its name.
func specOfRow(row string) spec {
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
	return s
}
