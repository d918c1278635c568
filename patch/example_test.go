package patch_test

import (
	"context"
	"fmt"
	"io/fs"
	"log"

	"github.com/attractor-go/attractor/patch"
)

// folder is a patch.Files that keeps files by their paths. Those of an environment are patched by
// coding.Patch.
type folder map[string]string

func (f folder) Read(_ context.Context, name string) ([]byte, fs.FileMode, error) {
	text, ok := f[name]
	if !ok {
		return nil, 0, fs.ErrNotExist
	}
	return []byte(text), 0o644, nil
}

func (f folder) Write(_ context.Context, name string, _ *string, data []byte, _ fs.FileMode) error {
	f[name] = string(data)
	return nil
}

func (f folder) Remove(_ context.Context, name, _ string) error {
	delete(f, name)
	return nil
}

// A patch is parsed, matched with the files, and written. Nothing is written before the last step.
func Example() {
	ctx := context.Background()
	files := folder{"greet.py": "def greet():\n    print('Hi')\n", "old.txt": "old\n"}
	ops, err := patch.Parse(`*** Begin Patch
*** Update File: greet.py
@@ def greet():
-    print('Hi')
+    print('Hello')
*** Delete File: old.txt
*** End Patch`)
	if err != nil {
		log.Fatal(err)
	}
	plan, err := patch.NewPlan(ctx, files, ops, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, change := range plan.Changes {
		fmt.Println(change)
	}
	if err := plan.Apply(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Print(files["greet.py"])
	// Output:
	// M greet.py
	// D old.txt
	// def greet():
	//     print('Hello')
}

// An error tells the model that wrote the patch what to do about it.
func ExampleError() {
	ops, err := patch.Parse(
		"*** Begin Patch\n*** Update File: greet.py\n@@\n-print('Bye')\n+print('Hello')\n*** End Patch")
	if err != nil {
		log.Fatal(err)
	}
	_, err = patch.NewPlan(context.Background(), folder{"greet.py": "print('Hi')\n"}, ops, nil)
	fmt.Println(err)
	// Output:
	// greet.py, hunk 1, line 3 of the patch: these old lines are not in the file:
	//   print('Bye')
	// The nearest line is line 1, which reads
	//   print('Hi')
	// Copy old lines from the file exactly.
}

// Models write patches as shell commands, although there is no such program.
func ExampleFromScript() {
	call, ok := patch.FromScript(
		"cd src && apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: old.txt\n*** End Patch\nEOF\n")
	fmt.Println(ok, call.Dir)
	fmt.Print(call.Patch)
	_, ok = patch.FromScript("apply_patch < change.patch && go test ./...")
	fmt.Println(ok)
	// Output:
	// true src
	// *** Begin Patch
	// *** Delete File: old.txt
	// *** End Patch
	// false
}
