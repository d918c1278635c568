package secret

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// format describes the texts of one kind of key.
type format struct {
	name  string
	heads []string // the literal beginnings
	// match looks for a key in a text that begins with the head. It returns where the secret part
	// is, from < 0 for none. more reports that the text may go on as a key, or as a longer one.
	match func(s *suffix, head int) (from, to int, more bool)
	// inside says that the head may stand inside a word.
	inside bool
	// body reports which bytes the first six behind the head can be. nil means any.
	body func(byte) bool
}

// head is a literal beginning of a format.
type head struct {
	text   string
	format *format
}

// maxToken bounds the length of a key, and so how much of a stream waits for its end.
const maxToken = 4 << 10

// Formats returns the names of the formats of keys that are known, sorted.
func Formats() []string {
	var names []string
	for _, f := range formats() {
		names = append(names, f.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// formats returns the known formats. Each is precise enough that ordinary text does not match it: a
// literal head, then so many characters of the format's alphabet.
func formats() []format {
	const dashes = "-_"
	return []format{
		token("anthropic-key", "", 32, dashes, "sk-ant-"),
		token("openai-key", "", 40, dashes, "sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"),
		token("openai-key", "", 48, "", "sk-"),
		token("openrouter-key", "", 64, "", "sk-or-v1-"),
		token("google-key", "", 35, dashes, "AIza"),
		token("google-oauth-secret", "", 28, dashes, "GOCSPX-"),
		token("google-oauth-token", "", 40, dashes, "ya29."),
		token("groq-key", "", 52, "", "gsk_"),
		token("xai-key", "", 80, "", "xai-"),
		token("perplexity-key", "", 48, "", "pplx-"),
		token("replicate-token", "", 37, "", "r8_"),
		token("huggingface-token", "", 34, "", "hf_"),
		token("github-token", "", 36, "", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
		token("github-token", "", 60, "_", "github_pat_"),
		token("gitlab-token", "", 20, dashes, "glpat-", "gldt-", "glrt-", "glptt-"),
		awsKey(),
		token("slack-token", "0123456789", 20, "-", "xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-"),
		token("slack-token", "0123456789", 40, "-", "xapp-"),
		token("slack-webhook", "T", 40, "/", "hooks.slack.com/services/"),
		token("stripe-key", "", 24, "", "sk_live_", "rk_live_", "sk_test_", "rk_test_"),
		token("npm-token", "", 36, "", "npm_"),
		token("pypi-token", "", 50, dashes, "pypi-AgEIcHlwaS5vcmc"),
		token("rubygems-key", "", 48, "", "rubygems_"),
		token("docker-token", "", 27, dashes, "dckr_pat_"),
		token("digitalocean-token", "", 64, "", "dop_v1_", "doo_v1_", "dor_v1_"),
		token("shopify-token", "", 32, "", "shpat_", "shpca_", "shppa_", "shpss_"),
		token("grafana-token", "", 32, "_", "glsa_"),
		token("vault-token", "", 90, dashes, "hvs.", "hvb."),
		token("linear-key", "", 40, "", "lin_api_"),
		token("supabase-token", "", 40, "", "sbp_"),
		token("age-key", "", 58, "", "AGE-SECRET-KEY-1"),
		{"jwt", []string{"eyJ"}, matchJWT, false, isIn("-_")},
		{"private-key", []string{"-----BEGIN "}, matchPEM, true, nil},
		{"authorization", []string{"uthorization", "UTHORIZATION"}, matchAuthorization, true, nil},
		{"authorization", []string{"Bearer ", "bearer "}, matchBearer, false, nil},
		{"url-password", []string{"://"}, matchURL, true, inURL},
	}
}

// formatHeads returns the heads of the formats by their first byte, the longest first.
func formatHeads() (heads [256][]head) {
	all := formats()
	for i := range all {
		for _, text := range all[i].heads {
			heads[text[0]] = append(heads[text[0]], head{text, &all[i]})
		}
	}
	for _, list := range heads {
		slices.SortFunc(list, func(a, b head) int { return len(b.text) - len(a.text) })
	}
	return heads
}

// token returns a format: a head, then at least so many letters, digits and extra characters, the
// first of them one of first if that is not empty. If there may be extra characters, 12 in a row
// have to be without: a name of several words is no key.
func token(name, first string, least int, extra string, heads ...string) format {
	return format{name: name, heads: heads, body: isIn(extra), match: func(s *suffix, head int) (int, int, bool) {
		text := s.text
		end := s.runEnd(head, head+maxToken, extra)
		switch body := text[head:end]; {
		case end == len(text) && end < head+maxToken:
			return orNone(0, len(body) >= least && starts(body, first) && (extra == "" || s.hasRun(head, end))), end,
				true
		case len(body) < least || !starts(body, first) || !(extra == "" || s.hasRun(head, end)):
			return -1, 0, false
		}
		return 0, end, false
	}}
}

// isIn returns a function that reports whether a byte is a letter, a digit or one of the extra
// ones.
func isIn(extra string) func(byte) bool {
	return func(c byte) bool { return isAlnum(c) || strings.IndexByte(extra, c) >= 0 }
}

// orNone returns at if ok, else -1.
func orNone(at int, ok bool) int {
	if ok {
		return at
	}
	return -1
}

// starts reports whether body begins with one of the bytes in first. With no such bytes every body
// does.
func starts(body, first string) bool {
	return first == "" || body != "" && strings.IndexByte(first, body[0]) >= 0
}

func isAlnum(c byte) bool { return isDigit(c) || isLetter(c) }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// awsKey returns the format of AWS access key ids. The ids of AWS's documentation are left alone.
func awsKey() format {
	return format{name: "aws-access-key", heads: []string{"AKIA", "ASIA"}, match: func(s *suffix, head int) (int, int,
		bool) {
		text, end := s.text, head
		for end < min(len(text), head+16) && ('2' <= text[end] && text[end] <= '7' || 'A' <= text[end] &&
			text[end] <= 'Z') {
			end++
		}
		switch {
		case end == head+16:
			return orNone(0, !strings.HasSuffix(text[:end], "EXAMPLE")), end, false
		case end == len(text):
			return -1, 0, true
		}
		return -1, 0, false
	}}
}

// matchJWT matches a JSON web token: two JSON objects and a signature.
func matchJWT(s *suffix, head int) (int, int, bool) {
	text, end := s.text, head
	for part := range 3 {
		from := end
		end = s.runEnd(from, 4*maxToken, "-_")
		least := [...]int{8, 8, 16}[part]
		switch {
		case end == len(text) && end < 4*maxToken:
			return orNone(0, part == 2 && end-from >= least), end, true
		case end-from < least:
			return -1, 0, false
		case part == 2:
			return 0, end, false
		case text[end] != '.':
			return -1, 0, false
		}
		if end++; part == 0 && !strings.HasPrefix(text[end:], "eyJ") {
			return -1, 0, strings.HasPrefix("eyJ", text[end:])
		}
	}
	return -1, 0, false
}

// maxPEM bounds the length of a private key.
const maxPEM = 32 << 10

// matchPEM matches a private key in PEM form, also with line numbers, or with its newlines escaped.
func matchPEM(s *suffix, head int) (int, int, bool) {
	const label, ending = "PRIVATE KEY", "-----END "
	text, end := s.text, head
	for end < min(len(text), head+40) && text[end] != '-' {
		end++
	}
	if kind := strings.TrimSuffix(text[head:end], " BLOCK"); end < len(text) && !strings.HasSuffix(kind, label) {
		return -1, 0, false
	}
	body := end + len("-----")
	if len(text) < body {
		return -1, 0, end < head+40
	}
	if text[end:body] != "-----" {
		return -1, 0, false
	}
	end = body
	data := body // the end of the last line of data
	for run := 0; end < min(len(text), maxPEM) && pemByte(text[end]) && end-data < maxHeader; end++ {
		s.runs.steps++
		if text[end] == '-' && strings.HasPrefix(text[end:], ending) {
			return endOfPEM(text, data > body, end+len(ending))
		}
		if text[end] == '-' && strings.HasPrefix(text[end:], "-----BEGIN ") { // another one; this one has no end
			return orNone(0, data > body), data, false
		}
		if run++; !isAlnum(text[end]) && text[end] != '+' && text[end] != '/' {
			run = 0
		}
		if run >= 40 {
			data = end + 1
		}
	}
	return orNone(0, data > body), data, end == len(text) && end < maxPEM
}

// maxHeader bounds what stands between lines of data, such as the headers of an encrypted key.
const maxHeader = 256

// endOfPEM returns the end of a block whose last line goes on at an offset. Without data there is
// no key.
func endOfPEM(text string, data bool, end int) (int, int, bool) {
	label := end
	for end < min(len(text), label+40) && text[end] != '-' {
		end++
	}
	for dashes := 0; end < len(text) && text[end] == '-' && dashes < 5; dashes++ {
		end++
	}
	more := end == len(text) && !strings.HasSuffix(text[label:], "-----")
	return orNone(0, data), end, more
}

// pemByte reports whether a byte may be in the body of a PEM block: base64, headers, newlines as
// they are or escaped, and what tools put in front of lines or behind them, such as the names of
// files and authors. What else code has around the words of a key ends it.
func pemByte(c byte) bool {
	return isAlnum(c) || c >= utf8.RuneSelf || strings.IndexByte("+/=\n\r\t \\:,-.\"'|_#*<>()[]^@~$", c) >= 0
}
