package cloud

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/providers"
)

// known are the keys of the test: those of a user, and three that servers give, one after the
// other.
func known() map[string]keys {
	m := map[string]keys{"AKIDUSER": {secret: "secret/of+the+user"}}
	for i := 1; i <= 3; i++ {
		m[fmt.Sprintf("ASIA%d", i)] = keys{fmt.Sprintf("secret-of-a-role-%d", i),
			fmt.Sprintf("session-of-a-role-%d", i)}
	}
	return m
}

// awsServer is all servers of AWS that give credentials. Each answer has the next ones.
type awsServer struct {
	given  atomic.Int64
	expire time.Duration // from now
}

func (s *awsServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	expires := time.Now().Add(s.expire).UTC()
	switch path := r.URL.Path; {
	case path == "/latest/api/token":
		w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "21600")
		fmt.Fprint(w, "metadata-token")
	case path == "/latest/meta-data/iam/security-credentials/":
		fmt.Fprint(w, "the-role")
	case path == "/latest/meta-data/iam/security-credentials/the-role", path == "/container":
		if path == "/container" && r.Header.Get("Authorization") != "of-the-container" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		id, key := s.next()
		fmt.Fprintf(w, `{"Code":"Success","Type":"AWS-HMAC","AccessKeyId":%q,"SecretAccessKey":%q,"Token":%q,
			"Expiration":%q}`, id, key.secret, key.session, expires.Format(time.RFC3339))
	case path == "/federation/credentials" && r.Header.Get("X-Amz-Sso_bearer_token") == "of-the-login":
		id, key := s.next()
		fmt.Fprintf(w, `{"roleCredentials":{"accessKeyId":%q,"secretAccessKey":%q,"sessionToken":%q,"expiration":%d}}`,
			id, key.secret, key.session, expires.UnixMilli())
	case path == "/" && r.FormValue("Action") == "AssumeRoleWithWebIdentity" &&
		r.FormValue("WebIdentityToken") == "of-the-pod":
		id, key := s.next()
		fmt.Fprintf(w, `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>
			<AccessKeyId>%s</AccessKeyId><SecretAccessKey>%s</SecretAccessKey><SessionToken>%s</SessionToken>
			<Expiration>%s</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
			id, key.secret, key.session, expires.Format(time.RFC3339))
	default:
		http.Error(w, "not here: "+r.Method+" "+r.URL.String(), http.StatusNotFound)
	}
}

// next returns the next keys.
func (s *awsServer) next() (id string, key keys) {
	id = fmt.Sprintf("ASIA%d", s.given.Add(1))
	return id, known()[id]
}

// variables returns the variables of a way to credentials that leads to the server.
func (s *awsServer) variables(t *testing.T, way string) map[string]string {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	vars := map[string]string{
		"container": "AWS_CONTAINER_CREDENTIALS_FULL_URI=" + server.URL + "/container " +
			"AWS_CONTAINER_AUTHORIZATION_TOKEN=of-the-container",
		"machine": "AWS_EC2_METADATA_DISABLED=false AWS_EC2_METADATA_SERVICE_ENDPOINT=" + server.URL,
		"login":   "AWS_PROFILE=work AWS_ENDPOINT_URL_SSO=" + server.URL,
		"pod":     "AWS_ROLE_ARN=arn:aws:iam::1:role/r AWS_ROLE_SESSION_NAME=s AWS_ENDPOINT_URL_STS=" + server.URL,
	}[way]
	m := map[string]string{"AWS_REGION": "eu-central-1"}
	if way == "pod" {
		m["AWS_WEB_IDENTITY_TOKEN_FILE"] = filepath.Join(t.TempDir(), "token")
		write(t, m["AWS_WEB_IDENTITY_TOKEN_FILE"], "of-the-pod")
	}
	for entry := range strings.FieldsSeq(vars) {
		name, value, _ := strings.Cut(entry, "=")
		m[name] = value
	}
	return m
}

// The requests to Bedrock are signed with the credentials of each way that AWS has, for the region
// of the environment or of the profile, in both formats.
func TestV1_SignedRequests(t *testing.T) {
	const user = "aws_access_key_id = AKIDUSER\naws_secret_access_key = secret/of+the+user\n"
	for way, c := range map[string]struct {
		vars   map[string]string
		region string
	}{
		"variables": {vars: map[string]string{"AWS_ACCESS_KEY_ID": "AKIDUSER", "AWS_SECRET_ACCESS_KEY": "secret/" +
			"of+the+user", "AWS_REGION": "us-east-1"}, region: "us-east-1"},
		"session": {vars: map[string]string{"AWS_ACCESS_KEY_ID": "ASIA1", "AWS_SECRET_ACCESS_KEY": "secret-of-a-role-1",
			"AWS_SESSION_TOKEN": "session-of-a-role-1", "AWS_DEFAULT_REGION": "eu-west-1"}, region: "eu-west-1"},
		"profile": {vars: map[string]string{"AWS_PROFILE": "own"}, region: "ap-south-1"},
		"login":   {}, "pod": {}, "container": {}, "machine": {},
	} {
		t.Run(way, func(t *testing.T) {
			aws := &awsServer{expire: time.Hour}
			if c.vars == nil {
				c.vars, c.region = aws.variables(t, way), "eu-central-1"
			}
			home := surroundings(t, c.vars)
			write(t, filepath.Join(home, ".aws/credentials"), "[own]\n"+user)
			const start = "https://portal.example/start"
			write(t, filepath.Join(home, ".aws/config"), "[profile own]\nregion = ap-south-1\n[profile work]\n"+
				"sso_start_url = "+
				start+"\nsso_region = eu-central-1\nsso_account_id = 1\nsso_role_name = r\n")
			cached := sha1.Sum([]byte(start))
			write(t, filepath.Join(home, ".aws/sso/cache", hex.EncodeToString(cached[:])+".json"),
				`{"startUrl":"`+start+`","region":"eu-central-1","accessToken":"of-the-login","expiresAt":"`+
					time.Now().Add(time.Hour).UTC().Format(time.RFC3339)+`"}`)
			server := &modelServer{allow: func(r *http.Request, body []byte) (int, string) {
				if err := checkSignature(r, body, known(), c.region+"/bedrock-mantle/aws4_request"); err != nil {
					return http.StatusForbidden, `{"message":"` + strings.ReplaceAll(err.Error(), "\n", `\n`) + `"}`
				}
				return 0, ""
			}}
			asked, newest := 0, providers.Access{}
			p := provider(t, "amazon-bedrock", server.client(t), counted(AWS, &asked, &newest))
			if err := errors.Join(ask(t, p, "openai.gpt-oss-120b"),
				ask(t, p, "anthropic.claude-sonnet-5-5")); err != nil {
				t.Error(err)
			}
			host := "bedrock-mantle." + c.region + ".api.aws"
			want := []string{host + "/v1/chat/completions", host + "/anthropic/v1/messages"}
			if !slices.Equal(server.urls, want) {
				t.Errorf("the requests went to %q, want %q", server.urls, want)
			}
			if asked != 1 || !strings.HasPrefix(strings.Join(newest.Secrets, " "), "secret") {
				t.Errorf("asked %d times, the secrets are %q", asked, newest.Secrets)
			}
		})
	}
}

