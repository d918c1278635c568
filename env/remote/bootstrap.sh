# Dial sends this to a shell on the other machine, and then calls the functions below, one at a time. Each prints lines that begin with the mark
# and ends with "done" or "failed". The mark is sent in two parts, so that an echo of this text does not contain it. The shell is sent nothing
# before it has answered, because it may read ahead. Only POSIX is used, and head -c where it exists.

at_say() { printf '\n%s%s %s\n' "$at_a" "$at_b" "$*"; }
at_fail() { at_say failed "$*"; exit 1; }

at_hello() {
	[ ! -t 0 ] || at_fail terminal
	at_user=$(id -u)
	at_say system "$(uname -s)"
	at_say machine "$(uname -m)"
	at_say dir "$(pwd)"
	at_say done
}

# at_mine succeeds if the current directory is this user's and nobody else may enter it.
at_mine() {
	set -- $(ls -ldn . 2>/dev/null)
	case $1 in drwx------ | drwx------[.@]) [ "$3" = "$at_user" ] ;; *) false ;; esac
}

# at_each calls a function with each directory that helpers may be kept in, until it succeeds.
at_each() {
	for at_dir in "${XDG_CACHE_HOME:+$XDG_CACHE_HOME/attractor/uploaded}" "${HOME:+$HOME/.cache/attractor/uploaded}" \
		"${TMPDIR:+$TMPDIR/attractor-helpers-$at_user}" "/tmp/attractor-helpers-$at_user" "/var/tmp/attractor-helpers-$at_user"; do
		case $at_dir in /*) if "$@" "$at_dir"; then return 0; fi ;; esac
	done
	return 1
}

# at_speaks prints the protocol versions that a program speaks, and how it is called.
at_speaks() {
	for at_call in serve 'env serve'; do
		at_range=$("$1" $at_call --protocol </dev/null 2>/dev/null) || continue
		case $at_range in 'attractor-env-protocol '*)
			case $at_call in serve) echo "${at_range#* } serve" ;; *) echo "${at_range#* } env-serve" ;; esac
			return ;;
		esac
	done
	return 1
}

# at_find lists the helpers that are there: the uploaded one with a name and size, if a name is given, and those in PATH.
at_find() {
	[ -z "$1" ] || at_each at_cached "$1" "$2"
	for at_program in attractor-remote attractor; do
		at_path=$(command -v "$at_program") || continue
		case $at_path in /*) at_spoken=$(at_speaks "$at_path") && at_say installed "$at_spoken" "$at_path" ;; esac
	done
	at_say done
}

at_cached() ( # name, size, directory
	cd -P -- "$3" 2>/dev/null && at_mine && [ -f "$1" ] && [ $(wc -c <"$1") -eq "$2" ] && at_spoken=$(at_speaks "./$1") || exit 1
	touch -- "$1" 2>/dev/null # at_clean keeps those that were used last
	at_say cached "$at_spoken" "$(pwd)"
)

# at_choose finds a directory in which a program of so many KiB can be kept and run, if the loader of its libraries is there.
at_choose() { # KiB, loader or nothing
	if [ -n "$2" ] && [ ! -e "$2" ]; then at_say lacking; else at_each at_usable "$1"; fi
	at_say done
}

at_usable() ( # KiB, directory
	umask 077
	at_refuse() { at_say unusable "$2: $1"; exit 1; }
	[ ! -h "$2" ] || at_refuse 'it is a symbolic link' "$2"
	at_error=$(mkdir -p -- "$2" 2>&1) || at_refuse "$at_error" "$2"
	cd -P -- "$2" 2>/dev/null && at_mine || at_refuse 'it is not a directory that only this user can use (mode 0700)' "$2"
	set -- "$1" "$2" $(df -Pk . 2>/dev/null | tail -n 1)
	case ${6:-unknown} in *[!0-9]*) ;; *) [ "$6" -ge "$1" ] || at_refuse "it has room for $6 KiB, and the helper has $1" "$2" ;; esac
	case $(command -v sh) in /*) at_sh=$(command -v sh) ;; *) at_sh=/bin/sh ;; esac # busybox has one of its own
	at_error=$({ printf '#!%s\nexit 0\n' "$at_sh" >"probe-$at_a" && chmod 700 "probe-$at_a" && "./probe-$at_a"; } 2>&1) && at_code=0 || at_code=1
	rm -f "probe-$at_a"
	[ $at_code = 0 ] || at_refuse "programs cannot be written and run in it: $at_error" "$2"
	at_say place "$(pwd)"
)

at_sum() {
	for at_tool in sha256sum 'shasum -a 256' 'openssl dgst -sha256 -r' 'sha256 -q'; do
		command -v "${at_tool%% *}" >/dev/null 2>&1 && $at_tool <"$1" && return
	done
	echo unknown
}

at_take() {
	if [ "$(printf abc | head -c 2 2>/dev/null)" = ab ]; then head -c "$1"; else dd ibs=1 obs=65536 count="$1" 2>/dev/null; fi
}

# at_put writes a program that comes on standard input. If that fails, the shell ends, because the rest of the program is still to come.
at_put() { at_receive "$@" || exit 1; }

at_receive() ( # directory, name, size, SHA-256
	umask 077
	trap 'rm -f "part-$at_a"; exit 1' HUP INT TERM PIPE
	cd -P -- "$1" 2>/dev/null && at_mine || at_fail "$1 is not a directory that only this user can use any more"
	at_discard() { rm -f "part-$at_a"; at_fail "$1"; }
	at_say send
	at_error=$(at_take "$3" 2>&1 >"part-$at_a") || at_discard "it cannot be written into $1: $at_error"
	[ $(wc -c <"part-$at_a") -eq "$3" ] || at_discard "only part of it arrived, or could be written into $1"
	case $(at_sum "part-$at_a" 2>/dev/null) in
	"$4"*) ;;
	unknown) at_say unverified ;;
	*) at_discard 'what arrived is not what was sent: its SHA-256 differs' ;;
	esac
	chmod 700 "part-$at_a" && at_spoken=$(at_speaks "./part-$at_a") || at_discard "it does not run there: $("./part-$at_a" serve --protocol 2>&1 </dev/null)"
	mv -f "part-$at_a" "$2" || at_discard "it could not be renamed in $1"
	at_clean >/dev/null 2>&1
	at_say cached "$at_spoken" "$1"
	at_say done
)

# at_clean removes uploaded helpers except for three, and what interrupted uploads have left.
at_clean() {
	ls -t | while read -r at_old; do case $at_old in attractor-remote-*) echo "$at_old" ;; esac; done | tail -n +4 | while read -r at_old; do rm -f "$at_old"; done
	find . ! -name . -prune \( -name 'part-*' -o -name 'probe-*' \) -mtime +0 -exec rm -f {} \;
}

# at_start becomes a helper: the program $2, or $3 in the directory $2.
at_start() { # serve or env-serve, path or directory, name
	if [ -n "$3" ]; then
		cd -P -- "$2" 2>/dev/null && at_mine || at_fail "$2 is not a directory that only this user can use any more"
		set -- "$1" "./$3"
	fi
	case $1 in env-serve) set -- "$2" env serve ;; *) set -- "$2" serve ;; esac
	unset OLDPWD
	at_say done
	exec "$@"
}
at_hello
