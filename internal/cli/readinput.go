package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/attractor-go/attractor/internal/objectschema"
)

const (
	// maxPiped bounds the text of standard input, a prompt or a patch. No model has a window for
	// more.
	maxPiped = 16 << 20
	// pipedPatience is how long beside waits for the first bytes on standard input. Many programs
	// start others with a pipe to which they never write. Claude Code waits as long.
	pipedPatience = 3 * time.Second
)

// bom is the byte order mark that editors on Windows write in front of a text.
const bom = "\uFEFF"

// readSchema returns the content of the file of --output-schema, or nil without a name.
func readSchema(name string) (json.RawMessage, error) {
	if name == "" {
		return nil, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fail(exitUsage, "cannot read the schema: %w", err)
	}
	data = bytes.TrimPrefix(data, []byte(bom))
	if _, err := objectschema.Checker(data); err != nil {
		return nil, fail(exitUsage, "%s cannot be the schema of a result: %w", name, err)
	}
	return data, nil
}

// endsInDash reports whether the arguments of a prompt name standard input.
func endsInDash(args []string) bool { return len(args) > 0 && args[len(args)-1] == "-" }

// readPrompt returns the prompt: the arguments as one text, and after an empty line what is on
// standard input. A - at their end waits for it however long it takes. Without a prompt it returns
// an error, unless the prompt is optional. A text that has begun has to end within the given time;
// 0 means no limit.
func readPrompt(args []string, t terminal, optional bool, within time.Duration) (string, error) {
	words, read := args, func() (string, error) { return beside(t, within) }
	if endsInDash(args) {
		words, read = args[:len(args)-1], func() (string, error) { return readPiped(t) }
	}
	piped, err := read()
	if err != nil {
		return "", err
	}
	prompt := strings.Join(words, " ")
	if prompt != "" && piped != "" {
		prompt += "\n\n"
		if !endsInDash(args) {
			fmt.Fprintf(t.err, "attractor: the prompt has %d bytes of standard input\n", len(piped))
		}
	}
	prompt += piped
	if strings.TrimSpace(prompt) == "" && !optional {
		return "", fail(exitUsage, "the prompt is empty; pass it as an argument or on standard input")
	}
	return prompt, nil
}

// readPiped returns the text on standard input.
func readPiped(t terminal) (string, error) {
	data, err := io.ReadAll(io.LimitReader(t.in, maxPiped+1))
	if err != nil {
		return "", fail(exitUsage, "cannot read the prompt from standard input: %w", err)
	}
	if len(data) > maxPiped {
		return "", fail(exitUsage, "standard input has more than %d MiB; put it into a file, and name that in "+
			"the prompt", maxPiped>>20)
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return "", fail(exitUsage, "standard input is no UTF-8 text, as it has NUL bytes; put it into a file, and "+
			"name that in the prompt")
	}
	return string(data), nil
}

// beside returns the text on standard input that the arguments do not name. It does not wait for a
// person at a terminal. It waits pipedPatience for a text to begin, and then until it ends, at most
// the given time unless that is 0.
func beside(t terminal, within time.Duration) (string, error) {
	if f, ok := t.in.(*os.File); ok {
		info, err := f.Stat()
		if err != nil || info.Mode()&(os.ModeCharDevice|os.ModeDir) != 0 {
			return "", nil
		}
	}
	in := &beginning{Reader: t.in, began: make(chan struct{})}
	t.in = in
	var text string
	var err error
	read := make(chan struct{})
	go func() {
		defer close(read)
		text, err = readPiped(t)
	}()
	var late <-chan time.Time
	if within > 0 {
		late = time.After(within)
	}
	select {
	case <-in.began:
	case <-time.After(pipedPatience):
		warn(t.err, fmt.Sprintf("nothing has come on standard input for %v, so the prompt is without it; to wait "+
			"for it, end the prompt with a -, and to have none, write </dev/null", pipedPatience))
		return "", nil
	}
	slow := time.After(pipedPatience)
	for {
		select {
		case <-read:
			return text, err
		case <-slow:
			fmt.Fprintln(t.err, "attractor: reading standard input to its end, for the prompt; to have none of it, "+
				"write </dev/null")
		case <-late:
			return "", fail(exitLimit, "standard input has not ended within --timeout; to have none of it in the "+
				"prompt, write </dev/null")
		}
	}
}

// beginning tells when the first read of a reader has returned.
type beginning struct {
	io.Reader
	once  sync.Once
	began chan struct{}
}

// Read implements [io.Reader].
func (b *beginning) Read(p []byte) (n int, err error) {
	n, err = b.Reader.Read(p)
	b.once.Do(func() { close(b.began) })
	return n, err
}
