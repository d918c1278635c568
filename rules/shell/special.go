package shell

import (
	"math"
	"path"
	"slices"
	"strings"
)

// jq judges jq, whose filters can show variables and read modules.
func (r *read) jq(args []string) string {
	s, _ := specOf("jq")
	kept, why := jqOptions(args)
	if why != "" {
		return why
	}
	p, why := s.parse(kept)
	if why != "" {
		return "jq " + why
	}
	if len(p.operands) > 0 {
		for _, word := range []string{"env", "ENV", "import", "include", "modulemeta", "get_search_list", "input_filename", "$__prog"} {
			if strings.Contains(p.operands[0], word) {
				return "jq may show variables or read other files with " + word
			}
		}
	}
	return r.bySpec(s, kept)
}

// jqOptions returns the arguments of jq without the options that have several values.
func jqOptions(args []string) (kept []string, why string) {
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "--":
			return nil, "jq may do more than read with --" // versions differ in what they make of it
		case "--arg", "--argjson": // NAME VALUE
			if i += 2; i >= len(args) {
				return nil, "jq has no name and value after " + args[i-2]
			}
			continue
		case "--indent":
			if i++; i == len(args) || !number(args[i]) {
				return nil, "jq has no number after --indent"
			}
			continue
		}
		kept = append(kept, args[i])
	}
	return kept, ""
}

// xxd judges xxd, which writes its second operand. It has one option an argument and looks only at the first letter of most.
func (r *read) xxd(args []string) string {
	operands := 0
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case slices.Contains([]string{"-a", "-b", "-C", "-E", "-e", "-i", "-p", "-ps", "-u"}, a):
		case slices.Contains([]string{"-c", "-g", "-l", "-o", "-s"}, a):
			if i++; i == len(args) || !startsWithDigit(args[i]) {
				return "xxd has no number after " + a
			}
		case len(a) > 2 && a[0] == '-' && strings.IndexByte("cglos", a[1]) >= 0 && startsWithDigit(a[2:]):
		case len(a) > 1 && a[0] == '-', operands == 1:
			return "xxd may do more than read with " + a
		default:
			operands++
			if why := r.operand(a, File{}); why != "" {
				return why
			}
		}
	}
	return ""
}

func startsWithDigit(text string) bool { return text != "" && text[0] >= '0' && text[0] <= '9' }

// find judges find, whose expressions can delete and write files and run programs.
func (r *read) find(args []string) string {
	i := 0
	for ; i < len(args) && slices.Contains([]string{"-H", "-L", "-P", "-O1", "-O2", "-O3"}, args[i]); i++ {
	}
	start := len(r.files)
	for ; i < len(args) && !strings.HasPrefix(args[i], "-") && !slices.Contains([]string{"(", "!", ","}, args[i]); i++ {
		if why := r.file(args[i], File{Tree: true, Names: true}); why != "" {
			return why
		}
	}
	if len(r.files) == start {
		if why := r.file(".", File{Tree: true, Names: true}); why != "" {
			return why
		}
	}
	for ; i < len(args); i++ {
		switch a := args[i]; a {
		case "(", ")", "!", ",", "-a", "-and", "-o", "-or", "-not", "-print", "-print0", "-ls", "-prune", "-quit", "-true", "-false", "-depth", "-d", "-mount",
			"-xdev", "-noleaf", "-empty", "-executable", "-readable", "-writable", "-nouser", "-nogroup", "-daystart", "-follow",
			"-ignore_readdir_race", "-noignore_readdir_race", "-warn", "-nowarn":
		case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-regextype", "-lname", "-ilname", "-type", "-xtype",
			"-size", "-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin", "-used", "-user", "-group", "-uid", "-gid", "-perm", "-links", "-inum",
			"-fstype", "-maxdepth", "-mindepth", "-printf", "-newermt":
			i++
		case "-newer", "-anewer", "-cnewer", "-samefile":
			if i++; i < len(args) {
				if why := r.file(args[i], File{Names: true}); why != "" {
					return why
				}
			}
		default:
			return "find may do more than read with " + a
		}
	}
	return ""
}

// sedSpec returns the harmless options of sed.
func sedSpec() spec {
	return spec{short: "nEre:suz", long: "quiet silent regexp-extended expression= separate unbuffered null-data", max: math.MaxInt}
}

