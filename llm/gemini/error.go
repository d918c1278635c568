package gemini

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// maxWait is how long a rate limit may ask to wait and still be one. Whoever is to wait longer has used up a quota: Google's
// own client draws the line there.
const maxWait = 5 * time.Minute

// wireError is Google's error model, the same for bodies and for chunks:
// {"error": {"code": 429, "message": "...", "status": "RESOURCE_EXHAUSTED", "details": [{"@type": "...", ...}]}}.
type wireError struct {
	Error struct {
		Code    json.RawMessage   `json:"code"` // an HTTP status; some gateways put a word there
		Message string            `json:"message"`
		Status  string            `json:"status"`
		Details []json.RawMessage `json:"details"`
	} `json:"error"`
}

// wireDetail is any of the details that are looked at; their other members count only for those types that have them.
type wireDetail struct {
	Reason   string `json:"reason"` // google.rpc.ErrorInfo
	Metadata struct {
		QuotaLimit string `json:"quota_limit"`     // Vertex AI's place for a quota's id
		ResetDelay string `json:"quotaResetDelay"` // Code Assist: 1h16m0.667s
	} `json:"metadata"`
	RetryDelay string `json:"retryDelay"` // google.rpc.RetryInfo: seconds with a fraction, 34.4s
	Violations []struct {
		QuotaID string `json:"quotaId"` // google.rpc.QuotaFailure: GenerateRequestsPerDayPerProjectPerModel-FreeTier
	} `json:"violations"`
}

// decodeError reads an error body, an array of one, or an error chunk. The status word decides, and where it is too coarse the
// details do.
func decodeError(body []byte) api.Failure {
	w, ok := parseError(body)
	if !ok {
		return api.DecodeError(body)
	}
	e := w.Error
	f := api.Failure{Code: e.Status, Message: e.Message, Kind: errorKind(e.Status), RetryAfter: saidDelay(e.Message)}
	if code, err := strconv.Atoi(string(e.Code)); err == nil {
		f.Status = code
	}
	var period time.Duration // of the longest quota that is used up
	for _, raw := range e.Details {
		var d wireDetail
		if json.Unmarshal(raw, &d) != nil {
			continue // another type, whose members of these names are of another form
		}
		for _, said := range []string{d.Metadata.ResetDelay, d.RetryDelay} {
			if wait, err := time.ParseDuration(said); err == nil && wait > 0 {
				f.RetryAfter = wait
			}
		}
		if kind := reasonKind(d.Reason); kind != nil {
			f.Kind, f.Code = kind, d.Reason
		}
		period = max(period, quotaPeriod(d.Metadata.QuotaLimit))
		for _, v := range d.Violations {
			period = max(period, quotaPeriod(v.QuotaID))
		}
	}
	if f.Kind == llm.ErrRateLimit {
		if f.RetryAfter == 0 {
			f.RetryAfter = period
		}
		if f.RetryAfter > maxWait || period > maxWait { // a delay beside a day's quota is that of another, or none at all
			f.Kind = llm.ErrQuota
		}
	}
	return f
}

// quotaPeriod reads out of a quota's id how long it takes until there is some of it again, 0 when the id does not say.
func quotaPeriod(id string) time.Duration {
	for _, p := range [...]struct {
		word   string
		period time.Duration
	}{
		{"PerMonth", 30 * 24 * time.Hour}, {"PerWeek", 7 * 24 * time.Hour}, {"PerDay", 24 * time.Hour}, {"Daily", 24 * time.Hour},
		{"PerHour", time.Hour}, {"PerMinute", time.Minute}, {"PerSecond", time.Second},
	} {
		if strings.Contains(id, p.word) {
			return p.period
		}
	}
	return 0
}

// parseError finds the error. Gateways put a whole error body as text into the message of another; the innermost one counts.
func parseError(body []byte) (w wireError, ok bool) {
	body = bytes.TrimSpace(body)
	if len(body) > 0 && body[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(body, &list) != nil || len(list) == 0 {
			return w, false
		}
		body = list[0]
	}
	if json.Unmarshal(body, &w) != nil || w.Error.Message == "" && w.Error.Status == "" {
		return w, false
	}
	if inner := strings.TrimSpace(w.Error.Message); strings.HasPrefix(inner, "{") && len(inner) < len(body) {
		if nested, ok := parseError([]byte(inner)); ok {
			return nested, true
		}
	}
	return w, true
}

// saidDelay reads the wait that some errors give only in prose: "Please retry in 44.097740004s."
func saidDelay(message string) time.Duration {
	_, after, ok := strings.Cut(message, "Please retry in ")
	if !ok {
		return 0
	}
	word, _, _ := strings.Cut(after, " ")
	wait, err := time.ParseDuration(strings.TrimRight(word, ".,"))
	if err != nil || wait < 0 {
		return 0
	}
	return wait
}

// errorKind maps the status words of google.rpc.Code. An unknown word leaves it to the HTTP status.
func errorKind(status string) error {
	switch status {
	case "INVALID_ARGUMENT", "OUT_OF_RANGE":
		return llm.ErrInvalidRequest
	case "UNAUTHENTICATED":
		return llm.ErrAuthentication
	case "PERMISSION_DENIED", "FAILED_PRECONDITION": // the latter: the country or the plan does not have it
		return llm.ErrAccessDenied
	case "NOT_FOUND":
		return llm.ErrNotFound
	case "RESOURCE_EXHAUSTED":
		return llm.ErrRateLimit
	case "UNAVAILABLE":
		return llm.ErrOverloaded
	case "DEADLINE_EXCEEDED":
		return llm.ErrTimeout
	case "UNIMPLEMENTED":
		return llm.ErrUnsupported
	case "INTERNAL", "UNKNOWN", "ABORTED", "CANCELLED", "DATA_LOSS":
		return llm.ErrServer
	}
	return nil
}

// reasonKind maps the reasons that say more than the status does: a wrong key comes as an invalid argument.
func reasonKind(reason string) error {
	switch reason {
	case "API_KEY_INVALID":
		return llm.ErrAuthentication
	case "QUOTA_EXHAUSTED":
		return llm.ErrQuota
	}
	return nil
}
