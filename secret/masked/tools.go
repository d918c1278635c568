package masked

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/tool"
)

// Tools returns a middleware that masks the results and errors of calls, and what they print while
// they run. It should be the outermost. It refuses calls that would write a placeholder into a file
// in place of a secret, or give one to a command.
func Tools(m *secret.Masker) tool.Middleware {
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
			if err := refuse(m, call); err != nil {
				return tool.Result{}, err
			}
			inner, stream := *call, m.Stream().Twin()
			if call.Session != nil {
				inner.Session = &session{call.Session, m, stream}
			}
			if call.Live != nil {
				live := &liveOutput{stream: stream, to: call.Live}
				inner.Live = live.write
				defer live.close()
			}
			result, err := next(ctx, &inner)
			return maskResult(m, result), m.Error(err)
		}
	}
}

// decisions returns a permission hook that masks why a call may not run: the model is told that in
// place of a result. A nil next returns nil.
func decisions(m *secret.Masker, next tool.Authorize) tool.Authorize {
	if next == nil {
		return nil
	}
	return func(ctx context.Context, req tool.Request) (tool.Decision, error) {
		d, err := next(ctx, req)
		d.Reason = m.String(d.Reason)
		return d, m.Error(err)
	}
}

// refuse returns an error if a call would write a placeholder into a file or run a command that has
// one.
func refuse(m *secret.Masker, call *tool.Call) error {
	if call.Access.Effect == tool.ReadOnly {
		return nil
	}
	writes := len(call.Access.Paths) > 0 && call.Access.Command == ""
	if !writes && call.Access.Command == "" {
		return nil
	}
	held := m.Placeholder(plainText(call.Args))
	switch {
	case held == "":
		return nil
	case writes:
		return fmt.Errorf("nothing was changed: %s in the arguments stands for a secret whose value you were not "+
			"shown, and would replace it in the file. Leave that part of the file as it is: use a smaller edit that "+
			"does not touch it, or change the file in place with a command such as sed. Where a program needs the "+
			"secret, let it read it from its file or variable", held)
	case m.Placeholder(call.Access.Command) != "" && isArgument(call):
		return runs(held, "command")
	}
	return nil
}

// runs returns the error of a command or input with a placeholder.
func runs(held, what string) error {
	return fmt.Errorf("nothing was run: %s in the %s stands for a secret whose value you were not shown; a program "+
		"would get the placeholder instead. Let the program read the secret from its file or variable, or leave that "+
		"part out, for instance with a pattern that matches the text around it", held, what)
}

// isArgument reports whether the command of a call is one of its arguments, as the script of a
// shell is. The commands of other tools, such as those of subagents, only describe the call, and
// are read by models.
func isArgument(call *tool.Call) bool {
	for text := range stringsIn(call.Args) {
		if text == call.Access.Command {
			return true
		}
	}
	return call.Args == call.Access.Command
}

// plainText returns arguments without the escapes of JSON, if they have any that could hide a
// placeholder.
func plainText(args string) string {
	if !strings.Contains(args, `\u00`) || !json.Valid([]byte(args)) {
		return args
	}
	var text strings.Builder
	for s := range stringsIn(args) {
		text.WriteString(s + "\n")
	}
	return text.String()
}

// stringsIn yields the strings in JSON, the names of members included, until what is not JSON.
func stringsIn(args string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for dec := json.NewDecoder(strings.NewReader(args)); ; {
			token, err := dec.Token()
			if err != nil {
				return
			}
			if s, ok := token.(string); ok && !yield(s) {
				return
			}
		}
	}
}

// maskResult returns a result without secrets. What the session knows of files stays as it is.
func maskResult(m *secret.Masker, r tool.Result) tool.Result {
	if r.Gap.Bytes > 0 {
		r = maskEnds(m, r)
	} else {
		r.Content = fields(m, r.Content)
	}
	if r.Raw != nil {
		r.Raw = []byte(m.String(string(r.Raw)))
	}
	r.Final, r.Hint = m.String(r.Final), m.String(r.Hint)
	r.Changes, r.Ran, r.Structured = fields(m, r.Changes), fields(m, r.Ran), m.JSON(r.Structured)
	return r
}

// maskEnds masks a result whose first text has a gap. What may be a part of a secret on either side
// of the gap goes into the gap: the beginning of a secret, and the rest of a line.
func maskEnds(m *secret.Masker, r tool.Result) tool.Result {
	parts := fields(m, r.Content)
	for i, part := range r.Content {
		text, ok := part.(llm.Text)
		if !ok {
			continue
		}
		at := min(max(r.Gap.At, 0), len(text.Text))
		s := m.Stream()
		head, rest := s.Next(text.Text[:at]), text.Text[at:]
		line := strings.IndexByte(rest[:min(len(rest), maxRestOfLine)], '\n') + 1
		lost := s.Held() + rest[:line]
		r.Gap.Bytes += int64(len(lost))
		r.Gap.Chars += int64(utf8.RuneCountInString(lost))
		r.Gap.Lines += int64(strings.Count(lost, "\n"))
		r.Gap.At = len(head)
		if r.Ran != nil {
			ran := *r.Ran
			ran.Omitted += int64(len(lost))
			r.Ran = &ran
		}
		text.Text = head + m.String(rest[line:])
		parts = append(llm.Parts(nil), parts...)
		parts[i] = text
		break
	}
	r.Content = parts
	return r
}

// maxRestOfLine bounds what is left out behind a gap.
const maxRestOfLine = 4 << 10
