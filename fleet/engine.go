package fleet

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
)

var (
	// ErrLost says that a claim, a lease or an update was somebody else's by then: nothing was
	// changed.
	ErrLost = errors.New("fleet: somebody else has taken over")
	// ErrDifferent says that a task with the same id but other contents exists.
	ErrDifferent = errors.New("fleet: the id belongs to another task")
	// ErrNoOwner says that no worker has the task at the moment. It may have one soon.
	ErrNoOwner = errors.New("fleet: no worker has the task")
	// ErrAnswered says that somebody else's answer was first.
	ErrAnswered = errors.New("fleet: it has an answer already")
)

// Engine keeps a fleet's state. It is the view of the fleet's operator: a client of one tenant has
// only that tenant's [Space].
//
// All methods of an engine and of what it returns are safe for concurrent use. Every call ends with
// its context, and after a bounded time if the engine does not answer. An error that is neither of
// this package nor of package io/fs means that the outcome is unknown; all calls may be made again.
type Engine interface {
	// Tenants returns the tenants, ordered by name.
	Tenants(ctx context.Context) ([]Tenant, error)
	// Open opens the space of a tenant. The error for an unknown one wraps fs.ErrNotExist. It is
	// closed with the engine.
	Open(ctx context.Context, tenant string) (*Space, error)
	// Leases holds the leases of workers.
	Leases() Leases
	// Slots bounds model calls.
	Slots() Slots
	// Ledger returns the ledger of a scope, such as a tenant or a batch. What was spent outlives
	// the ledger; the budget is the caller's.
	Ledger(scope string, budget agent.Budget) agent.Ledger
	// Close closes the engine here. It ends nothing elsewhere.
	Close() error
}

// Tenant says what one tenant may take.
type Tenant struct {
	Name string `json:"name"`
	// Weight is the tenant's share of the workers beside others that have tasks waiting, too; 0
	// means 1.
	Weight int `json:"weight,omitempty"`
	// Limit bounds the tasks that run at once, in the whole fleet; 0 means no limit.
	Limit int `json:"limit,omitempty"`
	// MaxQueued bounds the tasks that are not final; 0 means no limit. Submit refuses more, with a
	// [LimitError].
	MaxQueued int `json:"max_queued,omitempty"`
	// Budget is what all tasks of the tenant may use together: tokens and US dollars. It has no
	// time.
	Budget Budget `json:"budget,omitzero"`
}

// LimitError says which limit of a tenant a task would exceed.
type LimitError struct {
	Tenant string
	What   string // for a person, such as "1,000 tasks are waiting or running"
}

// Error implements error.
func (e *LimitError) Error() string {
	return "fleet: tenant " + e.Tenant + " is at its limit: " + e.What
}

// Space holds all that belongs to one tenant, and nothing else.
type Space struct {
	Tasks Tasks
	// Journals holds the sessions, by the ids of their tasks. It fences: see [journal.Store].
	Journals journal.Store
	// Objects holds checkpoints and artifacts.
	Objects Objects
	Bus     Bus
	Asks    Asks
}

// Tasks holds the tasks of a tenant, and what has become of them. The error for an unknown id wraps
// fs.ErrNotExist; for Remove it is none.
type Tasks interface {
	// Submit adds a task, durably, and reports whether it is new. The same task again returns its
	// Status. Other errors are ErrDifferent, [LimitError], and one that wraps fs.ErrInvalid for an
	// id that [journal.CheckID] rejects and for a task of another tenant. A task that names no
	// tenant becomes one of this tenant.
	Submit(ctx context.Context, t Task) (s Status, isNew bool, err error)
	// Get returns a task.
	Get(ctx context.Context, id string) (Task, Status, error)
	// List yields the status of all tasks, in no particular order.
	List(ctx context.Context) iter.Seq2[Status, error]
	// Watch yields the status of a task, or of all tasks if id is empty, as it is now, and then
	// each time that it changes, until ctx ends. A slow watcher may miss statuses between two
	// others, but never the last one.
	Watch(ctx context.Context, id string) iter.Seq2[Status, error]
	// Cancel asks for the end of a task, wherever it is, durably. A task that nobody has claimed is
	// canceled at once. It does nothing to a task that is final.
	Cancel(ctx context.Context, id string) error
	// Claim returns the next task that is due, and waits for one until ctx ends. The claim holds
	// for as long as hold after it was made or last extended; then the task is due again, also if
	// the claim's holder or its machine is gone. Tasks are claimed about in the order in which they
	// were submitted. No more than Tenant.Limit are claimed at once.
	Claim(ctx context.Context, worker string, hold time.Duration) (Claim, error)
	// Remove removes final tasks, with their journals, objects and asks. The objects of a task are
	// those named KIND/TASK/..., with any KIND. The error names the tasks that are not final.
	Remove(ctx context.Context, ids ...string) error
}

// Claim is a task that one worker has. Its changes of the status fail with ErrLost once somebody
// else has claimed the task, or it has ended. A status in a state that does not fit the method is
// an error that wraps fs.ErrInvalid.
type Claim interface {
	Task() Task
	// Status returns the status as the holder has last written it. After Tasks.Claim it is Running,
	// with the worker and one more Attempt; a last owner that gave nothing back is in Deaths.
	Status() Status
	// Extend keeps the claim for hold from now on. It returns ErrLost if that is too late.
	Extend(ctx context.Context) error
	// Canceled reports whether Cancel was called, as far as Extend has learned.
	Canceled() bool
	// Update writes a Running status.
	Update(ctx context.Context, s Status) error
	// Finish writes a final status, and ends the claim.
	Finish(ctx context.Context, s Status) error
	// Return gives the task back with the status Queued or Paused, and ends the claim. It is due at
	// s.NotBefore.
	Return(ctx context.Context, s Status) error
}

