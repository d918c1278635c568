package sandbox_test

// attack is a script that must not have its effect in a sandbox.
type attack struct {
	name, script string
	// does is its effect outside, which shows that the script works. Without one it is not run
	// there, and why says why.
	does effect
	why  string
	root bool // only root can do it outside
	// alone says that it may end, or outlast, other attacks of the same command.
	alone bool
	// on names the repository that it changes, if its effect is what the user's next git command
	// runs; see world.userGit.
	on string
}

// attacks returns the table. The scripts run in the working directory of the sandbox, with the
// variables of world.vars.
func attacks() []attack {
	return flat(
		writesOutside(), writesByTricks(), writesOfProtected(), repositories(),
		reads(), sockets(), networks(), proxies(), processes(), mounts(), kernels(), devices())
}

func flat(tables ...[]attack) (all []attack) {
	for _, t := range tables {
		all = append(all, t...)
	}
	return all
}

func writesOutside() []attack {
	return []attack{
		{name: "make a file outside", script: `echo x >"$OUT/new"`, does: wrote},
		{name: "change a file outside", script: `echo x >>"$OUT/file"`, does: wrote},
		{name: "truncate a file outside", script: `: >"$OUT/file"`, does: wrote},
		{name: "delete a file outside", script: `rm -f "$OUT/file"`, does: wrote},
		{name: "delete a directory outside", script: `rm -rf "$OUT/dir"`, does: wrote},
		{name: "rename a file out", script: `echo x >made; mv made "$OUT/new"`, does: wrote},
		{name: "rename a file in", script: `mv "$OUT/file" stolen`, does: wrote},
		{name: "make a directory outside", script: `mkdir "$OUT/new"`, does: wrote},
		{name: "change a mode outside", script: `chmod 777 "$OUT/file"`, does: metadata},
		{name: "by a relative path", script: `echo x >../../out/new`, does: wrote},
		{name: "a name with a line end", script: `echo x >"$OUT/"$'a\nb'`, does: wrote},
		{name: "a sibling with the root's name as its prefix", script: `echo x >"$ROOT-evil/new"; mkdir "$ROOT-evil2"`,
			does: wrote},
		{name: "start-up files of the home directory",
			script: `echo x >>"$HOSTHOME/.bashrc"; echo x >"$HOSTHOME/.profile"`, does: wrote},
		{name: "authorized keys", script: `mkdir -p "$HOSTHOME/.ssh"; echo x >>"$HOSTHOME/.ssh/authorized_keys"`,
			does: wrote},
		{name: "git's own configuration", script: `git config --global core.hooksPath /tmp/h`, does: wrote},
		{name: "an agent's settings in the home directory",
			script: `mkdir -p "$HOSTHOME/.claude"; echo x >"$HOSTHOME/.claude/settings.json"`, does: wrote},
		{name: "a unit of systemd",
			script: `mkdir -p "$HOSTHOME/.config/systemd/user"; echo x >"$HOSTHOME/.config/systemd/user/a.service"`,
			does:   wrote},
		{name: "a file of the system", script: `echo x >>"$SYSTEM"`, does: wrote, root: true},
		{name: "the host's temporary files", script: `echo x >"$HOSTTMP/new"`, does: wrote},
		{name: "the host's shared memory", script: `echo x >"$SHMFILE"`, does: wrote},
		{name: "a repository elsewhere", script: `git init -q "$OUT/repository"`, does: wrote},
		{name: "an archive with a path outside",
			script: `mkdir -p a; echo x >a/f; tar -cf a.tar -P --transform "s,^a/f,$OUT/new," a/f; tar -xPf a.tar`,
			does:   wrote},
	}
}

