// Writes heap dumps of any size: a cache, held by a static field, whose entries hold an array of bytes each.
import { closeSync, openSync, writeSync } from "node:fs";

const UTF8 = 0x01;
const LOAD_CLASS = 0x02;
const HEAP_DUMP_SEGMENT = 0x1c;
const HEAP_DUMP_END = 0x2c;
const ROOT_STICKY_CLASS = 0x05;
const CLASS_DUMP = 0x20;
const INSTANCE_DUMP = 0x21;
const OBJECT_ARRAY_DUMP = 0x22;
const PRIMITIVE_ARRAY_DUMP = 0x23;
const OBJECT = 2;
const BYTE = 8;
const INT = 10;

const u1 = (n) => Buffer.of(n);
const number = (bytes, write) => {
  const buffer = Buffer.alloc(bytes);
  write(buffer);
  return buffer;
};
const u2 = (n) => number(2, (buffer) => buffer.writeUInt16BE(n));
const u4 = (n) => number(4, (buffer) => buffer.writeUInt32BE(n));
const id = (n) => number(8, (buffer) => buffer.writeBigUInt64BE(BigInt(n)));
const record = (tag, ...body) => {
  const bytes = Buffer.concat(body);
  return Buffer.concat([u1(tag), u4(0), u4(bytes.length), bytes]);
};

/** The bytes of the array that each entry holds. */
const ARRAY = 4000;

/** A class: its identifier, its super class, static fields with references, fields. */
function classDump(self, above, statics, fields, size) {
  return Buffer.concat([
    u1(CLASS_DUMP), id(self), u4(0), id(above), ...[0, 0, 0, 0, 0].map(id), u4(size), u2(0),
    u2(statics.length), ...statics.flatMap(([name, value]) => [id(name), u1(OBJECT), id(value)]),
    u2(fields.length), ...fields.flatMap(([name, type]) => [id(name), u1(type)]),
  ]);
}

/** Writes a dump of about N bytes; gives the number of entries. */
export function writeDump(path, bytes) {
  const names = ["java/lang/Object", "[Ljava/lang/Object;", "[B", "made/Cache", "made/Entry", "ENTRIES", "data", "number"];
  const name = Object.fromEntries(names.map((text, at) => [text, at + 1]));
  const classes = { "java/lang/Object": 0x1000, "[Ljava/lang/Object;": 0x1100, "[B": 0x1200, "made/Cache": 0x1300, "made/Entry": 0x1400 };
  const LIST = 0x2000;
  const count = Math.floor(bytes / (25 + 12 + 18 + ARRAY + 8));
  const entry = (at) => 0x1000_0000 + 0x40 * at;
  const array = (at) => 0x1_0000_0000 + 0x1000 * at;
  const file = openSync(path, "w");
  const write = (...parts) => writeSync(file, Buffer.concat(parts));
  write(Buffer.from("JAVA PROFILE 1.0.2\0"), u4(8), id(1_700_000_000_000));
  write(...names.map((text) => record(UTF8, id(name[text]), Buffer.from(text))));
  write(...Object.entries(classes).map(([text, self], at) => record(LOAD_CLASS, u4(at + 1), id(self), u4(0), id(name[text]))));
  write(
    record(
      HEAP_DUMP_SEGMENT,
      classDump(0x1000, 0, [], [], 0),
      classDump(0x1100, 0x1000, [], [], 0),
      classDump(0x1200, 0x1000, [], [], 0),
      classDump(0x1300, 0x1000, [[name.ENTRIES, LIST]], [], 0),
      classDump(0x1400, 0x1000, [], [[name.data, OBJECT], [name.number, INT]], 12),
      ...Object.values(classes).map((self) => Buffer.concat([u1(ROOT_STICKY_CLASS), id(self)])),
    ),
  );
  const elements = Buffer.alloc(8 * count);
  for (let at = 0; at < count; at++) elements.writeBigUInt64BE(BigInt(entry(at)), 8 * at);
  write(record(HEAP_DUMP_SEGMENT, u1(OBJECT_ARRAY_DUMP), id(LIST), u4(0), u4(count), id(0x1100), elements));
  // A thousand entries in each segment; the arrays differ in their first bytes.
  const head = 25 + 12;
  const each = head + 18 + ARRAY;
  for (let first = 0; first < count; first += 1000) {
    const here = Math.min(1000, count - first);
    const body = Buffer.alloc(here * each);
    for (let at = 0; at < here; at++) {
      const entryNumber = first + at;
      let to = at * each;
      to = body.writeUInt8(INSTANCE_DUMP, to);
      to = body.writeBigUInt64BE(BigInt(entry(entryNumber)), to) + 4;
      to = body.writeBigUInt64BE(0x1400n, to);
      to = body.writeUInt32BE(12, to);
      to = body.writeBigUInt64BE(BigInt(array(entryNumber)), to);
      to = body.writeUInt32BE(entryNumber, to);
      to = body.writeUInt8(PRIMITIVE_ARRAY_DUMP, to);
      to = body.writeBigUInt64BE(BigInt(array(entryNumber)), to) + 4;
      to = body.writeUInt32BE(ARRAY, to);
      to = body.writeUInt8(BYTE, to);
      body.writeUInt32BE(entryNumber, to);
    }
    write(record(HEAP_DUMP_SEGMENT, body));
  }
  write(record(HEAP_DUMP_END));
  closeSync(file);
  return count;
}
