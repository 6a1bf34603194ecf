/** A sample return and a sample load for tests of job caches. */
import type { LoadRecord, ReturnRecord } from "../../src/store/jobs/job-cache.ts";
import { encode } from "../../src/wire/msgpack.ts";

export function returnOf(jobId: string, minionId: string, value: unknown = true): ReturnRecord {
  const body = encode(
    { cmd: "_return", id: minionId, success: true, return: value as string, retcode: 0, jid: jobId, fun: "test.ping" },
    "bin",
  );
  return { jid: jobId, minionId, body };
}

export function loadOf(jobId: string, minions: string[] = ["a", "b"], more: Partial<LoadRecord> = {}): LoadRecord {
  return {
    jid: jobId,
    load: encode({ cmd: "publish", tgt: "*", fun: "test.ping", jid: jobId }, "bin"),
    minions,
    ...more,
  };
}
