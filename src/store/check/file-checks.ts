/** Checks of records that are files of their own: keys, tokens, logs of batch jobs. */
import { createPublicKey } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readIfThere } from "../../config/files/missing.ts";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { SaltworksError } from "../../errors.ts";
import { decode } from "../../wire/msgpack.ts";
import { listBatches, readBatchEntries } from "../jobs/batch-log.ts";
import { isUsableKey } from "../keys/text.ts";
import type { Check, Tally } from "./tally.ts";

const keyFolders = ["minions", "minions_pre", "minions_rejected", "minions_denied"];
/** Salt's form, whose name is the token, and ours, whose name is the token's digest. */
const tokenFileForm = /^([0-9a-f]{32,128}|([0-9a-f]{64})\.token)$/;
const batchChunkBytes = 1024 * 1024;

export function checkKeys(pkiDir: string, tally: Tally): void {
  const publicFile = join(pkiDir, "master.pub");
  if (existsSync(publicFile)) {
    tally.records += 1;
    if (!isPublicKey(readFileSync(publicFile, "utf8"))) tally.fault(`${publicFile} is not a public key`);
  }
  for (const folder of keyFolders) {
    const directory = join(pkiDir, folder);
    if (!existsSync(directory)) continue;
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      if (!entry.isFile() || entry.name.startsWith(".")) continue;
      const file = join(directory, entry.name);
      const text = readIfThere(file)?.toString("utf8");
      // The key was accepted, rejected or deleted meanwhile.
      if (text === undefined) continue;
      tally.records += 1;
      if (!isUsableKey(text)) tally.fault(`${file} is not a key of a minion`);
    }
  }
}

function isPublicKey(pem: string): boolean {
  try {
    createPublicKey(pem);
    return true;
  } catch {
    return false;
  }
}

export const checkTokens: Check = (tally, { path }) => {
  if (!existsSync(path)) return;
  for (const name of readdirSync(path).filter((each) => tokenFileForm.test(each))) {
    const bytes = readIfThere(join(path, name));
    if (bytes === undefined) continue;
    tally.records += 1;
    if (!isToken(bytes, name)) tally.fault(`${join(path, name)} is not a token: its user must log in again`);
  }
};

function isToken(bytes: Uint8Array, name: string): boolean {
  try {
    const kept = decode(bytes);
    const digest = tokenFileForm.exec(name)?.[2];
    return kept instanceof Map && (digest === undefined ? kept.get("token") === name : kept.get("digest") === digest);
  } catch (error) {
    if (error instanceof SaltworksError) return false;
    throw error;
  }
}

export const checkBatches: Check = (tally, { path }) => {
  for (const jid of listBatches(path)) {
    try {
      for (let offset = 0; ; ) {
        const entries = readBatchEntries(path, jid, offset, batchChunkBytes);
        tally.records += entries.length;
        const last = entries.at(-1);
        if (last === undefined) break;
        offset = last.end;
      }
    } catch (error) {
      // The master removed the log meanwhile, because of its age.
      if (error instanceof SaltworksError && hasCodeIn(error.cause, "ENOENT")) continue;
      if (!(error instanceof SaltworksError) || !(error.cause instanceof SyntaxError)) throw error;
      tally.fault(`the log of batch ${jid} in ${path} has a line that cannot be read`);
    }
  }
};