func writesByTricks() []attack {
	return []attack{
		{name: "through a link to a directory", script: `ln -s "$OUT" l; echo x >l/new; rm l`, does: wrote},
		{name: "through a link to a file", script: `ln -s "$OUT/file" l; echo x >l; rm l`, does: wrote},
		{name: "through a link that was there", script: `echo x >link-out/new`, does: wrote},
		{name: "through a hard link", script: `ln "$OUT/file" h && echo x >>h`, does: wrote},
		{name: "through a hard link by /proc", script: `exec 5<"$OUT/file"; ln -L /proc/self/fd/5 h; echo x >>h; cat h`,
			does: wrote},
		{name: "through /proc/self/root", script: `echo x >/proc/self/root"$OUT/new"`, does: wrote},
		{name: "through /proc/self/cwd", script: `echo x >/proc/self/cwd/../../out/new`, does: wrote},
		{name: "through /proc/1/root", script: `echo x >/proc/1/root"$OUT/new"; echo x >/proc/$VICTIM/root"$OUT/new"`,
			does: wrote},
		{name: "through the root of every process",
			script: `for p in /proc/[0-9]*; do echo x 2>/dev/null >"$p/root$OUT/new"; done`, does: wrote},
		{name: "through the directory of the victim",
			script: `echo x >"/proc/$VICTIM/cwd/new"; for cwd in $(find /proc/[0-9]*/cwd -lname "*$MARK/out"); do echo x >"$cwd/new"; done`, does: wrote},
		{name: "through open descriptors",
			script: `for fd in $(find /proc/[0-9]*/fd -lname "*$MARK*"); do echo x >>$fd; done`, does: wrote},
		{name: "through descriptors that it has from the start",
			script: `for n in 3 4 5 6 7 8 9 10 11 12; do case $(readlink /proc/$$/fd/$n) in */attractor-attacks-*) (echo x >/proc/self/fd/$n/../new; echo x >&$n) 2>/dev/null;; esac; done; ls -l /proc/self/fd/ | grep -q attractor-attacks-.*/out && echo GOT descriptor`,
			why:    "a command has none"},
		{name: "openat2 through /proc", script: `"$TOOL" openat2 "$OUT/new"`, does: wrote},
		{name: "by handle", script: `"$TOOL" handle "$ROOT"`, does: kernel, root: true},
		{name: "rename the root", script: `cd /; mv "$ROOT" "$ROOT.old" && mkdir "$ROOT" && echo x >"$ROOT/new"`,
			does: wrote},
		{name: "rename the parent of the root",
			script: `cd /; mv "$HOSTHOME" "$HOSTHOME.old" && mkdir "$HOSTHOME" && echo x >"$HOSTHOME/new"`,
			does:   wrote},
		{name: "delete the root",
			script: `cd /; mkdir "$ROOT/empty"; rm -rf "$ROOT"; [ -e "$ROOT" ] || echo x >"$ROOT"`, does: protected,
			alone: true},
		{name: "a set-user-id program",
			script: `cp /bin/true s; chmod 4755 s; install -m 4755 /bin/true i; "$TOOL" setuidfile .`, does: special},
	}
}