// Credentials are renewed when they expire, and when AWS says that they have. Others that are
// refused are asked for once more, and end the request.
func TestV1_RenewedAWSCredentials(t *testing.T) {
	for name, c := range map[string]struct {
		expire    time.Duration
		refuse    []string // the ids of keys
		status    int
		forbidden bool // the keys are good
		asked     int  // after two requests
		kind      error
	}{
		"good":                  {expire: time.Hour, asked: 1},
		"about to expire":       {expire: early / 2, asked: 2},
		"expired on the server": {expire: time.Hour, refuse: []string{"ASIA1"}, status: 403, asked: 2},
		"unauthorized":          {expire: time.Hour, refuse: []string{"ASIA1"}, status: 401, asked: 2},
		"refused again": {expire: time.Hour, refuse: []string{"ASIA1", "ASIA2"}, status: 403, asked: 3,
			kind: llm.ErrAuthentication},
		"the model is forbidden": {expire: time.Hour, refuse: []string{"ASIA1"}, forbidden: true, asked: 1,
			kind: llm.ErrAccessDenied},
	} {
		t.Run(name, func(t *testing.T) {
			aws := &awsServer{expire: c.expire}
			surroundings(t, aws.variables(t, "pod")) // the SDK itself is early with others
			server := &modelServer{allow: func(r *http.Request, body []byte) (int, string) {
				if err := checkSignature(r, body, known(), "eu-central-1/bedrock-mantle/aws4_request"); err != nil {
					t.Error(err)
				}
				for _, id := range c.refuse {
					if strings.Contains(r.Header.Get("Authorization"), id+"/") {
						if c.forbidden {
							return http.StatusForbidden,
								`{"error":{"type":"permission_error","message":"no access to this model"}}`
						}
						return c.status, `{"message":"The security token included in the request is expired"}`
					}
				}
				return 0, ""
			}}
			asked, newest := 0, providers.Access{}
			p := provider(t, "amazon-bedrock", server.client(t), counted(AWS, &asked, &newest))
			first, second := ask(t, p, "openai.gpt-oss-120b"), ask(t, p, "openai.gpt-oss-120b")
			if c.kind == nil && (first != nil || second != nil) || c.kind != nil && !errors.Is(first, c.kind) ||
				asked != c.asked {
				t.Errorf("%v, %v, asked %d times", first, second, asked)
			}
		})
	}
}