// Leases holds what says that a worker is alive.
type Leases interface {
	// Acquire takes the lease of a worker's name. It returns ErrLost while somebody else holds it.
	Acquire(ctx context.Context, w WorkerInfo, ttl time.Duration) (Lease, error)
	// List returns the workers whose leases have not ended.
	List(ctx context.Context) ([]WorkerInfo, error)
	// Drain asks a worker to give its tasks away and to end. The error for a worker without a lease
	// wraps fs.ErrNotExist.
	Drain(ctx context.Context, worker string) error
}

// WorkerInfo describes a worker.
type WorkerInfo struct {
	Name     string    `json:"name"`
	Host     string    `json:"host,omitempty"`
	Slots    int       `json:"slots"`
	Running  int       `json:"running"`
	Draining bool      `json:"draining,omitempty"`
	Since    time.Time `json:"since"`
}

// Lease is the right of a worker to have effects.
type Lease interface {
	// Renew extends the lease by its ttl, and tells what the worker does now. It returns ErrLost
	// once the lease has ended, by the engine's clock or by this machine's, and forever after. With
	// another error the lease goes on to its end: call Renew again.
	Renew(ctx context.Context, w WorkerInfo) error
	// Until returns the time up to which nobody else has the lease, by this machine's monotonic
	// clock. It counts from when the last successful Renew was sent.
	Until() time.Time
	// Draining reports whether Drain was called, as far as Renew has learned.
	Draining() bool
	// Release ends the lease.
	Release(ctx context.Context) error
}

// Slots bounds the model calls of all workers together, by provider and model, as the engine is
// configured.
type Slots interface {
	// Acquire waits for a slot, and until the rate admits that many tokens. It waits in vain no
	// longer than until ctx ends. Where nothing is bounded it returns at once.
	Acquire(ctx context.Context, provider, model string, tokens int) (Slot, error)
	// Pause says that a provider does not answer: nobody should call it before until. A later time
	// wins.
	Pause(ctx context.Context, provider string, until time.Time, reason string) error
	// Paused returns until when a provider should not be called, and why, or the zero time.
	Paused(ctx context.Context, provider string) (until time.Time, reason string, err error)
}

// Slot is the right to make one model call. It ends by itself soon after its holder has died.
type Slot interface {
	// Release gives the slot back, and tells how many tokens the call took.
	Release(ctx context.Context, tokens int) error
}

// SlotLimit bounds the calls of a model.
type SlotLimit struct {
	Provider string `json:"provider"`
	Model    string `json:"model,omitempty"` // empty means all models of the provider together
	// Slots bounds the calls at a time, and TokensPerMinute their input and output. 0 means no
	// bound.
	Slots           int `json:"slots,omitempty"`
	TokensPerMinute int `json:"tokens_per_minute,omitempty"`
}

// Objects holds named contents. A name is valid UTF-8 without control characters, of 1 to 512
// bytes, or more if the engine can hold them. Other names are errors that wrap fs.ErrInvalid or,
// where they are looked for, fs.ErrNotExist.
type Objects interface {
	// Put stores data under a name, whole or not at all, durably. It replaces what was there.
	Put(ctx context.Context, name string, data io.Reader) (Artifact, error)
	// Open opens an object. The error for an unknown name wraps fs.ErrNotExist. A damaged object
	// ends with an error instead of io.EOF. The caller closes the reader.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	// List yields the objects whose names begin with prefix, ordered by name.
	List(ctx context.Context, prefix string) iter.Seq2[Artifact, error]
	// Remove removes objects. Unknown names are no error.
	Remove(ctx context.Context, names ...string) error
}

// Bus carries what nobody keeps.
type Bus interface {
	// Publish sends a message to those who listen to a task now. It does not wait for them.
	Publish(ctx context.Context, id string, data []byte) error
	// Listen yields what is published for a task, or for all tasks if id is empty, from when it is
	// called until ctx ends. A slow listener loses messages. The subscription holds once the
	// iterator has yielded a nil message first.
	Listen(ctx context.Context, id string) iter.Seq2[[]byte, error]
	// Serve answers the requests for a task, each on a goroutine of its own, until stop is called,
	// which waits for them. What handle returns is the reply.
	Serve(ctx context.Context, id string, handle func(ctx context.Context, request []byte) []byte) (stop func(),
		err error)
	// Request asks the owner of a task. The error is ErrNoOwner if nobody serves the task.
	Request(ctx context.Context, id string, request []byte) (reply []byte, err error)
}

// Asks holds what tasks ask of people. An ask outlives the worker that made it, and so does its
// answer.
type Asks interface {
	// Put makes an ask known. It does nothing if the ask exists.
	Put(ctx context.Context, a Ask) error
	// Wait waits until an ask has its answer.
	Wait(ctx context.Context, task, id string) (Answer, error)
	// Answer answers an ask. The first answer counts: the same again is no error, another one is
	// ErrAnswered. The error for an unknown ask wraps fs.ErrNotExist.
	Answer(ctx context.Context, task, id string, answer Answer) error
	// Open yields the asks that have no answer, of one task or, if task is empty, of all, ordered
	// by their time.
	Open(ctx context.Context, task string) iter.Seq2[Ask, error]
	// Remove removes all asks of a task.
	Remove(ctx context.Context, task string) error
}
