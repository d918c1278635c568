package mcp

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
)

func TestM1_Names(t *testing.T) {
	servers := serverNames([]Server{{Name: "github"}, {Name: "a.b"}, {Name: "a b"}, {Name: "_x__y_"}, {Name: "a_b"},
		{Name: "github"}, {Name: "€"}})
	want := []string{"github", "a_b_60e8ed7a", "a_b_c8687a08", "x_y", "a_b", "github_2", "server"}
	for i, name := range servers {
		if i < 3 && len(name) != len(want[i]) || i > 2 && i != 5 && name != want[i] {
			t.Errorf("server %d is %q, want one like %q", i, name, want[i])
		}
	}
	tools := toolNames("github", []string{"get.me", "get_me", "search", strings.Repeat("long", 20)})
	if tools[1] != "mcp__github__get_me" || !strings.HasPrefix(tools[0], "mcp__github__get_me_") ||
		tools[2] != "mcp__github__search" || len(tools[3]) != maxName {
		t.Errorf("the tools are %q", tools)
	}
}

// Different tools have different names that every provider takes, whatever they are called and in
// whatever order they come.
func TestM1_NamesAreDistinct(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.StringMatching(`[a-b_.]{0,4}`), rapid.StringMatching(`[a-b_.€-]{50,70}`),
			rapid.String())
		servers := rapid.SliceOfN(name, 1, 4).Draw(t, "servers")
		tools := rapid.SliceOfNDistinct(name, 1, 6, rapid.ID[string]).Draw(t, "tools")
		list := make([]Server, len(servers))
		for i := range servers {
			list[i].Name = servers[i]
		}
		seen := map[string]bool{}
		for _, server := range serverNames(list) {
			names := toolNames(server, tools)
			for _, n := range names {
				if seen[n] || len(n) > maxName || safe(n) != n {
					t.Fatalf("bad or double name %q of %q %q", n, servers, tools)
				}
				seen[n] = true
			}
			backwards := slices.Clone(tools)
			slices.Reverse(backwards)
			other := toolNames(server, backwards)
			slices.Reverse(other)
			if !slices.Equal(names, other) {
				t.Fatalf("the names depend on the order: %q and %q", names, other)
			}
		}
	})
}

// Whoever is called like a name with a hash gets no other's name, and a server of the project none
// that belongs to the user's.
func TestM12_NamesAreNotForged(t *testing.T) {
	lab := toolNames("lab", []string{"a b", "a.b"})
	forged := toolNames("lab", []string{"a b", "a.b", strings.TrimPrefix(lab[0], "mcp__lab__"),
		strings.TrimPrefix(lab[1], "mcp__lab__")})
	if slices.Sort(forged); len(slices.Compact(forged)) != 4 {
		t.Errorf("the tools are %q", forged)
	}
	mine := []Server{{Name: "my server"}, {Name: "a.b"}, {Name: "a b"}}
	was := serverNames(mine)
	for _, name := range append(slices.Clone(was), "my__server_", "a_b") {
		theirs := Server{Name: name, Origin: Project}
		for _, list := range [][]Server{append(slices.Clone(mine), theirs), append([]Server{theirs}, mine...)} {
			names := serverNames(list)
			at := slices.IndexFunc(list, func(s Server) bool { return s.Origin == Project })
			forged := names[at]
			if names = slices.Delete(names, at, at+1); !slices.Equal(names, was) || slices.Contains(was, forged) {
				t.Errorf("with a server %s of the project, which is called %s, those of the user are called "+
					"%q, want %q", name, forged, names, was)
			}
		}
	}
}

// A project's server does not get the name that rules have for one of the user's that is disabled,
// however the project spells it.
func TestM1_NamesOfDisabledServers(t *testing.T) {
	users := []Server{{Name: "my.db", Origin: User, Off: true}, {Name: "on", Origin: User}}
	projects := []Server{{Name: "my_db", Origin: Project}, {Name: "my db", Origin: Project},
		{Name: "other", Origin: Project, Off: true}, {Name: "free", Origin: Project}}
	list, shadowed := Merge(users, projects)
	if names := serverNames(list); !slices.Equal(names, []string{"on", "free"}) || len(shadowed) != 2 {
		t.Errorf("%q, %v", names, shadowed)
	}
}
