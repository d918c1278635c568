package gemini

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/attractor-go/attractor/llm"
)

// Where an error has no delay, the quota's id tells how long to wait and whether waiting makes
// sense.
func TestI17_QuotasByTheirIDs(t *testing.T) {
	const minute, day = "GenerateRequestsPerMinutePerProjectPerModel-FreeTier",
		"GenerateRequestsPerDayPerProjectPerModel-FreeTier"
	violated := func(ids ...string) (d string) {
		for _, id := range ids {
			d += fmt.Sprintf(`,{"quotaMetric":"m","quotaId":%q,"quotaDimensions":{"model":"g"},"quotaValue":"20"}`, id)
		}
		return `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[` + d[1:] + `]}`
	}
	retry := func(delay string) string {
		return `,{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"` + delay + `"}`
	}
	info := func(reason, metadata string) string {
		return `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"` + reason + `","metadata":{` + metadata +
			`}}`
	}
	for name, c := range map[string]struct {
		message, details string
		kind             error
		wait             time.Duration
	}{
		"nothing is said": {"Resource exhausted.", "", llm.ErrRateLimit, 0},
		"a minute":        {"", violated(minute), llm.ErrRateLimit, time.Minute},
		"tokens of a minute": {"", violated("GenerateContentInputTokensPerModelPerMinute-FreeTier"),
			llm.ErrRateLimit, time.Minute},
		"a minute, and the delay": {"", violated(minute) + retry("34.4s"), llm.ErrRateLimit,
			34400 * time.Millisecond},
		"a minute, and no delay": {"", violated(minute) + retry("0s"), llm.ErrRateLimit, time.Minute},
		"a minute, and words": {"Please retry in 44.5s.", violated(minute), llm.ErrRateLimit,
			44500 * time.Millisecond},
		"a second": {"", violated("GenerateRequestsPerSecond"), llm.ErrRateLimit, time.Second},
		"an hour":  {"", violated("GenerateRequestsPerHourPerProject"), llm.ErrQuota, time.Hour},
		"a day":    {"", violated(day), llm.ErrQuota, 24 * time.Hour},
		"a day, and a delay": {"Please retry in 36s.", violated(day) + retry("36s"), llm.ErrQuota,
			36 * time.Second},
		"a minute and a day":       {"", violated(minute, day), llm.ErrQuota, 24 * time.Hour},
		"a day and a minute":       {"", violated(day, minute) + retry("47s"), llm.ErrQuota, 47 * time.Second},
		"a month":                  {"", violated("TokensPerMonth"), llm.ErrQuota, 30 * 24 * time.Hour},
		"an id of no known period": {"", violated("ConcurrentRequests"), llm.ErrRateLimit, 0},
		"Vertex AI's minute": {"",
			info("RATE_LIMIT_EXCEEDED", `"quota_limit":"GenerateContentRequestsPerMinutePerProjectPerRegion"`),
			llm.ErrRateLimit, time.Minute},
		"a reset in a moment": {"", info("RATE_LIMIT_EXCEEDED", `"quotaResetDelay":"539.477544ms"`),
			llm.ErrRateLimit, 539477544},
		"a reset in hours": {"", info("RATE_LIMIT_EXCEEDED", `"quotaResetDelay":"1h16m0.667s"`),
			llm.ErrQuota, 4560667 * time.Millisecond},
		"used up, in so many words": {"", info("QUOTA_EXHAUSTED", `"uiMessage":"true"`), llm.ErrQuota, 0},
		"members of another form": {"", `{"violations":"none"},{"retryDelay":{"seconds":3}},` + violated(minute),
			llm.ErrRateLimit, time.Minute},
		"a quota that is not the matter": {"", info("RATE_LIMIT_EXCEEDED", ``) + retry("10s"), llm.ErrRateLimit,
			10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			message, err := json.Marshal(c.message)
			if err != nil {
				t.Fatal(err)
			}
			f := decodeError([]byte(`{"error":{"code":429,"message":` + string(message) +
				`,"status":"RESOURCE_EXHAUSTED","details":[` + c.details + `]}}`))
			if f.Kind != c.kind || f.RetryAfter != c.wait {
				t.Errorf("%v after %v, want %v after %v", f.Kind, f.RetryAfter, c.kind, c.wait)
			}
		})
	}
}
