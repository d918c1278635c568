package natsfleet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/fleet"
)

const goodConfig = `{
  "store": "/var/lib/fleet",
  "operator": "an operator's secret",
  "tenants": [{"name": "a", "weight": 2, "limit": 3, "max_queued": 4, "budget": {"usd": 5, "tokens": 9}, "token": "env:TOKEN_OF_A"}]
}`

func TestP9_ConfigIsStrict(t *testing.T) {
	t.Setenv("TOKEN_OF_A", "the secret of tenant a")
	got, err := ParseConfig([]byte(goodConfig))
	want := Config{Store: "/var/lib/fleet", Operator: "an operator's secret", Tenants: []Tenant{{
		Tenant: fleet.Tenant{Name: "a", Weight: 2, Limit: 3, MaxQueued: 4,
			Budget: fleet.Budget{USD: 5, Tokens: 9}}, Token: "env:TOKEN_OF_A",
	}}}
	if err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
	for _, test := range []struct{ old, new, says string }{
		{`"store"`, `"stor"`, `unknown field "stor"`},
		{`"/var/lib/fleet"`, `7`, "line 2: store must be a string, not a JSON number"},
		{`"/var/lib/fleet"`, `""`, "store: must not be empty"},
		{`"store"`, `"listen": "4222", "store"`, `listen: "4222" is not host:port`},
		{`"store"`, `"listen": "127.0.0.1:x", "store"`, `listen: "127.0.0.1:x" is not host:port, with a number`},
		{`"an operator's secret"`, `"short"`, "operator: has 5 bytes"},
		{`"an operator's secret"`, `""`, "operator: has 0 bytes"},
		{`"an operator's secret"`, `"env:NOT_SET"`, "operator: the environment variable NOT_SET is not set"},
		{`"an operator's secret"`, `"file:/none"`, "operator: open /none"},
		{`"an operator's secret"`, `"bcrypt:x"`, "operator: must be the secret, not its hash"},
		{`"name": "a"`, `"name": "a.b/c"`, `tenants: [0] "a.b/c"`},
		{`"name": "a"`, `"name": ""`, `tenants: [0] ""`},
		{`"weight": 2`, `"weight": -2`,
			`tenants: [0] "a": weight, limit, max_queued, budget and max_store must not be negative`},
		{`"tokens": 9`, `"time": "1h"`, `tenants: [0] "a": budget: time is a limit of single tasks`},
		{`"weight"`, `"wait"`, `unknown field "wait"`},
		{`env:TOKEN_OF_A`, `bcrypt:$2a$04$x`, `tenants: [0] "a": token: is no bcrypt hash`},
		{`env:TOKEN_OF_A`, `x`, `tenants: [0] "a": token: has 1 bytes`},
		{`[{"name"`, `[{"name": "a"}, {"name"`, `tenants: [1] "a": is there twice`},
		{`"store"`, `"replicas": 2, "store"`, "replicas: 2 is none of 1, 3 and 5"},
		{`"store"`, `"replicas": 3, "store"`, "replicas: 3 replicas need a cluster"},
		{`"store"`, `"cluster": {"name": "c", "listen": "127.0.0.1:1", "routes": []}, "store"`,
			"cluster: the server's name and the cluster's name"},
		{`"store"`, `"name": "s", "cluster": {"name": "c", "listen": "127.0.0.1", "routes": []}, "store"`,
			"cluster: listen: "},
		{`"store"`, `"name": "s", "cluster": {"name": "c", "listen": ":1", "routes": ["x"]}, "store"`,
			"cluster: routes[0]: "},
		{`"store"`, `"tls": {"cert": "c"}, "store"`, "tls: cert and key must both be set"},
		{`"store"`, `"tls": {"cert": "c", "key": "k", "verify": true}, "store"`, "tls: ca must be set"},
		{`"store"`, `"sync": "often", "store"`, `sync: "often" is neither`},
		{`"store"`, `"sync": "-1s", "store"`, `sync: "-1s" is neither`},
		{`"store"`, `"max_store": -1, "store"`, "max_store: must not be negative"},
		{`"store"`, `"shards": 2000, "store"`, "shards: 2000 is not between"},
		{`"store"`, `"slots": [{"slots": 1}], "store"`, "slots: [0].provider: must not be empty"},
		{`"store"`, `"slots": [{"provider": "p", "slots": -1}], "store"`, "slots: [0]: slots and"},
		{`"store"`, `"slots": [{"provider": "p"}, {"provider": "p"}], "store"`, "slots: [1]: p"},
		{`}]
}`, `}]
} {`, "something after"},
		{`"store":`, `"store"`, "line 2"},
	} {
		text := strings.Replace(goodConfig, test.old, test.new, 1)
		if text == goodConfig {
			t.Fatalf("%s is not in the configuration", test.old)
		}
		if _, err := ParseConfig([]byte(text)); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", test.new, err)
		}
	}
}

func TestP9_TokensFromElsewhere(t *testing.T) {
	t.Setenv("THE_TOKEN", "a secret of the environment")
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("a secret of a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for token, want := range map[Token]string{
		"env:THE_TOKEN": "a secret of the environment", Token("file:" + file): "a secret of a file",
		"a secret:of:itself": "a secret:of:itself",
	} {
		if got, err := token.Value(); err != nil || got != want {
			t.Errorf("%s: %q, %v", token, got, err)
		}
	}
	hash, err := hashSecret("a secret that is hashed")
	if err != nil {
		t.Fatal(err)
	}
	c := testConfig(t)
	c.Tenants[0].Token = Token("bcrypt:" + hash)
	s := serve(t, c)
	_, end, err := OpenTenant(t.Context(), s.URL(), "a", OpenOptions{Token: "a secret that is hashed"})
	if err != nil {
		t.Fatal(err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}
