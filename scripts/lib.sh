# Functions shared by the scripts of this folder. Sourced, never run: `. "$(dirname "$0")/lib.sh"`.
# shellcheck shell=bash

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Where downloaded JDKs are kept between runs and between clones.
cache=${HPROF_RS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hprof-rs}

# The tool that checks licences, bans and sources of dependencies. This pin is the one place to change.
cargo_deny_version=0.20.2
cargo_deny=$cache/cargo-deny/$cargo_deny_version/bin/cargo-deny

# The tool that makes the documentation site. This pin and that of its wheel in scripts/setup are the places to change.
mdbook_version=0.5.4
mdbook=$cache/mdbook/$mdbook_version/mdbook

# Tools of scripts/package, as their Python packages lay them out. The last part is the pinned version.
zig=$cache/zig/0.17.1
cargo_zigbuild=$cache/cargo-zigbuild/0.24.0
wheel=$cache/wheel/0.45.1

say() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; }
die() { say "$*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# Runs a command that talks much: "quietly WHAT COMMAND...". Its output goes to a log, standard error shows
# that it continues, and on failure the end of the log and the log's name. Scripts that call each other
# share one log.
quietly() {
  local what=$1 from=$SECONDS shown=0 job status=0
  shift
  open_log
  printf '\n== %s: %s\n' "$what" "$*" >>"$log"
  local took before
  took=$(time_of_last "$what")
  before=$(crates_in_log)
  # Cargo then draws its bar into the log, which names what it compiles at the moment.
  CARGO_TERM_PROGRESS_WHEN=always CARGO_TERM_PROGRESS_WIDTH=120 "$@" >>"$log" 2>&1 </dev/null &
  job=$!
  # shellcheck disable=SC2064
  trap "kill $job 2>/dev/null; exit 130" INT TERM
  while kill -0 $job 2>/dev/null; do
    sleep 0.5
    if [ -t 2 ]; then printf '\r\033[K%s: %s%s (%d s%s)' "$(basename "$0")" "$what" "$(step_of_log)" $((SECONDS - from)) "$took" >&2
    elif [ $((SECONDS - from)) -ge $((shown + 30)) ]; then
      shown=$((SECONDS - from))
      say "$what$(step_of_log) ($shown s$took)"
    fi
  done
  wait $job || status=$?
  trap - INT TERM
  [ ! -t 2 ] || printf '\r\033[K' >&2
  # In place: a script that called this one may write into the log as well.
  printf '%s\n' "$(sed 's/.*\r//' "$log")" >"$log"
  if [ $status != 0 ]; then
    tail -n 15 "$log" >&2
    log_failed=yes
    die "$what failed; all that was printed is in $log"
  fi
  keep_time "$what" $(($(crates_in_log) - before)) $((SECONDS - from))
  [ $((SECONDS - from)) -lt 3 ] || say "$what: done in $((SECONDS - from)) s"
}

# The log of this command; the script that opens it removes it when nothing has failed.
log=${HPROF_RS_LOG:-}
log_failed=no
open_log() {
  [ -z "$log" ] || return 0
  log=$(mktemp "${TMPDIR:-/tmp}/hprof-rs.XXXXXX.log")
  export HPROF_RS_LOG=$log
  trap close_log EXIT
}
close_log() {
  local status=$?
  # A script that was called may have failed.
  [ $status != 0 ] || [ $log_failed = yes ] || rm -f "$log"
}

crates_in_log() { grep -c '^ *Compiling ' "$log" || true; }

# What cargo is at, by the last bar that it drew: ", 120/290: syn, serde".
step_of_log() {
  tail -c 4096 "$log" | tr '\r' '\n' | sed -n 's/^ *Building \[[^]]*\] \([^ ].*[^ ]\) *$/, \1/p' | tail -n 1
}

# How long the largest build of this kind took on this machine: "; a build of 62 crates took 85 s". Nothing before the first.
time_of_last() {
  local crates seconds
  read -r crates seconds 2>/dev/null <"$cache/times/${1//[^a-z]/-}" || return 0
  [ -z "$seconds" ] || printf '; a build of %d crates took %d s' "$crates" "$seconds"
}

# Keeps the time of a build, unless one of more crates is kept. A folder that cannot be written costs the estimate only.
keep_time() {
  local file="$cache/times/${1//[^a-z]/-}" crates=0
  [ "$2" -ge 10 ] || return 0
  read -r crates _ 2>/dev/null <"$file" || true
  [ "$2" -lt "${crates:-0}" ] || { mkdir -p "$cache/times" && printf '%d %d\n' "$2" "$3" >"$file"; } 2>/dev/null || true
}

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
  # sudo asks for a password here, not where its question is hidden.
  [ "${as[*]}" != sudo ] || sudo -v || die "sudo gives no rights; as root: apt-get install $*"
  if [ $apt_updated = no ]; then
    quietly "fetching Debian's lists of packages" "${as[@]}" apt-get update -q
    apt_updated=yes
  fi
  # A minimal system has no manual folders, which the packaging of Debian's JDK expects.
  "${as[@]}" mkdir -p /usr/share/man/man1
  quietly "installing Debian packages ($*)" "${as[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends "$@"
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
