package acp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/names"
)

// Files returns e with the text files of the editor in directories that the editor has named, so that the session reads and changes what a
// person sees there, unsaved changes included. Without such files it returns e. Searches and commands see the disk.
//
// A Protect or ReadOnly belongs around the result. The context is for the preparation only.
func (c *Client) Files(ctx context.Context, e env.Environment, dirs ...string) env.Environment {
	if !c.session.server.client.Capabilities.FS.Read {
		return e
	}
	return newEditorFiles(ctx, e, sharedFiles{c}, dirs)
}

// sharedFiles implements textFiles by requests to the editor.
type sharedFiles struct{ client *Client }

// offers implements textFiles. There is nothing before the editor knows the session.
func (s sharedFiles) offers() (read, write bool) {
	open := s.client.session
	fs := open.server.client.Capabilities.FS
	return fs.Read && open.known.Load(), fs.Write && open.known.Load()
}

type fileParams struct {
	Session string  `json:"sessionId"`
	Path    string  `json:"path"`
	Content *string `json:"content,omitempty"`
}

func (s sharedFiles) readText(ctx context.Context, name string) (string, error) {
	var answer struct {
		Content *string `json:"content"`
	}
	open := s.client.session
	if err := open.server.conn.call(ctx, methodReadFile, fileParams{Session: open.id, Path: name}, &answer); err != nil {
		return "", err
	}
	if answer.Content == nil {
		return "", fmt.Errorf("its response has no content")
	}
	return *answer.Content, nil
}

func (s sharedFiles) writeText(ctx context.Context, name, text string) error {
	open := s.client.session
	return open.server.conn.call(ctx, methodWriteFile, fileParams{Session: open.id, Path: name, Content: &text}, new(json.RawMessage))
}

func (s sharedFiles) complain(text string) { s.client.Warn(text) }

// noteUnsaved is the kind of the note that tells the model about unsaved changes.
const noteUnsaved = "editor_unsaved"

// unsaved implements textFiles: it tells the model, which would else wonder about what commands and searches find. A session that is ending
// needs no note.
func (s sharedFiles) unsaved(ctx context.Context, name string) {
	data, _ := json.Marshal(map[string]string{"path": name}) // cannot fail
	// A session whose journal cannot take the note ends by itself.
	_ = s.client.session.host.Agent.Note(ctx, noteUnsaved, data, fmt.Sprintf("The user's editor has unsaved changes in %s. What you read and edit "+
		"of it is the text in the editor. Commands and searches see the file on the disk, without these changes, until it is saved or you edit it.", names.Shown(name)))
}
