/** The contract of databases of jobs that are servers: connections that end anywhere, and a server that is not there. */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { JobDatabase } from "../../src/databases/contract/database.ts";
import { BlackHole } from "../databases/black-hole.ts";
import type { DatabaseContext, ServerUnderTest } from "./job-database-context.ts";
import { jid, published, returned } from "./job-rows.ts";

const manyRows = [
  published(jid),
  ...Array.from({ length: 1_000 }, (_, index) => returned(`m${index}`, "x".repeat(500))),
];
const all = { job: 1, return: 1_000 };
const none = { job: 0, return: 0 };

export function databaseFaultsContract(context: DatabaseContext): void {
  const { under, open, counts, isDown, write } = context;
  const server = (): ServerUnderTest => {
    const found = under().server;
    assert.ok(found !== undefined, "the test says that there is a server");
    return found;
  };
  const throughProxy = async (act: (proxy: BlackHole) => Promise<void>) => {
    const proxy = await BlackHole.open(server().port);
    try {
      await act(proxy);
    } finally {
      proxy.close();
    }
  };

  it("keeps nothing of a transaction whose connection ends anywhere in it, and all of the next attempt", async () => {
    await throughProxy(async (proxy) => {
      const behind = open({ port: proxy.port });
      await behind.check();
      for (const bytes of [10, 100_000, 500_000]) {
        proxy.cutAfter(bytes);
        await assert.rejects(behind.write(manyRows, { mayBePresent: true }), isDown);
        assert.deepEqual(await counts(), none, `after ${bytes} bytes`);
      }
      assert.deepEqual(await behind.write(manyRows, { mayBePresent: true }), { jobs: 1, returns: 1_000, present: 0 });
      assert.deepEqual(await counts(), all);
    });
  });

  it("doubles nothing when the answer to a commit was lost", async () => {
    await throughProxy(async (proxy) => {
      const behind = open({ port: proxy.port });
      await behind.check();
      proxy.loseAnswerTo(server().commitWord);
      await assert.rejects(behind.write(manyRows, { mayBePresent: false }), isDown);
      assert.deepEqual(await counts(), all, "the server has committed");
      proxy.pass();
      assert.deepEqual(await behind.write(manyRows, { mayBePresent: true }), { jobs: 0, returns: 0, present: 1_001 });
      assert.deepEqual(await counts(), all);
    });
  });

  it("is down while the server is killed, and takes rows again afterwards", async () => {
    await write([returned("a", 1)]);
    await server().kill();
    await assert.rejects(write([returned("b", 1)]), isDown);
    await assert.rejects(write([returned("b", 1)]), isDown);
    await assert.rejects(context.database().reader.request(jid), isDown);
    await server().run();
    assert.deepEqual(await write([returned("a", 1), returned("b", 1)], true), { jobs: 0, returns: 1, present: 1 });
    assert.deepEqual(await counts(), { job: 0, return: 2 });
  });

  it("gives up on a connection that swallows everything, and connects anew", async () => {
    await throughProxy(async (proxy) => {
      const behind = open({ port: proxy.port });
      await behind.write([returned("a", 1)], { mayBePresent: false });
      proxy.swallow();
      await assertSilent(behind, open({ port: proxy.port }));
      proxy.pass();
      // On a busy machine the first new connection may come too late, too; the shipper tries again as this does.
      const again = () => behind.write([returned("b", 1)], { mayBePresent: true });
      await again().catch(again);
      assert.equal((await counts()).return, 2);
    });
  });
}

/** Both an open connection and a new one are given up. */
async function assertSilent(behind: JobDatabase, another: JobDatabase): Promise<void> {
  await Promise.all([
    assert.rejects(behind.write([returned("b", 1)], { mayBePresent: false }), /no answer within 15 s/),
    assert.rejects(another.check(), /no answer within 5 s/),
  ]);
}
