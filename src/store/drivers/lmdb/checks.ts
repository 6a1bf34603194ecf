/** Checks of the LMDB job cache: its files with their index, and the return logs beside them. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { readIfThere } from "../../../config/files/missing.ts";
import { isJid } from "../../../wire/jid.ts";
import { asMap, checkFile, type Form, hashed, notStored } from "../../check/lmdb-checks.ts";
import type { Check } from "../../check/tally.ts";
import { listLogs, rescueFile } from "../../return-log/files.ts";
import { IndexCheck } from "./index-check.ts";
import { indexedVersion, readLayout, shardFile } from "./layout.ts";

export const checkJobs: Check = (tally, look) => {
  const layout = readLayout(look.path);
  if (layout === undefined) {
    const isMade = existsSync(look.path) && readdirSync(look.path).some((name) => name.endsWith(".mdb"));
    if (isMade) tally.fault(`${join(look.path, "layout.json")} is missing: the master would make a new job cache`);
    return;
  }
  for (let shard = 0; shard < layout.shards; shard += 1) {
    const file = shardFile(look.path, shard);
    if (!existsSync(file)) tally.fault(`${file} is missing`);
    // The layout is written after all files, so none of them may be empty.
    else {
      const index = layout.version >= indexedVersion ? new IndexCheck() : undefined;
      const forms = { returns: hashed(asMap), loads: hashed(asMap), ends: hashed(asEnd) };
      const areAllRead = checkFile(tally, look, file, forms, {
        mayBeEmpty: false,
        onRecord: (table, key, value) => index?.take(table, key, value),
        nameOf,
      });
      if (areAllRead) for (const fault of index?.faults() ?? []) tally.fault(`${file}: ${fault}`);
    }
  }
};

/** Checks the return logs. A running master changes its logs while they are read, so their faults count only if no master runs. */
export const checkJobLogs: Check = (tally, look) => {
  if (!existsSync(look.path)) return;
  for (const log of listLogs(look.path)) {
    const bytes = readIfThere(log);
    if (bytes === undefined) continue;
    const { entries, fault } = rescueFile(log, bytes);
    tally.records += entries.length;
    if (fault !== undefined && !look.isRunning) tally.fault(`${log} ${fault}`);
  }
};

const asEnd: Form = (bytes) => (isJid(bytes.toString("latin1")) ? undefined : notStored);

function nameOf(table: string, key: Buffer): string {
  const [first = "", ...rest] = key.toString("utf8").split("\0");
  const jid = first.slice(1);
  if (table === "returns") return `the return of ${rest.at(-1) ?? "?"} for job ${jid}`;
  return table === "loads" ? `the record of job ${jid}` : `the end of job ${jid}`;
}
