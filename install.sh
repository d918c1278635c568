#!/bin/sh
# Installs attractor of a release below a directory of yours, without root:
#
#   curl -fsSL https://github.com/attractor-go/attractor/releases/latest/download/install.sh | sh
#
# It downloads the archive for this machine, compares it with the release's checksums, and puts the programs into
# PREFIX/bin, the manual into PREFIX/share/man and the completions where bash, zsh and fish look below PREFIX/share. Variables:
#
#   ATTRACTOR_VERSION   a version such as 0.1.0 (default: the newest release)
#   ATTRACTOR_PREFIX    the directory (default: ~/.local)
#   ATTRACTOR_MIRROR    where the files of the release are instead, such as a copy at https://... or file:///...
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

# put moves a file to its place at once, so that nobody runs half of a program.
put() {
	mkdir -p "$(dirname "$2")"
	cp "$1" "$2.new.$$"
	chmod "$3" "$2.new.$$"
	mv -f "$2.new.$$" "$2"
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
	releases=https://github.com/attractor-go/attractor/releases
	if [ -n "${ATTRACTOR_MIRROR:-}" ]; then
		from=${ATTRACTOR_MIRROR%/}
	elif [ -n "${ATTRACTOR_VERSION:-}" ]; then
		from=$releases/download/v${ATTRACTOR_VERSION#v}
	else
		from=$releases/latest/download
	fi

	have sha256sum || have shasum || have openssl || fail "sha256sum, shasum or openssl is needed to verify the download"
	temp=$(mktemp -d)
	trap 'rm -rf "$temp"' EXIT
	trap 'exit 1' HUP INT TERM
	download "$from/checksums.txt" "$temp/checksums.txt"
	version=${ATTRACTOR_VERSION:-}
	version=${version#v}
	while read -r want archive; do
		case $archive in
		attractor_${version:-[0-9]*}_"$os"_"$arch".tar.gz) break ;;
		esac
		archive=
	done <"$temp/checksums.txt"
	[ -n "$archive" ] || fail "$from/checksums.txt names no archive for $os/$arch${version:+ of version $version}"
	download "$from/$archive" "$temp/$archive"
	got=$(sum "$temp/$archive")
	[ "$got" = "$want" ] || fail "$from/$archive has the checksum $got instead of $want: nothing was installed; the download is broken or not the release's"

	mkdir "$temp/unpacked"
	tar -xzf "$temp/$archive" -C "$temp/unpacked"
	from=$temp/unpacked
	"$from/attractor" --version >/dev/null || fail "the program of $archive does not run on this machine: nothing was installed"
	for program in attractor attractor-env; do
		put "$from/$program" "$prefix/bin/$program" 755
	done
	for page in "$from"/man/*.1; do
		put "$page" "$prefix/share/man/man1/${page##*/}" 644
	done
	put "$from/completions/attractor.bash" "$prefix/share/bash-completion/completions/attractor" 644
	put "$from/completions/_attractor" "$prefix/share/zsh/site-functions/_attractor" 644
	put "$from/completions/attractor.fish" "$prefix/share/fish/vendor_completions.d/attractor.fish" 644

	echo "$("$prefix/bin/attractor" --version) is installed in $prefix/bin"
	case ":$PATH:" in
	*":$prefix/bin:"*) echo "Try it, without a key: attractor demo" ;;
	*) echo "That is not in PATH. Add it, for instance to ~/.profile: export PATH=\"$prefix/bin:\$PATH\"" ;;
	esac
}

all
