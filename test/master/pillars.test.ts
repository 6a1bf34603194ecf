import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pino } from "pino";
import { SaltworksError } from "../../src/errors.ts";
import { Pillars, type PillarsOptions } from "../../src/master/pillars.ts";
import { decode, encode } from "../../src/wire/msgpack.ts";
import type { PillarTask } from "../../src/workers/pillar-messages.ts";

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
        const finish = (error?: Error) => (error ? reject(error) : resolve({ pillar, record: pillar, faults: [] }));
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
  it("gives equal questions that wait one rendering, and one under way to nobody else", async () => {
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

  it("renders questions that differ apart, in the order in which they came", async () => {
    const { renderings, ask } = open();
    const asked = [ask("a"), ask("b"), ask("b", { pillarenv: "dev" }), ask("a", { saltenv: "dev" })];
    for (let index = 0; index < asked.length; index += 1) {
      await turn();
      renderings[index]?.finish();
    }
    assert.deepEqual(await Promise.all(asked.map(numberOf)), [0, 1, 2, 3]);
    assert.deepEqual(
      renderings.map(({ task }) => `${task.id} ${task.pillarenv ?? task.saltenv ?? ""}`),
      ["a ", "b ", "b dev", "a dev"],
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
