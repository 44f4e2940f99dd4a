# The packages of scripts/package, one function each. Sourced; `agent`, `command`, `version`, `machine` and the names
# of the machine are set. Names are sorted, owners are root, times are those of the last commit.
# shellcheck shell=bash disable=SC2154

# Makes all packages in a folder.
pack() {
  local to=$1
  tree=$work/tree
  rm -rf "$tree" "$to"
  mkdir -p "$to"
  stage_common
  bill_of_materials "$to"
  pack_archive "$to"
  pack_deb "$to"
  pack_rpm "$to"
  pack_wheel "$to"
  pack_npm "$to"
  [ ! -d "$work/debug" ] || pack_debug "$to"
}

# A command of this version that runs on this machine: the packed one, else the one that HPROF_RS_NATIVE names.
pages_from() {
  local candidate
  for candidate in "${HPROF_RS_NATIVE:-}" "$command"; do
    [ -n "$candidate" ] && [ "$("$candidate" --version 2>/dev/null)" = "hprof-rs $version" ] || continue
    echo "$candidate"
    return
  done
  die "$command does not run here; name a command of version $version that does in HPROF_RS_NATIVE"
}

# Everything once, laid out below a prefix.
stage_common() {
  local native share=$tree/share
  native=$(pages_from)
  mkdir -p "$tree/bin" "$tree/lib" "$share/bash-completion/completions" "$share/zsh/site-functions" \
    "$share/fish/vendor_completions.d"
  install -m 755 "$command" "$tree/bin/hprof-rs"
  install -m 644 "$agent" "$tree/lib/libhprof_rs.so"
  "$native" man "$share/man/man1" >/dev/null
  "$native" completions bash >"$share/bash-completion/completions/hprof-rs"
  "$native" completions zsh >"$share/zsh/site-functions/_hprof-rs"
  "$native" completions fish >"$share/fish/vendor_completions.d/hprof-rs.fish"
  mkdir -p "$share/doc/hprof-rs"
  cp -R README.md CHANGELOG.md SECURITY.md docs "$share/doc/hprof-rs/"
}

# Replaces @NAMES@ in a template.
fill_in() {
  sed -e "s/@VERSION@/$version/g" -e "s/@DEB_ARCH@/$deb_arch/g" -e "s/@NPM_CPU@/$npm_cpu/g" \
    -e "s/@WHEEL_TAG@/$wheel_tag/g" -e "s#@MAINTAINER@#$maintainer#g" "$root/distribution/packaging/$1"
}

# A compressed archive of a folder's contents, the same bytes each time.
archive() {
  local from=$1 to=$2
  shift 2
  tar --format=ustar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w \
    -C "$from" -cf - "$@" | gzip -n -9 >"$to"
}

bill_of_materials() {
  local checksums
  checksums=$(awk -F'"' '/^name = /{name=$2} /^version = /{version=$2} /^checksum = /{print name " " version "\t" $2}' Cargo.lock |
    jq -Rn '[inputs | split("\t") | {key: .[0], value: .[1]}] | from_entries')
  cargo metadata --format-version 1 --locked --filter-platform "$machine-unknown-linux-gnu" |
    jq -f distribution/packaging/sbom.jq --argjson checksums "$checksums" --arg version "$version" \
      --arg timestamp "$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)" >"$1/hprof-rs-$version-$machine-linux.cdx.json"
}

pack_archive() {
  local name=hprof-rs-$version-$machine-linux
  local top=$work/archive/$name
  rm -rf "$work/archive"
  mkdir -p "$top"
  cp -R "$tree/." "$top/"
  cp README.md LICENSE-* "$top/"
  archive "$work/archive" "$1/$name.tar.gz" "$name"
}

pack_debug() {
  archive "$work/debug" "$1/hprof-rs-$version-$machine-linux-debug.tar.gz" hprof-rs.debug libhprof_rs.so.debug
}

