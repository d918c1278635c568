#!/bin/sh
# Installs attractor of a release below a directory of yours, without root:
#
#   curl -fsSL https://github.com/attractor-go/attractor/releases/latest/download/install.sh | sh
#
# It downloads the archive for this machine, compares it with the release's checksums, and puts the programs into
# PREFIX/bin, and the manual and the completions of bash, zsh and fish below PREFIX/share: all of them or nothing. Variables:
#
#   ATTRACTOR_VERSION   a version such as 0.1.0 (default: the newest release)
#   ATTRACTOR_PREFIX    the directory, an absolute path (default: ~/.local)
#   ATTRACTOR_MIRROR    where the files of the release are instead: https://..., or file:///... (which needs curl)
#
# Run it again to update. docs/install.md has the other ways, and how to remove it.
set -eu

fail() {
	echo "install.sh: $1" >&2
	exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# download writes what is at a URL into a file.
download() {
	if have curl; then
		curl -fsSL --retry 2 -o "$2" "$1"
	elif have wget; then
		wget -q -O "$2" "$1"
	else
		fail "curl or wget is needed to download"
	fi || fail "cannot download $1"
}

# sum prints the SHA-256 of a file.
sum() {
	if have sha256sum; then
		sha256sum "$1"
	elif have shasum; then
		shasum -a 256 "$1"
	else
		openssl dgst -sha256 -r "$1"
	fi | cut -d ' ' -f 1
}

# places prints a line for each file of the archive: its mode, where it goes below the prefix, and its name in the archive.
places() {
	echo "755 bin/attractor attractor"
	echo "755 bin/attractor-env attractor-env"
	echo "755 bin/attractor-remote attractor-remote"
	for page in man/*.1; do
		echo "644 share/man/man1/${page##*/} $page"
	done
	echo "644 share/bash-completion/completions/attractor completions/attractor.bash"
	echo "644 share/zsh/site-functions/_attractor completions/_attractor"
	echo "644 share/fish/vendor_completions.d/attractor.fish completions/attractor.fish"
}

# clean removes what a run leaves that was not completed.
clean() {
	[ ! -e "$temp/places" ] || while read -r _ place _; do rm -f "$prefix/$place.new.$$"; done <"$temp/places"
	rm -rf "$temp"
}

# choose sets archive and want, the name and the checksum of the archive for this machine, from the list of checksums.
choose() {
	version=${ATTRACTOR_VERSION:-}
	version=${version#v}
	while read -r want archive || [ -n "$archive" ]; do
		case $archive in
		attractor_${version:-[0-9]*}_"$os"_"$arch".tar.gz) return 0 ;;
		esac
		archive=
	done <"$temp/checksums.txt"
	fail "$from/checksums.txt names no archive for $os/$arch${version:+ of version $version}"
}

# put copies all files to their places under other names, tries the program, and then gives them their names.
put() {
	places >"$temp/places"
	while read -r mode place name; do
		[ ! -d "$prefix/$place" ] || fail "$prefix/$place is a directory: nothing was installed"
		mkdir -p "$(dirname "$prefix/$place")" && cp "$name" "$prefix/$place.new.$$" && chmod "$mode" "$prefix/$place.new.$$" ||
			fail "cannot write $prefix/$place: nothing was installed"
	done <"$temp/places"
	"$prefix/bin/attractor.new.$$" --version >/dev/null || fail "the program of $archive does not run on this machine: nothing was installed"
	while read -r _ place _; do
		mv -f "$prefix/$place.new.$$" "$prefix/$place"
	done <"$temp/places"
}

# all is a function, so that a script of which only a part has arrived does nothing.
all() {
	case $(uname -s) in
	Linux) os=linux ;;
	Darwin) os=darwin ;;
	*) fail "there is no archive for $(uname -s); on Windows, take the .zip from https://github.com/attractor-go/attractor/releases" ;;
	esac
	case $(uname -m) in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	*) fail "there is no archive for the processor $(uname -m); with Go, build it in a clone: go install ./cmd/attractor" ;;
	esac
	[ -n "${ATTRACTOR_PREFIX:-}" ] || [ -n "${HOME:-}" ] || fail "set HOME or ATTRACTOR_PREFIX"
	prefix=${ATTRACTOR_PREFIX:-$HOME/.local}
	[ "${prefix#/}" != "$prefix" ] || fail "ATTRACTOR_PREFIX has to be an absolute path, not $prefix"
	have sha256sum || have shasum || have openssl || fail "sha256sum, shasum or openssl is needed to verify the download"
	releases=https://github.com/attractor-go/attractor/releases
	if [ -n "${ATTRACTOR_MIRROR:-}" ]; then
		from=${ATTRACTOR_MIRROR%/}
	elif [ -n "${ATTRACTOR_VERSION:-}" ]; then
		from=$releases/download/v${ATTRACTOR_VERSION#v}
	else
		from=$releases/latest/download
	fi

	temp=$(mktemp -d)
	trap clean EXIT
	trap 'exit 1' HUP INT TERM
	download "$from/checksums.txt" "$temp/checksums.txt"
	choose
	download "$from/$archive" "$temp/$archive"
	got=$(sum "$temp/$archive")
	[ "$got" = "$want" ] || fail "$from/$archive has the checksum $got instead of $want: nothing was installed; the download is broken or not the release's"
	mkdir "$temp/unpacked"
	tar -xzf "$temp/$archive" -C "$temp/unpacked"
	cd "$temp/unpacked"
	put

	said=$("$prefix/bin/attractor" --version)
	echo "$said is installed in $prefix/bin"
	case ${SHELL:-} in
	*/zsh) echo "For completions, add to ~/.zshrc, before compinit: fpath+=($prefix/share/zsh/site-functions)" ;;
	esac
	if [ "$(command -v attractor)" = "$prefix/bin/attractor" ]; then
		echo "Try it, without a key: attractor demo"
	else
		echo "PATH does not lead to it. Add, for instance to ~/.profile: export PATH=\"$prefix/bin:\$PATH\""
	fi
}

all
