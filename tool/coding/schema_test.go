package coding

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/tool"
)

var update = flag.Bool("update", false, "rewrite the schemas in schemas")

// inferred returns the schemas that are inferred from the structs of the arguments, by the names of
// the files.
func inferred() map[string]func() (json.RawMessage, error) {
	return map[string]func() (json.RawMessage, error){
		"apply_patch":         tool.SchemaOf[applyPatchArgs],
		"ask_user":            tool.SchemaOf[askUserArgs],
		"close_agent":         tool.SchemaOf[agentArgs],
		"edit_file":           tool.SchemaOf[editFileArgs],
		"glob":                tool.SchemaOf[globArgs],
		"list_dir":            tool.SchemaOf[listDirArgs],
		"process":             tool.SchemaOf[processArgs],
		"read_file":           tool.SchemaOf[readFileArgs],
		"read_many_files":     tool.SchemaOf[readManyFilesArgs],
		"read_output":         tool.SchemaOf[readOutputArgs],
		"send_input":          tool.SchemaOf[sendInputArgs],
		"shell":               tool.SchemaOf[shellArgs],
		"spawn_agent":         tool.SchemaOf[spawnAgentArgs],
		"spawn_agent_of_kind": tool.SchemaOf[spawnKindArgs],
		"update_plan":         tool.SchemaOf[planArgs],
		"wait":                tool.SchemaOf[agentArgs],
		"write_file":          tool.SchemaOf[writeFileArgs],
	}
}

// Each schema is, but for white space, the one that is inferred from the struct of the arguments.
func TestK1_SchemasAreTheStructs(t *testing.T) {
	for name, infer := range inferred() {
		want, err := infer()
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			var text bytes.Buffer
			if err := json.Indent(&text, want, "", "  "); err != nil {
				t.Fatal(err)
			}
			text.WriteByte('\n')
			if err := os.WriteFile(filepath.Join("schemas", name+".json"), text.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got := compact(t, schema(name)); got != string(want) {
			t.Errorf("%s: %s\nthe struct says %s\nrun go test ./tool/coding -run K1 -update", name, got, want)
		}
	}
	entries, err := schemas.ReadDir("schemas")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, e := range entries {
		files = append(files, strings.TrimSuffix(e.Name(), ".json"))
	}
	if want := slices.Sorted(maps.Keys(inferred())); !*update && !slices.Equal(files, want) {
		t.Errorf("the files are %v, want %v", files, want)
	}
}

// Each tool has its own schema.
func TestK1_ToolsHaveTheirSchemas(t *testing.T) {
	tools := append([]tool.Tool{ApplyPatch(), AskUser(), EditFile(), Glob(), ListDir(), Process(), ReadFile(),
		ReadManyFiles(), ReadOutput(), Shell(0), UpdatePlan(), WriteFile()}, Agents()...)
	parameters := map[string]json.RawMessage{}
	for _, of := range tools {
		parameters[of.Name] = of.Parameters
		if of.ForAgents != nil {
			parameters[of.Name+"_of_kind"] = of.ForAgents(nil).Parameters
		}
	}
	for name, infer := range inferred() {
		if want, err := infer(); err != nil || string(parameters[name]) != string(want) {
			t.Errorf("%s has the parameters %s, want %s (%v)", name, parameters[name], want, err)
		}
	}
}

// To make a tool is cheap, because nothing is inferred: the smallest schema takes more than forty
// allocations.
func TestK1_ToolsInferNothing(t *testing.T) {
	for name, build := range map[string]func() tool.Tool{
		"apply_patch": ApplyPatch, "ask_user": AskUser, "edit_file": EditFile, "glob": Glob, "grep": Grep,
		"list_dir": ListDir, "process": Process,
		"read_file": ReadFile, "read_many_files": ReadManyFiles, "read_output": ReadOutput, "update_plan": UpdatePlan,
		"write_file": WriteFile,
		"shell":      func() tool.Tool { return Shell(0) },
	} {
		n := testing.AllocsPerRun(3, func() { build() })
		t.Logf("%s: %v allocations", name, n)
		if n > 30 {
			t.Errorf("%s is made with %v allocations", name, n)
		}
	}
	if n := testing.AllocsPerRun(3, func() { Agents() }); n > 85 {
		t.Errorf("the tools for subagents are made with %v allocations", n)
	}
}

// compact returns JSON without white space.
func compact(t *testing.T, text []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		t.Fatalf("%v: %q", err, text)
	}
	return b.String()
}
