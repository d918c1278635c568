package command

import (
	"os"
	"testing"

	"github.com/attractor-go/attractor/fleet/workspace"
)

// The files of the documents' examples can be read.
func TestP3_Examples(t *testing.T) {
	f, err := os.Open("../../examples/tasks.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if tasks, err := readTasks(f, "tasks.jsonl", checkAny); err != nil || len(tasks) != 4 {
		t.Errorf("%d tasks: %v", len(tasks), err)
	}
	t.Setenv("GITHUB_TOKEN", "ghp_of_this_test")
	places := placeFlags{environments: "../../examples/environments.json",
		credentials: "../../examples/credentials.json"}
	o := workspace.Options{Dir: t.TempDir()}
	if err := places.read(&o); err != nil {
		t.Fatal(err)
	}
	if _, err := workspace.New(o); err != nil || o.Credentials["github"].Token != "ghp_of_this_test" ||
		len(o.Environments["box"].Create) == 0 {
		t.Errorf("%v: %+v", err, o)
	}
}
