package mcp

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
)

// How much a word counts, by where it stands.
const (
	inName        = 4.0
	inParameters  = 1.5
	inDescription = 1.0
	isName        = 1e6 // the query names the tool
	beginsName    = 1e3 // or the beginning of its name
)

// rank returns the indexes of the deferred tools that match a query, the best first. Words count by
// how rare they are (BM25). Equal tools stay in their order.
func (l listing) rank(query string) []int {
	type candidate struct {
		index int
		score float64
	}
	texts, average := l.texts()
	words := slices.Compact(slices.Sorted(slices.Values(wordsOf(query))))
	rarity := map[string]float64{}
	for _, word := range words {
		with := 0
		for _, text := range texts {
			if text.weights[word] > 0 {
				with++
			}
		}
		rarity[word] = math.Log(1 + (float64(len(texts))-float64(with)+0.5)/(float64(with)+0.5))
	}
	named := strings.FieldsFunc(query, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	var all []candidate
	for _, text := range texts {
		c := candidate{index: text.index, score: l.naming(text.index, named)}
		for _, word := range words {
			const k, b = 1.2, 0.75
			if w := text.weights[word]; w > 0 {
				c.score += rarity[word] * w * (k + 1) / (w + k*(1-b+b*text.length/average))
			}
		}
		if c.score > 0 {
			c.score *= 1 + l.covered(text.index, words)
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	if len(all) > 0 && all[0].score >= beginsName { // the model knows what it wants
		all = slices.DeleteFunc(all, func(c candidate) bool { return c.score < beginsName })
	}
	indexes := make([]int, len(all))
	for i, c := range all {
		indexes[i] = c.index
	}
	return indexes
}

// covered returns how much of a tool's own name a query says, from 0 to 1.
func (l listing) covered(i int, words []string) float64 {
	own := wordsOf(strings.TrimPrefix(l.tools[i].Name, "mcp__"+l.servers[i]+"__"))
	n := 0
	for _, word := range own {
		if slices.Contains(words, word) {
			n++
		}
	}
	return float64(n) / float64(max(len(own), 1))
}

// naming scores a tool that the query names.
func (l listing) naming(i int, named []string) float64 {
	name := l.tools[i].Name
	own := strings.TrimPrefix(name, "mcp__"+l.servers[i]+"__")
	score := 0.0
	for _, word := range named {
		switch {
		case strings.EqualFold(word, name), strings.EqualFold(word, own) && strings.ContainsAny(own, "_-"):
			score = max(score, isName)
		case strings.Contains(word, "__") && len(word) <= len(name) && strings.EqualFold(word, name[:len(word)]):
			score = max(score, beginsName)
		}
	}
	return score
}

// indexed holds the words of a tool.
type indexed struct {
	index   int
	weights map[string]float64
	length  float64
}

// texts returns the words of all deferred tools, and the average number of them.
func (l listing) texts() (all []indexed, average float64) {
	for i := range l.tools {
		if l.servers[i] == "" {
			continue
		}
		t := indexed{index: i, weights: map[string]float64{}}
		for _, field := range []struct {
			text   string
			weight float64
		}{{l.tools[i].Name, inName}, {strings.Join(parameterNames(l.tools[i].Parameters), " "), inParameters},
			{l.tools[i].Description, inDescription}} {
			for _, word := range wordsOf(field.text) {
				t.weights[word] += field.weight
				t.length++
			}
		}
		average += t.length
		all = append(all, t)
	}
	return all, max(average/max(float64(len(all)), 1), 1)
}

// wordsOf returns the words of a text in lower case. Names such as getIssue and get_issues have the
// words get and issue.
func wordsOf(text string) []string {
	var words []string
	start, lower := 0, false
	runes := []rune(text)
	add := func(end int) {
		if end > start {
			words = append(words, stem(strings.ToLower(string(runes[start:end]))))
		}
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			add(i)
			start, lower = i+1, false
			continue
		case unicode.IsUpper(r) && lower:
			add(i)
			start = i
		}
		lower = unicode.IsLower(r)
	}
	add(len(runes))
	return slices.DeleteFunc(words, func(word string) bool { return word == "mcp" })
}

// stem removes the plural of a word.
func stem(word string) string {
	switch {
	case len(word) > 4 && strings.HasSuffix(word, "ies"):
		return word[:len(word)-3] + "y"
	case len(word) > 3 && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss"):
		return word[:len(word)-1]
	}
	return word
}

// parameterNames returns the names of a schema's properties.
func parameterNames(schema json.RawMessage) []string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.Properties))
}
