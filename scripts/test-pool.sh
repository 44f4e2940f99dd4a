# The files of tests, run three at once. Sourced by scripts/test, which has `step`, `say`, `work`,
# `failed` and `summary`.
# shellcheck shell=bash
# shellcheck disable=SC2154

# Cargo runs one file of tests after the other. Half of the time of a test is waiting, so three files run side by side: of the agent,
# of everything else, and of what needs a browser or little of the machine. More at once makes all of them slower, as many
# programs of tests compute until a time is over. Who has run all of its own helps the others.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-2}
# A file with one long test comes first, so that no other is left alone with it.
longest=(leak_corpus attach serve secrets mangled)

# Process ids of jobs, and the name of each.
declare -A names_of_jobs=()

# Notes the files that `cargo test` with these arguments would run.
enqueue() {
  mkdir -p "$work/queue"
  cat >"$work/enqueue" <<'RUNNER'
#!/bin/sh
# A name that Cargo gives a variable may be none of a shell (CARGO_BIN_EXE_hprof-rs): the environment is kept as it is.
entry=${0%/*}/queue/${1##*/}
mkdir "$entry"
env -0 >"$entry/environment"
pwd >"$entry/folder"
printf '%s\0' "$@" >"$entry/command"
RUNNER
  chmod +x "$work/enqueue"
  # Cargo says that it runs each, which this only notes.
  cargo --config "target.'cfg(all())'.runner='$work/enqueue'" "$@" 2>&1 | sed '/^ *Running /d'
}

# Runs a file of tests that has been noted. Libtest prints the time of each test: an unstable option, which it takes where
# RUSTC_BOOTSTRAP is set at all; by -1, compilers that tests start allow no more than before. The CPU time of the file and of
# the programs that it has started is noted.
run_entry() {
  local entry=$work/queue/$1 name=${1%-*} status=0 variables arguments
  mapfile -d '' variables <"$entry/environment"
  mapfile -d '' arguments <"$entry/command"
  cd "$(<"$entry/folder")" || return
  printf '     Running %s (%s)\n' "$name" "${arguments[0]}"
  env -i "${variables[@]}" RUSTC_BOOTSTRAP=-1 "${arguments[@]}" -Z unstable-options --report-time 2>&1 || status=$?
  times >"$work/times.$BASHPID"
  sed -n "2s/^/$name /p" "$work/times.$BASHPID" >>"$work/cpu"
  return "$status"
}

# The files that have been noted and that one of the three runs: `agent`, `others` or `units`, in the order in which they start.
files_of() {
  local entry name
  local -a of=()
  for entry in "$work"/queue/*; do
    [ -d "$entry" ] || continue
    name=${entry##*/}
    case $name:$(<"$entry/folder") in
      hprof_* | java_test_*) [ "$1" != units ] || of+=("$name") ;;
      *:*/java-test-harness) [ "$1" != agent ] || of+=("$name") ;;
      *) [ "$1" != others ] || of+=("$name") ;;
    esac
  done
  [ ${#of[@]} != 0 ] || return 0
  {
    for name in "${longest[@]}"; do printf '%s\n' "${of[@]}" | grep -x -e "$name-[0-9a-f]*" || true; done
    printf '%s\n' "${of[@]}"
  } | awk '!seen[$0]++'
}

# Waits for one job to end, and prints what it has printed. `ended` is its process.
await_job() {
  local job status=0 name more
  # `wait -n` has no job for a process that ended while another was started and has been reported since; `wait` with its
  # number knows it.
  ended=
  until [ -n "$ended" ]; do
    for job in "${!names_of_jobs[@]}"; do
      kill -0 "$job" 2>/dev/null || { ended=$job; break; }
    done
    [ -n "$ended" ] || sleep 0.2
  done
  wait "$ended" || status=$?
  name=${names_of_jobs[$ended]}
  unset "names_of_jobs[$ended]"
  # Logs that are left are those of jobs that run.
  mv "$work/log.$name" "$work/ended.$name"
  cat "$work/ended.$name"
  [ $status = 0 ] || failed="${failed:+$failed and }${name%-????????????????}"
  mapfile -t more < <(cat "$work/summary.$ended" 2>/dev/null)
  summary+=("${more[@]}")
  rm -f "$work/summary.$ended"
}

# Starts one job beside what runs: a function of steps, or a file that has been noted.
start_job() {
  # A group of processes each, which can be ended.
  set -m
  if [ -d "$work/queue/$1" ]; then run_entry "$1" >"$work/log.$1" 2>&1 </dev/null &
  else
    (summary=(); failed=; "$1"; printf '%s\n' "${summary[@]}" >"$work/summary.$BASHPID"; [ -z "$failed" ]) \
      >"$work/log.$1" 2>&1 </dev/null &
  fi
  names_of_jobs[$!]=$1
  set +m
  started=$!
}

# Runs what has been noted, and these functions of steps.
pool() {
  local -a agent others units
  local started who
  local -A runs=() job_of=()
  mapfile -t agent < <(files_of agent)
  mapfile -t others < <(files_of others)
  mapfile -t units < <(files_of units)
  units=("$@" "${units[@]}")
  while :; do
    for who in agent others units; do
      [ -z "${runs[$who]:-}" ] || continue
      local -n own=$who
      local -n other=$([ "$who" = agent ] && echo others || echo agent)
      if ((${#own[@]} > 0)); then
        start_job "${own[0]}"
        own=("${own[@]:1}")
      elif [ "$who" != units ] && ((${#other[@]} > 0)); then
        start_job "${other[0]}"
        other=("${other[@]:1}")
      else
        continue
      fi
      runs[$who]=$started
      job_of[$started]=$who
    done
    ((${#names_of_jobs[@]} > 0)) || break
    await_job
    unset "runs[${job_of[$ended]}]"
  done
}
