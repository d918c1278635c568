package env_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
)

// optional returns the interfaces that an environment may implement.
func optional() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[env.Confined](), reflect.TypeFor[env.Guard](), reflect.TypeFor[env.Replacer](),
		reflect.TypeFor[env.Locker](), reflect.TypeFor[env.Resolver](), reflect.TypeFor[env.Tree](),
		reflect.TypeFor[env.View](), reflect.TypeFor[env.DirOpener](),
	}
}

// wrappers returns e wrapped by each function of the package that wraps environments.
func wrappers(e env.Environment) map[string]env.Environment {
	return map[string]env.Environment{
		"ReadOnly": env.ReadOnly(e), "Protect": env.Protect(e, env.Protection{}), "Sub": env.Sub(e, "."),
		"Logging": env.Logging(e, slog.New(slog.DiscardHandler)),
	}
}

// exceptions returns the methods that a wrapper does not forward, with the reasons, by wrapper and
// method.
func exceptions() map[string]string {
	const refused = "refused"
	return map[string]string{
		"ReadOnly.Replace": refused, "ReadOnly.Delete": refused, "ReadOnly.Symlink": refused, "ReadOnly.Mkdir": refused,
		"ReadOnly.Chmod":  refused,
		"ReadOnly.Lock":   "nothing is changed, so nobody has to be kept from changing it",
		"Sub.Below":       "names mean something else below",
		"Logging.OpenDir": "each file is logged by its name",
		// Each wrapper decides what its Below returns.
		"ReadOnly.Below": "its own", "Protect.Below": "its own", "Logging.Below": "its own",
	}
}

// whole is an environment with every optional interface. It notes which methods are called.
type whole struct {
	env.Environment
	called *[]string
}

func (w whole) note(method string)                           { *w.called = append(*w.called, method) }
func (w whole) Confinement() env.Confinement                 { w.note("Confinement"); return env.Confinement{} }
func (w whole) Guarded(context.Context, string) string       { w.note("Guarded"); return "" }
func (w whole) Exposed(context.Context) string               { w.note("Exposed"); return "" }
func (w whole) Symlink(_ context.Context, _, _ string) error { w.note("Symlink"); return nil }
func (w whole) Replace(context.Context, string, env.Hash, []byte, fs.FileMode) error {
	w.note("Replace")
	return nil
}
func (w whole) Delete(context.Context, string, env.Hash) error { w.note("Delete"); return nil }
func (w whole) Lock(context.Context, ...string) (func(), error) {
	w.note("Lock")
	return func() {}, nil
}
func (w whole) Resolve(_ context.Context, name string) (string, error) {
	w.note("Resolve")
	return name, nil
}
func (w whole) Lstat(context.Context, string) (env.Node, error) {
	w.note("Lstat")
	return env.Node{}, fs.ErrNotExist // so that nothing is a repository
}
func (w whole) Readlink(context.Context, string) (string, error) { w.note("Readlink"); return "", nil }
func (w whole) Mkdir(context.Context, string, fs.FileMode) error { w.note("Mkdir"); return nil }
func (w whole) Chmod(context.Context, string, fs.FileMode) error { w.note("Chmod"); return nil }
func (w whole) Below(context.Context, string, string) (env.Environment, func(error)) {
	w.note("Below")
	return w.Environment, func(error) {}
}

func (w whole) OpenDir(context.Context, string) (env.Dir, error) { w.note("OpenDir"); return nil, nil }

// Every wrapper forwards every optional interface, except for the exceptions.
func TestJ9_WrappersForwardOptionalInterfaces(t *testing.T) {
	var called []string
	e := whole{newLocal(t, t.TempDir(), env.LocalOptions{}), &called}
	excepted := exceptions()
	for name, wrapped := range wrappers(e) {
		for _, iface := range optional() {
			if !reflect.TypeOf(e).Implements(iface) {
				t.Fatalf("whole, of this test, lacks %v", iface)
			}
			for i := range iface.NumMethod() {
				method := iface.Method(i)
				key := name + "." + method.Name
				why, ok := excepted[key]
				delete(excepted, key)
				if !reflect.TypeOf(wrapped).Implements(iface) {
					if !ok {
						t.Errorf("%s does not forward %v, which has %s", name, iface, method.Name)
					}
					continue
				}
				called = nil
				results := reflect.ValueOf(wrapped).MethodByName(method.Name).Call(arguments(t, method.Type))
				switch forwarded := slices.Contains(called, method.Name); {
				case forwarded == ok:
					t.Errorf("%s: forwarded %t, but the exception says %q", key, forwarded, why)
				case why == "refused":
					if err, _ := results[len(results)-1].Interface().(error); !errors.Is(err, env.ErrReadOnly) {
						t.Errorf("%s: %v, want a refusal", key, err)
					}
				}
			}
		}
	}
	if len(excepted) > 0 {
		t.Errorf("exceptions for unknown methods: %v", excepted)
	}
}

