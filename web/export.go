package web

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/sessions"
)

// ExportOptions configure Export.
type ExportOptions struct {
	// Masker masks secrets in all that the file has of sessions. Nil masks none.
	Masker *secret.Masker
	// Output limits the bytes of one whole output of a call, and Outputs those of all of them. 0
	// means 1 MiB and 50 MiB. With a value below 0 the file has no whole outputs. One output is in
	// memory at a time.
	Output, Outputs int64
	// Facts has the prices of models. Nil has none.
	Facts llm.Lookup
	// Now is the time of the export, time.Now by default.
	Now func() time.Time
}

// exported describes an export. Notes are sentences for people, such as what was left out.
type exported struct {
	Session string    `json:"session"`
	Time    time.Time `json:"time"`
	Notes   []string  `json:"notes"`
}

const (
	exportRows = 500       // rows in a block
	exportItem = 256 << 10 // bytes after which another block of items begins
)

// Export writes the page with a session and those of its subagents as one HTML file, which opens
// without a server and without a network. It has what the journals have now. The page says what
// could not be read, and which outputs were too long.
//
// An error of w ends Export at once, and what was written then is no complete file.
func Export(ctx context.Context, w io.Writer, store journal.Store, id string, o ExportOptions) (err error) {
	if o.Masker == nil {
		o.Masker = new(secret.Masker)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	x := &exporter{store: store, options: o, entries: map[string]journal.Entry{}, seen: map[string]bool{},
		out: bufio.NewWriterSize(w, 64<<10), most: cmp.Or(o.Output, 1<<20), room: cmp.Or(o.Outputs, 50<<20)}
	log, err := store.Read(ctx, id)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	entries, err := store.List(ctx)
	if err != nil {
		return err
	}
	for _, e := range entries {
		x.entries[e.ID] = e
	}
	begin, end, err := exportPage()
	if err != nil {
		return err
	}
	if _, err := x.out.Write(begin); err != nil {
		return err
	}
	overview, err := x.session(ctx, id, log)
	if err != nil {
		return err
	}
	if err := errors.Join(x.block("sessions", "", "", x.sessions),
		x.block("export", "", "", x.notes(overview))); err != nil {
		return err
	}
	if _, err := x.out.Write(end); err != nil {
		return err
	}
	return x.out.Flush()
}

// exportPage returns the page in two parts, between which the data is written. Scripts and style
// sheets are in the page, and its policy allows no others.
func exportPage() (begin, end []byte, err error) {
	const (
		style  = `<link rel="stylesheet" href="page.css">`
		script = `<script src="page.js" defer></script>`
		body   = `</body>`
	)
	js, css := pageJS(), pageCSS()
	html := string(page())
	for _, once := range []string{style, script, body} {
		if strings.Count(html, once) != 1 {
			return nil, nil, fmt.Errorf("web: index.html must have %s once", once)
		}
	}
	policy := "default-src 'none'; script-src " + hashOf(js) + "; style-src " + hashOf(css) +
		"; img-src data: blob:; base-uri 'none'; form-action 'none'; " +
		"require-trusted-types-for 'script'; trusted-types 'none'"
	html = strings.Replace(html, script, "", 1)
	html = strings.Replace(html, style, `<meta http-equiv="Content-Security-Policy" content="`+policy+`">`+"\n<style>"+
		string(css)+"</style>", 1)
	head, tail, _ := strings.Cut(html, body)
	end = bytes.Join([][]byte{[]byte("<script>"), js, []byte("</script>\n" + body), []byte(tail)}, nil)
	return []byte(head), end, nil
}

// hashOf returns the source expression of a Content-Security-Policy for a text.
func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// exporter writes a file.
type exporter struct {
	store   journal.Store
	options ExportOptions
	out     *bufio.Writer
	entries map[string]journal.Entry

	seen     map[string]bool
	sessions []sessions.Summary // that the file has
	most     int64              // bytes of an output
	room     int64              // bytes of outputs that may still be written

	missing, tooLong int // sessions of subagents and outputs that the file does not have
	torn             []string
}

// session writes a session and those of its subagents, and returns its overview.
func (x *exporter) session(ctx context.Context, id string, log journal.Reader) (o Overview, err error) {
	x.seen[id] = true
	if torn := journal.TornEnd(log); torn != nil {
		x.torn = append(x.torn, x.options.Masker.String(torn.String()))
	}
	trace := NewTrace(x.options.Masker, x.options.Facts)
	problem := trace.read(ctx, log)
	if ctx.Err() != nil {
		return o, ctx.Err()
	}
	o = trace.Overview(1)
	o.ID = id // by which all blocks name it, whatever its header says
	o.withWriter(x.entries[id], false)
	if problem != nil {
		o.Problem = x.options.Masker.String(problem.Error())
	}
	for i := range o.Children {
		if err := x.child(ctx, &o.Children[i]); err != nil {
			return o, err
		}
	}
	x.sessions = append(x.sessions, x.summary(o))
	if err := x.block("overview", id, "", o); err != nil {
		return o, err
	}
	for first := 0; first < trace.Len(); first += exportRows {
		if err := x.block("rows", id, from(first), trace.Rows(first, exportRows)); err != nil {
			return o, err
		}
	}
	if err := x.items(ctx, id, trace); err != nil {
		return o, err
	}
	return o, x.outputs(ctx, log, id, trace)
}

// read folds a journal. The error says why it cannot be read further.
func (t *Trace) read(ctx context.Context, log journal.Reader) error {
	for line, err := range log.Records(ctx, 1) {
		if err == nil {
			_, _, err = t.Add(line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// items writes the rows of a session with their events, in blocks.
func (x *exporter) items(ctx context.Context, id string, trace *Trace) error {
	var block []json.RawMessage
	first, size := 0, 0
	for i := range trace.Len() {
		item, err := trace.Item(i)
		if err != nil {
			return err
		}
		data, err := json.Marshal(item)
		if err != nil {
			return err
		}
		block = append(block, data)
		if size += len(data); size < exportItem && i < trace.Len()-1 {
			continue
		}
		if err := errors.Join(ctx.Err(), x.block("items", id, from(first), block)); err != nil {
			return err
		}
		block, first, size = nil, i+1, 0
	}
	return nil
}

// child writes the session of a subagent, and fills in its usage if the parent does not know it
// yet. It leaves out a session that cannot be opened.
func (x *exporter) child(ctx context.Context, c *Child) error {
	if c.Session == "" || x.seen[c.Session] {
		return nil
	}
	log, err := x.store.Read(ctx, c.Session)
	if err != nil {
		x.missing++
		return ctx.Err()
	}
	o, err := x.session(ctx, c.Session, log)
	if err == nil && c.Usage == (llm.Usage{}) { // the parent does not know yet
		c.Usage, c.Cost = o.Usage, o.Cost
	}
	return errors.Join(err, log.Close())
}

// summary returns a session for the page's list.
func (x *exporter) summary(o Overview) sessions.Summary {
	e := x.entries[o.ID]
	e.ID = o.ID
	return sessions.Summary{Entry: e, Dir: o.Dir, Provider: o.Provider, Model: o.Model, Task: o.Task,
		Created: o.Created, Parent: o.Parent, ForkOf: o.ForkOf, Problem: o.Problem}
}

// block writes a value as a block of data with attributes. Its JSON has no character that ends a
// script. The id is one that journal.CheckID accepts, or empty.
func (x *exporter) block(kind, id, attributes string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if id != "" {
		attributes = ` data-session="` + id + `"` + attributes
	}
	_, err = fmt.Fprintf(x.out, "<script type=\"application/json\" class=\"data\" data-kind=\"%s\"%s>%s</script>\n",
		kind, attributes, data)
	return err
}

// from returns the attribute of a block whose first row has a number.
func from(row int) string { return fmt.Sprintf(` data-first="%d"`, row) }

// outputs returns the hashes of the outputs that are kept whole, each once.
func (t *Trace) outputs() (hashes []string) {
	seen := map[string]bool{}
	for _, events := range t.events {
		for _, ev := range events {
			end, ok := ev.(*agent.ToolCallEnd)
			if ok && journal.IsHash(end.OutputBlob) && !seen[end.OutputBlob] {
				seen[end.OutputBlob] = true
				hashes = append(hashes, end.OutputBlob)
			}
		}
	}
	return hashes
}

// outputs writes outputs that are kept whole. It counts those that are too long or cannot be read.
func (x *exporter) outputs(ctx context.Context, log journal.Reader, id string, trace *Trace) error {
	for _, hash := range trace.outputs() {
		text, fits, err := x.output(ctx, log, hash)
		if err != nil {
			return err
		}
		if !fits {
			x.tooLong++
			continue
		}
		if err := x.block("output", id, ` data-hash="`+hash+`"`, string(text)); err != nil {
			return err
		}
	}
	return nil
}

// output returns an output, unless it is too long or cannot be read.
func (x *exporter) output(ctx context.Context, log journal.Reader, hash string) (text []byte, fits bool, err error) {
	most := min(x.most, x.room)
	if most < 0 {
		return nil, false, nil
	}
	blob, err := log.Blob(ctx, hash)
	if err != nil {
		return nil, false, ctx.Err()
	}
	part := &window{room: int(most) + 1}
	err = copyMasked(ctx, part, x.options.Masker.Stream(), blob)
	if err = errors.Join(err, blob.Close()); err != nil || int64(len(part.text)) > most {
		return nil, false, ctx.Err()
	}
	x.room -= int64(len(part.text))
	return part.text, true, nil
}

// notes returns the description of the file.
func (x *exporter) notes(o Overview) exported {
	at := x.options.Now().UTC()
	e := exported{Session: o.ID, Time: at,
		Notes: []string{"This is a copy from " + at.Format("2006-01-02 15:04") + " UTC."}}
	add := func(n int, one, many string) {
		switch {
		case n == 1:
			e.Notes = append(e.Notes, one)
		case n > 1:
			e.Notes = append(e.Notes, fmt.Sprintf(many, n))
		}
	}
	if o.State == StateRunning || o.State == StateWaiting {
		e.Notes = append(e.Notes, "The session was still running.")
	}
	add(x.tooLong, "One whole output is not in this file, because it is too long or cannot be read.",
		"%d whole outputs are not in this file, because they are too long or cannot be read.")
	add(x.missing, "The session of one subagent is not there any more, or cannot be read.",
		"The sessions of %d subagents are not there any more, or cannot be read.")
	for _, torn := range x.torn {
		e.Notes = append(e.Notes, "The end of a journal is broken and left out: "+torn+".")
	}
	return e
}
