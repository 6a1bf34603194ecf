/** The bench starts a master although its own environment has variables that a daemon refuses. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { startOurMaster } from "../../fleet/our-master.ts";

it("a master of the bench starts though NODE_OPTIONS are for the program that starts it", async () => {
  const { NODE_OPTIONS: before } = process.env;
  process.env.NODE_OPTIONS = "--max-old-space-size=4096";
  try {
    const master = await startOurMaster(1, {});
    assert.ok(master.processId > 0);
    await master.remove();
  } finally {
    if (before === undefined) delete process.env.NODE_OPTIONS;
    else process.env.NODE_OPTIONS = before;
  }
});
