/** A follower of a stream that loses what it had, without a server. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { StreamFollower } from "../../../src/cluster/returns/follower.ts";
import { fakeStream } from "./fake-stream.ts";

describe("a follower of a stream", () => {
  it("goes back if the stream ends before its place, and says since when it lacks messages", async () => {
    const { state, starts, opened, clients } = fakeStream();
    Object.assign(state, { first_seq: 3, last_seq: 9 });
    const losses: number[] = [];
    const follower = new StreamFollower({
      ...{ clients, name: "stream" },
      place: { created: "once", sequence: 9 },
      take: () => () => Promise.resolve(),
      onNew: () => assert.fail("the stream is the same"),
      onLoss: (sinceMs) => losses.push(sinceMs),
      onFault: (error) => assert.fail(String(error)),
    });
    await once(opened, "start");
    state.last_seq = 5;
    const reopened = once(opened, "start");
    await follower.look();
    await reopened;
    assert.deepEqual(starts, [10, 6]);
    assert.deepEqual(losses, [Date.parse("2026-11-29T10:00:00.123Z")]);
    assert.deepEqual([follower.place, follower.counters.lost], [{ created: "once", sequence: 5 }, 0]);
    await follower.close();
  });
});
