import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { serverMemory } from "../../../src/cli/daemon/server-memory.ts";

const gibibyte = 2 ** 30;
/** What Node says of a machine that bounds nothing. */
const unconstrained = 2 ** 64;

describe("the memory of a member's nats-server", () => {
  it("is half of a small machine's, and 4 GiB of a large one's", () => {
    for (const [machine, most] of [
      [1, 0.5],
      [6, 3],
      [64, 4],
    ] as const)
      assert.equal(serverMemory(machine * gibibyte, unconstrained, {}).bytesMax, most * gibibyte);
  });

  it("is half of what a container may have", () => {
    assert.equal(serverMemory(64 * gibibyte, 2 * gibibyte, {}).bytesMax, gibibyte);
    assert.equal(serverMemory(2 * gibibyte, 0, {}).bytesMax, gibibyte);
  });

  it("is collected below its bound, unless the operator says when", () => {
    const { environment } = serverMemory(gibibyte, unconstrained, {});
    assert.equal(environment.GOMEMLIMIT, String(gibibyte * (5 / 16)));
    assert.deepEqual(serverMemory(gibibyte, unconstrained, { GOMEMLIMIT: "1GiB" }).environment, {});
  });
});
