package shell

import (
	"cmp"
	"slices"
	"strings"
)

// given returns a command that another program runs with what it finds or reads: in the place of a
// text, or behind the words if there is none.
func given(words []word, place string) []word {
	words = slices.Clone(words)
	if place == "" {
		return append(words, word{text: "...", found: true, added: true})
	}
	for i, a := range words {
		words[i].found = a.found || a.text == place || i == 0 && strings.Contains(a.text, place)
	}
	return words
}

// command returns the command that begins at an index of a wrapper's words.
func command(name string, words []word, i int) []word {
	switch name {
	case "xargs":
		return given(words[i:], replaced(words[1:i]))
	case "parallel":
		return given(words[i:], "{}")
	}
	return words[i:]
}

// replaced returns the text that options of xargs have it replace, or "".
func replaced(options []word) string {
	for i, a := range options {
		name, value, long := strings.Cut(a.text, "=")
		if name == "--replace" {
			return cmp.Or(value, "{}")
		}
		at := strings.IndexAny(a.text, "IJi")
		switch {
		case long && strings.HasPrefix(name, "--"), at < 1 || a.text[0] != '-' || a.text[1] == '-':
		case at+1 < len(a.text):
			return a.text[at+1:]
		case a.text[at] == 'i':
			return "{}"
		case i+1 < len(options):
			return options[i+1].text
		}
	}
	return ""
}

// finds returns the commands that find runs.
func finds(words []word) (u use) {
	for i := 1; i < len(words); i++ {
		if !slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, words[i].text) {
			continue
		}
		u.why, u.child = "find runs a program", true
		end := i + 1
		for end < len(words) && words[end].text != ";" && words[end].text != "+" {
			end++
		}
		if end > i+1 {
			u.inner = append(u.inner, given(words[i+1:end], "{}"))
		}
		i = end
	}
	return u
}

// fd returns the command that fd runs.
func fd(words []word) use {
	i := slices.IndexFunc(words, func(a word) bool {
		return slices.Contains([]string{"-x", "-X", "--exec", "--exec-batch"}, a.text)
	})
	if i < 0 {
		return use{}
	}
	u, command, place := use{why: "fd runs a program", child: true}, words[i+1:], ""
	if slices.ContainsFunc(command, func(a word) bool { return strings.Contains(a.text, "{}") }) {
		place = "{}"
	}
	if len(command) > 0 {
		u.inner = [][]word{given(command, place)}
	}
	return u
}

// parallel adds the scripts that parallel makes of its words: of the command in front of :::, or
// else of each argument behind it. Without any it reads them.
func (u *use) parallel() {
	u.reads = len(u.inner) == 0
	for _, words := range u.inner {
		switch at := slices.IndexFunc(words, func(a word) bool { return strings.HasPrefix(a.text, ":::") }); {
		case at == 0:
			for _, a := range words[1:] {
				u.script(a, a.text)
			}
			continue
		case at > 0:
			words = words[:at]
		}
		literal := !slices.ContainsFunc(words, func(a word) bool { return a.unclear != "" })
		if u.hidden = u.hidden || !literal || words[0].found; literal {
			u.beside = append(u.beside, spell(words))
		}
	}
}
