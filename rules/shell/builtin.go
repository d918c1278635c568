package shell

import (
	"slices"
	"strconv"
	"strings"
)

// builtin returns what judges a builtin of shells by its arguments. The table is literal: an
// argument that no row has makes the command
// ask, because some shell may calculate it, and calculating the index in a[$(x)] runs x.
func builtin(name string) (judge func(r *read, args []string) string, ok bool) {
	switch name {
	case ":", "true", "false", "echo", "set": // set has been judged by Parse
		return anything, true
	case "exit", "return", "break", "continue":
		return status, true
	case "wait":
		return wait, true
	case "cd":
		return changeDir, true
	case "pwd":
		return flagged("-L", "-P", "--logical", "--physical"), true
	case "printf":
		return printf, true
	case "[", "test", "[[":
		return test, true
	case "command":
		return command, true
	case "type":
		return named("-a", "-f", "-p", "-P", "-t"), true
	case "which":
		return named("-a", "-s"), true
	}
	return nil, false
}

// anything is for builtins that only print their arguments, or ignore them.
func anything(*read, []string) string { return "" }

// status judges exit, return, break and continue. Old versions of ksh calculate their argument.
func status(r *read, args []string) string {
	if len(args) == 0 || len(args) == 1 && number(args[0]) {
		return ""
	}
	return r.program + " may calculate " + args[0] + ": write a number, or nothing"
}

// wait judges wait, which sets a variable with -p.
func wait(_ *read, args []string) string {
	for _, a := range args {
		job := strings.TrimPrefix(a, "%")
		if a != "-n" && a != "-f" && (!number(job) || job[0] == '-') {
			return "wait may set a variable or calculate with " + a +
				": write wait alone, or with numbers of processes"
		}
	}
	return ""
}

// changeDir judges cd. Some shells take two operands for a replacement in the name of the directory.
func changeDir(r *read, args []string) string {
	for len(args) > 0 && slices.Contains([]string{"-L", "-P", "--"}, args[0]) {
		args = args[1:]
	}
	if len(args) == 0 || len(args) == 1 && args[0] == "-" {
		return ""
	}
	if len(args) > 1 || strings.HasPrefix(args[0], "-") || strings.HasPrefix(args[0], "+") {
		return "cd may lead elsewhere with " + strings.Join(args, " ") + ": write cd DIRECTORY"
	}
	if r.variable("CDPATH") != "" && !strings.HasPrefix(args[0], "/") && !strings.HasPrefix(args[0], ".") {
		return "the variable CDPATH may make cd lead elsewhere: write cd ./" + args[0]
	}
	return ""
}

// flagged judges a builtin that has only options, each an argument.
func flagged(options ...string) func(*read, []string) string {
	return func(r *read, args []string) string {
		for _, a := range args {
			if !slices.Contains(options, a) {
				return r.program + " may do more than read with " + a
			}
		}
		return ""
	}
}

// named judges a builtin that tells what names stand for.
func named(options ...string) func(*read, []string) string {
	return func(r *read, args []string) string {
		for i, a := range args {
			if slices.Contains(options, a) || a == "--" {
				continue
			}
			if !isPlain(a) || strings.HasPrefix(a, "-") {
				return r.program + " may do more than tell what a name stands for with " + args[i]
			}
		}
		return ""
	}
}

// command judges command, which is a wrapper of others unless it has -v or -V.
func command(r *read, args []string) string {
	if len(args) < 2 || args[0] != "-v" && args[0] != "-V" {
		return "command may run another program: write command -v NAME"
	}
	return named()(r, args[1:])
}

// printf judges printf, which some shells let set variables.
func printf(r *read, args []string) string {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return ""
	}
	if strings.HasPrefix(args[0], "-") {
		return "printf may set a variable with " + args[0]
	}
	kinds, ok := conversions(args[0])
	if !ok {
		return "printf has a conversion that may set a variable"
	}
	for i, a := range args[1:] {
		if len(kinds) > 0 && kinds[i%len(kinds)] && !decimal(a) {
			return "printf may calculate " + a
		}
	}
	return ""
}

// conversions returns for each argument of a format of printf whether it is a number, which some
// shells calculate. It reports false for a
// conversion that it does not know.
func conversions(format string) (numbers []bool, ok bool) {
	for _, text := range strings.Split(strings.ReplaceAll(format, "%%", ""), "%")[1:] {
		conversion := strings.TrimLeft(text, "0123456789.-+ #'*")
		for range strings.Count(text[:len(text)-len(conversion)], "*") {
			numbers = append(numbers, true)
		}
		switch {
		case conversion == "":
			return nil, false
		case strings.IndexByte("diouxXeEfFgGaA", conversion[0]) >= 0:
			numbers = append(numbers, true)
		case strings.IndexByte("sbqc", conversion[0]) >= 0:
			numbers = append(numbers, false)
		default:
			return nil, false
		}
	}
	return numbers, true
}

// decimal reports whether a text is a number without a name in it, or empty.
func decimal(text string) bool {
	if text == "" || number(text) {
		return true
	}
	_, err := strconv.ParseFloat(text, 64)
	return err == nil && strings.Trim(text, "0123456789.+-eE") == ""
}

// test judges [, [[ and test. Some shells calculate the operands of -eq and the index of an array,
// which may run commands. What looks like an
// operator and is none that is known here asks.
func test(r *read, args []string) string {
	for i, a := range args {
		next := ""
		if i+1 < len(args) {
			next = args[i+1]
		}
		switch a {
		case "-a", "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-L", "-n", "-o", "-p", "-r", "-s", "-S",
			"-u", "-w", "-x", "-z", "-G", "-N", "-O",
			"-nt", "-ot", "-ef":
		case "-t":
			if !number(next) {
				return r.program + " may calculate the operand of -t: write the number of a descriptor"
			}
		case "-eq", "-ne", "-lt", "-le", "-gt", "-ge":
			if i == 0 || !number(args[i-1]) || !number(next) {
				return r.program + " may calculate the operands of " + a +
					": write numbers, or compare texts with ="
			}
		default:
			if strings.HasPrefix(a, "-") && len(a) > 1 && !number(a) {
				return r.program + " may calculate an index with " + a
			}
		}
	}
	return ""
}

// number reports whether a text is a decimal number.
func number(text string) bool {
	if text == "$?" || text == "$#" {
		return true
	}
	digits := strings.TrimPrefix(text, "-")
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}
