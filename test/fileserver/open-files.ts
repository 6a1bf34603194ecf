/** A file server over files in a private folder. */
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { loadMasterConfig, type MasterConfig, type Overrides } from "../../src/config/load.ts";
import { type FileServerSettings, fileServerSettings } from "../../src/fileserver/backends/contract/settings.ts";
import { FileServer } from "../../src/fileserver/file-server.ts";
import { decode, encode } from "../../src/wire/msgpack.ts";
import type { Encodable, Value } from "../../src/wire/values.ts";

export type OpenFiles = {
  readonly folder: string;
  readonly config: MasterConfig;
  readonly settings: FileServerSettings;
  readonly server: FileServer;
  /** Writes below the folder, an hour ago. */
  readonly write: (path: string, content: string | Uint8Array) => string;
  /** An answer as a minion reads it. */
  readonly ask: (load: { readonly [name: string]: Encodable }, id?: string) => Promise<Value>;
  readonly remove: () => void;
};

/** `base` is `FOLDER/base`, `dev` is `FOLDER/dev`; option values may say FOLDER. */
export function openFiles(
  options: Overrides = {},
  files: Readonly<Record<string, string | Uint8Array>> = {},
): OpenFiles {
  const folder = mkdtempSync(join(tmpdir(), "saltworks-files-"));
  const inFolder = JSON.parse(JSON.stringify(options).replaceAll("FOLDER", folder)) as Overrides;
  const config = loadMasterConfig(folder, {
    cachedir: join(folder, "cache"),
    file_roots: { base: [join(folder, "base")], dev: [join(folder, "dev")] },
    ...inFolder,
  });
  const settings = fileServerSettings(config, process.env);
  const server = new FileServer(settings);
  const write = (path: string, content: string | Uint8Array): string => {
    const full = join(folder, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, content);
    const hourAgo = Date.now() / 1_000 - 3_600;
    utimesSync(full, hourAgo, hourAgo);
    return full;
  };
  for (const [path, content] of Object.entries(files)) write(path, content);
  const ask = async (load: { readonly [name: string]: Encodable }, id?: string): Promise<Value> => {
    const request = decode(encode(load, "raw")) as Map<Value, Value>;
    return decode(encode(await server.answer(String(load.cmd), request, id), "raw"));
  };
  return { folder, config, settings, server, write, ask, remove: () => rmSync(folder, { recursive: true }) };
}
