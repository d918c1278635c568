package cloud

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// keys are the credentials of a signature.
type keys struct{ secret, session string }

// checkSignature returns an error unless a request is signed by Signature Version 4, as its
// documents say, by one of the keys and for a scope: the date is left out of it.
func checkSignature(r *http.Request, body []byte, known map[string]keys, scope string) error {
	rest, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
	if !ok {
		return fmt.Errorf("the header Authorization is %q", r.Header.Get("Authorization"))
	}
	fields := map[string]string{}
	for field := range strings.SplitSeq(rest, ", ") {
		name, value, _ := strings.Cut(field, "=")
		fields[name] = value
	}
	id, full, _ := strings.Cut(fields["Credential"], "/")
	date, got, _ := strings.Cut(full, "/")
	key, ok := known[id]
	if !ok || got != scope {
		return fmt.Errorf("signed by %q for %q, want %q", id, got, scope)
	}
	signed := strings.Split(fields["SignedHeaders"], ";")
	required := []string{"host", "x-amz-date"}
	if key.session != "" {
		required = append(required, "x-amz-security-token")
	}
	for _, name := range required {
		if !slices.Contains(signed, name) {
			return fmt.Errorf("the header %s is not signed", name)
		}
	}
	if token := r.Header.Get("X-Amz-Security-Token"); token != key.session {
		return fmt.Errorf("the session's token is %q", token)
	}
	request := []string{r.Method, r.URL.EscapedPath(), r.URL.RawQuery}
	for _, name := range signed {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		request = append(request, name+":"+strings.TrimSpace(value))
	}
	request = append(request, "", strings.Join(signed, ";"), hexHash(body))
	toSign := strings.Join([]string{"AWS4-HMAC-SHA256", r.Header.Get("X-Amz-Date"), date + "/" + scope,
		hexHash([]byte(strings.Join(request, "\n")))}, "\n")
	mac := []byte("AWS4" + key.secret)
	for part := range strings.SplitSeq(date+"/"+scope, "/") {
		mac = hmacOf(mac, part)
	}
	if want := hex.EncodeToString(hmacOf(mac, toSign)); fields["Signature"] != want {
		return fmt.Errorf("the signature is %s, want %s for\n%s", fields["Signature"], want,
			strings.Join(request, "\n"))
	}
	return nil
}

func hexHash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func hmacOf(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// The test's own check agrees with an example of AWS's documents, get-vanilla.
func TestV1_TheCheckItself(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "http://example.amazonaws.com/", http.NoBody)
	r.Header.Set("X-Amz-Date", "20150830T123600Z")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "+
		"SignedHeaders=host;x-amz-date, Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31")
	known := map[string]keys{"AKIDEXAMPLE": {secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}}
	if err := checkSignature(r, nil, known, "us-east-1/service/aws4_request"); err != nil {
		t.Error(err)
	}
	if checkSignature(r, []byte("x"), known, "us-east-1/service/aws4_request") == nil {
		t.Error("another body has the same signature")
	}
}
