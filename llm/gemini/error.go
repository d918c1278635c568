package gemini

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// maxWait is the longest delay of a rate limit. A longer delay means that a quota is used up:
// Google's own client draws the same line.
const maxWait = 5 * time.Minute

// wireError is Google's error model, the same for bodies and for chunks:
//
//	{"error": {"code": 429, "message": "...", "status": "RESOURCE_EXHAUSTED", "details": [{"@type": "...", ...}]}}
type wireError struct {
	Error struct {
		Code    json.RawMessage   `json:"code"` // an HTTP status; some gateways send a word
		Message string            `json:"message"`
		Status  string            `json:"status"`
		Details []json.RawMessage `json:"details"`
	} `json:"error"`
}

// wireDetail is any of the details that matter. Its other members count only for the types that
// have them.
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

// decodeError decodes an error body, an array with one, or an error chunk. The status word decides
// the kind; where it is too coarse, the details do.
func decodeError(body []byte) api.Failure {
	w, ok := parseError(body)
	if !ok {
		return api.DecodeError(body)
	}
	e := w.Error
	f := api.Failure{Code: e.Status, Message: e.Message, Kind: api.CodeKind(e.Status),
		RetryAfter: api.SaidDelay(e.Message, "Please retry in ")}
	if code, err := strconv.Atoi(string(e.Code)); err == nil {
		f.Status = code
	}
	var period time.Duration // of the longest quota that is used up
	for _, raw := range e.Details {
		var d wireDetail
		if json.Unmarshal(raw, &d) != nil {
			continue // another type, whose members of these names differ
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
		f.RetryAfter = cmp.Or(f.RetryAfter, period)
		// a delay beside a day's quota belongs to another quota, or to none
		if f.RetryAfter > maxWait || period > maxWait {
			f.Kind = llm.ErrQuota
		}
	}
	return f
}

// quotaPeriod returns the period of a quota by its id, or 0 if the id does not tell.
func quotaPeriod(id string) time.Duration {
	for _, p := range [...]struct {
		word   string
		period time.Duration
	}{
		{"PerMonth", 30 * 24 * time.Hour}, {"PerWeek", 7 * 24 * time.Hour}, {"PerDay", 24 * time.Hour},
		{"Daily", 24 * time.Hour},
		{"PerHour", time.Hour}, {"PerMinute", time.Minute}, {"PerSecond", time.Second},
	} {
		if strings.Contains(id, p.word) {
			return p.period
		}
	}
	return 0
}

// parseError decodes the error. Gateways put a whole error body as text into another error's
// message; the innermost one counts.
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

// reasonKind returns the kind of a reason that is more precise than the status: a wrong key is
// reported as an invalid argument.
func reasonKind(reason string) error {
	return map[string]error{"API_KEY_INVALID": llm.ErrAuthentication, "QUOTA_EXHAUSTED": llm.ErrQuota}[reason]
}
