//go:build unix

package attractor_test

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/providers"
)

// A command of the user's prints the key, which is masked in what the model reads. A project cannot
// choose one.
func TestV1_KeyCommand(t *testing.T) {
	o := newOpened(t, fakellm.Turn{Calls: []fakellm.Call{{Name: "read_file",
		Args: json.RawMessage(`{"file_path":"note.txt"}`)}}}, fakellm.Turn{Text: "Done."})
	o.write("note.txt", "the key is tokenOfTheSecondRun")
	o.vars["ANTHROPIC_API_KEY"] = ""
	o.write("~/.config/attractor/config.json",
		`{"provider": "anthropic", "key_command": "echo run >> runs; echo tokenOfTheSecondRun"}`)
	o.write(".attractor/config.json", `{"key_command": "touch owned"}`)
	session, err := attractor.Open(t.Context(),
		attractor.Config{Dir: o.dir, Vars: o.vars, Load: attractor.LoadUser | attractor.LoadProject,
			TrustProject: true})
	if err != nil {
		t.Fatal(err)
	}
	if result, err := session.Submit(t.Context(), "go"); err != nil || result.Text != "Done." {
		t.Fatalf("%+v, %v", result, err)
	}
	sent := o.server.Requests()
	if got := sent[0].Header.Get("X-Api-Key"); got != "tokenOfTheSecondRun" {
		t.Errorf("the key was %q", got)
	}
	if body := string(sent[1].Body); strings.Contains(body, "tokenOfTheSecondRun") ||
		!strings.Contains(body, "the key is") {
		t.Errorf("the model reads %s", body)
	}
	for name, want := range map[string]bool{o.home + "/runs": true, o.dir + "/owned": false, o.home + "/owned": false} {
		if _, err := os.Stat(name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
}

// The command that prints the key is no program of the repository, also where PATH has a directory
// of it.
func TestV1_KeyCommandOfNoRepository(t *testing.T) {
	o := newOpened(t, fakellm.Turn{Text: "Done."})
	o.write(".git/HEAD", "ref: refs/heads/main\n")
	o.write("bin/printkey", "#!/bin/sh\n: > "+o.dir+"/ran\necho keyOfTheRepository\n")
	if err := os.Chmod(o.dir+"/bin/printkey", 0o755); err != nil {
		t.Fatal(err)
	}
	o.vars["ANTHROPIC_API_KEY"] = ""
	t.Setenv("PATH", o.dir+"/bin:bin:/usr/bin:/bin")
	o.write("~/.config/attractor/config.json",
		`{"provider": "anthropic", "key_command": "printkey || echo keyOfTheUser"}`)
	session, err := attractor.Open(t.Context(), attractor.Config{Dir: o.dir, Vars: o.vars, Load: attractor.LoadUser})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Submit(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if got := o.server.Requests()[0].Header.Get("X-Api-Key"); got != "keyOfTheUser" {
		t.Errorf("the key was %q", got)
	}
	if _, err := os.Stat(o.dir + "/ran"); err == nil {
		t.Error("a program of the repository ran")
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
}

// Credentials of the program stand in for a key: their secrets are masked in what the model reads,
// and a provider whose key is in the environment does not ask them.
func TestV1_Credentials(t *testing.T) {
	for _, key := range []string{"", "keyOfTheEnvironment"} {
		o := newOpened(t, fakellm.Turn{Calls: []fakellm.Call{{Name: "read_file",
			Args: json.RawMessage(`{"file_path":"note.txt"}`)}}}, fakellm.Turn{Text: "Done."})
		o.write("note.txt", "they are tokenOfTheCloud and secretOfTheCloud")
		o.vars["ANTHROPIC_API_KEY"] = key
		asked := 0
		session, err := attractor.Open(t.Context(), attractor.Config{Dir: o.dir, Vars: o.vars, Model: "anthropic",
			Credentials: map[string]providers.Credentials{
				"anthropic": func(_ context.Context, _ providers.Kind, c providers.Config) (providers.Access, error) {
					asked++
					c.APIKey = "tokenOfTheCloud"
					return providers.Access{Config: c, Secrets: []string{"secretOfTheCloud"}}, nil
				},
				"amazon-bedrock": nil, "google-vertex": func(context.Context, providers.Kind,
					providers.Config) (providers.Access, error) {
					t.Error("another provider's credentials are asked")
					return providers.Access{}, nil
				}}})
		if err != nil {
			t.Fatal(err)
		}
		if result, err := session.Submit(t.Context(), "go"); err != nil || result.Text != "Done." {
			t.Fatalf("%+v, %v", result, err)
		}
		sent := o.server.Requests()
		if got, want := sent[0].Header.Get("X-Api-Key"), cmp.Or(key, "tokenOfTheCloud"); got != want ||
			(asked == 1) != (key == "") {
			t.Errorf("the key was %q, want %q; asked %d times", got, want, asked)
		}
		for _, value := range []string{"tokenOfTheCloud", "secretOfTheCloud"} {
			if body := string(sent[1].Body); strings.Contains(body, value) != (key != "") ||
				!strings.Contains(body, "they are") {
				t.Errorf("the model reads %s", body)
			}
		}
		if err := session.SetModel(t.Context(), "google-vertex/gemini-4-argon"); err != nil {
			t.Errorf("a provider with credentials of the program's cannot be chosen: %v", err)
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}
}
