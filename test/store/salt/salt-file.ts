/** Writes a file in the form of a Salt master. */
import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { encode } from "../../../src/wire/msgpack.ts";
import type { Encodable } from "../../../src/wire/values.ts";

/** @param value bytes are written unchanged, other values as msgpack @param changedMs the file's time */
export function put(path: string, value: Encodable | Buffer, changedMs?: number): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, Buffer.isBuffer(value) ? value : encode(value, "bin"));
  if (changedMs !== undefined) utimesSync(path, changedMs / 1_000, changedMs / 1_000);
}
