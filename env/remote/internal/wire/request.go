package wire

import (
	"io/fs"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/search"
)

// Op names an operation.
type Op string

// The operations.
const (
	OpHello    Op = "hello"
	OpStat     Op = "stat"
	OpLstat    Op = "lstat"
	OpReadDir  Op = "readdir"
	OpReadlink Op = "readlink"
	OpResolve  Op = "resolve"
	OpOpen     Op = "open"
	OpWrite    Op = "write"
	OpReplace  Op = "replace"
	OpDelete   Op = "delete"
	OpRemove   Op = "remove"
	OpSymlink  Op = "symlink"
	OpMkdir    Op = "mkdir"
	OpChmod    Op = "chmod"
	OpLock     Op = "lock"
	OpList     Op = "list"  // the nodes of a directory's entries, without following links
	OpEntry    Op = "entry" // opens an entry of a directory, without following links
	OpGrep     Op = "grep"
	OpGlob     Op = "glob"
	OpStart    Op = "start"
	OpKill     Op = "kill"
	OpEOF      Op = "eof"   // closes a command's input at once
	OpClose    Op = "close" // ends everything
)

// Lasting reports whether an operation lasts as long as the near side wants.
func (o Op) Lasting() bool { return o == OpOpen || o == OpEntry || o == OpLock || o == OpStart }

// Changes reports whether an operation changes something.
func (o Op) Changes() bool {
	switch o {
	case OpWrite, OpReplace, OpDelete, OpRemove, OpSymlink, OpMkdir, OpChmod:
		return true
	}
	return false
}

// Request begins an operation. Each operation uses some of the fields.
type Request struct {
	Op    Op     `json:"op"`
	Name  Text   `json:"name,omitempty"`
	Names []Text `json:"names,omitempty"` // of a lock
	// Entry is the name of an entry of the directory Name.
	Entry  Text        `json:"entry,omitempty"`
	Target Text        `json:"target,omitempty"` // of a symbolic link
	Perm   fs.FileMode `json:"perm,omitempty"`
	Was    env.Hash    `json:"was,omitempty"`
	// Size is the number of bytes that follow as data.
	Size    int64    `json:"size,omitempty"`
	Command *Command `json:"command,omitempty"`
	ID      Text     `json:"id,omitempty"` // of a command
	Query   *Query   `json:"query,omitempty"`
	Pattern Text     `json:"pattern,omitempty"` // of a glob below Name
	Hello   *Hello   `json:"hello,omitempty"`
}

// Hello is the greeting of the near side.
type Hello struct {
	Magic   string  `json:"magic"`
	Oldest  int     `json:"oldest"` // version of the protocol
	Newest  int     `json:"newest"`
	Options Options `json:"options,omitzero"`
}

// Options describe the environment that the far side opens.
type Options struct {
	Dir         Text          `json:"dir,omitempty"`
	Roots       []Text        `json:"roots,omitempty"`
	ReadOnly    []Text        `json:"read_only,omitempty"`
	Grace       time.Duration `json:"grace,omitempty"` // in nanoseconds
	Limits      env.Limits    `json:"limits,omitzero"`
	Containment string        `json:"containment,omitempty"`
	Silence     time.Duration `json:"silence,omitempty"`
	AnyNames    bool          `json:"any_names,omitempty"`
}

// Welcome is the answer to the greeting. Without a version that both sides speak it has only the
// range of the far side.
type Welcome struct {
	Oldest      int           `json:"oldest"`
	Newest      int           `json:"newest"`
	Version     int           `json:"version,omitempty"` // the one that is spoken from now on
	WorkDir     Text          `json:"work_dir,omitempty"`
	Platform    env.Platform  `json:"platform,omitzero"`
	Containment Text          `json:"containment,omitempty"`
	Confinement *Confinement  `json:"confinement,omitempty"`
	Grace       time.Duration `json:"grace,omitempty"`
	HidesHost   bool          `json:"hides_host,omitempty"`
	// Ended lists the processes of an earlier helper that was killed, one line each.
	Ended      []Text `json:"ended,omitempty"`
	EndedError *Error `json:"ended_error,omitempty"`
}

