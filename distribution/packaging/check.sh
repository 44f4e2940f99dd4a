# What scripts/package --check looks for. Sourced; each function ends the script with a message when something is wrong.
# shellcheck shell=bash disable=SC2154

largest_agent=3200000
# With the server in it, and the drivers of PostgreSQL, object storage, Parquet and TLS that the server needs.
largest_command=29000000

# The packages of two runs over the same files.
check_packages() {
  local first=$1 second=$2 file checked=0
  for file in "$first"/*; do
    cmp "$file" "$second/$(basename "$file")" || die "two runs make different bytes of $(basename "$file")"
    checked=$((checked + 1))
  done
  [ $checked -ge 6 ] || die "there are only $checked packages"
  say "equal bytes in two runs: $checked files"
  check_contents "$first"
  check_bill "$first"
  if [ $built = no ]; then
    say "sizes, glibc and lintian: only of release builds"
    return
  fi
  for file in "$agent" "$command"; do check_program "$file"; done
  lintian --fail-on error,warning "$first"/*.deb || die "lintian objects to the Debian package"
  say "lintian: nothing"
}

# Every package holds the command, with its right to run, and the same pages.
check_contents() {
  local from=$1 to=$work/unpacked pages file root_folder
  rm -rf "$to"
  mkdir -p "$to"/{archive,deb,rpm,wheel,npm}
  tar -xzf "$from"/hprof-rs-*-linux.tar.gz -C "$to/archive"
  dpkg-deb -x "$from"/*.deb "$to/deb"
  rpm2archive - <"$from"/*.rpm | tar -xzf - -C "$to/rpm"
  python3 -m zipfile -e "$from"/*.whl "$to/wheel"
  tar -xzf "$from"/*.tgz -C "$to/npm"
  pages=$(find "$tree/share/man" -name '*.1' | wc -l)
  [ "$pages" -gt 40 ] || die "only $pages manual pages"
  for root_folder in "$to"/*; do
    file=$(find "$root_folder" -type f -path '*/hprof-rs' \( -path '*/bin/*' -o -path '*/scripts/*' \))
    cmp "$file" "$command" || die "$(basename "$root_folder"): another command than the one that was packed"
    # zipfile does not restore rights; pip does.
    [ -x "$file" ] || [ "$root_folder" = "$to/wheel" ] || die "$(basename "$root_folder"): the command may not run"
    [ "$(find "$root_folder" \( -name 'hprof-rs*.1' -o -name 'hprof-rs*.1.gz' \) | wc -l)" = "$pages" ] ||
      die "$(basename "$root_folder"): not $pages manual pages"
    [ -n "$(find "$root_folder" \( -iname 'LICENSE-MIT' -o -name copyright \))" ] ||
      die "$(basename "$root_folder"): no licence"
  done
  for file in "$to"/archive/*/lib/libhprof_rs.so "$to"/{deb,rpm}/usr/lib/hprof-rs/libhprof_rs.so; do
    cmp "$file" "$agent" || die "$file is another agent than the one that was packed"
  done
  jq -e '.bin["hprof-rs"] == "bin/hprof-rs" and (.man | length) == '"$pages" "$to/npm/package/package.json" >/dev/null ||
    die "npm: package.json does not name the command and its pages"
  grep -q '^hprof_rs-.*/scripts/hprof-rs,sha256=' "$to"/wheel/*.dist-info/RECORD || die "wheel: RECORD has no command"
  if grep -rIl -e '@[A-Z_]*@' "$to"/deb/usr/share/doc "$to"/*/*.dist-info "$to"/npm/package/package.json; then
    die "a template's name was not filled in"
  fi
  say "five packages hold the command and $pages manual pages"
}

check_bill() {
  jq -e '(.components | length) > 100 and any(.components[]; .name == "hprof-agent")
    and ([.components[] | select(.name | startswith("hprof-") | not) | select(.hashes == null or .licenses == null)] == [])
    and ([.dependencies[].dependsOn[]] - [.components[]."bom-ref"] == [])' "$1"/*.cdx.json >/dev/null ||
    die "the bill of materials lacks crates, hashes or licences"
}

# A file of a release build: for the machine, no newer glibc, no path of this machine, no more bytes than allowed.
check_program() {
  local file=$1 name needed newest limit size
  name=$(basename "$file")
  readelf -h "$file" | grep -q "Machine:.*$elf" || die "$name is not for $machine"
  newest=$(readelf -V "$file" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
  [ "$(printf '%s\n' "GLIBC_$oldest_glibc" "$newest" | sort -V | tail -n 1)" = "GLIBC_$oldest_glibc" ] ||
    die "$name needs $newest: $(readelf --dyn-syms -W "$file" | grep -F "$newest" | sed -n 1,5p)"
  needed=$(readelf -d "$file" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
    grep -vxE 'lib(c|m|dl|rt|pthread|util)\.so\.[0-9]|ld-linux.*' || true)
  [ -z "$needed" ] || die "$name needs libraries besides glibc: $needed"
  if grep -aqF -e "$root" -e "$HOME/" "$file"; then
    die "$name has paths of this machine: $(grep -aoE "($root|$HOME)/[^[:cntrl:]]{0,60}" "$file" | sed -n 1,5p)"
  fi
  limit=$largest_command
  [ "$name" = hprof-rs ] || limit=$largest_agent
  size=$(stat -c %s "$file")
  [ "$size" -le $limit ] || die "$name has $size bytes; the limit is $limit"
  say "$name: $size bytes, needs ${newest/_/ } or later and nothing else"
}
