/**
 * The lane that serves files. One thread answers many requests at a time, because it waits for disks and not for the CPU, and has one
 * cache of hashes and lists.
 */
import { isMainThread, workerData } from "node:worker_threads";
import { SaltworksError } from "../../errors.ts";
import { FileServer } from "../../fileserver/file-server.ts";
import type { PushRefusal } from "../../fileserver/pushed/usage.ts";
import { fileServerSettings } from "../../fileserver/settings.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import { answerForMeasures } from "../measures/lane-measures.ts";
import type { FileResult, FileStart, FileTask } from "../messages/lanes.ts";
import type { LaneStart } from "../threads/lane-pool.ts";
import { nameLaneThread } from "../threads/name.ts";
import { transferring } from "../threads/pool.ts";
import { countTurns } from "../threads/turns.ts";

if (isMainThread) throw new SaltworksError("WORKER_LOST", "workers/lanes/file-lane.ts runs in a worker thread only");

const { config, startedThreads, turns } = workerData as FileStart & LaneStart;
answerForMeasures(nameLaneThread("files", startedThreads));
countTurns(turns);
const server = new FileServer(fileServerSettings(config));
server.countPushed();

export default async function handle({ cmd, load, id }: FileTask): Promise<FileResult> {
  const request = decode(load);
  let refusedBy: PushRefusal | undefined;
  const value = await server.answer(cmd, request instanceof Map ? request : new Map(), id, (bound) => {
    refusedBy = bound;
  });
  // Copied, because small encodings share a block, which cannot be transferred.
  const answer = Uint8Array.from(encode(value, "raw"));
  const push = cmd === "_file_recv" ? { push: { refusedBy, total: server.pushed } } : {};
  return transferring({ answer, ...push }, answer.buffer);
}
