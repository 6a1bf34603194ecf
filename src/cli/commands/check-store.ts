/** `saltworks check-store`: reads everything that the master has stored and reports damage. */
import { checkStore, type StorePart } from "../../client/store-check.ts";
import type { Host } from "../host/host.ts";
import { understand } from "../start/command-line.ts";
import { masterConfig } from "../start/configuration.ts";

const exitCodes = { whole: 0, damaged: 1, unreadable: 2 } as const;

/** @returns the exit code: 0 whole, 1 damaged, 2 not read */
export async function runCheckStore(argv: readonly string[], host: Host): Promise<number> {
  const { options } = understand("check-store", argv, host);
  const config = masterConfig(options.configDir, host);
  const terminal = host.errorTerminal;
  const onProgress = (file: string, share: number) =>
    void terminal?.write(`\r\x1b[K${file}: ${Math.floor(share * 100)} %`);
  const parts: StorePart[] = [];
  for await (const part of checkStore(config, onProgress)) {
    terminal?.write("\r\x1b[K");
    parts.push(part);
    if (!options.isJson) host.write(textOf(part));
  }
  const state = stateOf(parts);
  if (options.isJson) host.write(`${JSON.stringify({ state, parts }, undefined, 2)}\n`);
  else host.write(`${closing[state]}\n`);
  return exitCodes[state];
}

const closing = {
  whole: "All is whole.",
  damaged: "Some data is damaged and cannot be read any more. It is listed above. The rest can be read.",
  unreadable: "Some data could not be read, so this check does not know whether it is whole.",
} as const;

function stateOf(parts: readonly StorePart[]): keyof typeof exitCodes {
  if (parts.some(({ unreadable }) => unreadable !== undefined)) return "unreadable";
  return parts.some(({ faultCount }) => faultCount > 0) ? "damaged" : "whole";
}

function textOf(part: StorePart): string {
  const { what, place, records, faults, faultCount, unreadable, leftAlone, leftAloneCount } = part;
  const head = `${what} (${place})`;
  const left = listed("left alone: ", leftAlone, leftAloneCount);
  if (unreadable !== undefined) return `${head}: not read: ${unreadable}\n${left}`;
  const isWhole = faultCount === 0;
  if (isWhole && records === 0 && leftAloneCount > 0) return `${head}: no files that the master reads\n${left}`;
  const count = `${records.toLocaleString("en-US")} record${records === 1 ? "" : "s"}`;
  return `${head}: ${count}, ${isWhole ? "whole" : "DAMAGED"}\n${listed("", faults, faultCount)}${left}`;
}

function listed(prefix: string, lines: readonly string[], count: number): string {
  const rest = count - lines.length;
  const more = rest > 0 ? `  ${prefix}and ${rest.toLocaleString("en-US")} more\n` : "";
  return lines.map((line) => `  ${prefix}${line}\n`).join("") + more;
}
