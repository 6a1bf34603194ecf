/** Runs msgpack.json: both flavours, both directions, and both of Salt's ways to read. */
import assert from "node:assert/strict";
import { decode, encode, type Flavour } from "../../../src/wire/msgpack.ts";
import { rawToBin, skipValue } from "../../../src/wire/walk.ts";
import type { Ledger } from "./ledger.ts";
import { bytesFromHex, expand, fromTypedView, type Json, type JsonMap, toTypedView } from "./view.ts";

type FlavourFields = { flavour: Flavour; hex: string; byDefault: string; asUtf8: string };
const flavours: readonly FlavourFields[] = [
  {
    flavour: "raw",
    hex: "raw_use_bin_type_false_hex",
    byDefault: "wire_decoded_default",
    asUtf8: "wire_decoded_encoding_utf8",
  },
  {
    flavour: "bin",
    hex: "bin_use_bin_type_true_hex",
    byDefault: "bin_decoded_default",
    asUtf8: "bin_decoded_encoding_utf8",
  },
];

export function runMsgpack(data: JsonMap, ledger: Ledger): void {
  for (const [index, item] of (data.cases as JsonMap[]).entries()) {
    ledger.run(`cases/${index}`, () => {
      for (const fields of flavours) checkFlavour(item, fields);
    });
  }
  for (const [index, item] of (data.decode_only as JsonMap[]).entries()) {
    ledger.run(`decode_only/${index}`, () => checkForeign(item));
  }
}

function checkFlavour(item: JsonMap, { flavour, hex, byDefault, asUtf8 }: FlavourFields): void {
  const bytes = bytesFromHex(item[hex]);
  const value = decode(bytes);
  assert.deepEqual(toTypedView(value, true), expand(item[byDefault] ?? null), `${flavour}: read by default`);
  const asText = toTypedView(value, false);
  // Salt's other reading leaves all strings bytes if one raw string is not UTF-8.
  const isAllBytes = flavour === "raw" && rawToBin(bytes) !== bytes;
  assert.deepEqual(
    isAllBytes ? textAsBytes(asText) : asText,
    expand(item[asUtf8] ?? null),
    `${flavour}: read as UTF-8`,
  );
  assert.deepEqual(encode(value, flavour), bytes, `${flavour}: written again`);
  assert.deepEqual(encode(fromTypedView(expand(item.value ?? null)), flavour), bytes, `${flavour}: written`);
  assert.equal(skipValue(bytes, 0), bytes.length, `${flavour}: walked`);
}

function textAsBytes(view: Json): Json {
  if (typeof view === "string") return { $bytes_b64: Buffer.from(view).toString("base64") };
  if (Array.isArray(view)) return view.map(textAsBytes);
  if (typeof view !== "object" || view === null || view.$map === undefined) return view;
  return { $map: textAsBytes(view.$map) };
}

function checkForeign(item: JsonMap): void {
  const bytes = bytesFromHex(item.hex);
  if (item.error !== undefined) {
    assert.throws(() => decode(bytes), { code: "WIRE_MALFORMED" });
    return;
  }
  const value = decode(bytes);
  if (item.name === "map bin key") {
    // Salt's default reading turns the key b"a" into the text "a"; here bytes stay bytes, as in its other reading.
    assert.deepEqual(toTypedView(value, false), item.decoded_encoding_utf8);
    return;
  }
  assert.deepEqual(toTypedView(value, true), item.decoded_default);
  assert.deepEqual(toTypedView(value, false), item.decoded_encoding_utf8);
}
