package shell

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/internal/script"
)

func all[T any](list []T, is func(T) bool) bool {
	return !slices.ContainsFunc(list, func(a T) bool { return !is(a) })
}

// check returns why the operands of a command may do more than print: its filters or scripts, and
// the others.
func check(program string, scripts, operands []string) string {
	switch program {
	case "jq":
		for _, word := range []string{"env", "ENV", "import", "include", "modulemeta", "get_search_list",
			"input_filename", "$__prog"} {
			if strings.Contains(strings.Join(scripts, " "), word) {
				return "jq may show variables or read other files with " + word
			}
		}
	case "sed":
		return sedScripts(scripts)
	case "exit", "return", "break", "continue", "wait": // old versions of ksh calculate their arguments
		if !all(operands, func(a string) bool { return number(strings.TrimPrefix(a, "%")) }) {
			return program + " may calculate: write numbers, or nothing"
		}
	case "type", "which", "command":
		if !all(operands, script.IsPlain) {
			return program + " may do more than tell what a name stands for"
		}
	case "date":
		if !all(operands, func(a string) bool { return strings.HasPrefix(a, "+") }) {
			return "date may set the time"
		}
	case "seq", "sleep":
		for i, a := range operands {
			n, err := strconv.ParseFloat(a, 64)
			step := program == "seq" && i == 1 && len(operands) == 3
			if err != nil || math.Abs(n) > 1e6 || step && math.Abs(n) < 1e-3 {
				return program + " may not end"
			}
		}
	}
	return ""
}

// find judges find, whose expressions can delete and write files and run programs.
func (r *read) find(args []string) string {
	if !all(args, func(a string) bool {
		return a != "-D" && a != "--" && (!strings.HasPrefix(a, "-O") ||
			len(a) == 3)
	}) {
		return "find may do more than read with -D, -O and --"
	}
	tops, args := findTops(args)
	for _, name := range tops {
		if why := r.file(name, File{Tree: true, Names: true}); why != "" {
			return why
		}
	}
	for i := 0; i < len(args); i++ {
		switch a := args[i]; a {
		case "(", ")", "!", ",", "-a", "-and", "-o", "-or", "-not", "-print", "-print0", "-ls", "-prune", "-quit",
			"-true", "-false", "-depth", "-d", "-mount",
			"-xdev", "-noleaf", "-empty", "-executable", "-readable", "-writable", "-nouser", "-nogroup", "-daystart",
			"-follow",
			"-ignore_readdir_race", "-noignore_readdir_race", "-warn", "-nowarn":
		case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-regextype",
			"-lname", "-ilname", "-type", "-xtype",
			"-size", "-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin", "-used", "-user", "-group", "-uid",
			"-gid", "-perm", "-links", "-inum",
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

// sedScripts judges scripts of sed, whose commands may only print: 5p, 1,5p, $p, /x/p, 1,/x/p and
// the like.
func sedScripts(scripts []string) string {
	for _, script := range scripts {
		for command := range strings.FieldsFuncSeq(script, func(c rune) bool { return c == ';' || c == '\n' }) {
			if !prints().MatchString(strings.TrimSpace(command)) {
				return "sed may write files or run programs with " + command
			}
		}
	}
	return ""
}

// prints matches a command of sed, without ; in it, that only prints, deletes, quits or replaces
// text in what it prints.
var prints = sync.OnceValue(func() *regexp.Regexp {
	address := `(?:[0-9~]+|\$|/` + delimited("/") + `)?`
	commands := []string{"[pdqQ=lnNPDhHgGx]"}
	for _, d := range []string{"/", "|", ",", "#", ":", "@"} {
		commands = append(commands, "s"+regexp.QuoteMeta(d)+delimited(d)+delimited(d)+"[gpiI0-9]*")
	}
	where := address + `(?:,[ +~]*` + address + `)?\s*!?\s*`
	return regexp.MustCompile(`^` + where + `(?:` + strings.Join(commands, "|") + `)$`)
})

// delimited returns an expression for a text up to a delimiter, which is not in a set of
// characters: programs differ in whether it may be.
func delimited(by string) string {
	return `(?:[^\\\[` + by + `]|\\.|\[\^?[^\]\\\[^` + by + `][^\]\\\[` + by + `]*\])*` + regexp.QuoteMeta(by)
}

// searchesHidden reports whether options of ripgrep make it look at hidden files: those that say
// so, and patterns that may match some.
func searchesHidden(p arguments) bool {
	globs := p.values("g glob iglob")
	return p.has("u unrestricted hidden") || slices.ContainsFunc(globs, func(pattern string) bool {
		return !visible().MatchString(pattern) || strings.HasSuffix("/"+pattern, "/*.env")
	})
}

// visible matches patterns of files with an extension, and those of files to leave out.
var visible = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^!|^(.*/)?\*\.[a-z0-9]{0,4}$`) })
