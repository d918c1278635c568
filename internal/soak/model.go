package soak

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// models serves one scripted model for each trial, in two ways: /wild/NAME with faults, /calm/NAME
// without.
type models struct {
	seed   uint64
	calls  []Call
	secret []byte
	faults atomic.Int64 // requests that were failed
	leaks  atomic.Int64 // requests that had the secret

	mu  sync.Mutex
	all map[string]http.Handler
}

// Call makes the arguments of a call of a tool.
type Call struct {
	Tool string
	Args func(dice *rand.Rand) any
}

// ServeHTTP implements http.Handler.
func (m *models) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	way, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	name, _, _ := strings.Cut(rest, "/")
	m.mu.Lock()
	if m.all == nil {
		m.all = map[string]http.Handler{}
	}
	model := m.all[way+"/"+name]
	if model == nil {
		model = m.model(name, way == "wild")
		m.all[way+"/"+name] = model
	}
	m.mu.Unlock()
	model.ServeHTTP(w, r)
}

// drop forgets the models of a trial, with the requests that they have recorded.
func (m *models) drop(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, "wild/"+name)
	delete(m.all, "calm/"+name)
}

// model returns the model of a trial.
func (m *models) model(name string, wild bool) http.Handler {
	o := fakellm.Options{}
	if wild {
		o.Faults = m.faultsOf(name)
	}
	server := fakellm.New(func(r *fakellm.Request) fakellm.Turn { return m.turn(name, r) }, o)
	n := atomic.Int64{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, fails := o.Faults[int(n.Add(1))]; fails {
			m.faults.Add(1)
		}
		server.ServeHTTP(w, r)
	})
}

// mostRequests is the number of a trial's first requests that can have faults.
const mostRequests = 300

// faultsOf returns the faults of a trial by the number of the request.
func (m *models) faultsOf(name string) map[int]fakellm.Fault {
	dice := m.dice(name, "faults", 0)
	kinds := []fakellm.Fault{
		{Kind: fakellm.FaultStatus, Status: 500},
		{Kind: fakellm.FaultStatus, Status: 529},
		{Kind: fakellm.FaultStatus, Status: 400},
		{Kind: fakellm.FaultStatus, Status: 429, Header: map[string]string{"Retry-After": "0"}},
		{Kind: fakellm.FaultReset},
		{Kind: fakellm.FaultCut},
		{Kind: fakellm.FaultEnd},
		{Kind: fakellm.FaultError},
		{Kind: fakellm.FaultGarbage},
		{Kind: fakellm.FaultHang},
		{Kind: fakellm.FaultSilence},
		{Kind: fakellm.FaultPings, Every: 5 * time.Millisecond},
	}
	faults := map[int]fakellm.Fault{}
	for n := range mostRequests {
		if dice.IntN(4) == 0 {
			f := kinds[dice.IntN(len(kinds))]
			f.After = dice.IntN(4)
			faults[n+1] = f
		}
	}
	return faults
}

// dice returns the random numbers for something in a trial.
func (m *models) dice(name, what string, n int) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, name, "\x00", what, "\x00", n)
	return rand.New(rand.NewPCG(m.seed, h.Sum64()))
}

// subtask begins the task of a subagent.
const subtask = "Subtask"

// agentID finds the id of a subagent in a result.
var agentID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"agent_id":"([^"]+)"`) })

// turn returns an answer: in most turns with calls, in each third, fourth or fifth with a text
// alone. Subagents call one tool and are done.
func (m *models) turn(name string, r *fakellm.Request) fakellm.Turn {
	if len(m.secret) > 0 && bytes.Contains(r.Body, m.secret) {
		m.leaks.Add(1)
	}
	n := r.Turn()
	dice := m.dice(name, "turn", n)
	first, last := "", ""
	for i, msg := range r.Messages {
		if i == 0 {
			first = msg.Parts.Text()
		}
		last = textOf(msg)
	}
	if len(r.Tools) == 0 { // a summary is wanted
		return fakellm.Turn{Text: "Much was done."}
	}
	if strings.HasPrefix(first, subtask) {
		if n == 0 {
			return fakellm.Turn{Calls: []fakellm.Call{{Name: "glob", Args: encode(map[string]any{"pattern": "*"})}}}
		}
		return fakellm.Turn{Text: "The subtask is done."}
	}
	t := fakellm.Turn{Text: "Turn " + fmt.Sprint(n)}
	if dice.IntN(3) == 0 {
		t.Thinking = strings.Repeat("I think. ", dice.IntN(200))
	}
	if (n+1)%(3+int(m.seed%3)) == 0 {
		t.Text = "All is done. " + strings.Repeat("word ", dice.IntN(2000))
		return t
	}
	if id := agentID().FindStringSubmatch(last); id != nil && dice.IntN(2) == 0 {
		t.Calls = append(t.Calls, fakellm.Call{Name: "wait", Args: encode(map[string]any{"agent_id": id[1]})})
	}
	for range 1 + dice.IntN(3) {
		c := m.calls[dice.IntN(len(m.calls))]
		t.Calls = append(t.Calls, fakellm.Call{Name: c.Tool, Args: encode(c.Args(dice))})
	}
	return t
}

