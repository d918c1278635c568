package oracle

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/providertest"
)

// outcome is the content of an answer, as far as every SDK knows it.
type outcome struct {
	ID, Model      string
	Text, Thinking string
	Calls          []call
	Usage          llm.Usage
	Finish         llm.FinishReason
	Raw            string // the reason to stop in the provider's terms
	Failed         bool   // the answer is an error

	// The fields below are set for the SDK only, to explain differences: the last counts, and the
	// server's total of all tokens.
	last  llm.Usage
	total int
}

type call struct{ ID, Name, Args string }

// answering returns a client that gets the same answer for every request.
func answering(h http.Handler) *http.Client {
	return &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		resp := w.Result()
		resp.Request = r
		return resp, r.Body.Close()
	})}
}

type transport func(r *http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// answerRequest returns the request for every comparison of answers.
func answerRequest() *llm.Request {
	return &llm.Request{Model: "m", Messages: []llm.Message{llm.User("x")}}
}

// ourOutcome returns the outcome of one of our providers, which must also keep the stream contract.
func ourOutcome(t *testing.T, p llm.Provider) (outcome, error) {
	t.Helper()
	events, err := providertest.Contract(t, p.Stream(t.Context(), answerRequest()))
	if err != nil {
		return outcome{Failed: true}, err
	}
	r := events[len(events)-1].Response
	o := outcome{ID: r.ID, Model: r.Model, Text: r.Text(), Thinking: r.Reasoning(), Usage: r.Usage,
		Finish: r.Finish.Reason, Raw: r.Finish.Raw}
	for _, c := range r.ToolCalls() {
		o.Calls = append(o.Calls, call{c.ID, c.Name, c.Args})
	}
	return o, nil
}

// differences returns the fields in which two outcomes differ. Arguments are compared as text if
// the SDK has them as text, and otherwise as values.
func differences(ours, sdk outcome) map[string]string {
	diff := map[string]string{}
	if ours.Failed || sdk.Failed {
		if ours.Failed != sdk.Failed {
			diff["Failed"] = fmt.Sprintf("ours %v, SDK %v", ours.Failed, sdk.Failed)
		}
		return diff
	}
	a, b := reflect.ValueOf(ours), reflect.ValueOf(sdk)
	for i := range a.NumField() {
		if !a.Type().Field(i).IsExported() {
			continue
		}
		x, y := a.Field(i).Interface(), b.Field(i).Interface()
		if !reflect.DeepEqual(x, y) {
			diff[a.Type().Field(i).Name] = fmt.Sprintf("ours %+v\nSDK  %+v", x, y)
		}
	}
	return diff
}

// alignValues copies arguments and ids between calls if they mean the same, for SDKs that parse the
// arguments or omit the ids that we generate.
func alignValues(from []call, to []call) []call {
	if len(from) != len(to) {
		return to
	}
	same := append([]call(nil), to...)
	for i := range same {
		if same[i].ID == "" && from[i].ID != "" {
			same[i].ID = from[i].ID
		}
		if sameJSON([]byte(same[i].Args), []byte(from[i].Args)) {
			same[i].Args = from[i].Args
		}
	}
	return same
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

var errCut = errors.New("the stream ended before its last event") // the SDK itself does not notice it
