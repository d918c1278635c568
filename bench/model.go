package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// models is the scripted model that all agents talk to. Its URLs are /RUN/TOOL/ROUNDS: the answers
// call TOOL with a command, ROUNDS times, and end with a text, in all formats.
type models struct {
	mu    sync.Mutex
	calls map[string]int // of each run
}

// ServeHTTP implements http.Handler. Each request gets a server of its own, because one of fakellm
// keeps all requests.
func (m *models) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	run, tool := r.PathValue("run"), r.PathValue("tool")
	rounds, err := strconv.Atoi(r.PathValue("rounds"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fakellm.New(func(req *fakellm.Request) fakellm.Turn {
		i := req.Turn()
		turn := fakellm.Turn{ID: fmt.Sprintf("answer_%d", i)}
		if i >= rounds || len(req.Tools) == 0 {
			turn.Text = "That is all there is to say."
			return turn
		}
		m.mu.Lock()
		m.calls[run]++
		m.mu.Unlock()
		turn.Calls = []fakellm.Call{{Name: tool, Args: arguments(tool, fmt.Sprintf("echo %d", i))}}
		return turn
	}, fakellm.Options{}).ServeHTTP(w, r)
}

// count returns the number of calls that the answers to a run had.
func (m *models) count(run string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls[run]
}

// arguments returns the arguments by which a vendor's tool runs a command.
func arguments(tool, command string) json.RawMessage {
	args := map[string]any{"command": command}
	switch tool {
	case "exec_command":
		args = map[string]any{"cmd": command}
	case "Bash":
		args["description"] = "Prints a number"
	}
	data, err := json.Marshal(args)
	if err != nil {
		panic(err) // maps of strings are JSON
	}
	return data
}
