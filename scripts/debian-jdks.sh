# JDKs of Debian's unstable suite, whose newest packages apt fetches and verifies by Debian's signatures. Sourced after lib.sh.
# shellcheck shell=bash

# The home of a JDK or runtime of that feature release in the cache or in /usr/lib/jvm, or nothing.
home_of_jdk() {
  local home version=$1
  [ "$version" != 8 ] || version=1.8
  for home in "$cache"/jdks/* /usr/lib/jvm/*; do
    [ -x "$home/bin/java" ] && [ -f "$home/release" ] || continue
    ! grep -q "^JAVA_VERSION=\"$version[.\"]" "$home/release" || { echo "$home"; return; }
  done
}

# Fetches the lists of the unstable suite, and sets `apt` to a command that knows them only: the system's apt does not learn
# of that suite. On failure, the last line of the folder's file "why" is the reason.
debian_lists() {
  local temp=$1 mirror keys
  mirror=$(debian_mirror)
  for keys in /usr/share/keyrings/debian-archive-keyring.{pgp,gpg}; do [ ! -f "$keys" ] || break; done
  if [ -z "$mirror" ] || [ ! -f "$keys" ]; then
    echo "apt knows no mirror of Debian, or lacks the package debian-archive-keyring" >"$temp/why"
    return 1
  fi
  mkdir -p "$temp"/{state/lists/partial,cache/archives/partial}
  : >"$temp/status"
  printf 'Types: deb\nURIs: %s\nSuites: sid\nComponents: main\nSigned-By: %s\n' "$mirror" "$keys" >"$temp/debian.sources"
  apt=(apt-get -q -o "Dir::Etc::sourcelist=$temp/debian.sources" -o Dir::Etc::sourceparts=/nonexistent
    -o "Dir::State=$temp/state" -o "Dir::State::status=$temp/status" -o "Dir::Cache=$temp/cache"
    -o APT::Sandbox::User= -o APT::Get::AllowUnauthenticated=false)
  "${apt[@]}" update >"$temp/why" 2>&1 || return 1
}

# The newest feature release that the unstable suite has, early access included. Takes a folder for its lists.
newest_debian_jdk() {
  local apt
  debian_lists "$1" || return 1
  "${apt[@]/#apt-get/apt-cache}" pkgnames openjdk- | sed -n 's/^openjdk-\([0-9]*\)-jdk-headless$/\1/p' | sort -n | tail -n 1
}

# Fetches and unpacks: a folder for what is needed in between, and the releases. On failure, the last line of
# the folder's file "why" is the reason.
fetch_debian_jdks() {
  local temp=$1 feature deb packages=() apt
  shift
  mkdir -p "$temp"/{debs,base}
  debian_lists "$temp" || return 1
  for feature; do packages+=("openjdk-$feature-jre-headless" "openjdk-$feature-jdk-headless"); done
  (cd "$temp/debs" && "${apt[@]}" download "${packages[@]}" libc6 libgcc-s1 libstdc++6 zlib1g patchelf) >"$temp/why" 2>&1 || return 1
  for deb in "$temp"/debs/{libc6,libgcc-s1,libstdc++6,zlib1g,patchelf}_*.deb; do
    dpkg-deb -x "$deb" "$temp/base" || return 1
  done
  for feature; do
    unpack_debian_jdk "$temp" "$feature" 2>"$temp/why" || say "no JDK $feature: $(tail -n 1 "$temp/why")"
  done
}

# The mirror in apt's sources that has Debian's own packages, by what its lists say of themselves; or nothing.
debian_mirror() {
  # shellcheck disable=SC2016
  local uris='$(ORIGIN)/$(LABEL) $(REPO_URI)'
  if [ -z "$(apt-get indextargets --format "$uris" | sed -n 's,^Debian/Debian ,,p')" ] && [ "$(id -u)" = 0 ]; then
    apt-get -q update >/dev/null 2>&1 || true
  fi
  apt-get indextargets --format "$uris" | sed -n 's,^Debian/Debian ,,p' | sed -n 1p
}

# Unpacks a JDK and puts it where it is found. The packages are made for a newer C library than this system may have,
# so each JDK gets the libraries that they are made for, and its programs the path of these.
unpack_debian_jdk() {
  local temp=$1 feature=$2 from=$1/$2 deb version home link libs program loader patch needed
  for deb in "$temp/debs/openjdk-$feature-"*.deb; do dpkg-deb -x "$deb" "$from" || return 1; done
  version=$(dpkg-deb -f "$deb" Version) || return 1
  version=${version%%[+~-]*}
  from=$(echo "$from/usr/lib/jvm/java-$feature-openjdk-"*)
  [ -d "$from" ] || { echo "its packages are laid out in another way" >&2; return 1; }
  home=$cache/jdks/$version
  # Configuration lies in /etc in the packages; a link to what is not in them (certificates, sources) goes.
  while read -r link; do
    if [ -f "$temp/$feature$(readlink "$link")" ]; then cp --remove-destination "$temp/$feature$(readlink "$link")" "$link"
    else rm "$link"; fi
  done < <(find "$from" -type l -lname '/*')
  rm -rf "$from/jmods" "$from/man" "$from/docs"
  [ -f "$from/release" ] || printf 'JAVA_VERSION="1.8.0_%s"\n' "${version#8u}" >"$from/release"
  mkdir "$from/glibc"
  libs=$(dirname "$(find "$temp/base" -name libc.so.6 | sed -n 1p)")
  cp -d "$libs"/*.so* "$from/glibc" || return 1
  loader=$(basename "$(echo "$libs"/ld-linux*)")
  patch=("$libs/$loader" --library-path "$libs" "$temp/base/usr/bin/patchelf")
  # The VM finds these libraries by the program only, so the program needs them itself.
  needed=(--add-needed libm.so.6 --add-needed libgcc_s.so.1 --add-needed "libstdc++.so.6" --add-needed libz.so.1)
  while read -r program; do
    [ "$(head -c 4 "$program" | tail -c 3)" = ELF ] || continue
    # An RPATH, which counts for libraries that are loaded later, too.
    "${patch[@]}" --set-interpreter "$home/glibc/$loader" "${needed[@]}" --force-rpath \
      --set-rpath "$home/glibc:$("${patch[@]}" --print-rpath "$program")" "$program" || return 1
  done < <(find "$from" -type f \( -path '*/bin/*' -o -name jspawnhelper -o -name jexec \))
  rm -rf "$home"
  mv -T "$from" "$home"
  "$home/bin/java" -version >/dev/null 2>&1 || { rm -rf "$home"; echo "it does not start on this system" >&2; return 1; }
  share_classes "$home"
}

# These runtimes come without the archive of pre-loaded classes that every ordinary JDK has, and would
# start twice as slowly. The archive stores its own path, hence only after the move.
share_classes() {
  [ -n "$(find "$1" -name classes.jsa)" ] || "$1/bin/java" -Xshare:dump >/dev/null 2>&1 ||
    say "JDK $(basename "$1") starts slowly: it could not make its class archive"
}