// sed judges sed -n with scripts that only print: 5p, 1,5p, $p, /x/p, 1,/x/p and the like.
func (r *read) sed(args []string) string {
	p, why := sedSpec().parse(args)
	if why != "" {
		return "sed " + why
	}
	if why := r.sedScripts(p); why != "" || p.late == nil {
		return why
	}
	if why := r.sedScripts(*p.late); why != "" {
		return why + ": write options before the script and the files, because some systems take all that stands " +
			"behind an operand for one"
	}
	return ""
}

// sedScripts judges the scripts of sed, and adds the files.
func (r *read) sedScripts(p arguments) string {
	scripts := p.values('e', "expression")
	if len(scripts) == 0 && len(p.operands) > 0 {
		scripts, p.operands = p.operands[:1], p.operands[1:]
	}
	for _, script := range scripts {
		for command := range strings.FieldsFuncSeq(script, func(c rune) bool { return c == ';' || c == '\n' }) {
			if !prints(strings.TrimSpace(command)) {
				return "sed may write files or run programs with " + command
			}
		}
	}
	for _, name := range p.operands {
		if why := r.operand(name, File{}); why != "" {
			return why
		}
	}
	return ""
}

// prints reports whether a command of sed, without ; in it, only prints, deletes, quits or replaces text in what it prints.
func prints(command string) bool {
	rest, ok := address(command)
	if !ok {
		return false
	}
	if after, is := strings.CutPrefix(rest, ","); is {
		if rest, ok = address(strings.TrimLeft(after, " +~")); !ok {
			return false
		}
	}
	rest = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(rest), "!"))
	switch rest {
	case "p", "d", "q", "Q", "=", "l", "n", "N", "P", "D", "h", "H", "g", "G", "x":
		return true
	}
	return substitutes(rest)
}

// address cuts an address of sed off: a number, $, or a pattern between slashes.
func address(text string) (rest string, ok bool) {
	switch {
	case text == "":
		return "", true
	case text[0] == '$':
		return text[1:], true
	case text[0] == '/':
		return between(text[1:], '/')
	}
	return strings.TrimLeft(text, "0123456789~"), true
}

// between cuts off a text that ends in a delimiter.
func between(text string, end byte) (rest string, ok bool) {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '[': // programs differ in whether the delimiter may be part of a set
			set := strings.TrimPrefix(strings.TrimPrefix(text[i+1:], "^"), "]")
			n := strings.IndexByte(set, ']')
			if n < 0 || strings.ContainsAny(set[:n], string(end)+`\[`) {
				return "", false
			}
			i = len(text) - len(set) + n
		case end:
			return text[i+1:], true
		}
	}
	return "", false
}

// substitutes reports whether a command is s/x/y/ with flags that neither write nor run anything.
func substitutes(command string) bool {
	if len(command) < 4 || command[0] != 's' || !strings.ContainsAny(command[1:2], "/|,#:@") {
		return false
	}
	rest, ok := between(command[2:], command[1])
	if !ok {
		return false
	}
	flags, ok := between(rest, command[1])
	return ok && strings.Trim(flags, "gpiI0123456789") == ""
}

// toolchain judges the commands of programs that print their version or explain something.
func (r *read) toolchain(args []string) string {
	if r.program == "gofmt" {
		return r.gofmt(args)
	}
	if r.program == "go" && len(args) > 0 {
		return r.goTool(args)
	}
	if len(args) == 1 && (args[0] == "--version" || r.program == "java" && args[0] == "-version" || r.program == "node" && args[0] == "-v" || r.program == "npm" && args[0] == "-v") {
		return ""
	}
	return r.program + " may run other programs"
}

// searchesHidden reports whether options of ripgrep make it look at hidden files: those that say so, and patterns that may match some.
func searchesHidden(p arguments) bool {
	if p.has('u', "unrestricted") || p.has(0, "hidden") {
		return true
	}
	for _, pattern := range slices.Concat(p.values('g', "glob"), p.values('g', "iglob")) {
		_, extension, ok := strings.Cut(path.Base(pattern), "*.")
		harmless := ok && len(extension) < 5 && extension != "env" && strings.Trim(extension, "abcdefghijklmnopqrstuvwxyz0123456789") == "" && strings.HasPrefix(path.Base(pattern), "*.")
		if !harmless && !strings.HasPrefix(pattern, "!") {
			return true
		}
	}
	return false
}

// gofmt judges gofmt, which rewrites files with -w.
func (r *read) gofmt(args []string) string {
	for _, a := range args {
		if a == "-l" || a == "-d" || a == "-e" || a == "-s" {
			continue
		}
		if strings.HasPrefix(a, "-") {
			return "gofmt may do more than read with " + a
		}
		if why := r.file(a, File{Tree: true}); why != "" {
			return why
		}
	}
	return ""
}
