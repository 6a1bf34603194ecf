import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { limitHeadings, limitsSource } from "../scripts/docs.ts";
import { masterOptions } from "../src/config/options/master.ts";
import * as limits from "../src/limits.ts";
import { repositoryRoot } from "./root.ts";

const source = limitsSource(repositoryRoot);

describe("limits", () => {
  it("each stand under a heading", () => {
    const headed = [...limitHeadings(source).values()].flat();
    assert.deepEqual(headed.toSorted(), Object.keys(limits).toSorted());
  });

  it("hold what options allow by default", () => {
    const byDefault = (name: keyof typeof masterOptions) => Number(masterOptions[name].default);
    for (const [what, inner, outer] of [
      ["a stranger's request fits into a worker's queue", limits.strangerQueueBytesMax, byDefault("queue_max_bytes")],
      ["one request fits into what proven connections hold", byDefault("request_max_bytes"), limits.provenHeldBytesMax],
      ["one request fits into what strangers hold", byDefault("request_max_bytes"), limits.strangersHeldBytesMax],
      [
        "both outputs of a command fit into a request",
        2 * limits.commandOutputBytesMax,
        byDefault("request_max_bytes"),
      ],
      [
        "waiting authentications of 3,200 bytes fit into their queue",
        3_200 * byDefault("auth_queue_max"),
        limits.authQueueBytesMax,
      ],
      ["the largest event fits into a frame", byDefault("max_event_size"), limits.ipcFrameBytesMax],
      [
        "a runner's event fits into a subscriber's queue",
        limits.runnerEventBytesMax,
        byDefault("event_subscriber_max_bytes"),
      ],
      ["a piece of a file fits into an answer", masterOptions.file_buffer_size.max ?? 0, limits.filePieceBytesMax],
      ["indexes fit into a worker's heap", limits.targetIndexBytesMax / 1024 / 1024, byDefault("worker_heap_mb")],
    ] as const) {
      assert.ok(inner <= outer, `${what}: ${inner} > ${outer}`);
    }
  });
});
