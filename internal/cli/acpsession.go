package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/acp"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/secret/masked"
	"github.com/attractor-go/attractor/sessions"
	"github.com/attractor-go/attractor/tool"
)

// open opens a session for the editor.
func (e *editor) open(ctx context.Context, o acp.Opening) (s *acp.Session, err error) {
	if o.Resume != "" {
		if err := e.known(ctx, o.Resume); err != nil {
			return nil, err
		}
	}
	config := e.config
	config.Resume, config.Ask, config.Servers = o.Resume, e.asker(o.Client), slices.Concat(e.config.Servers,
		editorServers(o.Servers))
	config.Interactive = true
	if o.Resume != "" && config.EnvCommand == nil { // --dir is for new sessions
		config.Dir = ""
	}
	config.Here = attractor.Here{Dir: o.Dir, AddDirs: o.Dirs}
	dirs := []string{o.Dir}
	for _, dir := range slices.Concat(config.AddDirs, o.Dirs) {
		if abs, err := filepath.Abs(dir); err == nil { // otherwise attractor.Open fails
			dirs = append(dirs, abs)
		}
	}
	config.Here.Files = func(local env.Environment) env.Environment { return o.Client.Files(ctx, local, dirs...) }
	life, end := context.WithCancel(context.WithoutCancel(ctx)) // MCP servers may still start when the session is open
	stop := context.AfterFunc(ctx, end)
	setup, err := attractor.Prepare(life, config)
	if err != nil {
		end()
		return nil, editorError(err)
	}
	e.note(setup)
	closeSetup := func() error { end(); return e.close(setup) }
	options := &setup.Options
	options.OnEvent, options.Questions, options.Policy.OnFailure = o.Client.Event, o.Client.Questions(),
		agent.StayOnFailure
	spent := 0.0
	if options.State != nil {
		spent = options.State.Cost
	}
	setup.OnMode = func(permit.Mode) { o.Client.Changed() }
	e.tell(o.Client, setup)
	session, err := setup.Start(life)
	if err != nil {
		return nil, errors.Join(editorError(err), closeSetup())
	}
	if !stop() { // the request was cancelled meanwhile
		return nil, errors.Join(context.Cause(ctx), session.Close(), closeSetup())
	}
	r := &editorSession{Setup: setup, session: session, client: o.Client}
	return &acp.Session{Agent: session, CostUSD: spent, Close: closeSetup, Replay: r.replay(e.config),
		Commands: r.commands, Options: r.options, Set: r.set,
		Submit: func(ctx context.Context, text string, more ...llm.Part) (*agent.Result, error) {
			if own := r.ownCommand(text); own != nil {
				if err := cleanError(setup.Secrets, plainHostError(own(ctx))); err != nil && ctx.Err() == nil {
					o.Client.Warn(err.Error())
				}
				return &agent.Result{Reason: agent.ReasonCompleted}, context.Cause(ctx)
			}
			result, err := setup.Submit(ctx, session, text, more...)
			return result, cleanError(setup.Secrets, plainHostError(err))
		}}, nil
}

// editorServers returns the MCP servers that the editor brings. They are the choice of its user.
func editorServers(list []acp.Server) (servers []mcp.Server) {
	for _, s := range list {
		servers = append(servers, mcp.Server{Name: s.Name, File: "the editor", Origin: mcp.User, Command: s.Command,
			Args: s.Args, Env: s.Env, URL: s.URL, Headers: s.Headers})
	}
	return servers
}

// tell tells the person what they should know of a session that was opened.
func (e *editor) tell(client *acp.Client, setup *attractor.Setup) {
	var told bytes.Buffer
	tellOpened(terminal{in: e.in, out: &told, err: &told}, setup)
	for line := range strings.Lines(told.String()) {
		client.Warn(strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(line), "attractor: "), "warning: "))
	}
}

// The ids of the answers to a permission.
const (
	optionAllow  = "allow"
	optionAlways = "always"
	optionReject = "reject"
	optionEdits  = "accept-edits" // after a plan
)

// asker returns the function that asks the editor about tool calls.
func (e *editor) asker(client *acp.Client) permit.Asker {
	return func(ctx context.Context, q permit.Question) (permit.Answer, error) {
		id, err := client.Ask(ctx, permissionFor(q))
		switch {
		case ctx.Err() != nil:
			return permit.Answer{}, context.Cause(ctx)
		case errors.Is(err, acp.ErrDismissed):
			return permit.Answer{Reason: "the user closed the question without an answer"}, nil
		case err != nil:
			return permit.Answer{Reason: "the user could not be asked: " + render.Error(err.Error())}, nil
		case id == optionReject:
			return permit.Answer{Reason: "the user said no."}, nil
		case id == optionEdits:
			return permit.Answer{Verdict: tool.Allow, Mode: permit.ModeAcceptEdits}, nil
		}
		return permit.Answer{Verdict: tool.Allow, Remember: id == optionAlways}, nil
	}
}

