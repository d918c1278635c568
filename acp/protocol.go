package acp

import "encoding/json"

// version is the version of the protocol.
const version = 1

// The methods of the protocol.
const (
	methodInitialize    = "initialize"
	methodAuthenticate  = "authenticate"
	methodNew           = "session/new"
	methodLoad          = "session/load"
	methodResume        = "session/resume"
	methodList          = "session/list"
	methodClose         = "session/close"
	methodDelete        = "session/delete"
	methodPrompt        = "session/prompt"
	methodCancel        = "session/cancel"
	methodSetMode       = "session/set_mode"
	methodSetOption     = "session/set_config_option"
	methodUpdate        = "session/update"
	methodPermission    = "session/request_permission"
	methodElicitation   = "elicitation/create"
	methodReadFile      = "fs/read_text_file"
	methodWriteFile     = "fs/write_text_file"
	methodCancelRequest = "$/cancel_request"
)

// The names of the methods are those of the protocol, and so are the members of what follows.
// Members that nothing here uses are missing.

type initializeParams struct {
	Version      *int `json:"protocolVersion"`
	Capabilities struct {
		FS struct {
			Read  bool `json:"readTextFile"`
			Write bool `json:"writeTextFile"`
		} `json:"fs"`
		Session *struct {
			Notices *struct{} `json:"notices"`
		} `json:"session"`
		Elicitation *struct {
			Form *struct{} `json:"form"`
		} `json:"elicitation"`
	} `json:"clientCapabilities"`
	Info *Implementation `json:"clientInfo"`
}

// Implementation names a program and its version.
type Implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// AuthMethod describes a way to authenticate, for people.
type AuthMethod struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// Server describes an MCP server that an editor wants its session to use.
type Server struct {
	// Type is stdio, http or sse.
	Type string `json:"type"`
	Name string `json:"name"`
	// Command, Args and Env are those of a process.
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Env     Values   `json:"env"`
	// URL and Headers are those of a remote server.
	URL     string `json:"url"`
	Headers Values `json:"headers"`
}

// Values are variables or headers by their names.
type Values map[string]string

// UnmarshalJSON reads a list of pairs.
func (v *Values) UnmarshalJSON(data []byte) error {
	var pairs []struct{ Name, Value string }
	if err := json.Unmarshal(data, &pairs); err != nil {
		return err
	}
	*v = Values{}
	for _, p := range pairs {
		(*v)[p.Name] = p.Value
	}
	return nil
}

type openParams struct {
	Session string   `json:"sessionId"`
	Dir     string   `json:"cwd"`
	Dirs    []string `json:"additionalDirectories"`
	Servers []Server `json:"mcpServers"`
}

type sessionParams struct {
	Session string `json:"sessionId"`
}

type promptParams struct {
	Session string  `json:"sessionId"`
	Prompt  []block `json:"prompt"`
}

// block is a content block.
type block struct {
	Type     string    `json:"type"`
	Text     string    `json:"text"`
	Data     string    `json:"data"`
	MIME     string    `json:"mimeType"`
	URI      string    `json:"uri"`
	Name     string    `json:"name"`
	Title    string    `json:"title"`
	About    string    `json:"description"`
	Resource *resource `json:"resource"`
}

type resource struct {
	URI  string  `json:"uri"`
	MIME string  `json:"mimeType"`
	Text *string `json:"text"`
	Blob *string `json:"blob"`
}

// sentBlock is a content block of the agent: a text or an image.
type sentBlock struct {
	Type string  `json:"type"`
	Text *string `json:"text,omitempty"`
	Data []byte  `json:"data,omitempty"`
	MIME string  `json:"mimeType,omitempty"`
}

func textBlock(text string) sentBlock { return sentBlock{Type: "text", Text: &text} }

type modeParams struct {
	Session string `json:"sessionId"`
	Mode    string `json:"modeId"`
}

type optionParams struct {
	Session string          `json:"sessionId"`
	Option  string          `json:"configId"`
	Value   json.RawMessage `json:"value"`
}

type listParams struct {
	Dir    string `json:"cwd"`
	Cursor string `json:"cursor"`
}

// Option is a setting of a session that a person can choose, such as its model.
type Option struct {
	// ID names the option. Category is mode, model, thought_level or empty. The option of the
	// category mode is also offered as the session's modes.
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Category    string `json:"category,omitempty"`
	// Value is the current choice.
	Value   string   `json:"currentValue"`
	Choices []Choice `json:"options"`
}

// Choice is a value of an [Option].
type Choice struct {
	Value       string `json:"value"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

type sentOption struct {
	Option
	Type string `json:"type"`
}

// Command describes what a person can call by /NAME at the beginning of a prompt.
type Command struct {
	Name, Description string
	// Hint says which arguments the command takes.
	Hint string
}

// Listed describes a session in a list.
type Listed struct {
	ID      string `json:"sessionId"`
	Dir     string `json:"cwd"`
	Title   string `json:"title,omitempty"`
	Updated string `json:"updatedAt,omitempty"` // in the form of RFC 3339
}

// The updates of a session. Kind is the protocol's name of the update.
type (
	textUpdate struct {
		Kind    string    `json:"sessionUpdate"`
		Content sentBlock `json:"content"`
		Message string    `json:"messageId,omitempty"`
	}
	callUpdate struct {
		Kind      string          `json:"sessionUpdate,omitempty"`
		ID        string          `json:"toolCallId"`
		Title     string          `json:"title,omitempty"`
		Name      string          `json:"name,omitempty"`
		ToolKind  string          `json:"kind,omitempty"`
		Status    string          `json:"status,omitempty"`
		Content   []callContent   `json:"content,omitzero"`
		Locations []location      `json:"locations,omitempty"`
		Input     json.RawMessage `json:"rawInput,omitempty"`
		Output    any             `json:"rawOutput,omitempty"`
	}
)

type location struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
}

// callContent is a text, an image or a diff of a call.
type callContent struct {
	Type    string     `json:"type"` // content or diff
	Content *sentBlock `json:"content,omitempty"`
	Path    string     `json:"path,omitempty"`
	Old     *string    `json:"oldText,omitempty"`
	New     *string    `json:"newText,omitempty"`
}
