package shell

import (
	"math"
	"slices"
	"strings"
)

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
	short string
	long  string // between spaces: NAME without a value, NAME= with one, NAME== with two, NAME? with one only after =
	trees string // options that make it read whole directories
	links string // options that make it follow the symbolic links in these
	from  string // options whose value is a file that it reads
	first bool   // the first operand is a pattern, a filter or a script
	other string // but not with these options, of which the values are
	max   int    // operands
	words string // the first operand is one of these; a dash stands for none
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
		case a == "--":
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
	if !ok {
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