func writesOfProtected() []attack {
	return []attack{
		{name: "a hook", script: `echo x >.git/hooks/pre-push`, does: protected},
		{name: "a hook that was there", script: `echo x >>.git/hooks/pre-commit`, does: protected},
		{name: "a hook by rename", script: `echo x >h; mv h .git/hooks/post-checkout`, does: protected},
		{name: "a hook by a link", script: `ln -s ../../main.go .git/hooks/post-merge`, does: protected},
		{name: "a hook through a link", script: `ln -s .git/hooks g; echo x >g/post-checkout; rm g`, does: protected},
		{name: "a hook through a work tree's path", script: `echo x >sub/../.git/./hooks//pre-rebase`, does: protected},
		{name: "replace the hooks", script: `mv .git/hooks .git/old; mkdir .git/hooks; echo x >.git/hooks/pre-commit`,
			does: protected},
		{name: "the hooks as a link", script: `rm -rf .git/hooks; ln -s ../sub .git/hooks`, does: protected},
		{name: "git config", script: `git config core.hooksPath sub`, does: protected},
		{name: "git config of a monitor", script: `git config core.fsmonitor "touch x"`, does: protected},
		{name: "the configuration in place", script: `printf '[core]\nfsmonitor = x\n' >>.git/config`, does: protected},
		{name: "the configuration by rename",
			script: `cp .git/config .git/new; echo >>.git/new; mv -f .git/new .git/config`, does: protected},
		{name: "delete the configuration", script: `rm -f .git/config`, does: protected},
		{name: "exclude and attributes", script: `mkdir -p .git/info; echo '* filter=x' >.git/info/attributes`,
			does: protected},
		{name: "a common directory", script: `mkdir -p evil; cp .git/config evil/; echo ../evil >.git/commondir`,
			does: protected},
		{name: "a submodule's configuration", script: `echo x >>.git/modules/module/config`, does: protected},
		{name: "a submodule's hook",
			script: `mkdir -p .git/modules/module/hooks; echo x >.git/modules/module/hooks/post-checkout`,
			does:   protected},
		{name: "where a submodule's repository is", script: `echo 'gitdir: ../sub' >module/.git`, does: protected},
		{name: "where a submodule's repository is, by rename", script: `echo 'gitdir: ../sub' >g; mv -f g module/.git`,
			does: protected},
		{name: "replace a submodule", script: `mv module m2; mkdir module; echo 'gitdir: ../sub' >module/.git`,
			does: protected},
		{name: "a work tree's directory", script: `mkdir -p .git/worktrees/w; echo x >.git/worktrees/w/gitdir`,
			does: protected},
		{name: "a nested repository's hook", script: `echo x >nested/.git/hooks/pre-commit`, does: protected},
		{name: "a nested repository's configuration", script: `git -C nested config core.pager x`, does: protected},
		{name: "replace a nested repository",
			script: `mv nested n2; git init -q nested; echo x >nested/.git/hooks/pre-commit`, does: protected},
		{name: "replace the nested .git",
			script: `mv nested/.git nested/g2; git init -q nested; echo x >nested/.git/hooks/pre-commit`,
			does:   protected},
		{name: "rename .git", script: `mv .git .g2; git init -q .; echo x >.git/hooks/pre-commit`, does: protected},
		{name: "delete .git", script: `rm -rf .git; git init -q .; git config core.pager x`, does: protected,
			alone: true},
		{name: ".git as a link", script: `mv .git .g2; ln -s .g2 .git; echo x >.g2/hooks/pre-commit`, does: protected},
		{name: "settings that are not there", script: `mkdir .claude; echo x >.claude/settings.json`, does: protected},
		{name: "settings by rename of a directory", script: `mkdir c; echo x >c/settings.json; mv c .claude`,
			does: protected},
		{name: "settings as a link to a directory", script: `mkdir c; echo x >c/settings.json; ln -s c .claude`,
			does: protected},
		{name: "servers that are not there", script: `echo x >.mcp.json`, does: protected},
		{name: "servers by rename", script: `echo x >m; mv m .mcp.json`, does: protected},
		{name: "servers by a link", script: `echo x >m; ln -s m .mcp.json; ln m .mcp.json`, does: protected},
		{name: "tasks of an editor", script: `echo x >.vscode/tasks.json`, does: protected},
		{name: "replace the editor's directory", script: `mv .vscode v; mkdir .vscode; echo x >.vscode/tasks.json`,
			does: protected},
		{name: "start-up files of shells",
			script: `for f in .bashrc .profile .zshrc .envrc .gitconfig; do echo x >$f; done`, does: protected},
		{name: "our own settings", script: `mkdir .attractor; echo x >.attractor/rules.json`, does: protected},
		{name: "settings of other agents", script: `for d in .codex .agents .gemini; do mkdir $d; echo x >$d/f; done`,
			does: protected},
		{name: "a race for a file that is not there",
			script: `for n in 1 2 3 4 5 6 7 8; do (for i in 1 2 3 4 5 6 7 8 9; do mkdir .codex; echo x >.codex/f; mv .codex .c$n; rm -rf .c$n; echo x >.mcp.json; done) & done 2>/dev/null; wait; mkdir .codex`, does: protected},
	}
}

