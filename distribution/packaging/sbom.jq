# A bill of materials in CycloneDX 1.5 for the output of `cargo metadata --filter-platform`: what the command and the
# agent link, without what only builds or tests need. $checksums is Cargo.lock as a map from "NAME VERSION" to SHA-256.

# Ids of the packages that are linked, from the two roots, in rounds until nothing is added.
def linked:
  . as $metadata
  | ($metadata.resolve.nodes | map({key: .id, value: .}) | from_entries) as $nodes
  | ($metadata.packages | map(select(.source == null and (.name == "hprof-rs" or .name == "hprof-agent")) | .id)) as $roots
  | def normal($id): $nodes[$id].deps | map(select(any(.dep_kinds[]; .kind == null)) | .pkg);
    {seen: ($roots | map({key: ., value: true}) | from_entries), front: $roots}
  | until(.front == [];
      .seen as $seen
      | ([.front[] | normal(.)[] | select($seen[.] | not)] | unique) as $front
      | {seen: ($seen + ($front | map({key: ., value: true}) | from_entries)), $front})
  | .seen;

def purl: "pkg:cargo/\(.name)@\(.version)";

# The licence as SPDX writes it; some older crates separate their choices by a slash.
def licence: (.license // "" | gsub("\\s*/\\s*"; " OR "));

# Procedural macros run in the compiler.
linked as $reached
| (.packages | map({key: .id, value: ($reached[.id] and (any(.targets[].kind[]; . == "proc-macro") | not))}) | from_entries) as $linked
| (.packages | map({key: .id, value: purl}) | from_entries) as $refs
| {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: {
      timestamp: $timestamp,
      component: {
        type: "application",
        name: "hprof-rs",
        version: $version,
        "bom-ref": "pkg:cargo/hprof-rs@\($version)",
        licenses: [{expression: "MIT OR Apache-2.0"}]
      }
    },
    components: [
      .packages | sort_by(.name, .version)[] | select($linked[.id] and .name != "hprof-rs")
      | {
          type: "library",
          name,
          version,
          "bom-ref": purl,
          purl: purl,
          scope: "required"
        }
        + (if licence != "" then {licenses: [{expression: licence}]} else {} end)
        + ($checksums["\(.name) \(.version)"] as $sum
          | if $sum then {hashes: [{alg: "SHA-256", content: $sum}]} else {} end)
    ],
    dependencies: [
      .resolve.nodes | map(select($linked[.id])) | sort_by($refs[.id])[]
      | {
          ref: $refs[.id],
          dependsOn: ([.deps[] | select(any(.dep_kinds[]; .kind == null) and $linked[.pkg]) | $refs[.pkg]] | unique)
        }
    ]
  }
