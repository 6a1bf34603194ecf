/** Processes of orchestrations: their bound, their deaths, and their end with the master. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import type { MasterConfig } from "../../../src/config/load.ts";
import { orchestrationsMax } from "../../../src/limits.ts";
import { Orchestrations } from "../../../src/master/orchestrations/orchestrations.ts";
import { decode } from "../../../src/wire/msgpack.ts";

const entry = fileURLToPath(new URL("stub-process.js", import.meta.url));

describe("Orchestrations", { timeout: 120_000 }, () => {
  const config = { max_event_size: 1_000 } as MasterConfig;
  const orchestrations = new Orchestrations({ config, entry });
  const run = (fun: string) =>
    orchestrations.run(fun, [], new Map(), { kind: "runner", jid: "20260101", tag: "", user: "" });
  after(() => orchestrations.close());

  it("gives the answer of the process", async () => {
    const { value, success } = await run("answer");
    assert.deepEqual([decode(value), success], ["20260101", true]);
    assert.deepEqual(orchestrations.counts, { running: 0, refused: 0 });
  });

  it("fails with a process that ends without an answer", async () => {
    await assert.rejects(run("die"), { code: "WORKER_LOST", message: /ended with code 7/ });
    assert.equal(orchestrations.counts.running, 0);
  });

  it("refuses one over the bound, counts it, and ends all with the master", async () => {
    const waiting = Array.from({ length: orchestrationsMax }, () =>
      assert.rejects(run("wait"), { code: "CHANNEL_CLOSED" }),
    );
    await assert.rejects(run("answer"), { code: "QUEUE_FULL" });
    assert.deepEqual(orchestrations.counts, { running: orchestrationsMax, refused: 1 });
    orchestrations.close();
    await Promise.all(waiting);
    assert.equal(orchestrations.counts.running, 0);
    await assert.rejects(run("answer"), { code: "CHANNEL_CLOSED" });
  });
});