// What is missing is said before anything is sent, with what to do.
func TestV1_NoAWSCredentials(t *testing.T) {
	static := map[string]string{"AWS_ACCESS_KEY_ID": "AKIDUSER", "AWS_SECRET_ACCESS_KEY": "secret/of+the+user"}
	for want, vars := range map[string]map[string]string{
		"no AWS credentials found: run aws sso login, or set AWS_PROFILE, or AWS_ACCESS_KEY_ID": {
			"AWS_REGION": "eu-west-1",
		},
		"no AWS region found: set AWS_REGION, or a region in the profile": static,
		"set AWS_PROFILE to a profile that it has":                        {"AWS_PROFILE": "none"},
	} {
		surroundings(t, vars)
		server := &modelServer{}
		err := ask(t, provider(t, "amazon-bedrock", server.client(t), AWS), "openai.gpt-oss-120b")
		e, _ := errors.AsType[*llm.Error](err)
		if e == nil || e.Kind != llm.ErrAuthentication || !e.Unsent || !strings.Contains(e.Message, want) ||
			len(server.urls) > 0 {
			t.Errorf("%q: %v, requests to %q", want, err, server.urls)
		}
		t.Log(err)
	}
}

// The older endpoint has another name in signatures, and a base URL of the user's stays.
func TestV1_OtherEndpoint(t *testing.T) {
	surroundings(t, map[string]string{"AWS_ACCESS_KEY_ID": "AKIDUSER", "AWS_SECRET_ACCESS_KEY": "secret/of+the+user",
		"AWS_REGION": "us-east-1"})
	server := &modelServer{allow: func(r *http.Request, body []byte) (int, string) {
		if err := checkSignature(r, body, known(), "us-east-1/bedrock/aws4_request"); err != nil {
			t.Error(err)
		}
		return 0, ""
	}}
	kind, err := providers.Find("amazon-bedrock")
	if err != nil {
		t.Fatal(err)
	}
	const base = "bedrock-runtime.us-east-1.amazonaws.com/openai/v1"
	p, err := kind.NewWithCredentials(providers.Config{BaseURL: "https://" + base, HTTPClient: server.client(t)}, AWS)
	if err != nil {
		t.Fatal(err)
	}
	if err := ask(t, p, "openai.gpt-oss-120b"); err != nil {
		t.Error(err)
	}
	if !slices.Equal(server.urls, []string{base + "/chat/completions"}) {
		t.Errorf("the requests went to %q", server.urls)
	}
}
