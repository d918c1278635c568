package lsp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync/atomic"
)

// maxDocuments limits the documents that are open at a server.
const maxDocuments = 64

// instance holds one process of a server. One goroutine uses it; the goroutine that reads its
// messages uses only what is atomic or has a lock.
type instance struct {
	*conn
	spec *Server
	root string

	pulls     atomic.Bool // it offers textDocument/diagnostic
	id        string      // of the diagnostics that it offers
	commands  []string
	saves     bool // it wants to know when a file was saved
	published published

	docs  map[string]*document // by path
	clock int
}

// document holds a file whose content the server has from us, not from the disk.
type document struct {
	text    string
	version int
	used    int
}

// launch starts a server in the directory root and waits until it is ready for documents.
func (s *Servers) launch(ctx context.Context, spec *Server) (*instance, error) {
	in := &instance{spec: spec, root: s.root(ctx), docs: map[string]*document{}}
	in.published.init(in.root, s.silent)
	c, err := connect(ctx, s.env, spec, in)
	if err != nil {
		return nil, err
	}
	in.conn = c
	if err := in.initialize(ctx); err != nil {
		err = withSaid(err, c)
		return nil, errors.Join(err, in.close())
	}
	return in, nil
}

// withSaid returns an error with what a server printed last.
func withSaid(err error, c *conn) error {
	if said := clean(c.Said.String(), 300); said != "" {
		return fmt.Errorf("%w; it last printed: %s", err, said)
	}
	return err
}

// initialize does the handshake.
func (in *instance) initialize(ctx context.Context) error {
	supported := map[string]any{"dynamicRegistration": true}
	capabilities := map[string]any{
		"workspace": map[string]any{"configuration": true, "workspaceFolders": true,
			"didChangeWatchedFiles": supported},
		"textDocument": map[string]any{"synchronization": map[string]any{"didSave": true}, "diagnostic": supported,
			"publishDiagnostics": map[string]any{"versionSupport": true}},
		"window":  map[string]any{"workDoneProgress": true},
		"general": map[string]any{"positionEncodings": []string{"utf-16"}},
	}
	params := map[string]any{"processId": nil, // in a sandbox it would name another process
		"clientInfo": map[string]any{"name": "attractor"}, "rootUri": uriOf(in.root), "rootPath": in.root,
		"workspaceFolders": in.folders(), "capabilities": capabilities}
	if in.spec.Initialization != nil {
		params["initializationOptions"] = in.spec.Initialization
	}
	result, err := in.call(ctx, "initialize", params)
	if err != nil {
		return err
	}
	var answer struct {
		Capabilities struct {
			TextDocumentSync   json.RawMessage `json:"textDocumentSync"`
			DiagnosticProvider *struct {
				Identifier string `json:"identifier"`
			} `json:"diagnosticProvider"`
			ExecuteCommandProvider struct {
				Commands []string `json:"commands"`
			} `json:"executeCommandProvider"`
		} `json:"capabilities"`
	}
	if json.Unmarshal(result, &answer) != nil {
		return errors.New("its answer to initialize cannot be read")
	}
	var sync struct {
		Save json.RawMessage `json:"save"`
	}
	in.saves = json.Unmarshal(answer.Capabilities.TextDocumentSync, &sync) == nil && len(sync.Save) > 0 &&
		string(sync.Save) != "false"
	if p := answer.Capabilities.DiagnosticProvider; p != nil {
		in.pulls.Store(true)
		in.id = p.Identifier
	}
	in.commands = answer.Capabilities.ExecuteCommandProvider.Commands
	return in.notify("initialized", struct{}{})
}

// folders returns the workspace as the protocol describes it.
func (in *instance) folders() []map[string]string {
	return []map[string]string{{"uri": uriOf(in.root), "name": path.Base(in.root)}}
}

