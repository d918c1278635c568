//go:build unix

package cli

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// The presets of openai-compatible reach a server of Chat Completions over HTTP: openrouter with
// its key, which chooses it like other keys, and ollama without any, and only by its name. Names of
// models have slashes there.
func TestN8_Presets(t *testing.T) {
	t.Parallel()
	url, server := serve(t, nil, fakellm.Turn{Text: "done"})
	busy, _ := serve(t, map[int]fakellm.Fault{1: {Kind: fakellm.FaultStatus, Status: 529,
		Header: map[string]string{"Retry-After": "3600"}}})
	host := strings.TrimPrefix(url, "http://")
	open := []string{"OPENROUTER_API_KEY=key-of-a-test", "OPENROUTER_BASE_URL=" + url + "/v1"}
	for _, c := range []struct {
		name        string
		env         []string
		args        []string
		code        int
		want        string // in the output
		model, auth string // of the request, if there is one
	}{
		{"openrouter by its key", open, []string{"--model", "openai/gpt-9"}, 0, "done\n",
			"openai/gpt-9", "Bearer key-of-a-test"},
		{"the default of openrouter, over a server in between", open, nil, 0, "done\n",
			"anthropic/claude-sonnet-5.5", "Bearer key-of-a-test"},
		{"groq by its key", []string{"GROQ_API_KEY=key-of-a-test", "GROQ_BASE_URL=" + url + "/v1"}, nil, 0, "done\n",
			"openai/gpt-oss-120b", "Bearer key-of-a-test"},
		{"ollama by its name", []string{"OLLAMA_HOST=" + host, "OLLAMA_API_KEY=another-key",
			"OPENAI_API_KEY=sk-another-key"},
			[]string{"--provider", "ollama", "--model", "hf.co/unsloth/qwen3:8b"}, 0, "done\n",
			"hf.co/unsloth/qwen3:8b", ""},
		{"a fallback whose name has slashes", append([]string{"OLLAMA_HOST=" + busy}, open...),
			[]string{"--provider", "ollama", "--model", "qwen3:8b", "--fallback", "openrouter/qwen/qwen3-coder:free"},
			0, "done\n", "qwen/qwen3-coder:free", "Bearer key-of-a-test"},
		{"ollama is not chosen by its address", []string{"OLLAMA_HOST=" + host}, []string{"--model", "x"}, exitAccess,
			"no API key: set ANTHROPIC_API_KEY", "", ""},
		{"ollama has no default model", []string{"OLLAMA_HOST=" + host}, []string{"--provider", "ollama"}, exitUsage,
			"ollama has no default model (attractor models --provider ollama); pass one with --model", "", ""},
		{"a name that is nearly one", nil, []string{"--provider", "llama.cpp"}, exitUsage, "do you mean llamacpp?", "",
			""},
		{"an address without a provider", nil, []string{"--base-url", url}, exitAccess,
			"such as openai-compatible for a server of your own", "", ""},
		{"the provider in front of the model", []string{"ANTHROPIC_API_KEY=k", "OLLAMA_HOST=" + host},
			[]string{"--model", "ollama/qwen3:8b"}, 0, "done\n", "qwen3:8b", ""},
		{"the key of that provider is missing", []string{"ANTHROPIC_API_KEY=k"},
			[]string{"--model", "openai/gpt-6.1-sol"}, exitAccess, "no API key: set OPENAI_API_KEY", "", ""},
		{"of several keys the one of the model", append([]string{"ANTHROPIC_API_KEY=k"}, open...),
			[]string{"--model", "openai/gpt-6.1-sol"}, 0, "done\n", "openai/gpt-6.1-sol", "Bearer key-of-a-test"},
		{"a name that two of them may mean", append([]string{"ANTHROPIC_API_KEY=k"}, open...),
			[]string{"--model", "anthropic/claude-sonnet-5.5"}, exitAccess, "several providers: anthropic, openrouter",
			"", ""},
		{"bedrock needs a region", []string{"AWS_BEARER_TOKEN_BEDROCK=k"}, nil, exitUsage,
			"amazon-bedrock has no URL yet: set AWS_REGION", "", ""},
		{"openrouter needs its key", nil, []string{"--provider", "openrouter", "--model", "a/b"}, exitAccess,
			"set OPENROUTER_API_KEY", "", ""},
		{"two keys are no guess", append([]string{"GEMINI_API_KEY=k"}, open...), []string{"--model", "x"}, exitAccess,
			"several providers: gemini, openrouter", "", ""},
	} {
		cmd := attractorCommand(t, append(append([]string{"run", "--yes", "--dir", t.TempDir()}, c.args...),
			"do it")...)
		cmd.Env = append(cmd.Env, c.env...)
		before := len(server.Requests())
		out := runCommand(t, cmd)
		if out.code != c.code || !strings.Contains(out.stdout+out.stderr, c.want) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", c.name, out.code, out.stdout, out.stderr)
		}
		requests := server.Requests()[before:]
		if c.model == "" {
			if len(requests) > 0 {
				t.Errorf("%s: a request was sent", c.name)
			}
			continue
		}
		if len(requests) != 1 || requests[0].Model != c.model || requests[0].Path != "/v1/chat/completions" ||
			requests[0].Header.Get("Authorization") != c.auth {
			t.Errorf("%s: requests %+v", c.name, requests)
		}
	}
}

// A session that goes on takes the provider in front of the model, too.
func TestN8_ResumedWithAnotherProvider(t *testing.T) {
	url, server := serve(t, nil, say("one"), say("two"))
	h := newHome(t, url)
	h.run(0, "run", "--yes", "first")
	cmd := attractorCommand(t, "run", "--yes", "--continue", "--model", "ollama/qwen3:8b", "again")
	cmd.Dir = h.dir
	cmd.Env = append(cmd.Env, "HOME="+h.home, "OLLAMA_HOST="+strings.TrimPrefix(url, "http://"))
	if out := runCommand(t, cmd); out.code != 0 {
		t.Fatalf("%+v", out)
	}
	doctor := attractorCommand(t, "doctor")
	doctor.Dir = h.dir
	doctor.Env = append(doctor.Env, "HOME="+h.home, "ATTRACTOR_MODEL=openai/gpt-6.1-sol", "ANTHROPIC_API_KEY=k",
		"OPENAI_API_KEY=k")
	if out := runCommand(t, doctor); !strings.Contains(out.stdout,
		"provider       openai\n  model          gpt-6.1-sol\n") {
		t.Errorf("doctor: %+v", out)
	}
	if last := server.Requests()[1]; last.Model != "qwen3:8b" || last.Path != "/v1/chat/completions" {
		t.Errorf("the request is for %s at %s", last.Model, last.Path)
	}
}
