package mcp

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/attractor-go/attractor/tool"
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
// how rare they are, and equal tools stay in their order.
func (l listing) rank(query string) []int {
	weights := make([]map[string]float64, len(l.tools)) // of the words of each tool
	with := map[string]float64{}                        // how many tools have a word
	for i := range l.tools {
		if l.servers[i] == "" {
			continue
		}
		weights[i] = weightsOf(&l.tools[i])
		for word := range weights[i] {
			with[word]++
		}
	}
	words := slices.Compact(slices.Sorted(slices.Values(wordsOf(query))))
	named := strings.FieldsFunc(query, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	scores := map[int]float64{}
	for i, own := range weights {
		if own == nil {
			continue
		}
		score := l.naming(i, named)
		if score == 0 {
			for _, word := range words {
				if own[word] > 0 {
					score += own[word] * math.Log(1+float64(len(l.tools))/with[word])
				}
			}
			score *= 1 + 1/float64(len(l.tools[i].Name)) // the rest of a long name says something else
		}
		if score > 0 {
			scores[i] = score
		}
	}
	indexes := slices.SortedFunc(maps.Keys(scores), func(a, b int) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b))
	})
	if len(indexes) > 0 && scores[indexes[0]] >= beginsName { // the model knows what it wants
		indexes = slices.DeleteFunc(indexes, func(i int) bool { return scores[i] < beginsName })
	}
	return indexes
}

// naming scores a tool that the query names. What is named first comes first.
func (l listing) naming(i int, named []string) float64 {
	name := l.tools[i].Name
	own := strings.TrimPrefix(name, "mcp__"+l.servers[i]+"__")
	score := 0.0
	for at, word := range named {
		switch {
		case strings.EqualFold(word, name), strings.EqualFold(word, own) && strings.ContainsAny(own, "_-"):
			score = max(score, isName-float64(at))
		case strings.Contains(word, "__") && len(word) <= len(name) && strings.EqualFold(word, name[:len(word)]):
			score = max(score, beginsName)
		}
	}
	return score
}

// weightsOf returns how much each word of a tool counts.
func weightsOf(t *tool.Tool) map[string]float64 {
	weights := map[string]float64{}
	add := func(text string, weight float64) {
		for _, word := range wordsOf(text) {
			weights[word] = max(weights[word], weight)
		}
	}
	add(t.Name, inName)
	add(strings.Join(parameterNames(t.Parameters), " "), inParameters)
	add(t.Description, inDescription)
	return weights
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
