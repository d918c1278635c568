package refdocs

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Source is the code of the repository: its packages without their tests, those of the modules
// cloud, fleet and otel too.
type Source struct {
	Packages []*Package // by directory
}

// A Package is a package's code.
type Package struct {
	Dir    string // from the root of the repository, with slashes
	Name   string
	Files  []*ast.File // by name
	consts map[string]ast.Expr
}

// forTests matches directories whose code no user runs: programs that measure, examples, and
// helpers of tests.
var forTests = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`(^|/)(testdata|\.[^/]+|bench|house|examples|oracle|webtest|fakellm|[a-z]+test)$|^internal/(peer|soak|orphans|parallel|loopdns|authserver|longsession|endless|refdocs|record)$|^fleet/internal/faults$`)
})

// Load reads the code below the root of the repository.
func Load(root string) (*Source, error) {
	src, set := new(Source), token.NewFileSet()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		dir, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if dir = filepath.ToSlash(dir); dir != "." && forTests().MatchString(dir) {
			return filepath.SkipDir
		}
		return src.load(set, name, dir)
	})
	slices.SortFunc(src.Packages, func(a, b *Package) int { return cmp.Compare(a.Dir, b.Dir) })
	return src, err
}

// load reads the package in a directory, if there is one. It reads the files of all systems.
func (s *Source) load(set *token.FileSet, name, dir string) error {
	files, err := filepath.Glob(filepath.Join(name, "*.go"))
	if err != nil {
		return err
	}
	pkg := &Package{Dir: dir, consts: map[string]ast.Expr{}}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		pkg.Files, pkg.Name = append(pkg.Files, f), f.Name.Name
	}
	if pkg.Files == nil {
		return nil
	}
	pkg.values(func(spec *ast.ValueSpec, _ *ast.GenDecl) {
		for i, name := range spec.Names {
			if i < len(spec.Values) {
				pkg.consts[name.Name] = spec.Values[i]
			}
		}
	})
	s.Packages = append(s.Packages, pkg)
	return nil
}

// values calls f for each specification of package-level constants and variables.
func (p *Package) values(f func(*ast.ValueSpec, *ast.GenDecl)) {
	for _, file := range p.Files {
		for _, d := range file.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.CONST && decl.Tok != token.VAR {
				continue
			}
			for _, spec := range decl.Specs {
				f(spec.(*ast.ValueSpec), decl)
			}
		}
	}
}

// public reports whether programs outside of the repository can import the package.
func (p *Package) public() bool {
	return p.Name != "main" && !slices.Contains(strings.Split(p.Dir, "/"), "internal")
}

// path returns the import path.
func (p *Package) path() string { return path.Join("github.com/attractor-go/attractor", p.Dir) }

// text returns the text of an expression that is a string, with ... for each part that is not
// constant. It returns false for other expressions.
func (p *Package) text(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.ParenExpr:
		return p.text(e.X)
	case *ast.Ident:
		if value, ok := p.consts[e.Name].(*ast.BasicLit); ok {
			return p.text(value)
		}
	case *ast.BinaryExpr:
		x, is := p.text(e.X)
		y, also := p.text(e.Y)
		if e.Op != token.ADD || !is && !also {
			return "", false
		}
		if !is {
			x = "..."
		}
		if !also {
			y = "..."
		}
		return x + y, true
	}
	return "", false
}

// verb matches the verbs of a format.
var verb = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%[-+# 0-9.*\[\]]*[a-zA-Z]`) })

// pattern returns a format with ... for each part that differs.
func pattern(format string) string {
	text := strings.ReplaceAll(format, "%%", "\x00")
	text = verb().ReplaceAllString(text, "...")
	return strings.ReplaceAll(text, "\x00", "%")
}
