/**
 * Requests for the master's files. The file lane answers them, because disks are slow; the worker answers what another minion has just asked.
 * docs/protocol.md section 7.1, docs/decisions/0035-file-answers.md.
 */
import { answerKey, readingCommands } from "../../fileserver/answer-key.ts";
import type { WorkerState } from "../state/worker-state.ts";
import type { Answer, Opened } from "./context.ts";
import { isCollection, scalarOf } from "./fields.ts";
import { replySeal } from "./reply-seal.ts";

export const fileCommands: ReadonlySet<string> = new Set([...readingCommands, "_file_recv"]);

/** Copies the load, because a view would clone the whole batch's memory to the other thread. */
export function handleFiles(worker: WorkerState, opened: Opened): Answer {
  const { cmd, id, isProven, load, entries } = opened;
  // A list or map counts as absent elsewhere, but another answer may hang on it.
  const key = answerKey(cmd, (member) =>
    isCollection(load, entries, member) ? null : scalarOf(load, entries, member),
  );
  const asked = worker.fileAnswers.now();
  const packed = key === undefined ? undefined : worker.fileAnswers.find(key, id, asked);
  if (packed !== undefined) {
    worker.count("files.answeredFromMemory");
    return { packed };
  }
  const task = { cmd, load: Uint8Array.from(load), id: isProven ? id : undefined };
  const kept = key === undefined ? {} : { kept: { key, asked } };
  if (cmd === "_file_recv") worker.fileEpoch.advance();
  return { deferred: { kind: "files", task, id: id ?? "", seal: replySeal(worker, opened), ...kept } };
}