// repositories returns attacks on which repository git finds. Each of them breaks one, or waits for
// the user to make one.
func repositories() []attack {
	const evil = `printf '#!/bin/sh\n: >"%s"\n' "$RAN" >"$ROOT/evil.sh"; chmod 755 "$ROOT/evil.sh"
configure() { printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = %s\n' "$1"
printf '\tfsmonitor = %s\n' "$ROOT/evil.sh"; }
evil() { mkdir -p "$1/objects" "$1/refs"; echo 'ref: refs/heads/main' >"$1/HEAD"; configure "$2" >"$1/config"; }
`
	var all []attack
	for _, a := range []attack{
		{name: "a repository beside a .git without HEAD", on: ".", script: `rm .git/HEAD; evil . "$ROOT"`},
		{name: "a repository beside a .git whose HEAD is wrong", on: ".", script: `echo x >.git/HEAD; evil . "$ROOT"`},
		{name: "a repository beside a .git without objects", on: ".", script: `mv .git/objects .git/o; evil . "$ROOT"`},
		{name: "a repository beside a .git whose refs cannot be used", on: ".",
			script: `mv .git/refs .git/r; ln -s r/r .git/refs; evil . "$ROOT"`},
		{name: "a repository beside a .git, with a common directory", on: ".",
			script: `rm .git/HEAD; evil evil "$ROOT"; echo 'ref: refs/heads/main' >HEAD; echo evil >commondir
printf '[extensions]\n\tworktreeConfig = true\n' >>evil/config; configure "$ROOT" >config.worktree`},
		{name: "a repository beside a .git, with HEAD as a link", on: ".",
			script: `rm .git/HEAD; evil . "$ROOT"; ln -sf refs/heads/main HEAD`},
		{name: "move .git away and make a bare repository", on: ".",
			script: `mv .git x || rm .git/HEAD; git init -q --bare .; configure "$ROOT" >config`},
		{name: "a file .git", on: ".", script: `evil evil "$ROOT"; mv .git x; echo 'gitdir: ./evil' >.git`},
		{name: "a file .git by git", on: ".",
			script: `git init -q --separate-git-dir evil .; configure "$ROOT" >evil/config`},
		{name: "a repository beside a nested .git", on: "nested",
			script: `rm nested/.git/HEAD; evil nested "$ROOT/nested"`},
		{name: "a repository above a nested .git", on: "deep",
			script: `rm deep/er/nested/.git/HEAD; evil deep/er/.git "$ROOT/deep/er"`},
		{name: "a repository without a work tree above a nested .git", on: "deep",
			script: `rm deep/er/nested/.git/HEAD; evil deep "$ROOT/deep/er"`},
		{name: "a repository in node_modules", on: "node_modules",
			script: `cd node_modules/@a/b/node_modules/c/d/e; rm .git/HEAD; evil . "$PWD"`},
		{name: "the configuration of a repository in node_modules", on: "node_modules",
			script: `cd node_modules/@a/b/node_modules/c/d/e; configure "$PWD" >.git/config`},
		{name: "the configuration of a separate repository", on: "separate",
			script: `configure "$ROOT/separate" >store/separate/config`},
		{name: "where a separate repository is", on: "separate",
			script: `evil evil "$ROOT/separate"; mv store s; mkdir store; cp -r evil store/separate`},
		{name: "the configuration of a bare repository", on: ".bare", script: `configure "$ROOT/.bare" >.bare/config`},
		{name: "the configuration of a bare repository's work tree", on: ".bare",
			script: `configure "$ROOT/tree" >.bare/config; echo ../../../evil >.bare/worktrees/tree/commondir
evil evil "$ROOT/tree"`},
		{name: "a .git in a bare repository", on: ".bare", script: `evil .bare/.git "$ROOT/.bare"`},
		{name: "a linked .git", on: "linked", script: `rm linked/.git; evil linked/.git "$ROOT/linked"`},
		{name: "what a linked .git leads to", on: "linked", script: `configure "$ROOT/linked" >store/linked/config`},
		{name: "what a broken .git file leads to", on: "broken", script: `evil missing/repository "$ROOT/broken"`},
		{name: "a repository for later", on: ".",
			script: `evil unborn/later "$ROOT/unborn"; rm .git/HEAD; git init -q . 
git config core.fsmonitor "$ROOT/evil.sh"`},
	} {
		all = append(all, attack{name: a.name, script: evil + a.script, does: nextGit, on: a.on})
	}
	return all
}

