/** Directories, configuration and log of a minion in a test. */
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Logger, pino } from "pino";
import { loadMinionConfig } from "../../src/config/load.ts";
import type { MinionConfig } from "../../src/config/schema.ts";
import type { ConfigValue } from "../../src/config/yaml/values.ts";

export type LogLine = { readonly level: number; readonly msg: string; readonly [name: string]: unknown };
export type Setting = {
  readonly directory: string;
  readonly config: MinionConfig;
  readonly log: Logger;
  /** The log lines, parsed. */
  readonly lines: LogLine[];
  readonly remove: () => Promise<void>;
};

/** Options override short waits and a private directory. */
export function makeSetting(options: { readonly [name: string]: ConfigValue } = {}): Setting {
  const directory = mkdtempSync(join(tmpdir(), "sw-minion-"));
  const configDir = join(directory, "etc");
  mkdirSync(configDir);
  writeFileSync(join(configDir, "minion"), "");
  const config = loadMinionConfig(configDir, {
    root_dir: directory,
    id: "unit",
    master: "127.0.0.1",
    pki_dir: join(directory, "pki"),
    cachedir: join(directory, "cache"),
    sock_dir: join(directory, "run"),
    keysize: 1_024,
    acceptance_wait_time: 0.02,
    auth_timeout: 1,
    auth_tries: 1,
    return_retry_timer: 1,
    return_retry_timer_max: 1,
    ...options,
  });
  const lines: LogLine[] = [];
  const log = pino({ level: "trace" }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  return { directory, config, log, lines, remove: () => rm(directory, { recursive: true, force: true }) };
}
