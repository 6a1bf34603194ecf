/** A job's question to its minion's scheduler gets an answer even if the minion is busy. */
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { join } from "node:path";
import { it } from "node:test";
import { fileURLToPath } from "node:url";
import { MinionBus } from "../../../src/minion/bus/minion-bus.ts";
import { manageTag } from "../../../src/minion/schedule/scheduler.ts";
import { makeSetting } from "../setting.ts";

const asker = fileURLToPath(new URL("./asker.js", import.meta.url));
/** Long enough for the other process to connect and ask. */
const busyMs = 500;

it("a minion that was busy while a job connected answers its question to the scheduler", {
  timeout: 60_000,
}, async () => {
  const { config, directory, log, remove } = makeSetting();
  const bus = await MinionBus.open({
    config,
    log,
    onEvent: (tag, data) => {
      if (tag !== manageTag) return;
      bus.fire("/salt/minion/minion_schedule_list_complete", { schedule: {}, request: data.get("request") ?? null });
    },
  });
  const said: unknown[] = [];
  const child = fork(asker, [join(directory, "etc"), directory]);
  child.on("message", (message) => {
    said.push(message);
    if (message === "begins") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, busyMs);
  });
  const code = await new Promise((resolve) => child.once("exit", resolve));
  await bus.close();
  await remove();
  assert.equal(code, 0);
  assert.deepEqual(said, ["begins", "answered"]);
});
