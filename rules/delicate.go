package rules

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
)

// delicate says why a file needs a rule of its own: one that names it, not one that matches it
// among others.
type delicate struct {
	elem  string // the element of the path that is in a table, in lower case
	entry string // of the table
	why   string
}

// secretName returns the entry of the table for the name of a file that usually holds secrets, or
// "". The name is in lower case.
func secretName(name string) string {
	switch name {
	case ".env", ".envrc", ".npmrc", ".netrc", "_netrc", ".pypirc", ".git-credentials", ".pgpass", ".my.cnf",
		".htpasswd", ".dockercfg", ".s3cfg", ".boto",
		".vault-token", ".terraformrc", "kubeconfig", ".dev.vars", "credentials.json",
		"application_default_credentials.json",
		"secrets.yml", "secrets.yaml", "secrets.json",
		"secrets.toml", ".bash_history", ".zsh_history", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk",
		"id_ed25519_sk":
		return name
	}
	for _, prefix := range []string{".env.", "id_rsa_", "id_ed25519_"} {
		if strings.HasPrefix(name, prefix) {
			return prefix + "*"
		}
	}
	for _, ending := range []string{".env", ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk",
		".tfvars", ".tfvars.json", ".tfstate", ".kubeconfig", "kubeconfig.yaml", "kubeconfig.yml"} {
		if strings.HasSuffix(name, ending) {
			return "*" + ending
		}
	}
	switch {
	case strings.Contains(name, ".tfstate."):
		return "*.tfstate.*"
	case strings.HasSuffix(name, ".json") && (strings.HasPrefix(name, "service-account") ||
		strings.HasPrefix(name, "service_account")):
		return name
	}
	return ""
}

// secretPlaces lists the ends of paths that usually hold secrets. An entry that ends with a slash
// is a directory.
func secretPlaces() []string {
	return []string{".aws/", ".docker/config.json", ".kube/config", ".cargo/credentials", ".cargo/credentials.toml",
		".gem/credentials",
		".config/gh/hosts.yml", ".config/gcloud/", ".composer/auth.json", ".ssh/", ".gnupg/", ".m2/settings.xml",
		".azure/", ".password-store/"}
}

// secretsAtHome lists the files and directories of a home directory that hold secrets and are not
// among secretPlaces.
func secretsAtHome() []string {
	return []string{".codex/auth.json", ".claude/.credentials.json", ".gemini/oauth_creds.json",
		".config/git/credentials", ".config/rclone", ".config/hub",
		".claude.json", ".terraform.d/credentials.tfrc.json", ".pulumi/credentials.json", ".cache/huggingface/token",
		".huggingface/token", ".config/github-copilot", ".config/doctl", ".config/heroku", ".config/netlify",
		".local/share/com.vercel.cli", ".local/share/opencode/auth.json", ".config/opencode/auth.json",
		".config/glab-cli", ".config/op", ".config/containers/auth.json", ".config/pypoetry/auth.toml", ".config/sops",
		".bundle/config", ".fly", ".psql_history",
		".python_history", ".mysql_history", ".local/share/fish/fish_history", ".thunderbird", ".config/BraveSoftware",
		".config/microsoft-edge", ".npmrc", ".netrc", ".pypirc", ".git-credentials", ".pgpass", ".my.cnf", ".dockercfg",
		".s3cfg", ".boto", ".vault-token",
		".terraformrc", ".bash_history", ".zsh_history", ".local/share/keyrings", ".mozilla", ".config/google-chrome",
		".config/chromium", ".config/composer/auth.json", ".config/helm/registry/config.json", ".config/stripe",
		".config/hcloud", ".config/linode-cli", ".config/ngrok", ".ngrok2", ".cloudflared", ".kaggle/kaggle.json",
		".databrickscfg", ".oci", ".aliyun", ".ivy2/.credentials", ".sbt/credentials", ".gradle/gradle.properties",
		".nuget/NuGet/NuGet.Config", ".config/NuGet/NuGet.Config", ".subversion/auth", ".android/adbkey", ".yarnrc.yml",
		"_netrc", ".Xauthority", ".ICEauthority", ".config/filezilla", ".purple/accounts.xml", ".bitcoin", ".electrum",
		".ethereum/keystore", ".config/solana/id.json", ".age"}
}

// exampleName reports whether a name is that of an example, which holds no secrets, or of a public
// key.
func exampleName(name string) bool {
	switch path.Ext(name) {
	case ".example", ".sample", ".template", ".dist", ".tmpl", ".pub":
		return true
	}
	return false
}

// secretFile says why reading a file asks, if it does.
func secretFile(name string) (d delicate, ok bool) {
	elems := strings.Split(name, "/")
	for i, elem := range elems {
		elems[i] = env.PlainName(elem)
	}
	name, base := strings.Join(elems, "/"), elems[len(elems)-1]
	if exampleName(base) {
		return d, false
	}
	if entry := secretName(base); entry != "" {
		return delicate{base, entry, base + " usually holds secrets"}, true
	}
	if !strings.Contains(name, "/.") {
		return d, false
	}
	slashed := name + "/"
	for _, entry := range secretPlaces() {
		if i := strings.Index(slashed, entry); i > 0 && slashed[i-1] == '/' && (strings.HasSuffix(entry, "/") ||
			i+len(entry)+1 == len(slashed)) {
			elem, _, _ := strings.Cut(entry, "/")
			return delicate{elem, elem, name + " usually holds secrets"}, true
		}
	}
	return d, false
}

