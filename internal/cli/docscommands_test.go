package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"mvdan.cc/sh/v3/syntax"
)

// TestQ4_CommandsInDocs checks that every command line of attractor in the documents names commands
// and flags that exist, in blocks and in the text, and that those in blocks have the arguments that
// their commands take.
func TestQ4_CommandsInDocs(t *testing.T) {
	checked := 0
	for _, file := range documents(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range commandLines(string(data)) {
			for _, args := range ourArguments(line.text) {
				checked++
				if err := parses(args, line.whole); err != nil && !strings.HasPrefix(line.output,
					"attractor: "+err.Error()) {
					t.Errorf("%s:%d: %s: %v", file, line.number, line.text, err)
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d command lines were found", checked)
	}
}

// documents returns the Markdown files of the project, without those of its other modules, and
// without its history, which has flags that are gone.
func documents(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../*.md")
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(path string) bool { return filepath.Base(path) == "CHANGELOG.md" })
	for _, dir := range []string{"../../docs", "../../examples"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && filepath.Ext(path) == ".md" {
				files = append(files, path)
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return files
}

// docLine is a piece of a document that may be a command line.
type docLine struct {
	number int
	text   string
	whole  bool   // a line of a code block that is no synopsis
	output string // the line below, which may say that the command line is wrong
}

var (
	inlineCode = regexp.MustCompile("`([^`]+)`")
	// prompts stand before a command in a transcript, and keys before one in a workflow of CI.
	prompts = regexp.MustCompile(`^\s*(\$ |> |(- )?run: *)?`)
	// explanation matches what stands in a column beside a command.
	explanation = regexp.MustCompile(`(\S)\s{2,}[^\s#].*`)
	// A synopsis has places for arguments, and brackets around what can be left out.
	synopsis    = regexp.MustCompile(` \[| <\w`)
	places      = regexp.MustCompile(`\[[\w ]+\]|<\w+>(\.\.\.)?`)
	alternative = regexp.MustCompile(`[\[\]]| \| --`)
)

// commandLines returns the lines of code blocks, joined where they go on after a backslash, and the
// code within texts.
func commandLines(document string) (found []docLine) {
	lines, fenced := strings.Split(document, "\n"), false
	for i := 0; i < len(lines); i++ {
		line, number := lines[i], i+1
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			fenced = !fenced
		case fenced || strings.HasPrefix(line, "    "):
			for strings.HasSuffix(line, `\`) && i+1 < len(lines) {
				i++
				line = strings.TrimSuffix(line, `\`) + strings.TrimSpace(lines[i])
			}
			line = prompts.ReplaceAllString(line, "")
			line = explanation.ReplaceAllString(line, "$1")
			whole := !synopsis.MatchString(line)
			if !whole {
				line = alternative.ReplaceAllString(places.ReplaceAllString(line, ""), " ")
			}
			output := ""
			if i+1 < len(lines) {
				output = lines[i+1]
			}
			found = append(found, docLine{number, line, whole, output})
		default:
			for _, code := range inlineCode.FindAllStringSubmatch(line, -1) {
				// as in the cell of a table
				found = append(found, docLine{number, strings.ReplaceAll(code[1], `\|`, "|"), false, ""})
			}
		}
	}
	return found
}

// ourArguments returns the arguments of each command of attractor in a line of shell, and none for
// what is no shell.
func ourArguments(line string) (all [][]string) {
	if !strings.Contains(line, "attractor") {
		return nil
	}
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		return nil
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		call, ok := node.(*syntax.CallExpr)
		if !ok {
			return true
		}
		var words []string
		for _, word := range call.Args {
			words = append(words, plain(word))
		}
		if len(words) > 2 && words[0] == "go" && words[1] == "run" && words[2] == "./cmd/attractor" {
			words = words[2:]
		}
		if len(words) > 0 && (words[0] == "attractor" || words[0] == "./cmd/attractor") {
			all = append(all, words[1:])
		}
		return true
	})
	return all
}

// plain returns the text of a word without its quotes. What a shell would fill in stands as it is
// written.
func plain(word *syntax.Word) string {
	var text strings.Builder
	syntax.Walk(word, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.Lit:
			text.WriteString(n.Value)
		case *syntax.SglQuoted:
			text.WriteString(n.Value)
		case *syntax.ParamExp, *syntax.CmdSubst, *syntax.ArithmExp:
			text.WriteString("$")
			return false
		}
		return true
	})
	return text.String()
}

// parses returns an error if the command line names a command or a flag that does not exist, or, if
// it is whole, has the wrong arguments.
func parses(args []string, whole bool) error {
	cmd, rest, err := Command().Find(args)
	if err != nil || cmd.DisableFlagParsing {
		return err
	}
	switch err := cmd.ParseFlags(rest); {
	case errors.Is(err, pflag.ErrHelp):
		return nil
	// a text speaks of a flag
	case !whole && (errors.As(err, new(*pflag.ValueRequiredError)) || errors.As(err, new(*pflag.InvalidValueError))):
		return nil
	case err != nil:
		return err
	}
	given := cmd.Flags().Args()
	if len(given) > 0 && (cmd.HasSubCommands() || !cmd.HasParent()) {
		return fmt.Errorf("unknown command %q", given[0])
	}
	if !whole {
		return nil
	}
	return cmd.ValidateArgs(given)
}
