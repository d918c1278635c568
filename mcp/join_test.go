package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// changes records what is done to a session's tools, and when.
type changes struct {
	mu    sync.Mutex
	began time.Time
	list  []string
}

func (c *changes) ReplaceTools(_ context.Context, names []string, tools ...tool.Tool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, fmt.Sprint(time.Since(c.began), " -", len(names), " +", len(tools)))
	return nil
}

// fill gives a server tools, as a list does.
func fill(s *server, names ...string) {
	s.mu.Lock()
	s.offered = nil
	for _, name := range names {
		def := llm.ToolDefinition{Name: "mcp__" + s.safe + "__" + name,
			Parameters: json.RawMessage(`{"type":"object"}`)}
		s.offered = append(s.offered, offered{name: name, hash: hashOf(def, false),
			tool: tool.Tool{ToolDefinition: def}})
	}
	s.mu.Unlock()
	s.owner.toolsChanged()
}

// Servers that start within two seconds of each other are one change of the session, and so is what
// comes within a moment after that.
func TestM2_OneBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Start(t.Context(), Options{})
		for i := range 10 {
			s.list = append(s.list, newServer(s, Server{Name: "s"}, fmt.Sprint("s", i)))
		}
		c := &changes{began: time.Now()}
		leave := s.Join(c)
		for i, one := range s.list[:9] {
			time.Sleep(150 * time.Millisecond * time.Duration(1+i%2))
			close(one.first)
			fill(one, "a", "b")
		}
		time.Sleep(5 * time.Second)
		close(s.list[9].first)
		fill(s.list[9], "a")
		time.Sleep(time.Second)
		fill(s.list[9], "b")
		fill(s.list[8])
		time.Sleep(time.Second)
		leave()
		fill(s.list[8], "c")
		time.Sleep(time.Minute)
		if want := []string{"2s -0 +18", "7.15s -0 +1", "8.15s -3 +1"}; !slices.Equal(c.list, want) {
			t.Errorf("the session was changed %q, want %q", c.list, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
