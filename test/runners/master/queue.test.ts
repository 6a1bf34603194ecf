import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { runnerFunctions } from "../../../src/runners/registry.ts";
import type { Value } from "../../../src/wire/values.ts";
import { callRunner, runnerContext } from "../calling.ts";
import { keptEvents } from "../kept-events.ts";
import { masterAccess } from "../master-access.ts";

const hasSqlite = isBuiltin("node:sqlite");

describe("runner queue", () => {
  let folder: string;
  beforeEach(() => {
    folder = join(mkdtempSync(join(tmpdir(), "sw-queue-")), "queues");
  });
  afterEach(() => rmSync(join(folder, ".."), { recursive: true }));

  const { fired, fire } = keptEvents();
  const ask = (fun: string, args: Value[] = [], kwargs: Record<string, Value> = {}) => {
    return callRunner(
      runnerContext({ config: { sqlite_queue_dir: folder }, master: masterAccess({ fire }) }),
      `queue.${fun}`,
      args,
      kwargs,
    );
  };

  // Node.js 20 does not have node:sqlite.
  if (hasSqlite) withSqlite();
  else
    it("says what it needs where Node.js has no SQLite, and leaves the call to Python if there is Salt", async () => {
      await assert.rejects(ask("insert", ["work", "web1"]), {
        code: "FUNCTION_FAILED",
        message: /^queues need node:sqlite, which Node\.js 20\.\S+ does not have, or a Python with Salt$/,
      });
      assert.equal(runnerFunctions.get("queue.insert")?.runsInPython?.(new Map()), true);
    });

  function withSqlite(): void {
    it("keeps items, each once, until they are taken or removed", async () => {
      assert.equal(await ask("insert", ["work", "web1"]), true);
      assert.equal(await ask("insert", ["work", ["web2", "it's", "web4"]]), true);
      assert.equal(
        await ask("insert", ["work", "web1"]),
        "Item already exists in this queue. sqlite error: UNIQUE constraint failed: work.name",
      );
      assert.match(String(await ask("insert", ["work", ["web5", "web1"]])), /^One or more items already exists/);
      assert.equal(await ask("list_length", ["work"]), 4);
      assert.deepEqual(await ask("list_queues"), ["work"]);
      assert.equal(await ask("delete", ["work", ["it's"]]), true);
      const popped = await ask("pop", ["work"]);
      assert.equal((popped as string[]).length, 1);
      assert.deepEqual([...(popped as string[]), ...((await ask("list_items", ["work"])) as string[])].sort(), [
        ...["web1", "web2", "web4"],
      ]);
      assert.equal(((await ask("pop", ["work", "all"])) as string[]).length, 2);
      assert.deepEqual(await ask("list_items", ["work"]), []);
    });

    it("makes no file to read a queue that does not exist", async () => {
      assert.deepEqual([await ask("list_items", ["none"]), await ask("list_length", ["none"])], [[], 0]);
      assert.deepEqual([await ask("pop", ["none"]), await ask("list_queues")], [[], []]);
      assert.equal(existsSync(folder), false);
    });

    it("fires what it takes as an event for the reactor", async () => {
      await ask("insert", ["work", "web1"]);
      const data = { items: ["web1"], backend: "sqlite", queue: "work" };
      assert.deepEqual(await ask("process_queue", ["work"]), data);
      assert.deepEqual(fired.at(-1), ["salt/queue/work/process", new Map<string, unknown>(Object.entries(data))]);
      assert.equal(await ask("process_queue", ["work", "many"]), false);
      assert.match(String(fired.at(-1)?.[1].get("errors")), /Quantity must be an integer/);
    });

    it("gives runner calls back as maps, and keeps an item that is none", async () => {
      await ask("insert", [
        "calls",
        new Map<string, Value>([
          ["fun", "test.arg"],
          ["args", [1]],
        ]),
      ]);
      assert.deepEqual(await ask("list_items", ["calls"]), ["{'fun': 'test.arg', 'args': [1]}"]);
      assert.deepEqual(await ask("pop", ["calls"], { is_runner: true }), [{ fun: "test.arg", args: [1] }]);
      await ask("insert", ["calls", "not json"]);
      await assert.rejects(ask("pop", ["calls"], { is_runner: true }));
      assert.equal(await ask("list_length", ["calls"]), 1);
    });
  }

  it("refuses names that are paths or statements, and items that Salt would drop in silence", async () => {
    for (const name of ["../work", "a/b", 'a"; drop table b', "", ".hidden"])
      await assert.rejects(ask("insert", [name, "web1"]), { code: "FUNCTION_ARGUMENTS" }, name);
    for (const item of [5, null, [1], true] as Value[])
      await assert.rejects(ask("insert", ["work", item]), { code: "FUNCTION_ARGUMENTS" });
  });

  it("leaves other backends to Salt, and refuses them without it", async () => {
    await assert.rejects(ask("insert", ["work", "web1"], { backend: "pgjsonb" }), {
      message: /queues in 'pgjsonb' need a Python with Salt/,
    });
    const { runsInPython } = runnerFunctions.get("queue.insert") ?? {};
    assert.equal(runsInPython?.(new Map([["backend", "pgjsonb"]])), true);
    assert.equal(runsInPython?.(new Map()), !hasSqlite);
  });
});
