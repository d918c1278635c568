package fakellm

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// billed returns the number of searches that cost something: those that did not fail and did more
// than open a page.
func (a *response) billed() (n int) {
	for _, s := range a.Searches {
		if s.Error == "" && s.Page == "" {
			n++
		}
	}
	return n
}

// citedPiece is a piece of a text, with the sources that it cites.
type citedPiece struct {
	text  string
	cites []llm.Source
}

// cited returns the pieces of the text. If it cites something, there are two, and the second one
// does.
func (a *response) cited() []citedPiece {
	if a.Text == "" {
		return nil
	}
	all := words(a.Text, 1)
	if len(a.Cites) == 0 || len(all) < 2 {
		return []citedPiece{{a.Text, a.Cites}}
	}
	half := len(all) / 2
	return []citedPiece{{text: strings.Join(all[:half], "")}, {strings.Join(all[half:], ""), a.Cites}}
}

// encryptedHit returns stand-in data of a hit or a citation that only the server can read. It
// detects a changed one.
func encryptedHit(url string) string { return "EqMDCp+/" + sign("hit\n"+url) + "==" }

// anthropicSearches returns two blocks for each search: the call and its result, unless that is
// pending. The results of the searches that were pending in the previous response come first.
func (a *response) anthropicSearches() (blocks []object) {
	for _, id := range a.resumed {
		blocks = append(blocks, object{"type": "web_search_tool_result", "tool_use_id": id, "content": []any{}})
	}
	for i, s := range a.Searches {
		id := "srvtoolu_" + a.ID + "_" + strconv.Itoa(i)
		hits := []any{}
		for _, hit := range s.Hits {
			hits = append(hits, object{"type": "web_search_result", "url": hit.URL, "title": hit.Title,
				"encrypted_content": encryptedHit(hit.URL), "page_age": nil})
		}
		var content any = hits
		if s.Error != "" {
			content = object{"type": "web_search_tool_result_error", "error_code": s.Error}
		}
		blocks = append(blocks, object{"type": "server_tool_use", "id": id, "name": llm.HostedWebSearch,
			"input": object{"query": s.Query}},
			object{"type": "web_search_tool_result", "tool_use_id": id, "content": content})
	}
	if a.Pending && len(a.Searches) > 0 {
		blocks = blocks[:len(blocks)-1]
	}
	return blocks
}

func anthropicCitations(cites []llm.Source) (list []object) {
	for _, c := range cites {
		list = append(list, object{"type": "web_search_result_location", "url": c.URL, "title": c.Title,
			"encrypted_index": encryptedHit(c.URL), "cited_text": "Something of " + c.Title})
	}
	return list
}

// checkHits refuses hits that were changed.
func (b anthropicBlock) checkHits(c *checker) {
	var hits []struct {
		URL     string `json:"url"`
		Content string `json:"encrypted_content"`
	}
	if json.Unmarshal(b.Content, &hits) != nil {
		return // an error
	}
	for _, hit := range hits {
		c.refuse(hit.Content != encryptedHit(hit.URL),
			"web_search_tool_result.content.encrypted_content: Invalid `encrypted_content` in `search_result` block")
	}
}

// checkCitations refuses citations that were changed.
func (b anthropicBlock) checkCitations(c *checker) {
	var cites []struct {
		URL   string `json:"url"`
		Index string `json:"encrypted_index"`
	}
	if len(b.Citations) == 0 || json.Unmarshal(b.Citations, &cites) != nil {
		return
	}
	for _, cite := range cites {
		c.refuse(cite.Index != encryptedHit(cite.URL), "text.citations: Invalid `encrypted_index` in citation")
	}
}

// checkSearches pairs searches with their results. Only those of the last response may have none
// yet, if the request offers the search and nothing but results of other calls follows.
func (w *anthropicRequest) checkSearches(c *checker, r *Request) {
	open := map[string]int{} // the message of each search without a result
	offered := slices.ContainsFunc(w.Tools, func(t anthropicTool) bool { return t.Name == llm.HostedWebSearch })
	last := len(w.Messages) - 1
	for i, m := range w.Messages {
		for j, b := range m.Content {
			switch b.Type {
			case "server_tool_use":
				open[b.ID] = i
			case "web_search_tool_result":
				_, asked := open[b.ToolUseID]
				c.refuse(!asked, "messages.%d.content.%d: unexpected `tool_use_id` found in `web_search_tool_result` "+
					"blocks: %s. Each `web_search_tool_result` block must have a corresponding `server_tool_use` "+
					"block before it.", i, j, b.ToolUseID)
				delete(open, b.ToolUseID)
			}
		}
	}
	r.pending = slices.Sorted(maps.Keys(open))
	for _, id := range r.pending {
		i := open[id]
		continues := i == last || i == last-1 && !slices.ContainsFunc(w.Messages[last].Content,
			func(b anthropicBlock) bool { return b.Type != "tool_result" })
		c.refuse(!continues, "messages.%d: `web_search` tool use with id `%s` was found without a corresponding "+
			"`web_search_tool_result` block", i, id)
		c.refuse(!offered, "messages.%d: `web_search` tool use with id `%s` was found, but no `web_search` tool was "+
			"provided", i, id)
	}
}

// action returns what a search does, with the pages that it has found if they were asked for.
func (f *openai) action(s *llm.WebSearch) object {
	if s.Page != "" {
		return object{"type": "open_page", "url": s.Page}
	}
	action := object{"type": "search", "query": s.Query, "queries": []string{s.Query}}
	if slices.Contains(f.asked.Include, "web_search_call.action.sources") {
		sources := []any{}
		for _, hit := range s.Hits {
			sources = append(sources, object{"type": "url", "url": hit.URL})
		}
		action["sources"] = sources
	}
	return action
}

// geminiSearch returns the parts of a search, which are signed.
func geminiSearch(i int, s *llm.WebSearch) []object {
	id, kind := "search_"+strconv.Itoa(i), "GOOGLE_SEARCH_WEB"
	call := object{"toolCall": object{"id": id, "toolType": kind, "args": object{"queries": []string{s.Query}}}}
	result := object{"toolResponse": object{"id": id, "toolType": kind,
		"response": object{"search_suggestions": "<div>" + s.Query + "</div>"}}}
	for _, part := range []object{call, result} {
		part["thoughtSignature"] = signInvocation(encode(part))
	}
	return []object{call, result}
}

// signInvocation returns the signature of a part about a tool that the API has run.
func signInvocation(part string) string { return sign("invocation\n" + part) }

// unsigned returns a part without its signature, as it was signed.
func (p geminiPart) unsigned() string {
	var members map[string]json.RawMessage
	if json.Unmarshal(p.raw, &members) != nil {
		return ""
	}
	delete(members, "thoughtSignature")
	return encode(members)
}

// grounding returns the metadata of a response that has searched.
func (a *response) grounding() object {
	queries, chunks := []string{}, []any{}
	for _, s := range a.Searches {
		queries = append(queries, s.Query)
	}
	for _, c := range a.Cites {
		chunks = append(chunks, object{"web": object{"uri": c.URL, "title": c.Title}})
	}
	return object{"webSearchQueries": queries, "groundingChunks": chunks,
		"searchEntryPoint": object{"renderedContent": "<div></div>"}}
}
