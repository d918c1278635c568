package env

import (
	"slices"
	"strings"
)

// VarPolicy selects which of the host's environment variables commands inherit.
type VarPolicy int

const (
	// VarsDefault passes on everything except probable secrets. Variables that every command needs
	// are always passed on.
	VarsDefault VarPolicy = iota
	// VarsAll passes on everything except provider keys.
	VarsAll
	// VarsCore passes on only what every command needs: paths, the user, the language, the
	// directories of tool chains.
	VarsCore
	// VarsNone passes on nothing.
	VarsNone
)

// String returns the policy's name: default, all, core or none.
func (v VarPolicy) String() string {
	if v >= VarsDefault && v <= VarsNone {
		return [...]string{"default", "all", "core", "none"}[v]
	}
	return "unknown"
}

// FilterVars returns the variables of environ, each KEY=value, that a policy passes on to commands,
// in their order. It always drops the keys of model providers and the names in extraDrop. Names are
// compared without case. Unknown policies pass on nothing.
//
// Secrets are recognized by name, and by value in one case: a URL with a password.
func FilterVars(policy VarPolicy, environ []string, extraDrop []string) []string {
	drop := make(map[string]bool, len(extraDrop))
	for _, name := range extraDrop {
		drop[strings.ToUpper(name)] = true
	}
	var kept []string
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		name = strings.ToUpper(name)
		if !ok || name == "" || drop[name] || isProviderKey(name) {
			continue
		}
		if passes(policy, name, value) {
			kept = append(kept, entry)
		}
	}
	return kept
}

// passes reports whether a policy passes on a variable. The name is in upper case.
func passes(policy VarPolicy, name, value string) bool {
	switch policy {
	case VarsAll:
		return true
	case VarsCore:
		return isCore(name)
	case VarsDefault:
		return isCore(name) || !looksSecret(name) && !hasPassword(value)
	}
	return false
}

// isProviderKey reports whether a variable holds the key of a model provider. Commands do not need
// the host's keys, and could spend its money with them.
func isProviderKey(name string) bool {
	switch name {
	case "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "AWS_BEARER_TOKEN_BEDROCK",
		"OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_API_KEY", "CODEX_API_KEY",
		"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "GOOGLE_GENAI_API_KEY",
		"OPENROUTER_API_KEY", "MISTRAL_API_KEY", "GROQ_API_KEY", "XAI_API_KEY", "DEEPSEEK_API_KEY", "CEREBRAS_API_KEY",
		"TOGETHER_API_KEY", "TOGETHERAI_API_KEY", "FIREWORKS_API_KEY", "COHERE_API_KEY", "CO_API_KEY",
		"PERPLEXITY_API_KEY", "MOONSHOT_API_KEY", "ZAI_API_KEY", "MINIMAX_API_KEY", "DASHSCOPE_API_KEY",
		"NVIDIA_API_KEY", "GOOGLE_CLOUD_API_KEY", "BASETEN_API_KEY", "AI_GATEWAY_API_KEY", "HUGGINGFACE_API_KEY",
		"REPLICATE_API_TOKEN", "OLLAMA_API_KEY", "LMSTUDIO_API_KEY", "VLLM_API_KEY", "LLAMA_API_KEY",
		"OPENAI_COMPATIBLE_API_KEY", "LLM_API_KEY":
		return true
	}
	return false
}

