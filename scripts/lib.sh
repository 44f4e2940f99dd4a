# Functions shared by the scripts of this folder. Sourced, never run: `. "$(dirname "$0")/lib.sh"`.
# shellcheck shell=bash

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Where downloaded JDKs are kept between runs and between clones.
cache=${HPROF_RS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hprof-rs}

say() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; }
die() { say "$*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# Prints the comment at the head of the calling script: the text of `--help`.
print_help() { sed -n '2,/^[^#]/{/^#/!d;s/^#$//;s/^# //;p}' "$0"; }

# Installs Debian packages; without the means to do so, says which are missing.
apt_updated=no
apt_install() {
  local as=()
  if [ "$(id -u)" != 0 ]; then
    if have sudo && sudo -n true 2>/dev/null; then as=(sudo -n)
    elif have sudo && [ -t 0 ]; then as=(sudo)
    else die "please install these packages first (as root: apt-get install $*), then run this again"
    fi
  fi
  have apt-get || die "this needs the Debian packages \"$*\" or what your system calls them; please install them"
  say "installing Debian packages: $*"
  if [ $apt_updated = no ]; then
    "${as[@]}" apt-get update -qq || die "apt-get update failed; these packages are needed: $*"
    apt_updated=yes
  fi
  # A minimal system has no manual folders, which the packaging of Debian's JDK expects.
  "${as[@]}" mkdir -p /usr/share/man/man1
  "${as[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null ||
    die "apt-get install $* failed"
}

# The folder cargo builds into (CARGO_TARGET_DIR and cargo's configuration count).
target_dir() {
  (cd "$root" && cargo metadata --format-version 1 --no-deps --locked) |
    sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'
}

# The home of the JDK 17 that has a compiler, or nothing.
jdk17_home() {
  local home
  for home in "${JAVA_HOME:-}" /usr/lib/jvm/java-17-openjdk-* /usr/lib/jvm/*; do
    [ -n "$home" ] && [ -x "$home/bin/javac" ] && [ -f "$home/release" ] || continue
    grep -q '^JAVA_VERSION="17[.".]' "$home/release" && { echo "$home"; return; }
  done
}
