package refdocs

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// known matches names that are those of variables of the environment wherever the code has them.
var known = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^(ATTRACTOR|OTEL|XDG|ANTHROPIC|OPENAI|GEMINI|GOOGLE|OPENROUTER|OLLAMA|CLAUDE|CODEX)_[A-Z0-9_]*[A-Z0-9]$`)
})

// variable matches what can be the name of a variable of the environment.
var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$`) })

// Variables returns the names of the variables of the environment that the code names, sorted: in
// calls of functions such as os.Getenv, in the functions that call one with a name from a list, in
// constants whose names end in Var, and those with the prefix of a program.
func (s *Source) Variables() (names []string) {
	for _, pkg := range s.Packages {
		for name, value := range pkg.consts {
			if text, ok := pkg.text(value); ok && strings.HasSuffix(name, "Var") && variable().MatchString(text) {
				names = append(names, text)
			}
		}
		for _, file := range pkg.Files {
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					names = append(names, pkg.listed(n)...)
				case *ast.CallExpr:
					if e := looksUp(n); e != nil {
						if text, ok := pkg.text(e); ok && variable().MatchString(text) {
							names = append(names, text)
						}
					}
				case *ast.KeyValueExpr:
					names = append(names, pkg.declared(n)...)
				case *ast.BasicLit:
					if text, ok := pkg.text(n); ok && known().MatchString(text) {
						names = append(names, text)
					}
				}
				return true
			})
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// declared returns the names of the literals in a member whose name ends in Var or Vars, and those
// that stand as ${NAME} in the literals of others.
func (p *Package) declared(member *ast.KeyValueExpr) (names []string) {
	key, ok := member.Key.(*ast.Ident)
	if !ok {
		return nil
	}
	whole := strings.HasSuffix(strings.TrimSuffix(key.Name, "s"), "Var")
	ast.Inspect(member.Value, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok {
			return true
		}
		text, ok := p.text(lit)
		if ok && whole && variable().MatchString(text) {
			names = append(names, text)
		}
		if ok && key.Name == "URLs" {
			for _, m := range regexp.MustCompile(`\$\{([A-Z_]+)\}`).FindAllStringSubmatch(text, -1) {
				names = append(names, m[1])
			}
		}
		return true
	})
	return names
}

// looksUp returns the name that a call looks up in an environment, nil if it does not.
func looksUp(call *ast.CallExpr) ast.Expr {
	name, _ := callee(call)
	if !strings.EqualFold(name, "getenv") && name != "LookupEnv" || len(call.Args) == 0 {
		return nil
	}
	return call.Args[len(call.Args)-1]
}

// listed returns the names in a function that looks up one which is not constant.
func (p *Package) listed(f *ast.FuncDecl) (names []string) {
	looks := false
	ast.Inspect(f, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if e := looksUp(call); e != nil {
				_, constant := p.text(e)
				looks = looks || !constant
			}
		}
		return !looks
	})
	if !looks {
		return nil
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok {
			if text, ok := p.text(lit); ok && variable().MatchString(text) && len(text) > 1 {
				names = append(names, text)
			}
		}
		return true
	})
	return names
}
