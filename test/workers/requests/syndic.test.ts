import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadMembersMax, syndicEventsMax, syndicJobsMax, syndicReturnsMax } from "../../../src/limits.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import { encodeSealedRequest } from "../../../src/wire/request.ts";
import type { Encodable } from "../../../src/wire/values.ts";
import {
  acceptMinion,
  eventsOf,
  nonce,
  openWorkerState,
  replyOf,
  returnTags,
  sealedFrame,
  sealedLoad,
} from "../open-worker-state.ts";

const jid = "20261120155553885300";
const below = { return: true, retcode: 0, success: true, fun_args: [] };
const jobOf = (members: Record<string, Encodable> = {}) => ({
  ...{ id: "low", jid, fun: "test.ping", arg: null, tgt: null, tgt_type: null, load: {} },
  return: { leaf1: below },
  ...members,
});

async function open(options = {}) {
  const bench = openWorkerState({ order_masters: true, ...options });
  const crypticle = await acceptMinion(bench, "low");
  const send = async (load: Record<string, Encodable>, isHeard = true) => {
    const frame = sealedFrame(crypticle.seal(sealedLoad("low", load)), "low");
    const result = await bench.send(frame, undefined, isHeard);
    assert.equal(decode(crypticle.open(decode(replyOf(result), "bytes") as Uint8Array, nonce)), null);
    return result;
  };
  const sendJobs = (load: Encodable) => send({ cmd: "_syndic_return", load });
  const sendEvents = (events: Encodable, isHeard = true) =>
    send({ cmd: "_minion_event", events, pretag: "syndic/low" }, isHeard);
  const count = (name: string) => bench.worker.counters[name] ?? 0;
  return { bench, sendJobs, sendEvents, count };
}

