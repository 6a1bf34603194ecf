/**
 * The lane that serves files. One thread answers many requests at a time: it mostly waits for disks, and one cache
 * of hashes and lists serves all requests.
 */
import { isMainThread, workerData } from "node:worker_threads";
import { SaltworksError } from "../../errors.ts";
import { fileServerSettings } from "../../fileserver/backends/contract/settings.ts";
import { FileServer } from "../../fileserver/file-server.ts";
import type { PushRefusal } from "../../fileserver/pushed/usage.ts";
import { DecodeBudget } from "../../wire/decoder.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import type { Encodable } from "../../wire/values.ts";
import { Complaints } from "../complaints.ts";
import { answerForMeasures } from "../measures/lane-measures.ts";
import type { FileResult, FileStart, FileTask, KeptAnswer } from "../messages/lanes.ts";
import { pythonFilesOf, updatePython } from "../python-files.ts";
import type { LaneStart } from "../threads/lane-pool.ts";
import { nameLaneThread } from "../threads/name.ts";
import { countTurns } from "../threads/turns.ts";
import { transferring } from "../threads/worker-pool.ts";

if (isMainThread) throw new SaltworksError("WORKER_LOST", "workers/lanes/file-lane.ts runs in a worker thread only");

const { config, environment, startedThreads, turns } = workerData as FileStart & LaneStart;
answerForMeasures(nameLaneThread("files", startedThreads));
countTurns(turns);
const complaints = new Complaints();
const server = new FileServer(fileServerSettings(config, environment, pythonFilesOf(config, environment, complaints)));
server.countPushed();
updatePython(config, server, complaints);

export default async function handle({ cmd, load, id }: FileTask): Promise<FileResult> {
  const request = decode(load, "text", DecodeBudget.ofRequest());
  let refusedBy: PushRefusal | undefined;
  const ahead: KeptAnswer[] = [];
  let isPart = false;
  const heard = {
    onPushRefused: (bound: PushRefusal) => {
      refusedBy = bound;
    },
    onPart: () => {
      isPart = true;
    },
    onAhead: (key: string, next: Encodable) => void ahead.push({ key, answer: Uint8Array.from(encode(next, "raw")) }),
  };
  const value = await server.answer(cmd, request instanceof Map ? request : new Map(), id, heard);
  // Copied, because small encodings share a block, which cannot be transferred.
  const answer = Uint8Array.from(encode(value, "raw"));
  const push = cmd === "_file_recv" ? { push: { refusedBy, total: server.pushed } } : {};
  const told = complaints.take();
  return transferring({ answer, ahead, isPart, ...push, ...(told.length > 0 && { complaints: told }) }, answer.buffer);
}
