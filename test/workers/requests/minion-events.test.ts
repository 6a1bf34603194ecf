import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { minionEventBytesMax, minionEventsMax } from "../../../src/limits.ts";
import { decodeEvent, FrameReader } from "../../../src/wire/event.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import { encodeSealedRequest } from "../../../src/wire/request.ts";
import type { Encodable } from "../../../src/wire/values.ts";
import type { BatchResult } from "../../../src/workers/messages/batch.ts";
import { acceptMinion, nonce, openWorkerState, replyOf, sealedFrame, sealedLoad } from "../open-worker-state.ts";

const jid = "20261120155553885300";

async function open(options = {}) {
  const bench = openWorkerState(options);
  const crypticle = await acceptMinion(bench, "web1");
  const send = async (load: Record<string, Encodable>) => {
    const sealed = sealedLoad("web1", { cmd: "_minion_event", ...load });
    const result = await bench.send(sealedFrame(crypticle.seal(sealed), "web1"));
    const reply = decode(replyOf(result), "bytes");
    assert.ok(reply instanceof Uint8Array);
    assert.equal(decode(crypticle.open(reply, nonce)), null, "the minion has an answer");
    return result;
  };
  return { bench, send };
}

function fired({ buffer, eventsStart }: BatchResult) {
  const frames = new FrameReader().frames(new Uint8Array(buffer, eventsStart));
  return frames.map(({ body, isMasters }) => ({ ...decodeEvent(body), isMasters }));
}

describe("events of a minion that means harm", () => {
  it("cannot carry another minion's result in any of the three forms", async () => {
    const { bench, send } = await open();
    const data = { id: "web2", jid, return: "forged", retcode: 0, success: true, fun: "cmd.run" };
    const tag = `salt/job/${jid}/ret/web2`;
    const loads: Record<string, Encodable>[] = [
      { tag, data, ...data, id: "web1" },
      { events: [{ tag, data }] },
      { events: [{ tag: `/salt//job/${jid}/ret/web2/`, data }] },
      { events: [{ tag: "web2", data }], pretag: `salt/job/${jid}/ret` },
      { events: [{ tag: "/ret/web2", data }], pretag: `salt//job//${jid}/` },
      { events: [{ tag: `salt/job/${jid}/prog/web1/1`, data }] },
      { events: [{ tag: `salt/job/${jid}/prog/web1/1`, data: { minions: ["ghost"] } }] },
    ];
    for (const load of loads) {
      const tags = fired(await send(load)).map((event) => event.tag);
      assert.deepEqual(
        tags.filter((fired) => fired !== "web2" && fired !== "/ret/web2"),
        [],
      );
    }
    assert.ok((bench.worker.counters["events.forbiddenTag"] ?? 0) >= loads.length);
  });

  it("never bear the master's mark, which its own do", async () => {
    const { bench, send } = await open({ minion_event_tags: "salt" });
    const result = await send({ events: [{ tag: `salt/job/${jid}/ret/web2`, data: { head: { master: true } } }] });
    assert.deepEqual(
      fired(result).map(({ tag, isMasters }) => [tag, isMasters]),
      [[`salt/job/${jid}/ret/web2`, false]],
    );
    const crypticle = await acceptMinion(bench, "web2");
    const load = { cmd: "_return", success: true, return: true, retcode: 0, jid, fun: "test.ping", fun_args: [] };
    const own = await bench.send(sealedFrame(crypticle.seal(sealedLoad("web2", load)), "web2"));
    assert.deepEqual(
      fired(own).map(({ isMasters }) => isMasters),
      [true],
    );
  });

  it("about a minion need its token, where older requests are allowed", async () => {
    const { bench } = await open({ minimum_auth_version: 0 });
    await acceptMinion(bench, "web2");
    const ask = async (tag: string) => {
      const load = encode({ cmd: "_minion_event", id: "web2", tag, data: {} }, "raw");
      const sealed = encodeSealedRequest(bench.worker.current.seal(load), { version: 2 });
      return fired(await bench.send(sealed)).map((event) => event.tag);
    };
    assert.deepEqual(await ask("my/tag"), ["my/tag"]);
    for (const tag of ["salt/minion/web2/start", "salt/beacon/web2/load/", "minion_start", `salt/job/${jid}/ret/web2`])
      assert.deepEqual(await ask(tag), [], tag);
  });

  it("name in their data the minion that their tag names", async () => {
    const { send } = await open();
    const tags = ["salt/beacon/web1/load/", "minion_start", "mine/own"];
    const result = await send({ events: tags.map((tag) => ({ tag, data: { id: "web2" } })) });
    assert.deepEqual(
      fired(result).map(({ tag, data }) => [tag, data.get("id")]),
      [
        ["salt/beacon/web1/load/", "web1"],
        ["minion_start", "web1"],
        ["mine/own", "web2"],
      ],
    );
  });

  it("name it also where the tag gets its minion from the pretag, and an event of a free tag says what the minion says", async () => {
    const { send } = await open();
    const data = { id: "web2" };
    const ofStart = await send({ events: [{ tag: "web1/start", data }], pretag: "salt/minion" });
    const ofMine = await send({ events: [{ tag: "minion_start", data }], pretag: "mine" });
    assert.deepEqual(
      [...fired(ofStart), ...fired(ofMine)].map(({ tag, data }) => [tag, data.get("id")]),
      [
        ["web1/start", "web2"],
        ["salt/minion/web1/start", "web1"],
        ["minion_start", "web1"],
        ["mine/minion_start", "web2"],
      ],
    );
  });

  it("are dropped beyond the bounds of one request, logged and counted", async () => {
    const { bench, send } = await open();
    const many = Array.from({ length: minionEventsMax + 500 }, () => ({ tag: "t" }));
    const result = await send({ events: many });
    assert.equal(result.eventCount, minionEventsMax);
    assert.equal(bench.worker.counters["events.overRequest"], 500);
    assert.deepEqual(
      result.refusals.map(({ id }) => id),
      ["web1"],
    );
    assert.match(result.refusals[0]?.text ?? "", /dropped beyond at most 1000 events, .* 500 here/);
    const large = Array.from({ length: 100 }, () => ({ tag: "t", data: { x: "y".repeat(100_000) } }));
    const bytes = (await send({ events: large })).buffer.byteLength;
    assert.ok(bytes < minionEventBytesMax + 10_000, `${bytes}`);
    assert.ok(bytes > minionEventBytesMax - 200_000, `${bytes}`);
  });

  it("are bounded alone, too: a map of many small values, which trimming leaves as it is", async () => {
    const { bench, send } = await open();
    const data = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`k${index}`, "y".repeat(100)]));
    assert.equal((await send({ tag: "t", data })).eventCount, 0);
    assert.equal(bench.worker.counters["events.overRequest"], 1);
  });

  it("leave a few lines in the log however many there are", async () => {
    const { send } = await open();
    const events = Array.from({ length: 1_000 }, (_, index) => ({ tag: `salt/key/\n${index}${"x".repeat(500)}` }));
    const { refusals } = await send({ events });
    assert.ok(refusals.length <= 4 && refusals.length > 0);
    for (const { text } of refusals)
      assert.match(text, /^Filtering blacklisted event tag salt\/key\/\?[0-9]+x{50,200}$/);
  });
});
