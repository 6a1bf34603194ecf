/** A worker that cannot open its stores at first: the messages that it gets meanwhile take effect when it can. */
import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, it } from "node:test";
import { Crypticle, generateKeyString } from "../../src/crypto/crypticle.ts";
import { encode } from "../../src/wire/msgpack.ts";
import type { MatchAnswer, WorkerTask } from "../../src/workers/messages/worker.ts";
import { WorkerPool } from "../../src/workers/threads/worker-pool.ts";
import { openWorkerState } from "./open-worker-state.ts";

type TaskPart = WorkerTask extends infer Task ? (Task extends unknown ? Omit<Task, "slot"> : never) : never;

let pool: WorkerPool | undefined;
afterEach(async () => await pool?.close());

it("a worker keeps changes of keys that come before it has its stores", async () => {
  const { config, worker } = openWorkerState({ store_shards: 1 });
  const { accepted, ...start } = worker.start;
  for (const id of ["stays", "goes", "returns"]) accepted.add(id);
  const obstacle = join(config.cachedir, "jobs.lmdb");
  mkdirSync(config.cachedir, { recursive: true });
  writeFileSync(obstacle, "a file where the directory should be");
  pool = new WorkerPool({
    filename: new URL("../../src/workers/entry.js", import.meta.url).href,
    heap: { youngMb: 24, oldMb: 256 },
    slotCount: 1,
    batchesInFlight: 2,
    queueBytesMax: 100_000,
    workerData: { ...start, accepted },
    onWorkerLost: () => undefined,
  });
  const ask = async <Result>(task: TaskPart) => {
    const [answer] = (await pool?.broadcast<Result>(() => task)) ?? [];
    assert.ok(answer !== undefined);
    return answer;
  };
  const aes = generateKeyString();
  const changes: TaskPart[] = [
    { kind: "minionKeys", added: ["early", "brief"], removed: ["goes", "returns"], changed: [] },
    { kind: "masterKeys", keys: { aes, signature: Buffer.from("signature"), former: undefined } },
    { kind: "minionKeys", added: ["late", "returns"], removed: ["brief"], changed: [] },
  ];
  for (const change of changes) await assert.rejects(ask(change), { code: "STORE_FAILED" });
  rmSync(obstacle);
  const sealed = await ask<Uint8Array>({ kind: "seal", packed: Buffer.from("a publish") });
  assert.equal(Buffer.from(new Crypticle(aes).open(sealed)).toString(), "a publish");
  const found = await ask<MatchAnswer>({
    kind: "match",
    targetKind: "glob",
    delimiter: ":",
    target: encode("*", "raw"),
    isGreedy: true,
  } as TaskPart);
  assert.ok(found.state === "ready");
  for (const id of ["early", "late", "returns", "stays"]) assert.ok(Buffer.from(found.ids).includes(id), id);
  assert.equal(found.count, 4);
});