// permissionFor returns what the editor shows of a question.
func permissionFor(q permit.Question) acp.Permission {
	p := acp.Permission{Call: q.Call, Access: q.Access, AgentID: q.AgentID, Changes: q.Changes,
		Text: render.Question(q), Markdown: q.Plan}
	allow := acp.PermissionOption{ID: optionAllow, Name: "Allow once", Kind: acp.AllowOnce}
	reject := acp.PermissionOption{ID: optionReject, Name: "Reject", Kind: acp.RejectOnce}
	switch {
	case q.Plan != "":
		p.Text = ""
		allow.Name, reject.Name = "Carry out the plan, and ask about changes", "Keep planning"
		p.Options = []acp.PermissionOption{{ID: optionEdits, Name: "Carry out the plan, and accept edits",
			Kind: acp.AllowAlways}, allow, reject}
	case q.Allow != nil:
		always := acp.PermissionOption{ID: optionAlways,
			Name: "Allow in this session: " + sanitize.Blanks(render.OneLine(strings.Join(q.Allow, ", "))),
			Kind: acp.AllowAlways}
		p.Options = []acp.PermissionOption{allow, always, reject}
	default:
		p.Options = []acp.PermissionOption{allow, reject}
	}
	return p
}

// editorSession is a session of an editor.
type editorSession struct {
	*attractor.Setup
	session *agent.Session
	client  *acp.Client
}

// replay returns the function that yields the events of the session from before, or nil if sessions
// are not kept.
func (r *editorSession) replay(c attractor.Config) func(context.Context, func(agent.Event)) error {
	if c.Store == nil {
		return nil
	}
	return func(ctx context.Context, show func(agent.Event)) error {
		log, err := c.Store.Read(ctx, r.session.ID())
		if err != nil {
			return err
		}
		return errors.Join(agent.Project(ctx, log, func(ev agent.Event) { show(masked.Event(r.Secrets, ev)) }),
			log.Close())
	}
}

// commands returns what can be called by /NAME, the prompts of MCP servers included.
func (r *editorSession) commands(ctx context.Context) []acp.Command {
	list := r.ownCommands()
	for _, c := range r.Commands() {
		list = append(list, acp.Command{Name: c.Name, Description: c.Description, Hint: c.Hint})
	}
	if r.Servers == nil {
		return list
	}
	for _, p := range r.Servers.Prompts(ctx) {
		c := acp.Command{Name: p.Name, Description: p.Description}
		for _, a := range p.Arguments {
			c.Hint = strings.TrimSpace(c.Hint + " " + a.Name)
		}
		list = append(list, c)
	}
	return list
}

// The ids of the options.
const (
	modeOption   = "mode"
	modelOption  = "model"
	effortOption = "effort"
)

// anyEffort is the choice of the provider's default effort.
const anyEffort = "default"

// options returns what can be chosen.
func (r *editorSession) options() []acp.Option {
	provider, model, effort := r.Model()
	list := []acp.Option{{ID: modeOption, Name: "Mode", Category: "mode",
		Description: "What becomes of tool calls that change or run something", Value: string(r.Mode()),
		Choices: modeChoices(r.Mode())}}
	models := acp.Option{ID: modelOption, Name: "Model", Category: "model", Value: provider + "/" + model}
	for _, m := range r.Models() {
		models.Choices = append(models.Choices, acp.Choice{Value: m.Provider + "/" + m.ID, Name: cmp.Or(m.Name, m.ID),
			Description: m.Provider})
	}
	if !slices.ContainsFunc(models.Choices, func(c acp.Choice) bool { return c.Value == models.Value }) { // an alias
		models.Choices = append(models.Choices, acp.Choice{Value: models.Value, Name: model, Description: provider})
	}
	list = append(list, models)
	efforts := r.Efforts()
	if len(efforts) == 0 && effort == "" {
		return list
	}
	if effort != "" && !slices.Contains(efforts, effort) {
		efforts = append(slices.Clip(efforts), effort)
	}
	choices := []acp.Choice{{Value: anyEffort, Name: "Default"}}
	for _, level := range efforts {
		choices = append(choices, acp.Choice{Value: level, Name: level})
	}
	return append(list, acp.Option{ID: effortOption, Name: "Effort", Category: "thought_level",
		Description: "How much the model thinks", Value: cmp.Or(effort, anyEffort), Choices: choices})
}

