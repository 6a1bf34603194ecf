/** The reactor on the main thread, with a lane and commands that the test answers for. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SaltworksError } from "../../../src/errors.ts";
import type { ReactionCommands } from "../../../src/master/reactor/reactions.ts";
import { Reactor, type ReactorParts } from "../../../src/master/reactor/reactor.ts";
import { encodeEvent, frameMasterEvent } from "../../../src/wire/event.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import type { Encodable } from "../../../src/wire/values.ts";
import type { Reaction, ReactorAnswer, ReactorEvent, ReactorTask } from "../../../src/workers/messages/reactor.ts";
import { plainJson } from "../../plain.ts";

const masterKey = "the master's key";
const nothing: ReactorAnswer = { isOwn: false, reactions: [], faults: [] };
const answered = encode({ enc: "clear", load: { jid: "1", minions: ["web1"] } }, "raw");
const called = encode({ tag: "t", data: { return: 1, success: true } }, "raw");

function reaction(kind: Reaction["kind"], fun: string): Reaction {
  return { kind, id: "id", sls: "/a.sls", fun, load: encode({ fun }, "raw") };
}

/** `answer` stands for the lane. `calls`: runner calls under way, which end when the test says so. */
function opened(options: Readonly<Record<string, unknown>> = {}) {
  const events: ReactorEvent[][] = [];
  const lines: string[] = [];
  const fired: [string, unknown][] = [];
  const published: string[] = [];
  const calls: (() => void)[] = [];
  const lane = {
    answer: (_event: ReactorEvent): ReactorAnswer | Error => nothing,
    held: undefined as Promise<void> | undefined,
  };
  const bus: ReactorParts["bus"] = { reactor: undefined, fire: (tag, data) => void fired.push([tag, data]) };
  const note = (facts: object, text: string) => void lines.push(`${text} ${JSON.stringify(facts)}`);
  const run = async (task: ReactorTask) => {
    events.push([...task.events]);
    await lane.held;
    const answers = task.events.map((event) => lane.answer(event));
    const failed = answers.find((answer) => answer instanceof Error);
    if (failed !== undefined) throw failed;
    return answers;
  };
  const commands: ReactionCommands = {
    publish: async (load) => {
      published.push(String((decode(load) as Map<string, string>).get("fun")));
      return answered;
    },
    run: () => new Promise((resolve) => calls.push(() => resolve(called))),
    callHere: async (fun) => {
      if (fun === "no.such") throw new SaltworksError("FUNCTION_FAILED", "KeyError: no.such");
      published.push(`here ${fun}`);
    },
  };
  const config = {
    ...{
      id: "m",
      user: "root",
      engines: [],
      reactor_render_timeout: 5,
      reactor_worker_threads: 2,
      reactor_worker_hwm: 8,
    },
    ...{ reactor: [{ "my/*": ["/a.sls"] }, { "other/?": "/b.sls" }, "not a map"], ...options },
  } as unknown as ReactorParts["config"];
  const parts = {
    ...{ config, bus, reactions: { run }, start: { localKeys: new Map([["root", masterKey]]) } },
    logger: { warn: note, error: note, info: note },
  } as unknown as ReactorParts;
  const reactor = new Reactor(parts, commands);
  const fire = (tag: string, data: Encodable = {}) => bus.reactor?.(frameMasterEvent(encodeEvent(tag, data)));
  return { reactor, bus, lane, events, lines, fired, published, calls, fire };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("the reactor", () => {
  it("takes no frames without entries", () => {
    assert.equal(opened({ reactor: [] }).bus.reactor, undefined);
    assert.notEqual(opened({ reactor: [], engines: [{ reactor: {} }] }).bus.reactor, undefined);
  });

  it("hands over events that match, with the files of all matching entries", async () => {
    const { fire, events, lines } = opened({
      reactor: [{ "my/*": ["/a", "/b"] }, { "m[xy]/?": "/c" }, { a: 1, b: 2 }],
    });
    fire("my/1", { id: "web1" });
    fire("my/long");
    fire("yours/1");
    await settled();
    assert.deepEqual(
      events.flat().map(({ tag, files }) => [tag, files]),
      [
        ["my/1", ["/a", "/b", "/c"]],
        ["my/long", ["/a", "/b"]],
      ],
    );
    assert.deepEqual(plainJson(decode(events.flat()[0]?.data ?? new Uint8Array())), { id: "web1" });
    assert.match(lines[0] ?? "", /an entry of reactor is ignored/);
  });

  it("calls minions' functions on this machine, and logs the ones that fail", async () => {
    const { reactor, fire, lane, published, lines } = opened();
    lane.answer = () => ({ ...nothing, reactions: [reaction("caller", "test.arg"), reaction("caller", "no.such")] });
    fire("my/1");
    await settled();
    assert.deepEqual(published, ["here test.arg"]);
    assert.deepEqual(reactor.reactions.counters.caller, { done: 1, unmatched: 0, failed: 1, dropped: 0 });
    assert.match(lines.at(-1) ?? "", /a caller reaction failed .*"fun":"no.such","reason":"KeyError: no.such"/);
  });

  it("starts jobs in order, and a few calls at once", async () => {
    const { reactor, fire, lane, published, calls } = opened();
    const reactions = [reaction("local", "a.a"), ...Array.from({ length: 4 }, () => reaction("runner", "r.r"))];
    lane.answer = () => ({ ...nothing, reactions: [...reactions, reaction("local", "b.b")] });
    fire("my/1");
    await settled();
    assert.deepEqual(published, ["a.a", "b.b"]);
    assert.deepEqual([calls.length, reactor.reactions.callsWaiting], [2, 2]);
    for (const end of calls.splice(0)) end();
    await settled();
    assert.equal(calls.length, 2);
    for (const end of calls.splice(0)) end();
    await settled();
    assert.deepEqual([reactor.reactions.counters.local.done, reactor.reactions.counters.runner.done], [2, 4]);
  });

  it("drops calls and events over reactor_worker_hwm, and says so", async () => {
    const { reactor, fire, lane, lines } = opened();
    lane.answer = () => ({ ...nothing, reactions: Array.from({ length: 12 }, () => reaction("wheel", "w.w")) });
    fire("my/1");
    await settled();
    assert.equal(reactor.reactions.counters.wheel.dropped, 12 - 2 - 8);
    assert.match(lines.at(-1) ?? "", /a reaction is dropped.*"tag":"my\/1"/);
    lane.held = new Promise(() => undefined);
    for (let left = 12; left > 0; left -= 1) fire("my/2");
    // One is in the lane, and 8 wait.
    assert.deepEqual([reactor.waitingCount, reactor.counters.dropped], [8, 3]);
    assert.match(lines.at(-1) ?? "", /the reactor drops an event.*"tag":"my\/2"/);
  });

  it("does not react to its own calls", async () => {
    const { reactor, fire, lane, published } = opened();
    lane.answer = () => ({ ...nothing, isOwn: true });
    fire("my/1", { user: "Reactor" });
    await settled();
    assert.deepEqual([reactor.counters.own, reactor.counters.taken, published.length], [1, 0, 0]);
  });

  it("goes on when an event ends the thread, and lets the event's entry rest", async () => {
    const { reactor, fire, lane, published, lines, events } = opened();
    let open = () => {};
    lane.held = new Promise((resolve) => {
      open = resolve;
    });
    lane.answer = ({ tag }) =>
      tag === "my/endless"
        ? new SaltworksError("TASK_TIMEOUT", "late")
        : { ...nothing, reactions: [reaction("local", tag)] };
    fire("other/0");
    for (const tag of ["other/1", "my/endless", "my/1", "other/2"]) fire(tag);
    open();
    for (let turns = 20; turns > 0; turns -= 1) await settled();
    assert.deepEqual(published, ["other/0", "other/1", "other/2"]);
    assert.deepEqual([reactor.counters.timeouts, reactor.counters.failed], [1, 2]);
    assert.match(lines.at(-1) ?? "", /longer than reactor_render_timeout.*"tag":"my\/endless".*"resting":\["my\/\*"\]/);
    const before = events.length;
    fire("my/2");
    await settled();
    assert.equal(events.length, before);
  });

  it("names file and tag of what failed", async () => {
    const { reactor, fire, lane, lines } = opened();
    lane.answer = () => ({ ...nothing, faults: ["/a.sls is broken"] });
    fire("my/1");
    await settled();
    assert.equal(reactor.counters.failed, 1);
    assert.match(lines.at(-1) ?? "", /"tag":"my\/1","fault":"\/a.sls is broken"/);
  });
});

describe("the reactor's entries", () => {
  it("are changed by events with the master's key only", () => {
    const { fire, fired, lines, reactor } = opened();
    const tag = "salt/run/1/salt/reactors/manage/";
    for (const key of [undefined, "", "another key", masterKey.slice(1)])
      fire(`${tag}add`, { key, event: "x", reactors: ["/x"] });
    assert.equal(fired.length, 0);
    assert.equal(lines.filter((line) => line.includes("is discarded")).length, 4);
    fire(`${tag}add`, { key: masterKey, event: "new/*", reactors: ["/x"] });
    fire(`${tag}delete`, { key: masterKey, event: "my/*" });
    fire(`${tag}list`, { key: masterKey });
    fire(`${tag}set_leader`, { key: masterKey, id: "another", value: false });
    fire(`${tag}set_leader`, { key: masterKey, id: "m", value: false });
    const reactors = [{ "other/?": ["/b.sls"] }, { "new/*": ["/x"] }];
    assert.deepEqual(fired, [
      [
        "salt/reactors/manage/add-complete",
        {
          reactors: [{ "my/*": ["/a.sls"] }, ...reactors],
          result: { status: true, comment: "Reactor added." },
        },
      ],
      ["salt/reactors/manage/delete-complete", { reactors, result: { status: true, comment: "Reactor deleted." } }],
      ["salt/reactors/manage/list-results", { reactors }],
      ["salt/reactors/manage/leader/value", { result: true }],
      ["salt/reactors/manage/leader/value", { result: false }],
    ]);
    fire("new/1");
    assert.equal(reactor.waitingCount, 0);
  });

  it("are refused without a reactor", async () => {
    await assert.rejects(opened({ reactor: [] }).reactor.manage({ action: "list" }), {
      code: "FUNCTION_FAILED",
      message: "Reactor system is not running.",
    });
  });
});