func reads() []attack {
	return []attack{
		{name: "keys of ssh", script: `cat "$HOSTHOME/.ssh/id_ed25519"`, does: readIt},
		{name: "credentials of clouds", script: `cat "$HOSTHOME/.aws/credentials" "$HOSTHOME/.kube/config"`,
			does: readIt},
		{name: "credentials of programs",
			script: `cat "$HOSTHOME/.netrc" "$HOSTHOME/.docker/config.json" "$HOSTHOME/.config/gh/hosts.yml" "$HOSTHOME/.npmrc" "$HOSTHOME/.cargo/credentials.toml" "$HOSTHOME/.m2/settings.xml"`, does: readIt},
		{name: "keyrings and histories",
			script: `cat "$HOSTHOME/.gnupg/private-keys-v1.d/a.key" "$HOSTHOME/.local/share/keyrings/login.keyring" "$HOSTHOME/.mozilla/firefox/cookies.sqlite" "$HOSTHOME/.bash_history"`, does: readIt},
		{name: "git's credential helper",
			script: `printf 'protocol=https\nhost=example.com\n\n' | GIT_TERMINAL_PROMPT=0 git credential fill`,
			does:   readIt},
		{name: "another project", script: `cat ../other/secret.txt`, does: readIt},
		{name: "a file outside", script: `cat "$OUT/secret"`, does: readIt},
		{name: "through a link", script: `ln -s "$OUT/secret" s; cat s; rm s; cat link-out/secret`, does: readIt},
		{name: "through a hard link", script: `ln "$OUT/secret" s && cat s`, does: readIt},
		{name: "a copy of a directory", script: `cp -r "$OUT/." copied`, does: readIt},
		{name: "the host's temporary files", script: `cat "$HOSTTMP/secret"`, does: readIt},
		{name: "the host's shared memory", script: `cat "$SHMFILE"`, does: readIt},
		{name: "shared memory of System V", script: `"$TOOL" shm "$SHM"`, does: readIt},
		{name: "the kernel's keyring",
			script: `"$TOOL" keyring "$KEYNAME" 0; grep -q "$KEYNAME" /proc/keys && echo SEES the names of keys; "$TOOL" keyring "$KEYNAME" $((0x$(sed -n "/$KEYNAME/s/ .*//p" /proc/keys)))`, does: readIt},
		{name: "through /proc/1/root", script: `cat /proc/1/root"$OUT/secret"; cat "/proc/$VICTIM/root$OUT/secret"`,
			does: readIt},
		{name: "environments of processes", script: `cat /proc/[0-9]*/environ`, does: readIt},
		{name: "command lines of processes", script: `cat /proc/[0-9]*/cmdline`, does: readIt},
		{name: "memory of the victim", script: `dd if=/proc/$VICTIM/mem bs=1 skip=$((VICTIMAT)) count=$SECRETLEN`,
			does: readIt, root: true},
		{name: "files of the victim",
			script: `cat /proc/$VICTIM/fd/0; for fd in /proc/[0-9]*/fd/0; do [ -f $fd ] && head -c 1000 $fd; done </dev/null`, does: readIt},
		{name: "find it everywhere",
			script: `cat /dev/null $(find $(find / -maxdepth 5 \( -path /proc -o -path /sys -o -path /usr \) -prune -o -name "*$MARK" -prune -print -o -path "$HOSTTMP" -print) -name secret -o -name id_ed25519 -o -name secret.txt)`, does: readIt},
		{name: "the shadow file",
			script: `grep -q '^root:' /etc/shadow && echo GOT /etc/shadow; grep -q . /etc/gshadow && echo GOT /etc/gshadow`, does: kernel, root: true},
		{name: "variables that lead to services",
			script: `for v in SSH_AUTH_SOCK DOCKER_HOST DBUS_SESSION_BUS_ADDRESS DISPLAY WAYLAND_DISPLAY XDG_RUNTIME_DIR TMUX GPG_AGENT_INFO; do [ -n "${!v}" ] && echo LEADS $v; done`, does: leads},
	}
}

func sockets() []attack {
	const by = `"$TOOL" connect unix `
	return []attack{
		{name: "a socket outside", script: by + `"$SOCKET"`, does: toPath},
		{name: "docker of the user", script: by + `"$HOSTHOME/.docker/run/docker.sock"; ` + by + `"$RUN/docker.sock"`,
			does: toPath},
		{name: "podman", script: by + `"$RUN/podman/podman.sock"`, does: toPath},
		{name: "the session's bus", script: by + `"$RUN/bus"`, does: toPath},
		{name: "wayland", script: by + `"$RUN/wayland-0"`, does: toPath},
		{name: "systemd of the user", script: by + `"$RUN/systemd/private"`, does: toPath},
		{name: "gpg-agent", script: by + `"$RUN/gnupg/S.gpg-agent"`, does: toPath},
		{name: "the keyring's agent", script: by + `"$RUN/keyring/ssh"`, does: toPath},
		{name: "ssh-agent by its path", script: by + `"$HOSTTMP/ssh-agent"`, does: toPath},
		{name: "X11 by its path", script: by + `"$HOSTTMP/.X11-unix"`, does: toPath},
		{name: "tmux by its path", script: by + `"$HOSTTMP/tmux"`, does: toPath},
		{name: "ssh-agent by its variable", script: by + `"$SSH_AUTH_SOCK"`, does: toPath},
		{name: "docker by its variable", script: by + `"${DOCKER_HOST#unix://}"`, does: toPath},
		{name: "the bus by its variable", script: by + `"${DBUS_SESSION_BUS_ADDRESS#unix:path=}"`, does: toPath},
		{name: "tmux by its variable", script: by + `"${TMUX%%,*}"`, does: toPath},
		{name: "through the link", script: by + `link-out/docker.sock`, does: toPath},
		{name: "through /proc/1/root", script: by + `"/proc/1/root$SOCKET"; ` + by + `"/proc/$VICTIM/root$SOCKET"`,
			does: toPath},
		{name: "a pair of sockets", script: `"$TOOL" pair "${SOCKET%/*}/datagrams"`, does: toPath},
		{name: "a hard link to a socket", script: `ln "$SOCKET" s; ` + by + `s`, does: toPath},
		{name: "take an open directory from a socket", script: `"$TOOL" receive "$OUT/passing"`, does: wrote},
		{name: "an abstract socket", script: `"$TOOL" abstract "$ABSTRACT"`, does: toAbs},
		{name: "every socket of /run",
			script: `for s in $(find /run /var/run -type s 2>/dev/null | head -50); do echo GOT "$s"; done`,
			why:    "it depends on the machine"},
	}
}