// notified handles a notification.
func (in *instance) notified(method string, params json.RawMessage) {
	switch method {
	case "textDocument/publishDiagnostics":
		in.published.put(params)
	case "$/progress":
		in.published.progress(params)
	}
}

// asked returns the result of a server's request. It reports false for an unknown method. What a
// server asks for besides its configuration has no effect here.
func (in *instance) asked(method string, params json.RawMessage) (any, bool) {
	switch method {
	case "workspace/configuration":
		return in.settings(params), true
	case "workspace/workspaceFolders":
		return in.folders(), true
	case "client/registerCapability":
		var registered struct {
			Registrations []struct {
				Method string `json:"method"`
			} `json:"registrations"`
		}
		if json.Unmarshal(params, &registered) == nil {
			for _, r := range registered.Registrations {
				if r.Method == "textDocument/diagnostic" {
					in.pulls.Store(true)
				}
			}
		}
		return nil, true
	case "workspace/applyEdit":
		return map[string]any{"applied": false}, true
	case "window/showDocument":
		return map[string]any{"success": false}, true
	case "client/unregisterCapability", "window/workDoneProgress/create", "window/showMessageRequest":
		return nil, true
	}
	return nil, strings.HasPrefix(method, "workspace/") && strings.HasSuffix(method, "/refresh")
}

// settings returns the settings of the sections that a server asks for.
func (in *instance) settings(params json.RawMessage) []json.RawMessage {
	var asked struct {
		Items []struct {
			Section string `json:"section"`
		} `json:"items"`
	}
	if json.Unmarshal(params, &asked) != nil || len(asked.Items) > 1000 {
		return []json.RawMessage{}
	}
	sections := map[string]json.RawMessage{}
	if in.spec.Settings != nil {
		_ = json.Unmarshal(in.spec.Settings, &sections) // Parse has checked that it is an object
		sections[""] = in.spec.Settings
	}
	found := make([]json.RawMessage, len(asked.Items)) // what stays nil is null
	for i, item := range asked.Items {
		found[i] = sections[item.Section]
	}
	return found
}

// show gives the server the content of a file. It reports whether that was news.
func (in *instance) show(name, text string) (news bool, err error) {
	in.clock++
	doc := in.docs[name]
	if doc != nil {
		doc.used = in.clock
		if doc.text == text {
			return false, nil
		}
		doc.text, doc.version = text, doc.version+1
		return true, in.notify("textDocument/didChange",
			map[string]any{"textDocument": map[string]any{"uri": uriOf(name), "version": doc.version},
				"contentChanges": []map[string]string{{"text": text}}})
	}
	in.docs[name] = &document{text: text, version: 1, used: in.clock}
	return true, in.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": uriOf(name),
		"languageId": in.spec.Languages[path.Ext(name)], "version": 1, "text": text}})
}

// hide closes a document. From then on the server has the file from the disk.
func (in *instance) hide(name string) error {
	if in.docs[name] == nil {
		return nil
	}
	delete(in.docs, name)
	in.published.forget(name)
	return in.notify("textDocument/didClose", map[string]any{"textDocument": map[string]string{"uri": uriOf(name)}})
}

// trim closes the documents that were not used for longest, beyond the limit.
func (in *instance) trim() error {
	for len(in.docs) > maxDocuments {
		oldest := ""
		for name, doc := range in.docs {
			if oldest == "" || cmp.Or(cmp.Compare(doc.used, in.docs[oldest].used), cmp.Compare(name, oldest)) < 0 {
				oldest = name
			}
		}
		if err := in.hide(oldest); err != nil {
			return err
		}
	}
	return nil
}

// The kinds of events of files.
const (
	fileCreated = 1
	fileChanged = 2
	fileDeleted = 3
)

// fileEvent tells a server that a file has changed on the disk.
type fileEvent struct {
	URI  string `json:"uri"`
	Type int    `json:"type"`
}

