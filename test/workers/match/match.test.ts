import assert from "node:assert/strict";
import { after, beforeEach, describe, it } from "node:test";
import type { MinionData } from "../../../src/store/minions/data.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import { TextList } from "../../../src/wire/text-list.ts";
import type { Encodable } from "../../../src/wire/values.ts";
import { Matcher, type MatchSite } from "../../../src/workers/match/match.ts";
import type { MatchAnswer, MatchTask } from "../../../src/workers/messages/worker.ts";
import { MinionFacts } from "../../../src/workers/state/facts.ts";
import { acceptMinion, type Bench, openLastingWorkerState } from "../open-worker-state.ts";

const pack = (value: Encodable) => encode(value, "bin");
const none = pack({});

function taskOf(targetKind: string, target: string | string[]): MatchTask {
  return { kind: "match", target: encode(target, "raw"), targetKind, delimiter: ":" };
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Asks until there is an answer. */
async function answered(matcher: Matcher, task: MatchTask): Promise<MatchAnswer> {
  for (;;) {
    const answer = matcher.match(task);
    if (answer.state !== "pending") return answer;
    await nextTurn();
  }
}

/** Its ids. */
async function found(matcher: Matcher, kind: string, target: string | string[]): Promise<string[]> {
  const answer = await answered(matcher, taskOf(kind, target));
  assert.ok(answer.state === "ready", answer.state);
  const list = TextList.joined([{ count: answer.count, bytes: answer.ids }]);
  return [...list.texts()].sort();
}

describe("Matcher", () => {
  let bench: Bench;
  let matcher: Matcher;
  beforeEach(async () => {
    bench?.close();
    bench = openLastingWorkerState();
    matcher = new Matcher(bench.worker);
    for (const id of ["web1", "web2", "db1", "mute"]) await acceptMinion(bench, id);
    for (const id of ["web1", "web2"]) await bench.worker.facts.keep(id, pack({ os: "Debian" }), none);
    await bench.worker.facts.keep("db1", pack({ os: "CentOS" }), none);
  });
  after(() => bench.close());

  it("answers with the ids as items of a packed list", async () => {
    assert.deepEqual(await found(matcher, "glob", "*"), ["db1", "mute", "web1", "web2"]);
    assert.deepEqual(await found(matcher, "glob", "web*"), ["web1", "web2"]);
    assert.deepEqual(await found(matcher, "grain", "os:Debian"), ["mute", "web1", "web2"]);
    assert.deepEqual(await found(matcher, "compound", "G@os:* and not mute"), ["db1", "web1", "web2"]);
    assert.deepEqual(await found(matcher, "glob", "nobody"), []);
  });

  it("keeps one list for all who ask while the same minions match, and what was handed out stays as it was", async () => {
    const ask = async () => {
      const answer = await answered(matcher, taskOf("grain", "os:Debian"));
      assert.ok(answer.state === "ready", answer.state);
      return answer.ids;
    };
    const textsOf = (ids: Uint8Array, count: number) => [...TextList.joined([{ count, bytes: ids }]).texts()].sort();
    await ask();
    const kept = await ask();
    assert.ok(kept.buffer instanceof SharedArrayBuffer, "in memory that threads share");
    assert.equal((await ask()).buffer, kept.buffer, "no copy for each who asks");
    await bench.worker.facts.keep("db1", pack({ os: "Debian" }), none);
    assert.deepEqual(textsOf(await ask(), 4), ["db1", "mute", "web1", "web2"]);
    assert.deepEqual(textsOf(kept, 3), ["mute", "web1", "web2"]);
  });

  it("looks a list up without an index", async () => {
    assert.deepEqual(await found(matcher, "list", ["web1", "nobody", "web1", ""]), ["web1"]);
    assert.equal(bench.worker.facts.index, undefined);
  });

  it("knows of a refresh before the store has written it", async () => {
    assert.deepEqual(await found(matcher, "grain", "os:CentOS"), ["db1", "mute"]);
    const written = bench.worker.facts.keep("web1", pack({ os: "CentOS" }), none);
    assert.deepEqual(await found(matcher, "grain", "os:CentOS"), ["db1", "mute", "web1"]);
    await written;
    assert.deepEqual(await found(matcher, "grain", "os:CentOS"), ["db1", "mute", "web1"]);
  });

  it("forgets a removed minion, and knows it again with its data if that was kept", async () => {
    assert.deepEqual(await found(matcher, "grain", "os:Debian"), ["mute", "web1", "web2"]);
    for (const id of ["web1", "web2"]) {
      bench.worker.start.accepted.delete(id);
      bench.worker.facts.noteKeys([], [id]);
    }
    await bench.worker.forget("web1", true);
    await bench.worker.forget("web2", false);
    assert.deepEqual(await found(matcher, "grain", "os:Debian"), ["mute"]);
    for (const id of ["web1", "web2"]) await acceptMinion(bench, id);
    // Nothing is known of web1 any more, so any grain may match it.
    assert.deepEqual(await found(matcher, "grain", "os:CentOS"), ["db1", "mute", "web1"]);
    assert.deepEqual(await found(matcher, "grain", "os:Debian"), ["mute", "web1", "web2"]);
  });

  it("gives a newcomer's id where it took the number of another", async () => {
    assert.deepEqual(await found(matcher, "glob", "*"), ["db1", "mute", "web1", "web2"]);
    bench.worker.start.accepted.delete("web1");
    bench.worker.facts.noteKeys([], ["web1"]);
    await acceptMinion(bench, "a-minion-with-a-longer-name-than-thirty-one-characters");
    assert.equal((await found(matcher, "glob", "*"))[0], "a-minion-with-a-longer-name-than-thirty-one-characters");
    assert.equal((await found(matcher, "glob", "*")).length, 4);
  });

  it("takes grains that cannot be decoded for none, and counts them", async () => {
    await bench.worker.facts.keep("web1", Uint8Array.of(0xdf, 1), none);
    assert.deepEqual(await found(matcher, "grain", "os:Debian"), ["mute", "web2"]);
    assert.ok((bench.worker.counters["facts.unreadable"] ?? 0) > 0);
  });
});

/** Minions whose facts take a millisecond each to read. */
function slowSite(count: number): MatchSite {
  const ids = Array.from({ length: count }, (_, at) => `m${at}`);
  const grains = pack({ os: "Debian" });
  const get: MinionData["get"] = () => {
    const untilMs = performance.now() + 1;
    while (performance.now() < untilMs);
    return { grains, pillar: none };
  };
  return {
    facts: new MinionFacts({ get } as MinionData, () => undefined),
    ownIds: function* () {
      yield* ids;
    },
    ownAmong: () => [],
    count: () => undefined,
  };
}

describe("Matcher, while an index is built", () => {
  it("says at once that it is not ready, and gives every turn of the event loop back after one slice", async () => {
    const matcher = new Matcher(slowSite(160));
    const task = taskOf("grain", "os:Debian");
    assert.deepEqual(matcher.match(task), { state: "pending" });
    let turns = 0;
    let answer = matcher.match(task);
    for (; answer.state === "pending"; answer = matcher.match(task)) {
      turns += 1;
      await nextTurn();
    }
    assert.ok(answer.state === "ready" && answer.count === 160);
    // A step reads for 16 ms, which is more than a slice: ten steps take ten turns.
    assert.ok(turns >= 9, `${turns} turns`);
    assert.equal(matcher.match(task).state, "ready", "the index is there now");
  });

  it("lets several targets take turns", async () => {
    const matcher = new Matcher(slowSite(64));
    const tasks = ["os:Debian", "kernel:Linux", "os:*"].map((target) => taskOf("grain", target));
    const states = new Map(tasks.map((task) => [task, matcher.match(task)]));
    while ([...states.values()].some(({ state }) => state === "pending")) {
      await nextTurn();
      for (const [task, { state }] of states) if (state === "pending") states.set(task, matcher.match(task));
    }
    const counts = tasks.map((task) => {
      const answer = states.get(task);
      return answer?.state === "ready" ? answer.count : undefined;
    });
    assert.deepEqual(counts, [64, 0, 64]);
    assert.equal(matcher.gauges["targets.pending"], 0);
  });

  it("refuses a target that takes too long", async () => {
    const matcher = new Matcher(slowSite(64), 20);
    const task = taskOf("grain", "os:Debian");
    assert.deepEqual(await answered(matcher, task), { state: "refused", reason: "the target takes too long to match" });
  });
});

describe("TextList", () => {
  it("joins packed items to one list at each size of head", () => {
    for (const count of [0, 15, 16, 65_535, 65_536]) {
      const ids = Array.from({ length: count }, (_, at) => `m${at}`);
      const half = Math.floor(count / 2);
      const list = TextList.joined([ids.slice(0, half), ids.slice(half)].map((some) => partOf(some)));
      assert.equal(list.count, count);
      for (const flavour of ["raw", "bin"] as const) {
        const event = decode(encode({ minions: list.packed, after: 1 }, flavour));
        assert.deepEqual(
          event,
          new Map<string, unknown>([
            ["minions", ids],
            ["after", 1],
          ]),
          flavour,
        );
      }
      assert.deepEqual(list.texts(), ids);
    }
  });
});

function partOf(ids: string[]) {
  const items = ids.map((id) => encode(id, "raw"));
  return { count: ids.length, bytes: Uint8Array.from(Buffer.concat(items)) };
}
