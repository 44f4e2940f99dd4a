# The release build of scripts/package: agent and command that need nothing newer than glibc 2.17. Sourced.
# shellcheck shell=bash

oldest_glibc=2.17

# Builds both for a machine; sets `agent` and `command` to the stripped files, and puts debug information into a folder.
# zig links: it has the symbol tables of every glibc.
build_release() {
  local machine=$1 debug=$2 target=$1-unknown-linux-gnu from folder objcopy=objcopy
  [ "$machine" = "$(uname -m)" ] || objcopy=$machine-linux-gnu-objcopy
  have "$objcopy" || die "no $objcopy; it is in Debian's package binutils-${machine/_/-}-linux-gnu"
  from=$(target_dir)/portable
  folder=$from/$target/packaged
  mkdir -p "$debug"
  release_build "$target" "$from" -p hprof-agent --lib
  put_debug_apart "$objcopy" "$folder/libhprof_rs.so" "$debug"
  agent=$debug/libhprof_rs.so
  # A path that stays, since cargo compares it with that of the last build.
  mkdir -p "$from/embed-$machine"
  cmp -s "$agent" "$from/embed-$machine/libhprof_rs.so" || cp "$agent" "$from/embed-$machine/libhprof_rs.so"
  HPROF_RS_EMBED=$from/embed-$machine/libhprof_rs.so release_build "$target" "$from" -p hprof-rs --bin hprof-rs
  put_debug_apart "$objcopy" "$folder/hprof-rs" "$debug"
  command=$debug/hprof-rs
}

# One call of cargo, by zig. No path of this machine gets into the files.
release_build() {
  local target=$1 folder=$2 registry=${CARGO_HOME:-$HOME/.cargo}/registry/src
  shift 2
  local flags="--remap-path-prefix=$root=/hprof-rs"
  local from
  for from in "$registry"/*; do flags+=" --remap-path-prefix=$from=/crates"; done
  quietly "building for $target ($*)" env PATH="$cargo_zigbuild/bin:$PATH" CARGO_ZIGBUILD_ZIG_PATH="$zig/ziglang/zig" \
    CARGO_INCREMENTAL=0 RUSTFLAGS="$flags" \
    CFLAGS="-ffile-prefix-map=$root=/hprof-rs -ffile-prefix-map=$registry=/crates -g0" \
    nice -n 5 cargo zigbuild --profile packaged --locked --target "$target.$oldest_glibc" --target-dir "$folder" "$@"
}

# Divides a file into what runs and what debuggers read; the first names the second.
put_debug_apart() {
  local objcopy=$1 file=$2 to=$3 name
  name=$(basename "$file")
  "$objcopy" --only-keep-debug "$file" "$to/$name.debug"
  (cd "$to" && "$objcopy" --strip-all --remove-section=.comment --add-gnu-debuglink="$name.debug" "$file" "$name")
}
