import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  fileAnswerFreshMs,
  fileAnswerKeptBytesMax,
  fileAnswerOfRunMs,
  fileAnswersKeptBytesMax,
} from "../../../src/limits.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import { mapEntries } from "../../../src/wire/walk.ts";
import type { KeptAnswer } from "../../../src/workers/messages/lanes.ts";
import type { Opened } from "../../../src/workers/requests/context.ts";
import { handleFiles } from "../../../src/workers/requests/files.ts";
import { FileEpoch } from "../../../src/workers/state/file-epoch.ts";
import { KeptFileAnswers } from "../../../src/workers/state/kept-file-answers.ts";
import type { WorkerState } from "../../../src/workers/state/worker-state.ts";

const answer = (bytes = 4) => new Uint8Array(bytes).fill(7);

const minion = "web1";
/** A request in the first epoch. */
const at = (askedMs: number, epoch = 0) => ({ askedMs, epoch });
const open = () => new KeptFileAnswers({ present: 0 });
const keep = (kept: KeptFileAnswers, one: KeptAnswer, askedMs: number, nowMs: number, isPart = false) =>
  kept.keep({ answers: [one], asked: at(askedMs), isPart }, nowMs);

describe("kept answers to requests for files", () => {
  it("serve every minion while they are fresh, counted from the request", () => {
    const kept = open();
    keep(kept, { key: "a", answer: answer() }, 1_000, 1_100);
    const lastMs = 1_000 + fileAnswerFreshMs - 1;
    for (const id of [minion, undefined]) assert.deepEqual(kept.find("a", id, at(lastMs, 1)), answer());
    kept.noteRun("web2", lastMs);
    assert.deepEqual(kept.find("a", "web2", at(lastMs)), answer());
    assert.equal(kept.find("b", minion, at(1_100)), undefined);
  });

  it("serve minions longer that began their run before the request, if nothing was published since", () => {
    const kept = open();
    keep(kept, { key: "a", answer: answer() }, 1_000, 1_100);
    kept.noteRun("web2", 999);
    kept.noteRun("web3", 1_001);
    const [soonMs, lastMs] = [1_000 + fileAnswerFreshMs, 1_000 + fileAnswerOfRunMs - 1];
    // A minion that this worker knows no run of began it long before.
    for (const id of [minion, "web2"]) {
      assert.deepEqual(kept.find("a", id, at(lastMs)), answer());
      assert.equal(kept.find("a", id, at(soonMs, 1)), undefined, "after a publish");
      assert.equal(kept.find("a", id, at(lastMs + 1)), undefined);
    }
    assert.equal(kept.find("a", "web3", at(soonMs)), undefined, "the minion began after the request");
    assert.equal(kept.find("a", undefined, at(soonMs)), undefined, "the minion is not known");
    kept.noteRun("web2", soonMs);
    assert.equal(kept.find("a", "web2", at(soonMs)), undefined, "the minion began again");
    kept.forgetOld(lastMs);
    assert.equal(kept.bytes, 4);
    kept.forgetOld(lastMs + 1);
    assert.equal(kept.bytes, 0);
  });

  it("serve no longer if they tell a part of a file, whose rest may have changed", () => {
    const kept = open();
    keep(kept, { key: "a", answer: answer() }, 1_000, 1_100, true);
    assert.deepEqual(kept.find("a", minion, at(1_000 + fileAnswerFreshMs - 1)), answer());
    assert.equal(kept.find("a", minion, at(1_000 + fileAnswerFreshMs)), undefined);
  });

  it("are not replaced by the answer to an older request", () => {
    const kept = open();
    keep(kept, { key: "a", answer: answer(1) }, 1_000, 1_000);
    keep(kept, { key: "a", answer: answer(2) }, 900, 1_010);
    assert.equal(kept.find("a", minion, at(1_020))?.length, 1);
  });

  it("are not kept for a request that a former thread of the worker got, whose clock began earlier", () => {
    const kept = open();
    keep(kept, { key: "a", answer: answer() }, 90_000, 1_000);
    assert.equal(kept.find("a", minion, at(1_000)), undefined);
    assert.equal(kept.find("a", minion, at(90_001)), undefined);
  });

  it("are bounded, each and all", () => {
    const kept = open();
    keep(kept, { key: "large", answer: answer(fileAnswerKeptBytesMax + 1) }, 0, 0);
    assert.equal(kept.bytes, 0);
    const count = fileAnswersKeptBytesMax / fileAnswerKeptBytesMax + 1;
    for (let index = 0; index < count; index += 1)
      keep(kept, { key: `${index}`, answer: answer(fileAnswerKeptBytesMax) }, 0, 0);
    assert.equal(kept.bytes, fileAnswersKeptBytesMax);
    assert.equal(kept.find("0", minion, at(1)), undefined);
    assert.notEqual(kept.find("1", minion, at(1)), undefined);
  });
});

/** A request as a worker has opened it. */
function opened(members: { readonly [name: string]: string | number }, id = "web1"): Opened {
  const load = encode(members, "raw");
  const entries = mapEntries(load, 16);
  return {
    cmd: String(members.cmd),
    id,
    load,
    entries,
    version: 3,
    isProven: true,
    replyNonce: "n",
  } as unknown as Opened;
}

describe("a request for a file", () => {
  const counts: string[] = [];
  const fileEpoch = new FileEpoch(FileEpoch.memory());
  const worker = {
    fileEpoch,
    fileAnswers: new KeptFileAnswers(fileEpoch),
    count: (name: string) => counts.push(name),
  } as unknown as WorkerState;

  it("goes to the lane once, then the worker answers it to every minion", () => {
    const asked = { cmd: "_file_hash", path: "a", saltenv: "base" };
    const first = handleFiles(worker, opened(asked));
    assert.ok("deferred" in first && first.deferred.kind === "files" && first.deferred.kept !== undefined);
    const { key, asked: time } = first.deferred.kept;
    worker.fileAnswers.keep({ answers: [{ key, answer: answer() }], asked: time, isPart: false }, time.askedMs);
    assert.deepEqual(handleFiles(worker, opened(asked, "web2")), { packed: answer() });
    assert.deepEqual(counts, ["files.answeredFromMemory"]);
    for (const other of [{ path: "b" }, { saltenv: "dev" }, { cmd: "_file_find" }, { loc: 1 }, { gzip: 5 }])
      assert.ok("deferred" in handleFiles(worker, opened({ ...asked, ...other })), JSON.stringify(other));
  });

  it("that changes something is never answered from memory, and begins an epoch for all workers", () => {
    const before = fileEpoch.present;
    const push = handleFiles(worker, opened({ cmd: "_file_recv", path: "a", loc: 0 }));
    assert.ok("deferred" in push && push.deferred.kind === "files");
    assert.equal(push.deferred.kept, undefined);
    assert.equal(fileEpoch.present, before + 1);
  });
});
