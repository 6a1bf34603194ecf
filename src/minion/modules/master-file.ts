/**
 * One whole file by its `salt://` name: from the master's file server, or from `file_roots` with `file_client: local`.
 * Source: docs/protocol.md section 7.1, `_serve_file`.
 */
import { readFileSync, statSync } from "node:fs";
import { join, normalize } from "node:path";
import { masterFileBytesMax } from "../../limits.ts";
import { bytesField, textField } from "../../wire/fields.ts";
import type { Value } from "../../wire/values.ts";
import { commandError } from "../function-errors.ts";
import type { CallContext } from "../module-contract.ts";
import { configToValue } from "../yaml-values.ts";
import { isTruthy, pythonText } from "./python-values.ts";

/**
 * @param source - `salt://path`, with `?saltenv=name` where it is not the one given
 * @returns undefined where there is no such file
 */
export async function fetchMasterFile(
  context: CallContext,
  source: string,
  saltenv: Value,
): Promise<Buffer | undefined> {
  const [path = "", query = ""] = source.slice("salt://".length).split("?");
  const named = /(?:^|&)(?:saltenv|env)=([^&]+)/.exec(query)?.[1];
  const environment = named ?? (isTruthy(saltenv) ? pythonText(saltenv) : (context.config.saltenv ?? "base"));
  if (context.config.file_client === "local") return readLocalFile(context, path, environment);
  const chunks: Uint8Array[] = [];
  let loc = 0;
  for (;;) {
    const reply = await context.masterRequest({ cmd: "_serve_file", path, saltenv: environment, loc });
    if (!(reply instanceof Map) || !isTruthy(textField(reply, "dest") ?? null)) return undefined;
    const chunk = bytesField(reply, "data");
    if (chunk === undefined || chunk.byteLength === 0) return Buffer.concat(chunks);
    chunks.push(chunk);
    loc += chunk.byteLength;
    if (loc > masterFileBytesMax) throw commandError(`${source} is larger than ${masterFileBytesMax} bytes`);
  }
}

/** The file in the first root that has it. A name that leads out of the root is nobody's. */
function readLocalFile(context: CallContext, path: string, environment: string): Buffer | undefined {
  const roots = configToValue(context.config.file_roots[environment] ?? []);
  const inside = normalize(path);
  if (inside.startsWith("..") || inside.startsWith("/")) return undefined;
  for (const root of Array.isArray(roots) ? roots : []) {
    const file = join(pythonText(root), inside);
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats?.isFile() !== true) continue;
    if (stats.size > masterFileBytesMax) throw commandError(`${path} is larger than ${masterFileBytesMax} bytes`);
    return readFileSync(file);
  }
  return undefined;
}