// tell sends events of files.
func (in *instance) tell(events []fileEvent) error {
	if len(events) == 0 {
		return nil
	}
	return in.notify("workspace/didChangeWatchedFiles", map[string]any{"changes": events})
}

// tsserver is the command by which typescript-language-server passes requests on to the compiler.
const tsserver = "typescript.tsserverRequest"

// offers reports whether the server can be asked for the diagnostics of a file.
func (in *instance) offers() bool { return in.pulls.Load() || slices.Contains(in.commands, tsserver) }

// The errors of a request that can be sent again.
const (
	contentModified = -32801
	serverCancelled = -32802
)

// pull asks with the protocol's own request.
func (in *instance) pull(ctx context.Context, name string) (verdict, error) {
	params := map[string]any{"textDocument": map[string]string{"uri": uriOf(name)}}
	if in.id != "" {
		params["identifier"] = in.id
	}
	for range 10 {
		result, err := in.call(ctx, "textDocument/diagnostic", params)
		var refused *responseError
		switch {
		case errors.As(err, &refused) && (refused.Code == contentModified || refused.Code == serverCancelled):
			continue
		case refused != nil:
			return verdict{}, nil // the server knows nothing of this file
		case err != nil:
			return verdict{}, err
		}
		var report struct {
			Kind  string            `json:"kind"`
			Items []json.RawMessage `json:"items"`
		}
		if json.Unmarshal(result, &report) != nil || report.Kind == "unchanged" {
			return verdict{}, errors.New("its report about a file cannot be read")
		}
		return verdict{readDiagnostics(name, report.Items), true}, nil
	}
	return verdict{}, nil
}

// compile asks the compiler behind typescript-language-server. The server itself publishes nothing
// about a file that had no errors and has none.
func (in *instance) compile(ctx context.Context, name string) (verdict, error) {
	all := verdict{known: true}
	for _, request := range []string{"syntacticDiagnosticsSync", "semanticDiagnosticsSync"} {
		result, err := in.call(ctx, "workspace/executeCommand",
			map[string]any{"command": tsserver, "arguments": []any{request, map[string]string{"file": name}}})
		var refused *responseError
		if errors.As(err, &refused) {
			return verdict{}, nil // the file belongs to no project
		}
		if err != nil {
			return verdict{}, err
		}
		var answer struct {
			Body []struct {
				Start          struct{ Line, Offset int }
				Text, Category string
				Code           json.Number
			}
		}
		if json.Unmarshal(result, &answer) != nil || answer.Body == nil {
			return verdict{}, nil
		}
		for _, d := range answer.Body[:min(len(answer.Body), maxPerFile)] {
			if kind := map[string]severity{"error": isError, "warning": isWarning}[d.Category]; kind != 0 {
				all.list = append(all.list, diagnostic{path: name, line: d.Start.Line, col: d.Start.Offset,
					severity: kind, code: d.Code.String(), message: clean(d.Text, maxMessageLen)})
			}
		}
	}
	return all, nil
}

// readDiagnostics decodes the protocol's diagnostics of a file. What cannot be read, or is no error
// or warning, is left out.
func readDiagnostics(name string, items []json.RawMessage) (list []diagnostic) {
	for _, item := range items[:min(len(items), 4*maxPerFile)] {
		var d struct {
			Range struct {
				Start struct{ Line, Character int }
			}
			Severity severity
			Code     json.RawMessage
			Message  string
		}
		if json.Unmarshal(item, &d) != nil || len(list) == maxPerFile {
			continue
		}
		if d.Severity = cmp.Or(d.Severity, isError); d.Severity != isError && d.Severity != isWarning {
			continue
		}
		list = append(list, diagnostic{path: name, line: max(d.Range.Start.Line, 0) + 1,
			col:      max(d.Range.Start.Character, 0) + 1,
			severity: d.Severity, code: clean(string(d.Code), 100), message: clean(d.Message, maxMessageLen)})
	}
	return list
}