# The files of a distribution's package: the agent in a folder of its own, since it is no library to link with, and
# compressed pages.
stage_system() {
  local to=$1
  rm -rf "$to"
  mkdir -p "$to/usr/lib/hprof-rs"
  cp -R "$tree/bin" "$tree/share" "$to/usr/"
  cp "$tree/lib/libhprof_rs.so" "$to/usr/lib/hprof-rs/"
  gzip -n -9 "$to"/usr/share/man/man1/*.1
  cp "$packages/hprof-rs-$version-$machine-linux.cdx.json" "$to/usr/share/doc/hprof-rs/sbom.cdx.json"
}

pack_deb() {
  local to=$work/deb packages=$1 doc
  stage_system "$to"
  doc=$to/usr/share/doc/hprof-rs
  mkdir -p "$to/DEBIAN" "$to/usr/share/lintian/overrides" "$to/usr/share/zsh/vendor-completions"
  mv "$to/usr/share/zsh/site-functions/_hprof-rs" "$to/usr/share/zsh/vendor-completions/"
  rmdir "$to/usr/share/zsh/site-functions"
  fill_in deb/changelog | sed "s/@DATE@/$(date -u -R -d "@$SOURCE_DATE_EPOCH")/" | gzip -n -9 >"$doc/changelog.gz"
  sed -e '/@MIT@/{s/.*//;r /dev/stdin' -e 'd}' distribution/packaging/deb/copyright \
    < <(sed -e 's/^$/./' -e 's/^/ /' LICENSE-MIT) >"$doc/copyright"
  install -m 644 distribution/packaging/deb/lintian-overrides "$to/usr/share/lintian/overrides/hprof-rs"
  fill_in deb/control | sed "s/@INSTALLED_SIZE@/$(du -sk --apparent-size "$to/usr" | cut -f 1)/" >"$to/DEBIAN/control"
  (cd "$to" && find usr -type f | sort | xargs -d '\n' md5sum >DEBIAN/md5sums)
  dpkg-deb --root-owner-group -Zxz --build "$to" "$1/hprof-rs_${version}_$deb_arch.deb" >/dev/null
}

pack_rpm() {
  local to=$work/rpm packages=$1
  rm -rf "$work/rpmbuild"
  stage_system "$to"
  mkdir -p "$to/usr/share/licenses/hprof-rs"
  cp LICENSE-* "$to/usr/share/licenses/hprof-rs/"
  find "$to" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  rpmbuild -bb --target "$machine-linux" --define "_topdir $work/rpmbuild" --define "staged $to" \
    --define "package_version $version" --define "maintainer $maintainer" distribution/packaging/rpm/hprof-rs.spec >>"$log" 2>&1 ||
    { tail -n 15 "$log" >&2; die "rpmbuild failed"; }
  mv "$work/rpmbuild/RPMS/$machine/hprof-rs-$version-1.$machine.rpm" "$1/"
}

# A program in a wheel, as maturin packs them: pip puts it beside its own programs, and pages below the prefix.
pack_wheel() {
  local to=$work/wheel info data
  info=$to/hprof_rs-$version.dist-info
  data=$to/hprof_rs-$version.data
  rm -rf "$to"
  mkdir -p "$info/licenses" "$data/scripts" "$data/data"
  install -m 755 "$command" "$data/scripts/hprof-rs"
  cp -R "$tree/share" "$data/data/"
  rm -rf "$data/data/share/doc"
  fill_in wheel/WHEEL >"$info/WHEEL"
  { fill_in wheel/METADATA; cat distribution/packaging/README.md; } >"$info/METADATA"
  cp LICENSE-* "$info/licenses/"
  (cd "$to" && PYTHONPATH=$wheel python3 -m wheel pack . --dest-dir "$1" >/dev/null)
}

pack_npm() {
  local to=$work/npm pages
  rm -rf "$to"
  mkdir -p "$to/package/bin"
  install -m 755 "$command" "$to/package/bin/hprof-rs"
  cp -R "$tree/share/man/man1" "$to/package/man"
  pages=$(cd "$to/package" && printf '"%s", ' man/*.1)
  fill_in npm/package.json | sed "s#@NPM_MAN@#${pages%, }#" >"$to/package/package.json"
  cp distribution/packaging/README.md LICENSE-* "$to/package/"
  archive "$to" "$1/hprof-rs-$version-linux-$npm_cpu.tgz" package
}