// Confinement is env.Confinement. A list that is null is unknown.
type Confinement struct {
	Writable []Text     `json:"writable"`
	ReadOnly []Text     `json:"read_only,omitempty"`
	Network  Text       `json:"network,omitempty"`
	Sandbox  Text       `json:"sandbox,omitempty"`
	Limits   env.Limits `json:"limits,omitzero"`
}

// ConfinementOf returns a confinement for the wire.
func ConfinementOf(c env.Confinement) *Confinement {
	return &Confinement{Texts(c.Writable), Texts(c.ReadOnly), Text(c.Network), Text(c.Sandbox), c.Limits}
}

// Env returns the confinement.
func (c *Confinement) Env() env.Confinement {
	if c == nil {
		return env.Confinement{}
	}
	return env.Confinement{Writable: Strings(c.Writable), ReadOnly: Strings(c.ReadOnly), Network: string(c.Network),
		Sandbox: string(c.Sandbox), Limits: c.Limits}
}

// Node is env.Node, or env.Info without the fields that Info does not have.
type Node struct {
	Name    Text        `json:"name"`
	Size    int64       `json:"size"`
	Mode    fs.FileMode `json:"mode"` // with the type bits of Go's io/fs
	ModTime Time        `json:"mod_time"`
	Changed *Time       `json:"changed,omitempty"`
	Device  uint64      `json:"device,omitempty"`
	Inode   uint64      `json:"inode,omitempty"`
	Links   uint64      `json:"links,omitempty"`
}

// InfoOf returns a description for the wire.
func InfoOf(i env.Info) Node {
	return Node{Name: Text(i.Name), Size: i.Size, Mode: i.Mode, ModTime: Time{i.ModTime}}
}

// NodeOf returns a node for the wire.
func NodeOf(n env.Node) Node {
	w := InfoOf(n.Info)
	w.Device, w.Inode, w.Links = n.Device, n.Inode, n.Links
	if !n.Changed.IsZero() {
		w.Changed = &Time{n.Changed}
	}
	return w
}

// Info returns the description.
func (n Node) Info() env.Info {
	return env.Info{Name: string(n.Name), Size: n.Size, Mode: n.Mode, ModTime: n.ModTime.Time}
}

// Node returns the node.
func (n Node) Node() env.Node {
	node := env.Node{Info: n.Info(), Device: n.Device, Inode: n.Inode, Links: n.Links}
	if n.Changed != nil {
		node.Changed = n.Changed.Time
	}
	return node
}

// Command is env.Command.
type Command struct {
	Script Text      `json:"script"`
	Dir    Text      `json:"dir,omitempty"`
	Env    []Text    `json:"env,omitempty"`
	Stdin  bool      `json:"stdin,omitempty"`
	TTY    *env.Size `json:"tty,omitempty"`
}

// Started says that a command has started.
type Started struct {
	ID    Text `json:"id"`
	Input bool `json:"input,omitempty"` // it has an input
}

// Query is search.Query.
type Query struct {
	Pattern    Text        `json:"pattern"`
	Path       Text        `json:"path,omitempty"`
	Glob       Text        `json:"glob,omitempty"`
	IgnoreCase bool        `json:"ignore_case,omitempty"`
	Mode       search.Mode `json:"mode,omitempty"` // 0 lines, 1 files, 2 counts
	Max        int         `json:"max,omitempty"`
	Before     int         `json:"before,omitempty"`
	After      int         `json:"after,omitempty"`
}

// QueryOf returns a query for the wire.
func QueryOf(q search.Query) *Query {
	return &Query{Text(q.Pattern), Text(q.Path), Text(q.Glob), q.IgnoreCase, q.Mode, q.Max, q.Before, q.After}
}

// Search returns the query.
func (q *Query) Search() search.Query {
	return search.Query{Pattern: string(q.Pattern), Path: string(q.Path), Glob: string(q.Glob),
		IgnoreCase: q.IgnoreCase, Mode: q.Mode, Max: q.Max, Before: q.Before, After: q.After}
}
