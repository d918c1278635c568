package fakellm

import "time"

// FaultKind names a kind of [Fault].
type FaultKind string

// The kinds of faults. All but the first three occur in the middle of a response, after Fault.After
// of its deltas.
const (
	// FaultStatus responds with Status, Header and Body instead of calling the model.
	FaultStatus FaultKind = "status"
	// FaultReset closes the connection without a response.
	FaultReset FaultKind = "reset"
	// FaultSilence reads the request and sends nothing, not even headers, until the client
	// disconnects.
	FaultSilence FaultKind = "silence"
	// FaultCut closes the connection.
	FaultCut FaultKind = "cut"
	// FaultEnd ends the body cleanly, but without the last event.
	FaultEnd FaultKind = "end"
	// FaultError sends the vendor's error event of an overload and ends.
	FaultError FaultKind = "error"
	// FaultGarbage sends an event that is not JSON, then continues as if nothing had happened.
	FaultGarbage FaultKind = "garbage"
	// FaultHang sends nothing more until the client disconnects.
	FaultHang FaultKind = "hang"
	// FaultPings sends only keep-alives until the client disconnects.
	FaultPings FaultKind = "pings"
)

// Fault describes what happens to a request. It can be decoded from JSON.
type Fault struct {
	Kind FaultKind `json:"kind"`
	// After is the number of deltas of text, thinking and arguments to send before the fault.
	After int `json:"after,omitempty"`
	// Status, Header and Body are the response of FaultStatus. A status of 0 means 500, and an
	// empty body the vendor's own error for the status, with Error as the vendor's code for it, if
	// that is not empty.
	Status int               `json:"status,omitempty"`
	Header map[string]string `json:"header,omitempty"`
	Body   string            `json:"body,omitempty"`
	Error  string            `json:"error,omitempty"`
	// Every is the time between the keep-alives of FaultPings; 0 means 10 ms.
	Every time.Duration `json:"every,omitempty"`
}
