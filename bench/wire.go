package main

// wire compares the wire formats with the vendors' SDKs, by the benchmarks of the module oracle.
func (b *bench) wire() (result, error) {
	m, err := b.benchmarks("oracle", "^(BenchmarkTextDelta|BenchmarkEncodeTurn1000)$", b.sizes.times)
	if err != nil {
		return result{}, err
	}
	var rows [][]string
	for _, format := range []struct{ name, title string }{{"anthropic", "Anthropic Messages"},
		{"openai", "OpenAI Responses"}, {"gemini", "Gemini"}, {"openaichat", "Chat Completions"}} {
		cells := []string{format.title}
		for _, who := range []string{"ours", "sdk"} {
			ns, err := m.figure("TextDelta/"+format.name+"/"+who+"/2000", "ns/delta", 1000, "µs")
			if err != nil {
				return result{}, err
			}
			allocs, err := m.figure("TextDelta/"+format.name+"/"+who+"/2000", "allocs/delta", 1, "allocations")
			if err != nil {
				return result{}, err
			}
			cells = append(cells, ns.String()+", "+number(allocs.median)+" allocations")
		}
		for _, who := range []string{"ours", "sdk"} {
			ns, err := m.figure("EncodeTurn1000/"+format.name+"/"+who, "ns/op", 1000, "µs")
			if err != nil {
				return result{}, err
			}
			cells = append(cells, ns.String())
		}
		rows = append(rows, cells)
	}
	return result{sections: []section{{"wire", table([]string{"", "a text delta, in an answer of 2,000: here", "SDK",
		"encoding turn 1,000 of a session: here", "SDK"}, rows)}}}, nil
}
