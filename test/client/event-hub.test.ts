import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { EventHub } from "../../src/client/event-hub.ts";
import { decodeEvent } from "../../src/wire/event.ts";
import { FakeMaster } from "./fake-master.ts";

describe("the connection to the event bus", () => {
  let master: FakeMaster;
  let hub: EventHub;
  beforeEach(async () => {
    master = await FakeMaster.start({});
    hub = new EventHub(master.config);
  });
  afterEach(async () => {
    hub.close();
    await master.stop();
  });

  it("tells watchers of a gap when the master dropped events for it, but only on the master's own word", async () => {
    const seen: string[] = [];
    const last = new Promise<void>((resolve) => {
      hub.watch(
        (body) => {
          const { tag } = decodeEvent(body);
          seen.push(tag);
          if (tag === "last") resolve();
        },
        () => seen.push("gap"),
      );
    });
    await hub.tried();
    master.fire("first", {});
    master.fire("saltworks/events/lost", { count: 3 });
    master.fireForMinion("saltworks/events/lost", { count: 3 });
    master.fire("last", {});
    await last;
    assert.deepEqual(seen, ["first", "gap", "saltworks/events/lost", "last"]);
  });
});
