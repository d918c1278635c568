package shellenv

import (
	"context"
	"io/fs"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/shquote"
)

// Replace implements env.Replacer. It needs flock and sha256sum.
func (e *Env) Replace(ctx context.Context, name string, was env.Hash, data []byte, perm fs.FileMode) error {
	if strings.HasSuffix(name, "/") {
		return &fs.PathError{Op: "replace", Path: name, Err: fs.ErrInvalid}
	}
	// If an old content is expected, its directory must exist, and is not made.
	head := writeHead(data, perm) + compareFunction + "was=" + shquote.Words(string(was)) + `
before() { compare || { rm -f "$t"; exit 47; }; }
`
	if was != env.NoFile {
		head += "(\n" + followLinks + `[ -e "$f" ]) || exit 47` + "\n"
	}
	_, err := e.run(ctx, "replace", name, head+writeScript, data)
	return err
}

// Delete implements env.Replacer. It needs flock and sha256sum.
func (e *Env) Delete(ctx context.Context, name string, was env.Hash) error {
	_, err := e.run(ctx, "delete", name, compareFunction+"was="+shquote.Words(string(was))+"\nlink=$f\n"+followLinks+
		`[ -n "$was" ] && [ -e "$f" ] || exit 47
[ -f "$f" ] || exit 43
compare || exit 47
rm -f "$link" || exit 45`, nil)
	return err
}

// compareFunction compares the content of f with the hash was. It locks the directory until the
// script ends, so that comparing and changing are one step.
const compareFunction = `command -v flock >/dev/null && command -v sha256sum >/dev/null || exit 46
compare() {
	exec 9<"${f%/*}/" && flock 0 <&9 || exit 45 # ksh gives 9 itself to nobody
	now=
	if [ -e "$f" ]; then now=$(sha256sum <"$f") && now=${now%% *} || exit 45; fi
	[ "$now" = "$was" ]
}
`

// Resolve implements env.Resolver.
func (e *Env) Resolve(ctx context.Context, name string) (string, error) {
	out, err := e.run(ctx, "resolve", name, followLinks+`d=${f%/*} rest=/${f##*/}
case $rest in /|/.|/..) d=$f rest= ;; esac
while [ -n "$d" ] && [ ! -d "$d/" ]; do
	case ${d##*/} in ..) exit 41 ;; .|'') ;; *) rest=/${d##*/}$rest ;; esac
	d=${d%/*}
done
cd -P "$d/" || exit 42
printf '%s.' "${PWD%/}$rest"`, nil)
	return strings.TrimSuffix(out, "."), err
}
