package examples_test

import (
	"net/http/httptest"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

func TestQ2_Ownprovider(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(fakellm.New(func(r *fakellm.Request) fakellm.Turn {
		if r.Model != "writer-1" {
			return fakellm.Turn{Text: "This is " + r.Model}
		}
		return fakellm.Turn{Text: "It greets whoever runs it."}
	}, fakellm.Options{}))
	t.Cleanup(server.Close)
	cmd := command(t, "ownprovider", t.TempDir(), fakellm.Script(), "What does this project do?")
	cmd.Env = append(cmd.Env, "ACME_URL="+server.URL+"/v1")
	prints(t, "ownprovider", cmd)
}