// Base forwards what the environment reports about itself, and no access to its files.
func TestJ9_BaseForwardsReports(t *testing.T) {
	said := []reflect.Type{reflect.TypeFor[env.Confined](), reflect.TypeFor[env.Guard](),
		reflect.TypeFor[env.Locker](), reflect.TypeFor[env.Resolver]()}
	var called []string
	base := env.Base{Environment: whole{newLocal(t, t.TempDir(), env.LocalOptions{}), &called}}
	for _, iface := range optional() {
		if reflect.TypeOf(base).Implements(iface) != slices.Contains(said, iface) {
			t.Errorf("Base is a %v: %t", iface, !slices.Contains(said, iface))
			continue
		}
		for i := range iface.NumMethod() {
			if method := iface.Method(i); slices.Contains(said, iface) {
				reflect.ValueOf(base).MethodByName(method.Name).Call(arguments(t, method.Type))
				if !slices.Contains(called, method.Name) {
					t.Errorf("Base does not forward %s", method.Name)
				}
			}
		}
	}
}

// arguments returns valid arguments for a method.
func arguments(t *testing.T, method reflect.Type) (args []reflect.Value) {
	for i := range method.NumIn() {
		switch in := method.In(i); {
		case in == reflect.TypeFor[context.Context]():
			args = append(args, reflect.ValueOf(t.Context()))
		case in == reflect.TypeFor[string](), method.IsVariadic() && i == method.NumIn()-1:
			args = append(args, reflect.ValueOf("f"))
		default:
			args = append(args, reflect.Zero(in))
		}
	}
	return args
}

// The lists above are complete: a new interface or wrapper of the package must be added there.
func TestJ9_OptionalInterfacesAndWrappersAreKnown(t *testing.T) {
	var known []string
	for _, iface := range optional() {
		known = append(known, iface.Name())
	}
	for name := range wrappers(newLocal(t, t.TempDir(), env.LocalOptions{})) {
		known = append(known, name)
	}
	// a Draft forwards no way to change files, and does what Replacer does in two steps
	notOptional := []string{"Environment", "Process", "Dir", "Draft"}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range files {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), entry.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range append(interfaces(file), makers(file)...) {
			if ast.IsExported(name) && !slices.Contains(known, name) && !slices.Contains(notOptional, name) {
				t.Errorf("%s of %s is missing from the lists of this test; add it if it is an optional interface or "+
					"a wrapper", name, entry.Name())
			}
			known = slices.DeleteFunc(known, func(k string) bool { return k == name })
		}
	}
	if len(known) > 0 {
		t.Errorf("the lists have %q, but the package does not", known)
	}
}

// interfaces returns the names of a file's interface types.
func interfaces(file *ast.File) (names []string) {
	for _, decl := range file.Decls {
		types, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range types.Specs {
			if spec, ok := spec.(*ast.TypeSpec); ok {
				if _, ok := spec.Type.(*ast.InterfaceType); ok {
					names = append(names, spec.Name.Name)
				}
			}
		}
	}
	return names
}

// makers returns the names of a file's functions that take an Environment first and return one.
func makers(file *ast.File) (names []string) {
	isEnvironment := func(list *ast.FieldList) bool {
		if list == nil || len(list.List) == 0 {
			return false
		}
		name, ok := list.List[0].Type.(*ast.Ident)
		return ok && name.Name == "Environment"
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && isEnvironment(f.Type.Params) &&
			isEnvironment(f.Type.Results) {
			names = append(names, f.Name.Name)
		}
	}
	return names
}