func networks() []attack {
	return []attack{
		{name: "TCP to the machine", script: `"$TOOL" connect tcp "$TCP4"`, does: toTCP},
		{name: "TCP by the shell", script: `exec 5<>/dev/tcp/${TCP4/:/\/} && cat <&5`, does: toTCP},
		{name: "TCP over IPv6", script: `"$TOOL" connect tcp "$TCP6"`, does: toTCP},
		{name: "TCP by another address of loopback", script: `"$TOOL" connect tcp "0.0.0.0:${TCP4#*:}"`, does: toTCP},
		{name: "TCP by IPv4 in IPv6", script: `"$TOOL" connect tcp "[::ffff:127.0.0.1]:${TCP4#*:}"`, does: toTCP},
		{name: "UDP", script: `"$TOOL" udp "$UDP4"`, does: toUDP},
		{name: "UDP over IPv6", script: `"$TOOL" udp "$UDP6"`, does: toUDP},
		{name: "UDP by the shell", script: `echo attack >/dev/udp/${UDP4/:/\/}; "$TOOL" udp "$UDP4"`, does: toUDP},
		{name: "curl without a proxy", script: `curl -s -m 20 --noproxy '*' "http://$TCP4/"`, does: toTCP},
		{name: "ICMP by a raw socket", script: `"$TOOL" raw`, does: kernel, root: true},
		{name: "packets", script: `"$TOOL" packet`, does: kernel, root: true},
		{name: "the virtual machine's sockets", script: `"$TOOL" vsock`, why: "not every kernel has them"},
		{name: "change an interface", script: `"$TOOL" netlink`, does: kernel, root: true},
	}
}

func proxies() []attack {
	return []attack{
		{name: "a tunnel to the machine", script: `"$TOOL" proxy "$TCP4"`, does: toTCP},
		{name: "a tunnel to the machine in other spellings",
			script: `for a in localhost 127.1 2130706433 0x7f.1 0177.0.0.1 127.0.0.1. 0 0.0.0.0 [::1] [::ffff:127.0.0.1] [::]; do "$TOOL" proxy "$a:$PORT"; done`, does: toTCP},
		{name: "a tunnel by a name that leads to the machine", script: `"$TOOL" proxy "` + hidden + `:$PORT"`,
			does: toTCP},
		{name: "a tunnel to another port of a named host", script: `"$TOOL" proxy "` + named + `:$PORT"`, does: toTCP},
		{name: "a tunnel to a host that is not named",
			script: `"$TOOL" proxy "` + unnamed + `:$PORT"; "$TOOL" proxy "` + unnamed + `:$TLSPORT"`, does: toTCP},
		{name: "a tunnel without TLS", script: `"$TOOL" proxy "` + named + `:$TLSPORT"`, does: toHost},
		{name: "a tunnel with another name in TLS", script: `"$TOOL" proxytls "` + named + `:$TLSPORT" ` + unnamed,
			does: toHost},
		{name: "a tunnel without a name in TLS", script: `"$TOOL" proxytls "` + named + `:$TLSPORT" ""`, does: toHost},
		{name: "a tunnel to an address with another name in TLS",
			script: `"$TOOL" proxytls "127.0.0.1:$TLSPORT" ` + unnamed, does: toHost},
		{name: "a page of the machine",
			script: `"$TOOL" proxyget "http://$TCP4/" "$TCP4"; HTTP_PROXY=$HTTPS_PROXY curl -s -m 20 "http://$TCP4/"`,
			does:   toTCP},
		{name: "a page of a host that is not named", script: `"$TOOL" proxyget "http://` + unnamed + `:$PLAINPORT/" "` +
			unnamed + `:$PLAINPORT"`, does: toHost},
		{name: "a page of another port of a named host", script: `"$TOOL" proxyget "http://` + named + `:$PORT/" "` +
			named + `:$PORT"`, does: toTCP},
		{name: "a second request for another host", script: `"$TOOL" proxyget "http://$PLAIN/" "$PLAIN" "http://` +
			unnamed + `:$PLAINPORT/" "` + unnamed + `:$PLAINPORT"`, does: toHost},
		{name: "a page with the name of another host", script: `"$TOOL" proxyget "http://$PLAIN/" "` + unnamed +
			`:$PLAINPORT"`, why: "a proxy corrects the name"},
		{name: "a request in another", script: `"$TOOL" smuggle "http://$PLAIN/" "$PLAIN" "http://` + unnamed +
			`:$PLAINPORT/" "` + unnamed + `:$PLAINPORT"`, why: "a proxy corrects the length"},
	}
}