// textOf returns the text of a message, with that of its results.
func textOf(m llm.Message) string {
	text := m.Parts.Text()
	for _, p := range m.Parts {
		if result, ok := p.(llm.ToolResult); ok {
			text += result.Content.Text()
		}
	}
	return text
}

func encode(args any) json.RawMessage {
	data, err := json.Marshal(args)
	if err != nil {
		panic(err) // the arguments are maps of plain values
	}
	return data
}

// Calls returns calls of the tools that all sessions have: ordinary ones, wrong ones, and floods of
// output, processes and bytes on the disk. With group, for sessions that find their processes by
// group or environment alone, no command both leaves its group and clears its environment.
func Calls(group bool) []Call {
	hidden := "env -i "
	if group {
		hidden = ""
	}
	type args = map[string]any
	with := func(tool string, all ...args) Call {
		return Call{tool, func(dice *rand.Rand) any { return all[dice.IntN(len(all))] }}
	}
	shell := func(script string, more ...any) args {
		a := args{"command": script}
		for i := 0; i < len(more); i += 2 {
			a[more[i].(string)] = more[i+1]
		}
		return a
	}
	return []Call{
		with("read_file", args{"file_path": "log.txt"}, args{"file_path": "none"}, args{"file_path": "huge"},
			args{"file_path": "/dev/zero"}, args{"path": 3}),
		with("write_file", args{"file_path": "a.txt", "content": "one\ntwo\n"},
			args{"file_path": "b.txt", "content": strings.Repeat("line\n", 20_000)},
			args{"file_path": "deep/er/c.txt", "content": ""}, args{"file_path": ".git/x", "content": "x"},
			args{"file_path": "/outside", "content": "x"}),
		with("edit_file", args{"file_path": "a.txt", "old_string": "one", "new_string": "two"},
			args{"file_path": "none", "old_string": "a", "new_string": "b"}),
		with("grep", args{"pattern": "line"}, args{"pattern": "("}, args{"pattern": "x", "path": "huge"}),
		with("glob", args{"pattern": "**/*.txt"}, args{"pattern": "["}),
		with("no_such_tool", args{"x": 1}),
		with("spawn_agent", args{"task": subtask + " one"}, args{"task": subtask + " two"}),
		with("process", args{"id": "1"}, args{"id": "1", "action": "kill"}),
		with("shell", shell("echo line >> log.txt; cat log.txt"), shell("exit 3"), shell("ls -la; pwd"),
			shell("kill -9 $$")),
		with("shell", // floods of output, endless and without line ends
			shell("yes flood", "timeout_ms", 100), shell("head -c 5000000 /dev/zero | tr '\\0' x"),
			shell("while :; do echo out; echo err >&2; done", "timeout_ms", 50),
			shell("yes background", "run_in_background", true)),
		with("shell", // processes: many, without their group, without their parent, deaf to signals
			shell("i=0; while [ $i -lt 40 ]; do sleep 1000 & i=$((i+1)); done; exit 1"),
			shell("setsid sleep 1000 >/dev/null 2>&1 & echo started"),
			shell("trap '' TERM INT HUP; sleep 1000", "timeout_ms", 50),
			shell(hidden+"setsid sh -c 'sleep 1000 & sleep 1000' >/dev/null 2>&1 &"),
			shell("sleep 1000", "run_in_background", true),
			shell("f() { if [ $1 -gt 0 ]; then f $(($1-1)) & f $(($1-1)) & fi; sleep 1000; }; f 5", "timeout_ms", 100)),
		with("shell", shell("head -c 8000000 /dev/urandom > huge; mkfifo pipe; ln -s / root; ln -s nowhere dangling; "+
			"mkdir -p many; cd many; i=0; while [ $i -lt 200 ]; do : > $i; i=$((i+1)); done")),
	}
}
