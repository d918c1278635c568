//go:build unix

package trust_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/internal/seed"
	"github.com/attractor-go/attractor/trust"
)

// drawHook draws a script of a few commands. The file evil has what could be run, and canary, x and 1
// are programs that leave a mark.
func drawHook(t *rapid.T) string {
	one := func(name, list string) string {
		return rapid.SampledFrom(strings.Split(list, "  ")).Draw(t, name)
	}
	var b strings.Builder
	for range rapid.IntRange(1, 4).Draw(t, "commands") {
		b.WriteString(one("before", "        if   while   ! !  (  {  $(  x=`  y=\"$(  for x in  case x in x)  f() {  exec   exec >$1;   command   timeout 1   time   env   nice   "+
			"x=$(cat evil);   x=./canary;   read -r x <evil;   PATH=.   PATH=.:$PATH;   y=1   set -- $(cat evil);   cd in &&   IFS=,;   <evil   GIT_DIR=x  "))
		b.WriteString(one("program", "echo  echo  printf  test  [  [[  ((  grep  cat  head  tail  cut  tr  wc  read  export  unset  set  shift  exit  git status  "+
			"git log  git rev-parse  git diff  git -c alias.x=!./canary x  :  true  cd  pwd  date  dirname  ./canary  canary  $x  \"$x\"  $1  \"$@\"  .  eval  "+
			"sh  source  trap  xargs  find . -name x -exec  sort  sed  let  declare  local  alias echo=./canary"))
		for range rapid.IntRange(0, 4).Draw(t, "arguments") {
			b.WriteString(" " + one("argument", "a  -n  $x  \"$x\"  ${x}  \"${x#-}\"  $1  \"$1\"  \"$@\"  $(cat evil)  \"$(cat evil)\"  `cat evil`  -v  -eq  -gt  =  1  "+
				"a[$(./canary)]  'a[$(./canary)]'  ]  ]]  ))  $((x))  $[x]  ${!x}  ${x:$x}  ${x[$x]}  ${#x[$x]}  ${x@P}  ${x:-$x}  ${x:-$(./canary)}  $(./canary)  <(./canary)  ./canary  canary  PATH=.  PATH  x  x=./canary  "+
				"--output=out  --ext-diff  -e  -r  -c  --  -  HEAD  evil  *  ca*  <evil  >out  >>.git/hooks/pre-push  >$1  >\"$x\"  &>$1  2>&1  >/dev/null  2>/dev/null  \\  \\;  #  "+
				"<<E\n$(./canary)\nE\n  <<<x"))
		}
		b.WriteString(one("after", "\n  \n  ;   &&   ||   |   &   ; then   ; fi;   ; do   ; done;   )   )\n  };   ;; esac\n  `\n  )\"\n"))
	}
	return b.String()
}

// A hook of which MayRun says that it runs no file runs none, in any shell that git starts it with.
func TestU17_HooksThatRunNoFile(t *testing.T) {
	t.Parallel()
	shells := []string{"bash", "dash"}
	for _, program := range append(shells, "git") {
		peer.Need(t, program)
	}
	passed, ran := 0, 0
	seed.Check(t, func(rt *rapid.T) {
		text := drawHook(rt)
		may := trust.MayRun([]byte("#!/bin/sh\n"+text+"\n"), "/work", func(v string) bool { return v == "PATH" })
		if may != "" && rapid.IntRange(0, 40).Draw(rt, "run") > 2 {
			return
		}
		for _, sh := range shells {
			switch marked := leavesMark(t, sh, text); {
			case marked && may == "":
				rt.Fatalf("%s runs the canary in %q", sh, text)
			case marked:
				ran++
			case may == "":
				passed++
			}
		}
	})
	t.Logf("%d scripts run no file, %d of the others ran the canary", passed, ran)
	if passed == 0 || ran == 0 {
		t.Errorf("%d scripts run no file, and %d of the others ran the canary: the test shows nothing", passed, ran)
	}
}

// leavesMark reports whether a shell that runs a hook in a work tree runs one of the canaries there,
// or changes a file.
func leavesMark(t *testing.T, sh, text string) bool {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "tree")
	if err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(dir, "..", filepath.Base(dir)+"-mark")
	canary := "#!/bin/sh\n: >" + mark + "\n"
	files := map[string]string{"canary": canary, "in/canary": canary, "x": canary, "1": canary,
		"evil": "-v a[$(./canary)] ./canary\n", ".git/hooks/README": ""}
	for name, content := range files {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(content), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, sh, "-c", text, "hook", "./canary", "a[$(./canary)]")
	cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/bin:/bin", "HOME=" + dir, "GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir)}
	cmd.WaitDelay = time.Second
	_ = cmd.Run() // most of them fail
	err = filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if rest, _ := filepath.Rel(dir, name); err == nil && string(data) != files[rest] {
			err = errors.New("changed: " + rest)
		}
		return err
	})
	_, none := os.Stat(mark)
	return err != nil || none == nil
}
