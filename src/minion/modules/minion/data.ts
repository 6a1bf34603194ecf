/** Execution module `data`: values that operators keep with the minion, in one file of its cache. Source: Salt 3007's `data`, docs/functions.md. */

import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { strOf } from "../../../python/repr.ts";
import { isEqual } from "../../../python/values.ts";
import { decode, encode } from "../../../wire/msgpack.ts";
import type { Value, ValueMap } from "../../../wire/values.ts";
import { pythonException } from "../../functions/errors.ts";
import type { CallContext } from "../../functions/module-contract.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, signature } from "../declare/signature.ts";
import { isFileError } from "../machine/file-error.ts";

export const dataModule: ModuleFunctions = {
  "data.load": {
    ...signature(""),
    doc: describe("The whole data store, as a map.", "data.load"),
    run: (context) => readStore(context),
  },
  "data.items": {
    ...signature(""),
    doc: describe("The whole data store, as a map.", "data.items"),
    run: (context) => readStore(context),
  },
  "data.keys": {
    ...signature(""),
    doc: describe("The keys of the data store.", "data.keys"),
    run: (context) => [...readStore(context).keys()],
  },
  "data.values": {
    ...signature(""),
    doc: describe("The values of the data store.", "data.values"),
    run: (context) => [...readStore(context).values()],
  },
  "data.has_key": {
    ...signature("key"),
    doc: describe("Whether the data store has a key.", "data.has_key mykey"),
    run: (context, args) => readStore(context).has(argument(args, "key")),
  },
  "data.get": {
    ...signature("key, default=None"),
    doc: describe(
      "The value of a key, or of a list of keys; without a default a list leaves out missing keys.",
      "data.get mykey",
      "data.get '[key1, key2]' none",
    ),
    run: (context, args) => get(readStore(context), argument(args, "key"), argument(args, "default")),
  },
  "data.update": {
    ...signature("key, value"),
    doc: describe("Keeps a value under a key.", "data.update mykey myvalue"),
    run: (context, args) => {
      const store = readStore(context);
      writeStore(context, store.set(argument(args, "key"), argument(args, "value")));
      return true;
    },
  },
  "data.cas": {
    ...signature("key, value, old_value"),
    doc: describe("Replaces a value if it is still the old one.", "data.cas mykey new old"),
    run: (context, args) => {
      const store = readStore(context);
      const key = argument(args, "key");
      const held = store.get(key);
      if (held === undefined || !isEqual(held, argument(args, "old_value"))) return false;
      writeStore(context, store.set(key, argument(args, "value")));
      return true;
    },
  },
  "data.pop": {
    ...signature("key, default=None"),
    doc: describe("Removes a key and returns its value.", "data.pop mykey none"),
    run: (context, args) => {
      const store = readStore(context);
      const key = argument(args, "key");
      const value = store.get(key) ?? argument(args, "default");
      store.delete(key);
      writeStore(context, store);
      return value;
    },
  },
  "data.dump": {
    ...signature("new_data"),
    doc: describe("Replaces the whole data store with another map.", "data.dump '{eggs: spam}'"),
    run: (context, args) => {
      const data = argument(args, "new_data");
      if (!(data instanceof Map)) throw pythonException("ValueError", `malformed node or string: ${strOf(data)}`);
      writeStore(context, data);
      return true;
    },
  },
  "data.clear": {
    ...signature(""),
    doc: describe("Empties the data store.", "data.clear"),
    run: (context) => {
      writeStore(context, new Map());
      return true;
    },
  },
};

function get(store: ValueMap, key: Value, fallback: Value): Value {
  if (!Array.isArray(key)) return store.get(key) ?? fallback;
  if (fallback === null) return key.flatMap((one) => (store.has(one) ? [store.get(one) ?? null] : []));
  return key.map((one) => store.get(one) ?? fallback);
}

function storePath(context: CallContext): string {
  return join(context.config.cachedir, "datastore");
}

/** Returns an empty map without a file. The format is Salt's: one msgpack map. */
function readStore(context: CallContext): ValueMap {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(storePath(context));
  } catch (error) {
    if (isFileError(error) && error.code === "ENOENT") return new Map();
    throw error;
  }
  const value = decode(bytes);
  return value instanceof Map ? value : new Map();
}

/** Replaces the file by renaming, so that readers never see half of it. */
function writeStore(context: CallContext, store: ValueMap): void {
  const path = storePath(context);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, encode(store, "bin"));
  renameSync(`${path}.new`, path);
}
