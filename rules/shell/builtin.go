package shell

import (
	"slices"
	"strings"
)

// changeDir judges cd. Some shells take two operands for a replacement in the name of the
// directory.
func (r *read) changeDir(args []string) string {
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

// printf judges printf, which some shells let set variables and calculate numbers.
func printf(args []string) string {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return ""
	}
	if strings.HasPrefix(args[0], "-") {
		return "printf may set a variable with " + args[0]
	}
	var kinds []byte
	for _, conversion := range strings.Split(strings.ReplaceAll(args[0], "%%", ""), "%")[1:] {
		kind := strings.TrimLeft(conversion, "0123456789.+- #'") + "-"
		if strings.IndexByte("sbqcdiouxXeEfFgGaA", kind[0]) < 0 {
			return "printf may set a variable with %" + conversion
		}
		kinds = append(kinds, kind[0])
	}
	for i, a := range args[1:] {
		digits := number(a) || strings.Trim(a, "0123456789.+-") == ""
		if !digits && len(kinds) > 0 && strings.IndexByte("sbqc", kinds[i%len(kinds)]) < 0 {
			return "printf may calculate " + a
		}
	}
	return ""
}

// test judges [, [[ and test. Some shells calculate the operands of -eq and the index of an array,
// which may run commands. What looks like an operator and is none that is known here asks.
func (r *read) test(args []string) string {
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
