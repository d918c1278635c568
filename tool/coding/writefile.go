package coding

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// newFilePerm is the mode of files that the tools make.
const newFilePerm fs.FileMode = 0o644

type writeFileArgs struct {
	FilePath string `json:"file_path" jsonschema:"Path of the file, absolute or relative to the working directory."`
	Content  string `json:"content" jsonschema:"The whole content of the file."`
}

// WriteFile is the tool write_file: the whole content of a file, new or not.
func WriteFile() tool.Tool {
	t := tool.New(llm.ToolDefinition{
		Name: "write_file",
		Description: "Creates a file, or replaces the whole content of one that exists. Directories that are missing are made. An " +
			"existing file keeps its mode. To change a part of a file, edit it instead.",
	}, writeFile)
	t.Limit = tool.Limit{Chars: 1_000, Keep: tool.KeepTail}
	return tool.WithAccess(t, func(args writeFileArgs) tool.Access {
		return tool.Access{Effect: tool.Writes, Paths: []string{lexical(args.FilePath)}}
	})
}

func writeFile(ctx context.Context, call *tool.Call, args writeFileArgs) (tool.Result, error) {
	if args.FilePath == "" {
		return tool.Result{}, errors.New("file_path is empty; give the path of a file")
	}
	old, err := call.Env.Stat(ctx, args.FilePath)
	exists := err == nil
	if exists && old.IsDir() {
		return tool.Result{}, fmt.Errorf("%s is a directory; give the path of a file", args.FilePath)
	}
	if err := call.Env.WriteFile(ctx, args.FilePath, []byte(args.Content), newFilePerm); err != nil {
		return tool.Result{}, err
	}
	if !exists {
		return tool.Text(fmt.Sprintf("Created %s (%s).", args.FilePath, count(len(args.Content), "byte"))), nil
	}
	return tool.Text(fmt.Sprintf("Replaced %s (%s, before: %d).", args.FilePath, count(len(args.Content), "byte"), old.Size)), nil
}