// HoldsSecrets reports whether a file with this absolute path usually holds secrets, by its name
// and the directories that it is in.
func HoldsSecrets(file string) bool {
	_, ok := secretFile(file)
	return ok
}

// startingFile says why changing a file asks even if a rule allows to change the files around it.
func startingFile(name string) (d delicate, ok bool) {
	// of a repository without a work tree
	if base := env.PlainName(path.Base(name)); base == "head" || base == "commondir" {
		return delicate{base, base,
			"git may take a directory with " + base + " for a repository, whose configuration starts programs"}, true
	}
	if base := strings.ToLower(path.Base(name)); isLibrary(base) {
		return delicate{base, base, "programs may load it as a library, by LD_LIBRARY_PATH for instance"}, true
	}
	table := env.DelicateFiles()
	for elem := range strings.SplitSeq(name, "/") {
		if hasOption(elem) {
			return delicate{elem, elem, "programs that get its name in a list may take a part of it for an option"},
				true
		}
		elem = env.PlainName(elem)
		// with the name of an environment
		ofMise := strings.HasPrefix(elem, "mise.") && strings.HasSuffix(elem, ".toml")
		if ofMise || slices.ContainsFunc(table, func(d env.Delicate) bool { return d.Name == elem }) {
			return delicate{elem, elem, elem + " can start programs, or tells later sessions what to do"}, true
		}
	}
	return d, false
}

// isLibrary reports whether a name, in lower case, is one of those by which programs find their
// libraries. The text of a file can be one.
func isLibrary(name string) bool {
	return slices.Contains([]string{".so", ".dylib", ".pyd", ".node"}, path.Ext(name)) || strings.Contains(name, ".so.")
}

// hasOption reports whether a part of a name is an option where xargs, or a shell, takes blanks for
// the ends of names.
func hasOption(name string) bool {
	// it may begin with a blank
	words := strings.Fields("x" + strings.NewReplacer(`"`, "", "'", "", `\`, "").Replace(name))
	return len(words) > 1 && slices.ContainsFunc(words[1:], func(word string) bool {
		return len(word) > 1 && word[0] == '-'
	})
}

// python says why a file asks that lies in an environment of python. Pip and conda mark the
// directory of an environment, whatever its name. In an environment that is itself a directory of
// the session, only the programs ask.
func (c *call) python(name string) (d delicate, ok bool) {
	for dir := path.Dir(name); c.insideRoots(dir); dir = path.Dir(dir) {
		for _, mark := range c.pythonMarks(dir) {
			elem, _, _ := strings.Cut(texts.FoldedPath(name[len(dir)+1:]), "/")
			if slices.Contains(c.roots, dir) && !slices.Contains([]string{"bin", "scripts", mark}, elem) {
				continue
			}
			base := strings.ToLower(path.Base(dir))
			return delicate{base, base, "later commands start programs from this environment of python"}, true
		}
		if dir == "/" {
			break
		}
	}
	return d, false
}

// pythonMarks returns the marks of an environment of python that a directory has. It looks once in
// a call: the same directories are those of many files, and each file is judged more than once.
func (c *call) pythonMarks(dir string) []string {
	marks, ok := c.marks[dir]
	if ok {
		return marks
	}
	for _, mark := range []string{"pyvenv.cfg", "conda-meta"} {
		name := path.Join(dir, mark)
		_, err := c.env.Stat(c.ctx, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a link that leads out of the directories is one as well
			_, err = env.TreeOf(c.env).Lstat(c.ctx, name)
		}
		if err == nil {
			marks = append(marks, mark)
		}
	}
	c.marks[dir] = marks
	return marks
}

// kernelFile reports whether a path is a file of the kernel or a device. Such files show processes
// and their variables, or never end.
func kernelFile(name string) bool {
	return name != "/dev/null" && (inside("/proc", name) || inside("/sys", name) || inside("/dev", name))
}

// harmlessVar reports whether a variable can be set for a command without approval. Others can make
// programs run or load other programs. A name with = behind it has a strange value.
func harmlessVar(name string) bool {
	if strings.HasPrefix(name, "LC_") {
		return name != "LC_" && !strings.Contains(name, "=")
	}
	return slices.Contains([]string{"LANG", "LANGUAGE", "TZ", "TERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR",
		"CLICOLOR", "CLICOLOR_FORCE", "CI", "DEBUG",
		"VERBOSE", "NODE_ENV", "RUST_BACKTRACE", "RUST_LOG", "GOOS", "GOARCH", "CGO_ENABLED", "GOMAXPROCS", "GORACE",
		"GOTRACEBACK", "PYTHONUNBUFFERED",
		"PYTHONDONTWRITEBYTECODE", "PORT", "HOST", "DJANGO_DEBUG", "GIT_OPTIONAL_LOCKS", "GIT_TERMINAL_PROMPT",
		"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL",
		"GIT_AUTHOR_DATE", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_DATE"}, name)
}
