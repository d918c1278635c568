package fakellm

import "time"

// FaultKind says what goes wrong.
type FaultKind string

// The kinds of fault. All but the first three happen in the middle of an answer, after Fault.After of its deltas.
const (
	// FaultStatus answers with Status, Header and Body instead of calling the model.
	FaultStatus FaultKind = "status"
	// FaultReset closes the connection without an answer.
	FaultReset FaultKind = "reset"
	// FaultSilence takes the request and says nothing, not even headers, until the client goes away.
	FaultSilence FaultKind = "silence"
	// FaultCut closes the connection.
	FaultCut FaultKind = "cut"
	// FaultEnd ends the body cleanly, without the last event.
	FaultEnd FaultKind = "end"
	// FaultError sends the error Error as an event and ends.
	FaultError FaultKind = "error"
	// FaultGarbage sends an event that is no JSON, then goes on as if nothing had happened.
	FaultGarbage FaultKind = "garbage"
	// FaultHang says nothing more until the client goes away.
	FaultHang FaultKind = "hang"
	// FaultPings sends keep-alives, and nothing else, until the client goes away.
	FaultPings FaultKind = "pings"
)

// Fault is what happens to a request. It can be read from JSON.
type Fault struct {
	Kind FaultKind `json:"kind"`
	// After counts the deltas of text, thinking and arguments that are sent before.
	After int `json:"after,omitempty"`
	// Status, Header and Body are the answer of FaultStatus. An empty body becomes the vendor's own error for the status.
	Status int               `json:"status,omitempty"`
	Header map[string]string `json:"header,omitempty"`
	Body   string            `json:"body,omitempty"`
	// Error is the vendor's word for the error of FaultError; empty means overloaded.
	Error string `json:"error,omitempty"`
	// Every is the time between the keep-alives of FaultPings; 0 means 10 ms.
	Every time.Duration `json:"every,omitempty"`
}
