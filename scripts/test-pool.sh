# The files of tests, run as many at once as keep the cores busy. Sourced by scripts/test, which has `step`, `say`, `work`,
# `failed` and `summary`.
# shellcheck shell=bash
# shellcheck disable=SC2154

# Cargo runs one file of tests after the other. Half of the time of a test is waiting, and a file whose last test is long
# leaves the cores to themselves, so files run side by side, two tests of each, those first that take longest.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-2}
workers=$(($(nproc) + 2))
longest=(pages_in_a_browser attach leak_corpus serve commands cpu_times secrets findings late_cpu_times pages mangled documents
  transformers build_tools hprof_analysis recordings packaging memcheck heap_sites truth monitors walker memory large_dumps heap_faults
  detach safety gc basics embedded_library report_page record windows)

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
  cargo --config "target.'cfg(all())'.runner='$work/enqueue'" "$@"
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

# Jobs of the pool in the order in which they start: the names of functions, and of files that have been noted.
in_order() {
  local -a left=("$@" "$work"/queue/*)
  left=("${left[@]##*/}")
  {
    for name in "${longest[@]}"; do printf '%s\n' "${left[@]}" | grep -x -e "$name" -e "$name-[0-9a-f]*" || true; done
    printf '%s\n' "${left[@]}"
  } | awk '!seen[$0]++'
}

# Waits for one job to end, and prints what it has printed.
await_job() {
  local job='' status=0 name more
  wait -n -p job "${!names_of_jobs[@]}" || status=$?
  name=${names_of_jobs[$job]}
  unset "names_of_jobs[$job]"
  cat "$work/log.$name"
  [ $status = 0 ] || failed="${failed:+$failed and }${name%-????????????????}"
  mapfile -t more < <(cat "$work/summary.$job" 2>/dev/null)
  summary+=("${more[@]}")
  rm -f "$work/summary.$job"
}

# Runs what has been noted, and these functions of steps.
pool() {
  local job jobs
  mapfile -t jobs < <(in_order "$@")
  for job in "${jobs[@]}"; do
    while ((${#names_of_jobs[@]} >= workers)); do await_job; done
    # A group of processes each, which can be ended.
    set -m
    if [ -d "$work/queue/$job" ]; then run_entry "$job" >"$work/log.$job" 2>&1 </dev/null &
    else
      (summary=(); failed=; "$job"; printf '%s\n' "${summary[@]}" >"$work/summary.$BASHPID"; [ -z "$failed" ]) \
        >"$work/log.$job" 2>&1 </dev/null &
    fi
    names_of_jobs[$!]=$job
    set +m
  done
  while ((${#names_of_jobs[@]} > 0)); do await_job; done
}
