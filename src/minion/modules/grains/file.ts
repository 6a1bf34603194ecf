/** The file `grains` beside the configuration, which operators and `grains.setval` write. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { type Document, isMap, isScalar, isSeq, parseDocument } from "yaml";
import { plainKind, plainValue } from "../../../config/yaml/yaml11.ts";
import { yamlFileText } from "../../../python/yaml-writer.ts";
import { Float, type Value, type ValueMap } from "../../../wire/values.ts";
import type { ModuleLog } from "../../functions/module-contract.ts";
import { isFileError } from "../machine/file-error.ts";

/** Reads the file; an empty map if it does not exist, or cannot be read, which is logged. */
export function readGrainsFile(path: string, log: ModuleLog): ValueMap {
  const read = parseGrainsFile(path);
  if (read instanceof Map) return read;
  if (read !== undefined) log.warn(`Bad syntax in grains file! Skipping. ${read}`);
  return new Map();
}

/** The file's map, empty if it holds another value. Undefined without a file; the reason as text if the file cannot be read. */
export function parseGrainsFile(path: string): ValueMap | string | undefined {
  let source: string;
  try {
    source = readFileSync(path, "utf8");
  } catch (error) {
    if (isFileError(error) && error.code === "ENOENT") return undefined;
    if (isFileError(error)) return error.message;
    throw error;
  }
  const document = parseDocument(source, { version: "1.1", schema: "failsafe", merge: true, prettyErrors: false });
  const [fault] = document.errors;
  if (fault !== undefined) return fault.message;
  const value = valueOfNode(document.contents, document);
  return value instanceof Map ? value : new Map();
}

/** Keeps the types of keys and distinguishes 1.0 from 1, unlike the configuration's reader. */
function valueOfNode(node: unknown, document: Document.Parsed): Value {
  if (isMap(node)) {
    const map: ValueMap = new Map();
    for (const { key, value } of node.items) map.set(valueOfNode(key, document), valueOfNode(value, document));
    return map;
  }
  if (isSeq(node)) return node.items.map((item) => valueOfNode(item, document));
  if (!isScalar(node)) return null;
  const text = String(node.value ?? "");
  const isPlain = node.type === "PLAIN" || node.type === undefined;
  const kind = isPlain ? plainKind(text) : "text";
  const value = plainValue(kind, text)?.value ?? null;
  return kind === "float" && typeof value === "number" && Number.isInteger(value) ? new Float(value) : value;
}

/** Replaces the file by renaming, so that readers never see half of it. */
export function writeGrainsFile(path: string, grains: ValueMap): void {
  const half = `${path}.${process.pid}.tmp`;
  writeFileSync(half, yamlFileText(grains), { mode: 0o644 });
  renameSync(half, path);
}
