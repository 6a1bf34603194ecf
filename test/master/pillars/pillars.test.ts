import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pino } from "pino";
import { SaltworksError } from "../../../src/errors.ts";
import { laneQueueMax, pillarsUnderWayOfMinionMax, pillarsWaitingOfMinionMax } from "../../../src/limits.ts";
import { nothingOf } from "../../../src/master/pillars/kept.ts";
import { Pillars, type PillarsOptions } from "../../../src/master/pillars/pillars.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import type { PillarTask } from "../../../src/workers/messages/pillar.ts";
import { isForgottenSince } from "../../../src/workers/threads/forget-counts.ts";

type Rendering = { readonly task: PillarTask; finish(error?: Error): void };

const grains = encode(new Map([["os", "Debian"]]), "bin");
const reply = { version: 3, nonce: "n", encAlgorithm: "OAEP-SHA1", sigAlgorithm: "PKCS1v15-SHA1", minionPem: "" };

function open(more: Partial<PillarsOptions> = {}) {
  const renderings: Rendering[] = [];
  const kept: { id: string; pillar: Uint8Array | undefined }[] = [];
  const fired: string[] = [];
  const lane = {
    run: (task: PillarTask) =>
      new Promise((resolve, reject) => {
        const pillar = encode(new Map([["n", renderings.length]]), "raw");
        const finish = (error?: Error) =>
          error ? reject(error) : resolve({ pillar, record: pillar, faults: [], sources: [] });
        renderings.push({ task, finish });
      }),
  };
  const pool = {
    slotCount: 1,
    offer: async (_slot: number, job: { build: () => { task: { id: string; pillar: Uint8Array | undefined } } }) => {
      kept.push(job.build().task);
    },
  };
  const pillars = new Pillars({
    lane,
    threadCount: 1,
    rsa: { run: async ({ pillar }: { pillar: Uint8Array }) => pillar },
    pool,
    partitioner: { slotOf: () => 0 },
    isKept: true,
    renderTimeoutMs: 30_000,
    fire: (tag: string) => fired.push(tag),
    logger: pino({ level: "silent" }),
    ...more,
  } as unknown as PillarsOptions);
  const ask = (id: string, task: Partial<PillarTask> = {}) =>
    pillars.answer({
      kind: "pillar",
      item: 0,
      task: { id, grains, saltenv: undefined, pillarenv: undefined, override: undefined, ...task },
      reply,
    });
  return { pillars, renderings, kept, fired, ask };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const numberOf = async (answer: Promise<Uint8Array>) => (decode(await answer) as Map<string, number>).get("n");

describe("Pillars", () => {
  it("gives equal questions that wait one rendering, and shares none that is under way", async () => {
    const { renderings, ask, pillars } = open();
    const first = ask("web1");
    await turn();
    const [second, third] = [ask("web1"), ask("web1")];
    renderings[0]?.finish();
    assert.equal(await numberOf(first), 0);
    await turn();
    assert.equal(renderings.length, 2);
    renderings[1]?.finish();
    assert.deepEqual([await numberOf(second), await numberOf(third)], [1, 1]);
    assert.equal(pillars.counters.shared, 1);
  });

  it("renders questions that differ apart, and minions take turns", async () => {
    const { renderings, ask } = open();
    const asked = [ask("a"), ask("b"), ask("b", { pillarenv: "dev" }), ask("a", { saltenv: "dev" })];
    for (let index = 0; index < asked.length; index += 1) {
      await turn();
      renderings[index]?.finish();
    }
    assert.deepEqual(await Promise.all(asked.map(numberOf)), [0, 1, 3, 2]);
    assert.deepEqual(
      renderings.map(({ task }) => `${task.id} ${task.pillarenv ?? task.saltenv ?? ""}`),
      ["a ", "b ", "a dev", "b dev"],
    );
  });

  it("keeps what it gives, and not what a caller's own values went into", async () => {
    const { renderings, ask, kept, fired } = open();
    const plain = ask("web1");
    const over = ask("web1", { override: grains });
    await turn();
    renderings[0]?.finish();
    await plain;
    await turn();
    renderings[1]?.finish();
    await over;
    assert.deepEqual(
      kept.map(({ id }) => id),
      ["web1"],
    );
    assert.deepEqual(fired, ["minion/refresh/web1"]);
  });

  it("keeps nothing with minion_data_cache off", async () => {
    const { renderings, ask, kept } = open({ isKept: false });
    const answer = ask("web1");
    await turn();
    renderings[0]?.finish();
    await answer;
    assert.deepEqual(kept, []);
  });

  it("lets minions take turns, with few questions of one that wait and fewer under way", async () => {
    const { renderings, ask, pillars } = open({ threadCount: 4 });
    const many = Array.from({ length: pillarsUnderWayOfMinionMax + pillarsWaitingOfMinionMax }, (_, index) =>
      ask("greedy", { pillarenv: `e${index}` }),
    );
    await assert.rejects(ask("greedy", { pillarenv: "one more" }), { code: "QUEUE_FULL" });
    assert.equal(pillars.counters.refused, 1);
    const others = [ask("a"), ask("b")];
    await turn();
    assert.deepEqual(
      renderings.map(({ task }) => task.id),
      ["greedy", "greedy", "a", "b"],
    );
    for (let index = 0; index < many.length + others.length; index += 1) {
      renderings[index]?.finish();
      await turn();
    }
    await Promise.all([...many, ...others]);
  });

  it("has room for a minion's first question when others fill all places, and none for one that asks as much as they", async () => {
    const { ask, pillars } = open();
    const crowd = laneQueueMax / pillarsWaitingOfMinionMax;
    let refused = 0;
    const lost = () => {
      refused += 1;
    };
    ask("first").catch(lost);
    for (let minion = 0; minion < crowd; minion += 1) {
      for (let index = 0; index < pillarsWaitingOfMinionMax; index += 1)
        ask(`crowd${minion}`, { pillarenv: `e${index}` }).catch(lost);
    }
    await turn();
    assert.deepEqual([pillars.waitingCount, refused], [laneQueueMax, 0]);
    for (let index = 0; index < pillarsWaitingOfMinionMax; index += 1) {
      ask("honest", { pillarenv: `e${index}` }).catch(lost);
      await turn();
      // With one more it would have as many as the minion with the most.
      assert.equal(refused, index + 1);
    }
    assert.equal(pillars.waitingCount, laneQueueMax);
    assert.equal(pillars.counters.refused, pillarsWaitingOfMinionMax);
    assert.deepEqual(await Promise.race([ask("honest", { pillarenv: "e0" }), "waits"]), "waits", "it shares the first");
    assert.equal(pillars.counters.shared, 1);
  });

  it("finds a kept pillar while all places are taken by pillars whose commands run", async () => {
    const sources = { run: () => new Promise(() => {}) };
    const cache = { isOn: true, backend: "memory", ttlMs: 60_000, followsSaltenv: false };
    const { renderings, ask, pillars } = open({ sources, sourcesMax: 1, cache } as unknown as Partial<PillarsOptions>);
    const record = encode(new Map([["n", 7]]), "raw");
    const mark = pillars.kept.mark("kept");
    pillars.kept.note(nothingOf("kept"), { pillar: record, record, faults: [], sources: [], keepable: record }, mark);
    for (const id of ["slow1", "slow2", "slow3"]) void ask(id);
    const answer = ask("kept");
    for (let time = 0; time < 3; time += 1) await turn();
    assert.deepEqual(
      renderings.map(({ task }) => task.kept),
      [record],
    );
    renderings[0]?.finish();
    assert.equal(await numberOf(answer), 0);
    assert.equal(pillars.kept.counters.hits, 1);
  });

  it("gives nothing that was kept before the minion was forgotten, and keeps nothing that was asked before", async () => {
    const cache = { isOn: true, backend: "disk", ttlMs: 60_000, followsSaltenv: false };
    const { renderings, ask, pillars } = open({ threadCount: 2, cache } as unknown as Partial<PillarsOptions>);
    const answer = ask("web1");
    await turn();
    const forgetting = pillars.forget("web1");
    await turn();
    renderings[0]?.finish();
    renderings[1]?.finish();
    await forgetting;
    await turn();
    const rendering = renderings[2];
    assert.deepEqual(
      renderings.map(({ task }) => task.cache),
      ["find", "forget", "keep"],
    );
    assert.ok(rendering?.task.mark !== undefined && isForgottenSince(rendering.task.mark));
    rendering?.finish();
    assert.equal(await numberOf(answer), 2);
  });

  it("answers a rendering that took too long with a pillar that says so, and keeps the one before", async () => {
    const { renderings, ask, kept } = open();
    const answer = ask("web1");
    await turn();
    renderings[0]?.finish(new SaltworksError("TASK_TIMEOUT", "a lane task took too long"));
    const pillar = decode(await answer) as Map<string, string[]>;
    assert.match(pillar.get("_errors")?.[0] ?? "", /longer than pillar_render_timeout \(30 seconds\)/);
    assert.deepEqual(
      kept.map(({ pillar: record }) => record),
      [undefined],
    );
  });
});
