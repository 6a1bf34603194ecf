import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { within } from "../src/deadline.ts";

const never = new Promise<string>(() => undefined);
const longMs = 60_000;

function timers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
}

describe("within", () => {
  it("settles as the work does, and leaves no timer that keeps the process", async () => {
    const late = () => assert.fail("the work was done in time");
    const before = timers();
    assert.equal(await within(Promise.resolve("done"), longMs, late), "done");
    await assert.rejects(within(Promise.reject(new Error("broken")), longMs, late), /broken/);
    assert.equal(timers(), before);
  });

  it("ends the wait with what `late` returns or throws", async () => {
    assert.equal(await within(never, 1, () => "late"), "late");
    const wait = within(never, 1, () => {
      throw new Error("too late");
    });
    await assert.rejects(wait, /too late/);
  });
});
