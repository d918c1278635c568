package mcptest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/tool"
)

// conform is the client that the conformance suite runs: its last argument is the address of a
// server, which it uses as a host does. It calls each tool of the server, and accepts what the
// server asks.
func conform(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, slow)
	defer cancel()
	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	tokens := mcp.NewFileTokens(filepath.Join(dir, "tokens"))
	server := mcp.Server{Name: "conformance", URL: os.Args[len(os.Args)-1], Required: true, StartTimeout: slow}
	var given struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
	}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			return err
		}
	}
	if server.OAuth.ClientID = given.ClientID; given.ClientSecret != "" {
		server.OAuth.ClientSecretVar = "SECRET"
		if err := os.Setenv(server.OAuth.ClientSecretVar, given.ClientSecret); err != nil {
			return err
		}
	}
	logIn := func() error {
		return mcp.LogIn(ctx, server, mcp.LoginOptions{Tokens: tokens, Open: browse, Timeout: slow,
			ClientMetadataURL: "https://conformance-test.local/client-metadata.json"})
	}
	auth := strings.HasPrefix(os.Getenv("MCP_CONFORMANCE_SCENARIO"), "auth/")
	if auth {
		if err := logIn(); err != nil {
			return err
		}
	}
	for range 3 { // a user logs in again where a call says that it is needed
		again, err := useTools(ctx, server, tokens)
		if err != nil || !again || !auth {
			return err
		}
		if err := logIn(); err != nil {
			return err
		}
	}
	return errors.New("the server wants one login after the other")
}

// useTools connects and calls each tool once. It reports whether the server wants another login.
func useTools(ctx context.Context, server mcp.Server, tokens mcp.TokenStore) (again bool, err error) {
	s := mcp.Start(ctx, mcp.Options{Servers: []mcp.Server{server}, Tokens: tokens, Answers: true,
		Warn: func(_ string, err error) { fmt.Fprintln(os.Stderr, err) }})
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Ready(ctx); err != nil {
		_, login := errors.AsType[*mcp.LoginError](err)
		if login {
			return true, nil
		}
		return false, err
	}
	registry, err := tool.NewRegistry(s.Tools()...)
	if err != nil {
		return false, err
	}
	for _, one := range s.Tools() {
		args := `{}`
		if strings.HasSuffix(one.Name, "add_numbers") {
			args = `{"a":5,"b":3}`
		}
		accept := &user{answer: tool.Answer{Content: json.RawMessage(`{}`)}}
		o := registry.Run(ctx, llm.ToolCall{ID: "1", Name: one.Name, Args: args}, tool.Call{Session: accept}, nil)
		fmt.Fprintln(os.Stderr, one.Name, o.IsError, o.Model.Text())
		if o.IsError {
			again = strings.Contains(o.Model.Text(), "attractor mcp login")
			if !again {
				err = errors.Join(err, errors.New(o.Model.Text()))
			}
		}
	}
	return again, err
}

// browse is a user's browser: it follows redirects.
func browse(ctx context.Context, at string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