func processes() []attack {
	// deadly is the signal for other processes: SIGKILL, or none, which only asks for permission,
	// where the host's processes could get it.
	const deadly = `n=$(readlink /proc/self/ns/pid); s=0; [ -n "$n" ] && [ "$n" != "$PIDNS" ] && s=9; `
	return []attack{
		{name: "signal the victim", script: `kill -USR1 $VICTIM`, does: signalled},
		{name: "end the victim", script: `kill -TERM $VICTIM; kill -HUP $VICTIM`, does: signalled},
		{name: "end every process that it sees",
			script: deadly + `for p in /proc/[0-9]*; do p=${p#/proc/}; [ $p = $$ ] || kill -$s $p; done; [ $s = 0 ] && kill -0 $VICTIM && echo GOT victim`, does: kernel, alone: true},
		{name: "end all processes at once", script: deadly + `kill -$s -- -1`,
			why: "outside it could only ask for permission, and has it for its own processes", alone: true},
		{name: "end the host", script: deadly +
			`for p in $HOST -$HOST $VICTIM -$VICTIM; do kill -$s -- $p && [ $s = 0 ] && echo GOT $p; done`,
			does: kernel, alone: true},
		{name: "signal by a descriptor of the process", script: `"$TOOL" pidfdsignal $VICTIM`, does: signalled},
		{name: "a signal by the owner of a pipe", script: `"$TOOL" owner $VICTIM`, does: signalled},
		{name: "trace the victim", script: `"$TOOL" ptrace $VICTIM`, does: kernel, root: true},
		{name: "read the memory of the victim", script: `"$TOOL" vmread $VICTIM $VICTIMAT $SECRETLEN`, does: readIt,
			root: true},
		{name: "take a file of the victim", script: `"$TOOL" getfd $VICTIM`, does: readIt, root: true},
		{name: "find the victim by its name",
			script: `for p in /proc/[0-9]*; do IFS= read -r -d '' program <$p/cmdline; [ "$program" = "$TOOL" ] && { kill -USR1 ${p#/proc/}; echo SEES ${p#/proc/}; }; done`, does: signalled},
		{name: "trace bubblewrap's process", script: `"$TOOL" ptrace 1`,
			why: "outside, the first process is the machine's"},
		{name: "a higher priority", script: `"$TOOL" nice`, does: kernel, root: true},
		{name: "attributes of a file by the newest call", script: `"$TOOL" setattr "$OUT/secret"`,
			why: "older kernels do not have it"},
		{name: "capabilities and privileges", script: `"$TOOL" dropcaps`, does: kernel},
		{name: "another user by setpriv",
			script: `setpriv --reuid=1 --regid=1 --clear-groups true && echo GOT another user`, does: kernel,
			root: true},
	}
}

func mounts() []attack {
	return []attack{
		{name: "unmount the protection",
			script: `umount -l .git/hooks; umount .git/config; umount -l "$ROOT/nested"; umount "$ROOT"; echo x >.git/hooks/pre-push`, does: protected},
		{name: "mount over the protection", script: `"$TOOL" mounttmpfs "$ROOT/sub"`,
			why: "it would change the mounts of the machine"},
		{name: "make mounts writable",
			script: `mount -o remount,rw,bind / && echo GOT /; mount -o remount,rw,bind .git/hooks && echo GOT hooks; echo x >.git/hooks/pre-push`, why: "it would change the mounts of the machine"},
		{name: "bind a directory outside", script: `mkdir b; mount --bind "$OUT" b && echo GOT mount`,
			why: "it would change the mounts of the machine"},
		{name: "the new calls for mounts", script: `"$TOOL" opentree /; "$TOOL" fsopen`, does: kernel, root: true},
		{name: "a user namespace", script: `"$TOOL" userns`, does: kernel},
		{name: "a user namespace by unshare", script: `unshare -Ur true && echo GOT namespace`, does: kernel},
		{name: "mounts in a user namespace",
			script: `unshare -Urm sh -c 'umount -l .git/hooks; echo x >.git/hooks/pre-push; echo GOT namespace'`,
			does:   kernel},
		{name: "namespaces without a user's", script: `"$TOOL" clonens`, does: kernel, root: true},
		{name: "enter the host's namespaces",
			script: `nsenter -t 1 -m -p true && echo GOT namespaces; nsenter -t $VICTIM -m true && echo GOT namespaces; "$TOOL" setns 1`, does: kernel, root: true},
		{name: "another root", script: `"$TOOL" chroot "$ROOT"; "$TOOL" pivot "$ROOT"`, does: kernel, root: true},
		{name: "bubblewrap again",
			script: `bwrap --bind / / --bind "$ROOT" "$ROOT" sh -c 'echo x >.git/hooks/pre-push; echo GOT bwrap'`,
			does:   kernel},
	}
}