// modeChoices returns the modes that a session can have.
func modeChoices(now permit.Mode) []acp.Choice {
	if now == permit.ModeReadOnly {
		return []acp.Choice{{Value: string(now), Name: "Read-only",
			Description: "Calls that change or run anything are refused."}}
	}
	about := map[permit.Mode][2]string{
		permit.ModeAsk:         {"Ask", "You are asked about calls that change or run something."},
		permit.ModeAcceptEdits: {"Accept edits", "Files in the directory are changed without a question."},
		permit.ModePlan:        {"Plan", "The agent only reads, and proposes a plan."},
		permit.ModeFull:        {"Full", "Everything that no rule denies runs without a question."},
	}
	var choices []acp.Choice
	for _, m := range permit.Modes() {
		choices = append(choices, acp.Choice{Value: string(m), Name: cmp.Or(about[m][0], string(m)),
			Description: about[m][1]})
	}
	return choices
}

// set chooses a value of an option.
func (r *editorSession) set(ctx context.Context, id, value string) error {
	switch id {
	case modeOption:
		if value == string(permit.ModeReadOnly) { // the only choice of a read-only session
			return nil
		}
		return plainHostError(r.SetMode(ctx, permit.Mode(value)))
	case modelOption:
		provider, model, _ := strings.Cut(value, "/")
		return plainHostError(r.SetModel(ctx, provider, model))
	}
	if value == anyEffort {
		value = ""
	}
	return plainHostError(r.SetEffort(ctx, value))
}

// plainHostError returns an error of the user's as one of the request. It leaves other errors as
// they are.
func plainHostError(err error) error {
	if wrong := (*attractor.Error)(nil); errors.As(err, &wrong) {
		return acp.Errorf(acp.CodeInvalidParams, "%s", render.Error(err.Error()))
	}
	return err
}

// cleanError masks the secrets in an error of a prompt, which may have the output of a command or
// of a server.
func cleanError(secrets *secret.Masker, err error) error {
	if refused := (*acp.Error)(nil); errors.As(err, &refused) {
		return acp.Errorf(refused.Code, "%s", secrets.String(err.Error()))
	}
	return secrets.Error(err)
}

// listed limits the sessions on a page of a list.
const listed = 50

// list returns a page of the sessions, the last written first.
func (e *editor) list(ctx context.Context, dir, cursor string) (page []acp.Listed, next string, err error) {
	before, last, err := parseCursor(cursor)
	if err != nil {
		return nil, "", err
	}
	all, err := sessions.List(ctx, e.config.Store, 0)
	if err != nil {
		return nil, "", err
	}
	slices.SortFunc(all, func(a, b sessions.Summary) int {
		return cmp.Or(b.Modified.Compare(a.Modified), strings.Compare(a.ID, b.ID))
	})
	for _, s := range all {
		at := s.Modified.UnixNano()
		if s.Problem != "" || s.Parent != "" || s.Home() == "" || dir != "" && !sameDir(s.Home(), dir) ||
			cursor != "" && (at > before || at == before && s.ID <= last) {
			continue
		}
		if len(page) == listed {
			return page, next, nil
		}
		next = strconv.FormatInt(at, 10) + ":" + s.ID
		page = append(page, acp.Listed{ID: s.ID, Dir: s.Home(), Title: render.Shorten(render.OneLine(s.Task), 100),
			Updated: s.Modified.UTC().Format(time.RFC3339)})
	}
	return page, "", nil
}

// parseCursor returns the time and the id of the last session of a page.
func parseCursor(cursor string) (at int64, id string, err error) {
	if cursor == "" {
		return 0, "", nil
	}
	number, id, ok := strings.Cut(cursor, ":")
	if at, err = strconv.ParseInt(number, 10, 64); err != nil || !ok {
		return 0, "", acp.Errorf(acp.CodeInvalidParams, "the cursor is not one of this agent")
	}
	return at, id, nil
}

// sameDir reports whether two names are those of one directory.
func sameDir(a, b string) bool {
	return filepath.Clean(a) == filepath.Clean(b) || userfiles.SameFile(a, b)
}

// remove removes a session.
func (e *editor) remove(ctx context.Context, id string) error {
	if err := e.known(ctx, id); err != nil {
		return err
	}
	if err := e.config.Store.Remove(ctx, id); err != nil {
		return editorError(err)
	}
	return nil
}

// known returns an error unless there is a session with exactly this id. An editor does not shorten
// ids, as a person may.
func (e *editor) known(ctx context.Context, id string) error {
	if found, err := sessions.Find(ctx, e.config.Store, id); err != nil || found != id {
		return acp.Errorf(acp.CodeNotFound, "there is no session %q", render.Shorten(id, 100))
	}
	return nil
}