describe("returns of a syndic", () => {
  it("become events and records of the minions, as from Salt's master", async () => {
    const { bench, sendJobs } = await open();
    const failed = { return: "no", retcode: 3, success: false, fun_args: ["x"] };
    const result = await sendJobs([
      jobOf({ return: { leaf1: below, leaf2: failed }, master_id: "top", out: "nested" }),
    ]);
    assert.deepEqual(returnTags(result), [`salt/job/${jid}/ret/leaf1`, `salt/job/${jid}/ret/leaf2`]);
    assert.deepEqual([result.returnEvents[2], result.returnEvents[5]], [0, 1]);
    const [, second] = eventsOf(result);
    const { _stamp, ...fields } = Object.fromEntries(second?.data ?? []);
    assert.deepEqual(fields, { jid, id: "leaf2", ...failed, master_id: "top", fun: "test.ping", out: "nested" });
    assert.deepEqual([...bench.memory.returns.values()].map(({ minionId }) => minionId).sort(), ["leaf1", "leaf2"]);
    assert.deepEqual(result.syndics, ["low"]);
  });

  it("come from old syndics as one job without a list", async () => {
    const { bench, sendJobs } = await open();
    await sendJobs({});
    assert.equal(bench.memory.returns.size, 0);
    const crypticle = await acceptMinion(bench, "old");
    const load = { cmd: "_syndic_return", jid, fun: "test.ping", return: { leaf1: below } };
    await bench.send(sealedFrame(crypticle.seal(sealedLoad("old", load)), "old"));
    assert.equal(bench.memory.returns.size, 1);
  });

  it("bring the load of a job that the lower master began, and leave a known one as it is", async () => {
    const { bench, sendJobs } = await open();
    const load = { fun: "test.ping", tgt: "*", user: "root", jid, key: "secret", Minions: ["leaf1"] };
    await sendJobs([jobOf({ load })]);
    const kept = bench.memory.loads.get(jid);
    assert.deepEqual(kept?.minions, ["leaf1"]);
    assert.equal((decode(kept?.load ?? encode({}, "bin")) as Map<string, unknown>).has("key"), false);
    await sendJobs([jobOf({ load: { ...load, fun: "cmd.run" }, return: { leaf2: below } })]);
    assert.deepEqual(bench.memory.loads.get(jid), kept);
  });

  it("are taken without a load that has too many members", async () => {
    const { bench, sendJobs, count } = await open();
    const members = Array.from({ length: loadMembersMax + 1 }, (_, at) => [`k${at}`, at]);
    const result = await sendJobs([jobOf({ load: Object.fromEntries(members) })]);
    assert.deepEqual(returnTags(result), [`salt/job/${jid}/ret/leaf1`]);
    assert.equal(bench.memory.returns.size, 1);
    assert.deepEqual(bench.memory.loads.get(jid)?.minions, ["leaf1"]);
    assert.equal(count("returns.malformed"), 1);
  });

  it("make a job of their own if nothing else is known of it", async () => {
    const { bench, sendJobs } = await open();
    await sendJobs([jobOf()]);
    const { minions, load } = bench.memory.loads.get(jid) ?? assert.fail();
    const fields = decode(load);
    assert.ok(fields instanceof Map);
    assert.deepEqual([minions, fields.get("fun"), fields.has("return")], [["leaf1"], "test.ping", false]);
  });

  it("cannot name another job or another minion than their place says", async () => {
    const { sendJobs, count } = await open();
    const forged = { ...below, jid: "20260101000000000000", id: "web1", _stamp: "never" };
    const [event] = eventsOf(await sendJobs([jobOf({ return: { leaf1: forged } })]));
    assert.deepEqual(
      [event?.tag, event?.data.get("jid"), event?.data.get("id")],
      [`salt/job/${jid}/ret/leaf1`, jid, "leaf1"],
    );
    assert.notEqual(event?.data.get("_stamp"), "never");
    const malformed = [
      ...[null, 7, "text", [], {}, jobOf({ jid: "../up" }), jobOf({ jid: 5 }), jobOf({ jid: "req" })],
      ...[jobOf({ return: [] }), jobOf({ return: { "a/b": below } }), jobOf({ return: { leaf1: true } })],
      ...[jobOf({ return: { leaf1: { retcode: 0 } } }), jobOf({ return: { "": below } })],
    ];
    assert.deepEqual(eventsOf(await sendJobs(malformed)), []);
    assert.equal(count("returns.malformed"), malformed.length);
  });

  it("are refused without order_masters, and without a proof of the id", async () => {
    const off = await open({ order_masters: false });
    const refused = await off.sendJobs([jobOf()]);
    assert.deepEqual([eventsOf(refused), refused.syndics, off.count("syndics.refused")], [[], [], 1]);
    assert.match(refused.refusals[0]?.text ?? "", /order_masters is off/);
    const { bench, count } = await open({ minimum_auth_version: 0 });
    const load = encode({ cmd: "_syndic_return", id: "low", load: [jobOf()] }, "raw");
    await bench.send(encodeSealedRequest(bench.worker.current.seal(load), { version: 2 }));
    assert.deepEqual([bench.memory.returns.size, count("syndics.refused")], [0, 1]);
  });

  it("are bounded: jobs and returns of one request, and the bytes of one return", async () => {
    const { bench, sendJobs, count } = await open({ job_cache_max_return_bytes: 65_536 });
    await sendJobs(Array.from({ length: syndicJobsMax + 3 }, () => jobOf({ return: {} })));
    assert.equal(count("syndics.overRequest"), 3);
    const many = Object.fromEntries(Array.from({ length: syndicReturnsMax + 2 }, (_, index) => [`l${index}`, below]));
    await sendJobs([jobOf({ return: many })]);
    assert.equal(bench.memory.returns.size, syndicReturnsMax);
    assert.equal(count("syndics.overRequest"), 5);
    await sendJobs([jobOf({ return: { large: { ...below, return: "x".repeat(70_000) } } })]);
    assert.equal(count("returns.tooLarge"), 1);
  });

  it("are not acknowledged if the store fails", async () => {
    const { bench } = await open();
    const crypticle = await acceptMinion(bench, "again");
    bench.memory.fault = new Error("no space left");
    const frame = sealedFrame(crypticle.seal(sealedLoad("again", { cmd: "_syndic_return", load: [jobOf()] })), "again");
    const result = await bench.send(frame);
    assert.deepEqual(eventsOf(result), []);
    assert.equal(bench.worker.counters["replies.withdrawn"], 1);
    bench.faults.length = 0;
  });
});

