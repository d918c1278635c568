package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/attractor-go/attractor/sanitize"
)

// checkResumed returns an error for options that do not fit the session of a journal.
func (o *Options) checkResumed(state *State) error {
	if o.ID != "" && o.ID != state.Header.ID {
		return fmt.Errorf("agent: the journal holds the session %s, not %s: leave Options.ID empty, or make a new "+
			"session of it with Fork", state.Header.ID, o.ID)
	}
	if len(o.History) > 0 {
		return errors.New("agent: Options.History begins a new session, and this one has its history in the journal: " +
			"leave it empty, or use New")
	}
	dir := o.Env.WorkDir()
	switch {
	case o.Dir != "" && path.Clean(o.Dir) != path.Clean(dir):
		return fmt.Errorf("agent: Options.Dir is %s, but Options.Env works in %s", o.Dir, dir)
	case o.Dir == "" && path.Clean(state.Dir()) != path.Clean(dir):
		return fmt.Errorf("agent: the session worked in %s, and Options.Env works in %s: set Options.Dir to go "+
			"on there", state.Dir(), dir)
	}
	return nil
}

// dirNote is the kind of the note that names another directory of a resumed session.
const dirNote = "attractor.dir"

// Dir returns the session's current directory.
func (s *State) Dir() string {
	var dir string
	if note, ok := s.Notes[dirNote]; ok && json.Unmarshal(note.Data, &dir) == nil && dir != "" {
		return dir
	}
	return s.Header.Dir
}

// commitDifferences commits the policy, machine and directory of a resumed session if they differ
// from the journal's.
func (s *Session) commitDifferences(policy Policy) (err error) {
	set := settingRecord{Window: s.state.Policy.Window}
	if !sameJSON(s.state.Policy, policy) {
		set.Policy, set.Window = &policy, policy.Window
		if set.Tools, err = s.toolsFor(&policy, s.registry); err != nil {
			return err
		}
	}
	if machine := machineOf(s.env); machine != s.state.Machine {
		set.Machine = &machine
	}
	var records []record
	if set.Policy != nil || set.Machine != nil {
		records = append(records, set)
	}
	if was := s.state.Dir(); path.Clean(was) != path.Clean(s.dir) {
		note, err := movedNote(was, s.dir)
		if err != nil {
			return err
		}
		records = append(records, note)
	}
	return s.commit(records...)
}

// movedNote returns the note of another directory. Its text tells the model, whose system prompt
// names the old one.
func movedNote(was, dir string) (noteRecord, error) {
	data, err := marshal(dir)
	return noteRecord{Note: dirNote, Data: data,
		Text: fmt.Sprintf("The session goes on in another directory.\nWorking directory: %s\n"+
			"It was %s, which the beginning of this conversation names. Relative paths start from the new one now, "+
			"and files there may differ from those that were read or changed before: look before you rely on them.",
			sanitize.Line(dir), sanitize.Line(was))}, err
}

// warnOfIgnored emits a warning that names the options of a resumed session that differ from the
// journal and have no effect.
func (s *Session) warnOfIgnored(o Options) {
	h := &s.state.Header
	var ignored []string
	note := func(name string, differs bool) {
		if differs {
			ignored = append(ignored, name)
		}
	}
	note("System", o.System != "" && validText(o.System) != h.System)
	note("Instructions", o.System == "" && !strings.Contains(h.System, validText(strings.TrimSpace(o.Instructions))))
	note("Request.ToolChoice", o.Request.ToolChoice.Mode != "" && o.Request.ToolChoice != h.Params.ToolChoice)
	note("Request.MaxTokens", o.Request.MaxTokens != 0 && o.Request.MaxTokens != h.Params.MaxTokens)
	note("Request.Temperature", o.Request.Temperature != nil && (h.Params.Temperature == nil ||
		*o.Request.Temperature != *h.Params.Temperature))
	note("Request.ProviderOptions", o.Request.ProviderOptions != nil && !sameJSON(o.Request.ProviderOptions,
		h.Params.Options))
	note("Request.NoCache", o.Request.NoCache && !h.Params.NoCache)
	if len(ignored) > 0 {
		s.warn("options_ignored", "A session that is resumed keeps what it began with; these options are something "+
			"else and have no effect: %s.", strings.Join(ignored, ", "))
	}
	if _, err := s.provider(s.state.Provider); err != nil && o.Next.Provider == nil {
		s.warn("provider_missing", "The session asks a provider that the client does not have (%v): every model call "+
			"fails until Set has changed provider and model.", err)
	}
	var missing []string
	for _, t := range s.state.tools {
		if _, ok := s.registry.Get(t.Name); !ok && t.Name != resultTool {
			missing = append(missing, t.Name)
		}
	}
	if len(missing) > 0 {
		s.warn("tools_missing", "The model knows tools that the session does not have; calls of them get error "+
			"results until they are added: %s.", strings.Join(missing, ", "))
	}
}
