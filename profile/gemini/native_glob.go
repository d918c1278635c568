package gemini

import (
	"context"
	"encoding/json"
	"path"
	"strings"
	"unicode"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/search"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

type globArgs struct {
	Pattern       string `json:"pattern"`
	DirPath       string `json:"dir_path"`
	CaseSensitive bool   `json:"case_sensitive"`
}

const globParameters = `{
	"type": "object",
	"properties": {
		"pattern": {"type": "string", "description": "Pattern for the file's path from the directory, such as **/*.py or docs/*.md."},
		"dir_path": {"type": "string", "description": "Directory to look in. Default: the working directory."},
		"case_sensitive": {"type": "boolean", "description": "Distinguish upper and lower case. Default: false."},
		"respect_git_ignore": {"type": "boolean", "description": "Has no effect: what .gitignore excludes is found only with its directory as dir_path."},
		"respect_gemini_ignore": {"type": "boolean", "description": "Has no effect."}
	},
	"required": ["pattern"]
}`

// globFiles returns the tool glob, which ignores case unless the model says otherwise.
func globFiles() tool.Tool {
	base := dialect().Glob()
	t := tool.New(llm.ToolDefinition{
		Name: "glob",
		Description: "Finds files by name. Returns the paths that match a pattern, the most recently modified first. " +
			"Files that .gitignore excludes and .git directories are left out; hidden files are found.",
		Parameters: json.RawMessage(globParameters),
	}, func(ctx context.Context, call *tool.Call, args globArgs) (tool.Result, error) {
		args.DirPath = call.Named(args.DirPath)
		if args.Pattern != "" && !args.CaseSensitive {
			found, err := search.Glob(ctx, call.Env, anyCase(args.Pattern), args.DirPath)
			if err == nil && (len(found.Files) > 0 || found.Stopped) {
				result := tool.Text(coding.ListFiles(found))
				result.Hint = "Give a narrower pattern or a dir_path."
				return result, nil
			}
		}
		// the shared tool words errors and empty results
		return base.RunAs(ctx, call, map[string]any{"pattern": args.Pattern, "path": args.DirPath})
	})
	t.Limit, t.Instead = base.Limit, base.Instead
	return tool.WithAccess(t, func(args globArgs) tool.Access {
		return tool.Access{Effect: tool.ReadOnly, Paths: []string{path.Clean(args.DirPath)}}
	})
}

// anyCase returns the pattern with every letter in either case. Directories without a wildcard
// stay, so that they need not be searched for. So do elements with brackets or a backslash.
func anyCase(pattern string) string {
	elements := strings.Split(pattern, "/")
	for i, element := range elements {
		if i < len(elements)-1 && !strings.ContainsAny(element, `*?{`) || strings.ContainsAny(element, `[\`) {
			continue
		}
		var b strings.Builder
		for _, r := range element {
			if lower, upper := unicode.ToLower(r), unicode.ToUpper(r); lower != upper {
				b.WriteString("[" + string(lower) + string(upper) + "]")
			} else {
				b.WriteRune(r)
			}
		}
		elements[i] = b.String()
	}
	return strings.Join(elements, "/")
}