describe("events of a syndic", () => {
  it("are fired below its name, and under their own tag if a minion could fire that", async () => {
    const { sendEvents, count } = await open();
    const data = { id: "leaf1", jid };
    const tags = [
      "my/tag",
      "salt/auth",
      "salt/minion/leaf1/start",
      "minion_start",
      jid,
      `salt/job/${jid}/new`,
      "salt/run/1/new",
    ];
    const result = await sendEvents(tags.map((tag) => ({ tag, data })));
    assert.deepEqual(
      eventsOf(result).map(({ tag }) => tag),
      [
        ...["my/tag", "syndic/low/my/tag", "syndic/low/salt/auth", "syndic/low/salt/minion/leaf1/start"],
        ...["syndic/low/minion_start", `syndic/low/${jid}`],
      ],
    );
    assert.deepEqual([count("events.forbiddenTag"), count("syndics.belowOnly"), result.refusals], [0, 4, []]);
    const loose = await open({ minion_event_tags: "salt" });
    const asInSalt = eventsOf(await loose.sendEvents([{ tag: "salt/minion/leaf1/start", data }]));
    assert.deepEqual(
      asInSalt.map(({ tag, data: fields }) => [tag, fields.get("id")]),
      [
        ["salt/minion/leaf1/start", "leaf1"],
        ["syndic/low/salt/minion/leaf1/start", "leaf1"],
      ],
    );
  });

  it("tell the minions of a job, which are kept also if no client listens", async () => {
    const { bench, sendEvents } = await open();
    bench.memory.loads.set(jid, { jid, load: encode({}, "bin"), minions: ["low"] });
    const minions = ["leaf1", "leaf2"];
    for (const isHeard of [true, false]) {
      const events = [
        { tag: jid, data: { minions } },
        { tag: `salt/job/${jid}/new`, data: { jid, minions, fun: "test.ping" } },
        { tag: "no/list", data: { jid, minions: "leaf1" } },
      ];
      const result = await sendEvents(events, isHeard);
      assert.deepEqual([result.expected, result.syndics], [[{ jid, minions }], ["low"]]);
    }
    assert.deepEqual(bench.memory.loads.get(jid)?.minions, minions);
  });

  it("are heard only with ids that a minion can have", async () => {
    const { bench, sendEvents } = await open();
    const minions = ["leaf1", "../../x", "a\nb:\n    True", "\x1b]0;title\x07", ""];
    const result = await sendEvents([{ tag: jid, data: { minions } }]);
    assert.deepEqual(result.expected, [{ jid, minions: ["leaf1"] }]);
    assert.equal(bench.worker.counters["syndics.idsDropped"], 4);
  });

  it("are a minion's without order_masters, and with another pretag", async () => {
    const events = [{ tag: jid, data: { minions: ["leaf1"] } }];
    const off = await open({ order_masters: false });
    assert.deepEqual((await off.sendEvents(events)).expected, []);
    const { bench } = await open();
    const crypticle = await acceptMinion(bench, "liar");
    const load = sealedLoad("liar", { cmd: "_minion_event", events, pretag: "syndic/low" });
    const result = await bench.send(sealedFrame(crypticle.seal(load), "liar"));
    assert.deepEqual([result.expected, result.syndics, eventsOf(result)], [[], [], []]);
  });

  it("make the sender a syndic when it starts", async () => {
    const { bench } = await open();
    const crypticle = await acceptMinion(bench, "new");
    const load = sealedLoad("new", { cmd: "_minion_event", tag: "salt/syndic/new/start", data: "started" });
    assert.deepEqual((await bench.send(sealedFrame(crypticle.seal(load), "new"))).syndics, ["new"]);
  });

  it("are dropped beyond the bounds of one request, logged and counted", async () => {
    const { sendEvents, count } = await open();
    const result = await sendEvents(Array.from({ length: syndicEventsMax + 500 }, () => ({ tag: jid })));
    assert.deepEqual([result.eventCount, count("syndics.overEvents")], [syndicEventsMax, 500]);
    const large = { tag: jid, data: { x: "y".repeat(1_000_000) } };
    await sendEvents(Array.from({ length: 40 }, () => large));
    assert.equal(count("syndics.overEvents"), 500 + 40 - 33);
  });
});
