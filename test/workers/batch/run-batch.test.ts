/** One write of a batch fails while another is still under way. */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { ReturnRecord } from "../../../src/store/jobs/job-cache.ts";
import { openAutosign } from "../../../src/store/keys/autosign.ts";
import { itemKinds, packBatch } from "../../../src/workers/batch/frames.ts";
import { runBatch } from "../../../src/workers/batch/run-batch.ts";
import { acceptMinion, openWorkerState, sealedFrame, sealedLoad } from "../open-worker-state.ts";

it("keeps the memory of its returns until they are written, and acknowledges none of them", async () => {
  const bench = openWorkerState();
  const crypticle = await acceptMinion(bench, "web1");
  const { jobs, minions } = bench.worker.stores;
  let release = () => {};
  const written = new Promise<void>((resolve) => {
    release = resolve;
  });
  let seen: ReturnRecord | undefined;
  jobs.keepReturns = async ([record]) => {
    seen = record;
    await written;
    return ["stored"];
  };
  minions.putMine = async () => {
    throw new Error("no room");
  };
  const frames = [
    { cmd: "_return", jid: "20260102030405000001", fun: "test.ping", return: "held back", success: true, retcode: 0 },
    { cmd: "_mine", data: { x: 1 } },
  ].map((load) => ({
    kind: itemKinds.ordinary,
    bytes: sealedFrame(crypticle.seal(sealedLoad("web1", load)), "web1"),
  }));
  let isAnswered = false;
  const batch = runBatch(
    bench.worker,
    openAutosign(bench.config),
    { ...packBatch(frames), isHeard: true, isFollowed: true },
    (error) => bench.faults.push(error),
  ).then((result) => {
    isAnswered = true;
    return result;
  });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isAnswered, false, "its memory is another batch's as soon as it is answered");
  assert.ok(Buffer.from(seen?.body ?? []).includes("held back"));
  release();
  await batch;
  assert.match(bench.faults[0]?.message ?? "", /no room/);
  assert.equal(bench.worker.counters["replies.withdrawn"], 2);
});
