package rules

import (
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/texts"
)

// hidden reports whether a file is hidden in the session's directories, or in a hidden directory of
// theirs, by another name than those that are known to start nothing. Shells, editors, version
// managers and other programs read hidden files of their own where they run, so that no table of
// those that start something is whole. The name has no links.
func (s *Set) hidden(name string) bool {
	isOdd := func(elem string) bool { return strings.HasPrefix(elem, ".") && !startsNothing(elem) }
	return !slices.ContainsFunc(s.roots, func(root string) bool {
		return inside(root, name) && !slices.ContainsFunc(strings.Split(texts.FoldedPath(name[len(root):]), "/"), isOdd)
	})
}

// mayStart reports whether a file in the session's directories is hidden, or has the name of one
// that starts something. What lies among packages and in .git does not count: by links there no
// program finds its configuration.
func (s *Set) mayStart(name string) bool {
	below := s.below(name)
	elems := strings.Split(path.Dir(below), "/")
	if !s.insideRoots(name) || slices.Contains(elems, "node_modules") || slices.Contains(elems, ".git") {
		return false
	}
	_, starting := startingFile(below)
	return starting || s.hidden(name)
}

// linkedStart reports whether a link that is hidden, or has the name of a file that starts
// something, leads to a file, or to a directory around it that contains none of the session's.
func (c *call) linkedStart(real string) bool {
	return slices.ContainsFunc(c.links(), func(name string) bool {
		to := c.real(name)
		return perhapsInside(to, real) && c.mayStart(name) && !slices.ContainsFunc(c.roots, func(root string) bool {
			return inside(to, root)
		})
	})
}

// startsNothing reports whether a hidden file or directory of this name, in lower case, is one of
// the usual ones of projects that start nothing by themselves, such as what version controls ignore
// and settings of formatters and linters, with any extension.
func startsNothing(name string) bool {
	if strings.HasSuffix(name, "ignore") {
		return true
	}
	stem, _, _ := strings.Cut(name[1:], ".")
	switch stem {
	case "gitattributes", "gitkeep", "keep", "mailmap", "editorconfig", // version controls and editors
		"eslintrc", "prettierrc", "stylelintrc", "babelrc", "swcrc", "browserslistrc", "postcssrc", "jshintrc",
		"htmlhintrc", "csslintrc", "mocharc", "nycrc", "c8rc", "storybook", "changeset", // JavaScript
		"flake8", "pycodestyle", "pydocstyle", "isort", "coveragerc", "bandit", // Python
		"golangci", "rustfmt", "clippy", "rubocop", "rubocop_todo", "yardopts", "scalafmt", "scalafix",
		"swiftlint", "swiftformat", "clang-format", "clang-tidy", "luacheckrc", "stylua", "perltidyrc", "perlcriticrc",
		"formatter", "credo", "php-cs-fixer", "phpcs", // other languages
		"markdownlint", "markdownlint-cli2", "remarkrc", "textlintrc", "cspell", "codespellrc", "typos", "yamllint",
		"taplo", "hadolint", "shellcheckrc", "sqlfluff", "ansible-lint", "tflint", // texts and configuration
		"codecov", "codeclimate", "nojekyll", "well-known": // services
		return true
	}
	return false
}
