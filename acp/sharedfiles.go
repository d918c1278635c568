package acp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/attractor-go/attractor/internal/texts"
)

// offers reports what the editor can do now. There is nothing before the editor knows the session.
func (f *editorFiles) offers() (read, write bool) {
	open := f.client.session
	fs := open.server.client.Capabilities.FS
	return fs.Read && open.known.Load(), fs.Write && open.known.Load()
}

func (f *editorFiles) readText(ctx context.Context, name string) (string, error) {
	var answer struct {
		Content *string `json:"content"`
	}
	open := f.client.session
	err := open.server.conn.call(ctx, methodReadFile, members{"sessionId": open.id, "path": name}, &answer)
	if err != nil {
		return "", err
	}
	if answer.Content == nil {
		return "", fmt.Errorf("its response has no content")
	}
	return *answer.Content, nil
}

func (f *editorFiles) writeText(ctx context.Context, name, text string) error {
	open := f.client.session
	file := members{"sessionId": open.id, "path": name, "content": text}
	return open.server.conn.call(ctx, methodWriteFile, file, new(json.RawMessage))
}

// noteUnsaved is the kind of the note that tells the model about unsaved changes.
const noteUnsaved = "editor_unsaved"

// unsaved is called for each file whose unsaved changes the session has seen, once. It tells the
// model, which would else wonder about what commands and searches find. A session that is ending
// needs no note.
func (f *editorFiles) unsaved(ctx context.Context, name string) {
	data, _ := json.Marshal(map[string]string{"path": name}) // cannot fail
	// A session whose journal cannot take the note ends by itself.
	_ = f.client.session.host.Agent.Note(ctx, noteUnsaved, data,
		fmt.Sprintf("The user's editor has unsaved changes in %s. What you read and edit "+
			"of it is the text in the editor. Commands and searches see the file on the disk, without these changes, "+
			"until it is saved or you edit it.", texts.Shown(name)))
}
