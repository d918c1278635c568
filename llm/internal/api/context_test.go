package api

import "testing"

// The messages are those of vendors and of compatible servers.
func TestI17_ContextNumbers(t *testing.T) {
	for message, want := range map[string][2]int{
		"prompt is too long: 202630 tokens > 200000 maximum":      {202630, 200000},
		"prompt is too long:  202630  tokens  >  200000  maximum": {202630, 200000},
		"input length and `max_tokens` exceed context limit: 197000 + 8192 > 200000, decrease input length or " +
			"`max_tokens`": {205192, 200000},
		"This model's maximum context length is 128000 tokens. However, your messages resulted in " +
			"150000 tokens.": {150000, 128000},
		"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the " +
			"messages, 1000 in the completion).": {5000, 4096},
		"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).": {1200000,
			1048576},
		"Prompt contains 300,000 tokens ... too large for model with 131,072 maximum context length": {300000, 131072},
		"Requested token count exceeds the model's maximum context length of 8192 tokens.":           {0, 8192},
		"the request exceeds the available context size, try increasing it":                          {0, 0},
		"Your input exceeds the context window of this model.":                                       {0, 0},
		"99999999999999999999 tokens > 200000 maximum":                                               {0, 0},
	} {
		if tokens, window := contextNumbers(message); tokens != want[0] || window != want[1] {
			t.Errorf("%q: %d of %d, want %d of %d", message, tokens, window, want[0], want[1])
		}
	}
}