func kernels() []attack {
	return []attack{
		{name: "io_uring", script: `"$TOOL" io_uring`, does: kernel},
		{name: "bpf", script: `"$TOOL" bpf`, does: kernel, root: true},
		{name: "perf", script: `"$TOOL" perf`, does: kernel, root: true},
		{name: "userfaultfd", script: `"$TOOL" userfaultfd`, does: kernel},
		{name: "fanotify", script: `"$TOOL" fanotify`, does: kernel, root: true},
		{name: "load a module", script: `"$TOOL" module`, why: "not every kernel can do that"},
		{name: "another kernel", script: `"$TOOL" kexec`, why: "not every kernel can do that"},
		{name: "swap", script: `"$TOOL" swapon "$ROOT"`, does: kernel, root: true},
		{name: "the clock", script: `"$TOOL" clock`, does: kernel, root: true},
		{name: "the name of the machine", script: `"$TOOL" hostname`, does: kernel, root: true},
		{name: "reboot", script: `"$TOOL" reboot`, does: kernel, root: true},
		{name: "messages of the kernel", script: `"$TOOL" syslog; head -c 10 /dev/kmsg && echo GOT kmsg`, does: kernel,
			root: true},
		{name: "ports of the processor", script: `"$TOOL" iopl`, why: "not every processor and kernel has them"},
		{name: "accounting", script: `"$TOOL" acct`, does: kernel, root: true},
		{name: "calls of another architecture", script: `"$TOOL" int80`, why: "not every kernel has them"},
	}
}

func devices() []attack {
	return []attack{
		{name: "a device of a disk",
			script: `for d in /dev/sd* /dev/vd* /dev/nvme* /dev/dm-* /dev/loop*; do [ -b $d ] && head -c 1 $d >/dev/null && echo GOT $d; done`, why: "it depends on the machine"},
		{name: "make a device", script: `mknod disk b 7 0; mknod null2 c 1 3`, does: special, root: true},
		{name: "memory of the machine",
			script: `for f in /dev/mem /dev/kmem /dev/port /proc/kcore; do head -c 1 $f >/dev/null && echo GOT $f; done`, why: "not every kernel has them"},
		{name: "devices of the kernel",
			script: `for f in /dev/kvm /dev/fuse /dev/net/tun /dev/vhost-net /dev/uinput /dev/input/* /dev/loop-control; do [ -e $f ] && (exec 3<>$f) && echo GOT $f; done`, why: "it depends on the machine"},
		{name: "settings of the kernel",
			script: `for f in kernel/core_pattern kernel/modprobe vm/overcommit_memory net/ipv4/ip_forward fs/suid_dumpable; do v=$(cat /proc/sys/$f) && echo "$v" >/proc/sys/$f && echo GOT $f; done`, does: kernel, root: true},
		{name: "sysrq", script: `(exec 3>/proc/sysrq-trigger) && echo GOT sysrq`, why: "not every kernel has it"},
		{name: "settings of devices",
			script: `f=/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs; v=$(cat $f) && echo "$v" >$f && echo GOT $f; (exec 3>/sys/power/state) && echo GOT power`, why: "not every kernel has them"},
		{name: "cgroups", script: `for d in /sys/fs/cgroup /sys/fs/cgroup/*; do mkdir "$d/$MARK" && echo GOT $d && rmdir "$d/$MARK"; [ -w $d/release_agent ] && (exec 3>>$d/release_agent) && echo GOT release_agent; done`, does: kernel, root: true},
		{name: "scheduling of jobs",
			script: `for d in /var/spool/cron /etc/cron.d /etc/init.d /etc/systemd/system /lib/systemd/system /etc/profile.d /usr/local/bin /etc/ld.so.preload; do [ -d $d ] && (echo '# nothing' >$d/$MARK) && rm $d/$MARK && echo GOT $d; done`, does: kernel, root: true},
		{name: "logs and states of the system",
			script: `for d in /var/log /var/lib /var/cache /boot /run /root /srv /mnt /media; do (echo x >$d/$MARK) && rm $d/$MARK && echo GOT $d; done`, does: kernel, root: true},
	}
}
