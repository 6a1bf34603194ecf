import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fileAnswerFreshMs, fileAnswerKeptBytesMax, fileAnswersKeptBytesMax } from "../../../src/limits.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import { mapEntries } from "../../../src/wire/walk.ts";
import type { Opened } from "../../../src/workers/requests/context.ts";
import { handleFiles } from "../../../src/workers/requests/files.ts";
import { KeptFileAnswers } from "../../../src/workers/state/kept-file-answers.ts";
import type { WorkerState } from "../../../src/workers/state/worker-state.ts";

const answer = (bytes = 4) => new Uint8Array(bytes).fill(7);

describe("kept answers to requests for files", () => {
  it("serve while they are fresh, counted from the request", () => {
    const kept = new KeptFileAnswers();
    kept.keep([{ key: "a", answer: answer() }], 1_000, 1_100);
    assert.deepEqual(kept.find("a", 1_000 + fileAnswerFreshMs - 1), answer());
    assert.equal(kept.find("a", 1_000 + fileAnswerFreshMs), undefined);
    assert.equal(kept.find("b", 1_100), undefined);
    kept.forgetOld(1_000 + fileAnswerFreshMs);
    assert.equal(kept.bytes, 0);
  });

  it("are not replaced by the answer to an older request", () => {
    const kept = new KeptFileAnswers();
    kept.keep([{ key: "a", answer: answer(1) }], 1_000, 1_000);
    kept.keep([{ key: "a", answer: answer(2) }], 900, 1_010);
    assert.equal(kept.find("a", 1_020)?.length, 1);
  });

  it("are not kept for a request that a former thread of the worker got, whose clock began earlier", () => {
    const kept = new KeptFileAnswers();
    kept.keep([{ key: "a", answer: answer() }], 90_000, 1_000);
    assert.equal(kept.find("a", 1_000), undefined);
    assert.equal(kept.find("a", 90_001), undefined);
  });

  it("are bounded, each and all", () => {
    const kept = new KeptFileAnswers();
    kept.keep([{ key: "large", answer: answer(fileAnswerKeptBytesMax + 1) }], 0, 0);
    assert.equal(kept.bytes, 0);
    const count = fileAnswersKeptBytesMax / fileAnswerKeptBytesMax + 1;
    for (let index = 0; index < count; index += 1)
      kept.keep([{ key: `${index}`, answer: answer(fileAnswerKeptBytesMax) }], 0, 0);
    assert.equal(kept.bytes, fileAnswersKeptBytesMax);
    assert.equal(kept.find("0", 1), undefined);
    assert.notEqual(kept.find("1", 1), undefined);
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
  const worker = {
    fileAnswers: new KeptFileAnswers(),
    count: (name: string) => counts.push(name),
  } as unknown as WorkerState;

  it("goes to the lane once, then the worker answers it to every minion", () => {
    const asked = { cmd: "_file_hash", path: "a", saltenv: "base" };
    const first = handleFiles(worker, opened(asked));
    assert.ok("deferred" in first && first.deferred.kind === "files" && first.deferred.kept !== undefined);
    const { key, askedMs } = first.deferred.kept;
    worker.fileAnswers.keep([{ key, answer: answer() }], askedMs, askedMs);
    assert.deepEqual(handleFiles(worker, opened(asked, "web2")), { packed: answer() });
    assert.deepEqual(counts, ["files.answeredFromMemory"]);
    for (const other of [{ path: "b" }, { saltenv: "dev" }, { cmd: "_file_find" }, { loc: 1 }, { gzip: 5 }])
      assert.ok("deferred" in handleFiles(worker, opened({ ...asked, ...other })), JSON.stringify(other));
  });

  it("that changes something is never answered from memory", () => {
    const push = handleFiles(worker, opened({ cmd: "_file_recv", path: "a", loc: 0 }));
    assert.ok("deferred" in push && push.deferred.kind === "files");
    assert.equal(push.deferred.kept, undefined);
  });
});