// isCore reports whether commands generally need a variable: what a login sets, paths, and the
// directories of tool chains.
func isCore(name string) bool {
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TERM", "COLORTERM", "NO_COLOR", "TZ", "TMPDIR", "TMP",
		"TEMP",
		"LANG", "LANGUAGE", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
		// Windows
		"SYSTEMROOT", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA",
		"PROGRAMFILES", "PROGRAMFILES(X86)", "HOMEDRIVE", "HOMEPATH", "USERNAME", "SYSTEMDRIVE",
		// tool chains
		"GOROOT", "GOPATH", "GOBIN", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPRIVATE", "GOTOOLCHAIN", "GOOS", "GOARCH",
		"CARGO_HOME", "CARGO_TARGET_DIR", "RUSTUP_HOME", "NVM_DIR", "NVM_BIN", "NODE_PATH", "PNPM_HOME", "BUN_INSTALL",
		"DENO_DIR", "VOLTA_HOME", "FNM_DIR", "VIRTUAL_ENV", "PYTHONPATH", "PYENV_ROOT", "CONDA_PREFIX", "CONDA_EXE",
		"UV_CACHE_DIR", "JAVA_HOME", "JDK_HOME", "MAVEN_HOME", "M2_HOME", "GRADLE_HOME", "GRADLE_USER_HOME",
		"SDKMAN_DIR",
		"ANDROID_HOME", "GEM_HOME", "GEM_PATH", "RBENV_ROOT", "RVM_PATH", "BUNDLE_PATH", "DOTNET_ROOT", "PERL5LIB",
		"GHCUP_INSTALL_BASE_PREFIX", "OPAMROOT", "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "HOMEBREW_PREFIX",
		"PKG_CONFIG_PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}

// looksSecret reports whether a name in upper case suggests a secret. It compares whole words or
// their ends, so that MONKEY, XKB_KEYMAP and TOKENIZERS_PARALLELISM are not secrets.
func looksSecret(name string) bool {
	// they have the key of the receiver
	if strings.HasPrefix(name, "OTEL_EXPORTER_OTLP_") && strings.HasSuffix(name, "HEADERS") {
		return true
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') })
	for i, word := range words {
		if isSecretWord(word) || hasSecretEnd(word) || word == "PWD" && len(words) > 1 && i > 0 {
			return true
		}
	}
	return isConnection(words)
}

// isSecretWord reports whether a word anywhere in a name stands for a secret, or for a file or
// socket that leads to one.
func isSecretWord(word string) bool {
	switch word {
	case "KEY", "KEYS", "KEYFILE", "TOKEN", "SECRET", "SECRETS", "PASS", "PW", "PASSWORDS", "PASSWDS", "PGPASSFILE",
		"CREDENTIAL", "CREDENTIALS", "CREDS", "AUTH", "OAUTH", "BEARER", "COOKIE", "COOKIES", "JWT", "TOTP", "PAT",
		"KUBECONFIG", "NETRC", "DSN", "WEBHOOK", "SAS", "PKCS12", "PFX", "MNEMONIC":
		return true
	}
	return false
}

// hasSecretEnd reports whether a word ends like a secret: PGPASSWORD, GITHUBTOKEN, apiKey.
func hasSecretEnd(word string) bool {
	for _, end := range [...]string{"PASSWORD", "PASSWD", "PASSPHRASE", "TOKEN", "SECRET", "APIKEY", "ACCESSKEY",
		"SECRETKEY",
		"PRIVATEKEY", "AUTHKEY", "CREDENTIAL", "CREDENTIALS"} {
		if strings.HasSuffix(word, end) {
			return true
		}
	}
	return false
}

// isConnection reports whether a variable with this name describes a connection to a data store,
// which usually contains a password.
func isConnection(words []string) bool {
	if len(words) < 2 {
		return false
	}
	switch words[len(words)-1] {
	case "URL", "URI", "CONN", "CONNECTION", "STRING", "CONNSTR":
	default:
		return false
	}
	stores := []string{"DATABASE", "DB", "SQL", "POSTGRES", "POSTGRESQL", "PG", "MYSQL", "MARIADB", "MSSQL", "ORACLE",
		"JDBC",
		"REDIS", "VALKEY", "MONGO", "MONGODB", "COUCHDB", "CASSANDRA", "CLICKHOUSE", "ELASTIC", "ELASTICSEARCH",
		"NEO4J",
		"AMQP", "RABBITMQ", "KAFKA", "NATS", "CELERY", "BROKER", "MQTT", "SMTP", "LDAP", "CONNECTION", "STORAGE",
		"SENTRY"}
	return slices.ContainsFunc(words[:len(words)-1], func(w string) bool { return slices.Contains(stores, w) })
}

// hasPassword reports whether a value is a URL with a password: scheme://user:password@host.
func hasPassword(value string) bool {
	_, rest, ok := strings.Cut(value, "://")
	if !ok {
		return false
	}
	authority, _, _ := strings.Cut(rest, "/")
	at := strings.LastIndexByte(authority, '@')
	return at >= 0 && strings.IndexByte(authority[:at], ':') >= 0
}

// LooksSecret reports whether commands do not get a variable by default because it looks like a
// secret.
func LooksSecret(name, value string) bool {
	return len(FilterVars(VarsDefault, []string{name + "=" + value}, nil)) == 0
}
