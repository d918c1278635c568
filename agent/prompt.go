package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
)

// newHeader settles what a session sends in every request.
func newHeader(ctx context.Context, o Options, id string, registry *tool.Registry, now time.Time) (Header, error) {
	p := o.Profile
	h := Header{ID: id, Profile: p.Name, Dialect: p.Dialect, Provider: first(o.Provider, p.Provider), Model: first(o.Model, p.Model),
		Effort: o.Effort, Dir: o.Env.WorkDir(), System: o.System, Tools: registry.Definitions(),
		Params: Params{ToolChoice: o.ToolChoice, Sequential: p.Sequential, MaxTokens: o.MaxTokens, Temperature: o.Temperature,
			Options: o.ProviderOptions, NoCache: o.NoCache}}
	if o.parent != nil {
		h.Parent = o.parent.ID()
	}
	if h.Model == "" {
		return Header{}, errors.New("agent: no model: set Options.Model, or one in the profile")
	}
	if h.Params.Options == nil {
		h.Params.Options = p.Options
	}
	if h.System == "" {
		h.System = SystemPrompt(ctx, p, o.Env, h.Model, o.Instructions, now)
	}
	return written(h)
}

// written makes a header what it is after it was written down and read again: what is sent before a resume is what is sent after it.
func written(h Header) (Header, error) {
	data, err := marshal(h)
	if err != nil {
		return Header{}, fmt.Errorf("agent: the session's header: %w", err)
	}
	var same Header
	if err := json.Unmarshal(data, &same); err != nil {
		return Header{}, fmt.Errorf("agent: the session's header: %w", err)
	}
	shareTools(same.Tools, h.Tools)
	same.Tools = slices.Clip(slices.Clone(same.Tools)) // reading it has grown it ahead
	return same, nil
}

// shareTools makes definitions that are the same as others the same in memory: sessions with the same tools hold them once.
func shareTools(mine, others []llm.ToolDefinition) {
	for i, def := range mine {
		at := slices.IndexFunc(others, func(o llm.ToolDefinition) bool { return o.Name == def.Name })
		if at < 0 {
			continue
		}
		mine[i].Name = others[at].Name
		if o := others[at].Description; o == def.Description {
			mine[i].Description = o
		}
		if o := others[at].Parameters; bytes.Equal(o, def.Parameters) {
			mine[i].Parameters = o
		}
	}
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// SystemPrompt renders the system prompt of a session: the profile's prompt, the environment, project documents, and the user's
// instructions last. A session renders it once, at its start. It reads files and runs git in e; what cannot be read is left out.
func SystemPrompt(ctx context.Context, p profile.Profile, e env.Environment, model, instructions string, now time.Time) string {
	repo := lookAtRepository(ctx, e)
	layers := []string{
		strings.TrimSpace(p.Prompt),
		environmentBlock(e, repo, model, now),
		projectDocuments(ctx, e, repo.root, append([]string{"AGENTS.md"}, p.Documents...)),
		strings.TrimSpace(instructions),
	}
	layers = slices.DeleteFunc(layers, func(l string) bool { return l == "" })
	return validText(strings.Join(layers, "\n\n"))
}

func environmentBlock(e env.Environment, repo repository, model string, now time.Time) string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, strings.ReplaceAll(value, "\n", " "))
		}
	}
	platform := e.Platform()
	b.WriteString("<environment>\n")
	line("Working directory", e.WorkDir())
	line("Is git repository", map[bool]string{true: "yes", false: "no"}[repo.root != ""])
	line("Git branch", repo.branch)
	line("Platform", platform.OS+"/"+platform.Arch)
	line("OS version", platform.Version)
	line("Today's date", now.Format(time.DateOnly))
	line("Model", model)
	b.WriteString("</environment>")
	return b.String()
}

// repository is what git says of the working directory; the zero value is none.
type repository struct{ root, branch string }

// lookAtRepository asks git. No git and no repository are no error.
func lookAtRepository(ctx context.Context, e env.Environment) repository {
	const script = "{ git rev-parse --show-prefix && git symbolic-ref --short -q HEAD; } 2>/dev/null"
	const timeout = 5 * time.Second
	out := env.NewCapture(env.CaptureOptions{})
	if _, err := env.Run(ctx, e, env.Command{Script: script, Output: out.Write}, timeout); err != nil {
		return repository{}
	}
	prefix, branch, isRepository := strings.Cut(out.Text(), "\n")
	if !isRepository {
		return repository{}
	}
	// The root in the words of the working directory, which may be given through a symbolic link that git has resolved.
	root, below := strings.CutSuffix(e.WorkDir()+"/", "/"+prefix)
	if prefix == "" || !below {
		root = e.WorkDir()
	}
	return repository{root: root, branch: strings.TrimSpace(branch)}
}

// documentBudget is how much of the project's documents goes into the prompt, in bytes (requirement E5).
const documentBudget = 32 << 10

const documentsCut = "[Project instructions truncated at 32KB]"

// projectDocuments reads the documents of each directory from the repository's root (or the working directory) down to the
// working directory: the root's first, so that the ones nearer to the work have the last word. It reads through the environment, so
// a root above the directories that the host allowed is left out.
func projectDocuments(ctx context.Context, e env.Environment, root string, names []string) string {
	var b strings.Builder
	left := documentBudget
	for _, dir := range directoriesDown(root, e.WorkDir()) {
		for _, name := range names {
			text := readDocument(ctx, e, path.Join(dir, name), left+1)
			if text == "" {
				continue
			}
			heading := fmt.Sprintf("# Project instructions from %s\n\n", path.Join(dir, name))
			if len(text) > left {
				return b.String() + heading + text[:left] + "\n" + documentsCut
			}
			left -= len(text)
			b.WriteString(heading + strings.TrimSpace(text) + "\n\n")
		}
	}
	return strings.TrimSpace(b.String())
}

func directoriesDown(root, dir string) []string {
	if root == "" || dir != root && !strings.HasPrefix(dir, strings.TrimSuffix(root, "/")+"/") {
		return []string{dir}
	}
	var dirs []string
	for d := dir; ; d = path.Dir(d) {
		dirs = append(dirs, d)
		if d == root || d == path.Dir(d) {
			break
		}
	}
	slices.Reverse(dirs)
	return dirs
}

// readDocument reads at most limit bytes of a regular file that the environment lets us read; anything else is no document.
func readDocument(ctx context.Context, e env.Environment, name string, limit int) string {
	info, err := e.Stat(ctx, name)
	if err != nil || info.Mode&fs.ModeType != 0 {
		return ""
	}
	f, err := e.Open(ctx, name)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)))
	if err != nil {
		return ""
	}
	return validText(string(data))
}
