package shell

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// operands says what the operands of a command are.
type operands int

const (
	files operands = iota // files whose content it reads
	names                 // files of which it reads names and attributes
	text                  // no files
)

// spec describes the options of a command that are harmless. All others make it ask.
type spec struct {
	kind  operands
	short string // options without a value; those followed by : have a value, those followed by :: may have one in the same argument
	long  string // between spaces: NAME without a value, NAME= with one, NAME? with one only after =
	trees string // options that make it read whole directories
	from  string // options whose value is a file that it reads
	first bool   // the first operand is a pattern, a filter or the like
	max   int    // operands
}

// arguments holds the parsed arguments of a command.
type arguments struct {
	options  []option
	operands []string
	// late holds the arguments as a system has them where options end at the first operand, as they do
	// with POSIXLY_CORRECT and on BSD and macOS. It is nil if that makes no difference.
	late *arguments
}

// option holds an option and its value. Short options are named by their letter.
type option struct{ name, value string }

// has reports whether an option was given.
func (p arguments) has(short byte, long string) bool {
	return slices.ContainsFunc(p.options, func(o option) bool { return o.name == long || short != 0 && o.name == string(short) })
}

// values returns the values of an option.
func (p arguments) values(short byte, long string) (values []string) {
	for _, o := range p.options {
		if o.name == long || o.name == string(short) {
			values = append(values, o.value)
		}
	}
	return values
}

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
		case strings.HasPrefix(a, "--"):
			name, value, has := strings.Cut(a[2:], "=")
			switch {
			case !has && (s.knows(name, ' ') || s.knows(name, '?')):
			case has && (s.knows(name, '=') || s.knows(name, '?')):
			case !has && s.knows(name, '=') && i+1 < len(args):
				i++
				value = args[i]
				if looksLikeOption(name, value) {
					return p, "may do more than read with " + value
				}
			default:
				return p, "may do more than read with " + a
			}
			p.options = append(p.options, option{name, value})
		case len(a) > 1 && a[0] == '-':
			next, ok := s.cluster(a[1:], args[i+1:], &p)
			if !ok {
				return p, "may do more than read with " + a
			}
			i += next
		default:
			p.operands = append(p.operands, a)
		}
	}
	return p, ""
}

// looksLikeOption reports whether the argument after an option may be an option itself, for versions of a program in which the first has no
// value, or is not known without =. Patterns may begin with a dash.
func looksLikeOption(name, value string) bool {
	if len(value) < 2 || value[0] != '-' || value[1] >= '0' && value[1] <= '9' {
		return false
	}
	return name != "e" && name != "regexp" && name != "expression"
}

// knows reports whether a long option is harmless in a form: followed by a space, = or ?.
func (s spec) knows(name string, form byte) bool {
	if name == "" || strings.Contains(name, " ") {
		return false
	}
	for rest := s.long; ; {
		i := strings.Index(rest, name)
		if i < 0 {
			return false
		}
		end := i + len(name)
		if (i == 0 || rest[i-1] == ' ') && (end == len(rest) && form == ' ' || end < len(rest) && rest[end] == form) {
			return true
		}
		rest = rest[end:]
	}
}

// cluster reads the short options of one argument. It returns the number of further arguments that are used.
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

// tree reports whether the command reads whole directories.
func (s spec) tree(p arguments) bool {
	if s.trees == "always" {
		return true
	}
	return slices.ContainsFunc(p.options, func(o option) bool { return slices.Contains(strings.Fields(s.trees), o.name) })
}

// chosen reports whether options have the pattern, or leave none, so that the first operand is a file.
func (s spec) chosen(p arguments) bool {
	return len(p.values('e', "regexp"))+len(p.values('f', "file")) > 0 || p.has(0, "files")
}

// reads returns the files that options name.
func (s spec) reads(p arguments) (names []string) {
	for _, o := range p.options {
		if o.value != "" && slices.Contains(strings.Fields(s.from), o.name) {
			names = append(names, o.value)
		}
	}
	return names
}

// check returns why the operands of a command that reads no files may do more than print.
func (s spec) check(program string, operands []string) string {
	for i, a := range operands {
		switch program {
		case "date":
			if !strings.HasPrefix(a, "+") {
				return "date may set the time"
			}
		case "seq", "sleep":
			n, err := strconv.ParseFloat(a, 64)
			step := program == "seq" && i == 1 && len(operands) == 3
			if err != nil || math.Abs(n) > 1e6 || step && math.Abs(n) < 1e-3 {
				return program + " may not end"
			}
		}
	}
	return ""
}

// specOf returns the row of a command in the table.
func specOf(program string) (spec, bool) {
	_, row, found := strings.Cut(table, "\n"+program+" | ")
	if !found || program == "" || strings.ContainsAny(program, " |\n") {
		return spec{}, false
	}
	row, _, _ = strings.Cut(row, "\n")
	s := spec{max: math.MaxInt}
	kind, row, _ := strings.Cut(row, " | ")
	s.short, row, _ = strings.Cut(row, " | ")
	s.long, row, _ = strings.Cut(row, " | ")
	if s.short == "-" {
		s.short = ""
	}
	switch kind {
	case "names":
		s.kind = names
	case "text":
		s.kind = text
	}
	for field := range strings.SplitSeq(row, " | ") {
		switch name, value, _ := strings.Cut(field, " "); name {
		case "tree":
			s.trees = value
		case "from":
			s.from = value
		case "first":
			s.first = true
		case "max":
			s.max = int(value[0] - '0') // TestL2_Table checks the rows
		}
	}
	return s, true
}
