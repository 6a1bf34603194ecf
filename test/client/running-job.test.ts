/** A client that lost the event of its job's end must not wait for ever. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { type JobEnd, JobFeed } from "../../src/client/job-feed.ts";
import { type JobEvent, type JobLookup, RunningJob } from "../../src/client/running-job.ts";
import { SaltworksError } from "../../src/errors.ts";
import type { Value } from "../../src/wire/values.ts";
import { FakeMaster } from "./fake-master.ts";

const jid = "20261121070000123456";
const minions = ["a", "b", "c"];

describe("RunningJob, when nothing is heard for a while", () => {
  let master: FakeMaster;
  let feed: JobFeed;
  beforeEach(async () => {
    master = await FakeMaster.start({});
    const room = { bytesMax: 1_000_000, earlyEventsMax: 100, silenceMs: 20 };
    feed = await JobFeed.open(join(master.config.sock_dir, "master_event_pub.ipc"), room);
    feed.follow(jid);
  });
  afterEach(async () => {
    feed.close();
    await master.stop();
  });

  async function eventsWith(reader: Partial<JobLookup>, mayGrow = false): Promise<JobEvent[]> {
    const nothing = { returns: async () => new Map(), end: async () => "running" as const };
    const published = {
      jid,
      minions,
      missing: [],
      reasons: new Map<string, string>(),
      waitsUntilMs: undefined,
      mayGrow,
    };
    const job = new RunningJob(published, feed, { ...nothing, ...reader });
    const told: JobEvent[] = [];
    for await (const event of job.events()) told.push(event);
    return told;
  }
  const stored = (value: Value) => new Map<Value, Value>([["return", value]]);
  const returned = (id: string, value: Value): JobEvent => ({
    kind: "return",
    id,
    value,
    retcode: 0,
    outputter: undefined,
  });

  it("asks the master, again while it runs or the master is busy, and takes its word for the end", async () => {
    let asked = 0;
    const end: JobEnd = {
      kind: "done",
      returned: ["a", "b"],
      silent: new Map([["c", "Not connected"]]),
      reasons: new Map([["c", "key not accepted"]]),
    };
    const told = await eventsWith({
      returns: async (_, ids) => new Map(ids.map((id) => [id, stored(`of ${id}`)])),
      end: async () => {
        asked += 1;
        if (asked === 1) throw new SaltworksError("REQUEST_TIMEOUT", "busy");
        if (asked === 2) throw new SaltworksError("REQUEST_REFUSED", "QUEUE_FULL");
        return asked < 4 ? "running" : end;
      },
    });
    assert.equal(asked, 4);
    assert.deepEqual(told, [
      returned("a", "of a"),
      returned("b", "of b"),
      { kind: "silent", id: "c", reason: "Not connected", detail: "key not accepted" },
    ]);
  });

  it("waits for the master's word, also with all returns, while lower masters may add minions", async () => {
    const returnedIds = [...minions, "below"];
    for (const id of returnedIds) master.fireReturn(jid, id, true);
    const end: JobEnd = { kind: "done", returned: returnedIds, silent: new Map(), reasons: new Map() };
    const told = await eventsWith({ end: async () => end }, true);
    assert.deepEqual(
      told,
      returnedIds.map((id) => returned(id, true)),
    );
  });

  it("fetches lost returns one by one where they are too large together", async () => {
    const asked: string[] = [];
    const told = await eventsWith({
      returns: async (_, ids) => {
        asked.push(ids.join(","));
        return ids.length > 1 ? undefined : new Map(ids.map((id) => [id, stored(id)]));
      },
      end: async () => ({ kind: "done", returned: minions, silent: new Map(), reasons: new Map() }),
    });
    assert.deepEqual(asked, ["a,b,c", "a", "b", "c"]);
    assert.deepEqual(
      told,
      minions.map((id) => returned(id, id)),
    );
  });

  it("asks no more once it is not let in, and takes the event that comes after all", async () => {
    let asked = 0;
    const told = await eventsWith({
      end: async () => {
        asked += 1;
        // The feed stays silent three more times before the other returns come.
        setTimeout(() => {
          for (const id of minions) master.fireReturn(jid, id, true);
        }, 80);
        throw new SaltworksError("AUTH_FAILED", "a password for one time");
      },
    });
    assert.equal(asked, 1);
    assert.deepEqual(
      told,
      minions.map((id) => returned(id, true)),
    );
  });

  it("accepts an answer without returns, and asks about no minion alone", async () => {
    const asked: string[] = [];
    await eventsWith({
      returns: async (_, ids) => {
        asked.push(ids.join(","));
        return new Map();
      },
      end: async () => "unknown",
    });
    assert.deepEqual(asked, ["a,b,c"]);
  });

  it("takes what is stored where the master has forgotten the job", async () => {
    master.fireReturn(jid, "a", true);
    const told = await eventsWith({
      returns: async () => new Map([["b", stored(2)]]),
      end: async () => "unknown",
    });
    assert.deepEqual(told, [returned("a", true), returned("b", 2), { kind: "silent", id: "c", reason: "No response" }]);
  });
});
