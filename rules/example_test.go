package rules_test

import (
	"context"
	"fmt"

	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/rules"
)

// Rules are loaded from the bytes of their files, and decide about calls.
func ExampleSet_Decide() {
	ctx, e := context.Background(), envtest.NewMemory(nil)
	set, err := rules.Load(rules.Dirs{Work: e.WorkDir()},
		rules.Source{Name: "rules.json", Data: []byte(`{"permissions": {
		"allow": ["Bash(go test:*)"],
		"deny":  [{"rule": "Bash(git push:*)", "reason": "a person pushes"}]
	}}`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, command := range []string{"go test ./... | tail -n 3", "go test ./... && git push", "make"} {
		req, err := rules.Query{Command: command}.Request()
		if err != nil {
			fmt.Println(err)
			return
		}
		d := set.Decide(ctx, e, req)
		fmt.Printf("%s: %s by %q, suggests %q\n", command, d.Verdict, d.Rule, d.Suggest)
	}
	// Output:
	// go test ./... | tail -n 3: allow by "Bash(go test:*) (rules.json:2)", suggests []
	// go test ./... && git push: deny by "Bash(git push:*) (rules.json:3)", suggests []
	// make: ask by "", suggests ["Bash(make)"]
}

// A mistake is an error with its line. A set gives the permission hook for agent.Options.Authorize;
// calls that it asks about go on to Approve.
func ExampleLoad() {
	e := envtest.NewMemory(nil)
	set, err := rules.Load(rules.Dirs{Work: e.WorkDir()}, rules.Source{Name: "rules.json",
		Data: []byte(`{"permissions": {"deny": ["WebFetch"], "alow": []}}`)})
	fmt.Println(set, err)

	if set, err = rules.Load(rules.Dirs{Work: e.WorkDir()}); err != nil {
		fmt.Println(err)
		return
	}
	req, err := rules.Query{Tool: "Read", Path: ".env"}.Request()
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := set.Authorize(e)(context.Background(), req)
	fmt.Println(d.Verdict, d.Reason, err)
	// Output:
	// <nil> rules.json:1: "alow" is not a member of permissions; its members are allow, ask, deny, additionalDirectories and defaultMode
	// ask /work/.env: .env usually holds secrets <nil>
}
