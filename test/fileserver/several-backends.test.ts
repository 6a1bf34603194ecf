/** Several backends at once, for minions and for the runner `fileserver`. The runner's answers are those of Salt 3007 with `roots` and `minionfs`. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { FileServer } from "../../src/fileserver/file-server.ts";
import type { RunnerContext } from "../../src/runners/contract/contract.ts";
import { fileserverRunner } from "../../src/runners/master/fileserver.ts";
import { decode } from "../../src/wire/msgpack.ts";
import type { Encodable, Value } from "../../src/wire/values.ts";
import { plain } from "../plain.ts";
import { MemoryBackend } from "./backends/memory-backend.ts";
import { openFiles } from "./open-files.ts";

const removals: (() => void)[] = [];
afterEach(() => {
  for (const remove of removals.splice(0)) remove();
});

const both = { base: { both: "one", from: "one", "one/a": "1" }, dev: { d: "dev" } };
const other = { base: { both: "second", from: "second", "two/b": "22" }, qa: { q: "qa" } };

function open(options: object = {}) {
  const { config, settings, remove } = openFiles({ ...options });
  removals.push(remove);
  const [one, two] = [new MemoryBackend("one", both), new MemoryBackend("two", other)];
  const server = new FileServer(settings, [one, two]);
  const ask = async (cmd: string, load: Readonly<Record<string, Value>>): Promise<unknown> =>
    plain((await server.answer(cmd, new Map(Object.entries(load)), undefined)) as Value);
  const notes: string[] = [];
  const events: { tag: string; data: unknown }[] = [];
  const fire = async ({ tag, data }: { tag: string; data: Uint8Array }) => {
    events.push({ tag, data: plain(decode(data)) });
  };
  const context = { config, files: server, note: (text: string) => notes.push(text), master: { fire } };
  const run = async (name: string, args: Readonly<Record<string, Value>> = {}): Promise<unknown> => {
    const answer = await fileserverRunner
      .get(`fileserver.${name}`)
      ?.run(context as unknown as RunnerContext, new Map(Object.entries(args)), {
        positional: [],
        keywords: new Map(),
      });
    return plain(answer as Encodable as Value);
  };
  return { server, one, two, ask, run, notes, events };
}

describe("several backends", () => {
  it("are searched in their order: the first that has the file serves it", async () => {
    const { ask } = open();
    const served = async (path: string) => {
      const answer = (await ask("_serve_file", { path, saltenv: "base", loc: 0 })) as { data: Uint8Array };
      return Buffer.from(answer.data).toString();
    };
    assert.deepEqual([await served("both"), await served("two/b")], ["one", "22"]);
    const back = async (path: string) => ((await ask("_file_find", { path })) as { back?: string }).back;
    assert.deepEqual([await back("both"), await back("two/b"), await back("none")], ["one", "two", undefined]);
  });

  it("answer with one merged list, whose links are those of the first backend that has them", async () => {
    const { ask, server } = open();
    assert.deepEqual(await server.list("files", "base"), ["both", "from", "one/a", "two/b"]);
    assert.deepEqual(await server.list("dirs", "base"), ["one", "two"]);
    assert.deepEqual(await server.list("files", "qa"), ["q"]);
    assert.deepEqual(await ask("_file_envs", {}), ["base", "dev", "qa"]);
    assert.deepEqual(await ask("_symlink_list", { saltenv: "base" }), { from: "one" });
    assert.equal(await server.list("files", "base"), await server.list("files", "base"), "merged once");
  });

  it("show a backend's new list when that is cleared", async () => {
    const { server, two } = open();
    await server.list("files", "base");
    two.put("base", "new", "n");
    assert.deepEqual(await server.clearLists(["base"], ["two"]), new Map([["two", ["base"]]]));
    assert.ok((await server.list("files", "base")).includes("new"));
  });
});

describe("the runner's backend=", () => {
  it("chooses, leaves out with a minus, and ignores a minus beside other names", async () => {
    const { run, notes } = open();
    const environments = async (backend: Value) => await run("envs", { backend });
    assert.deepEqual(await run("envs"), ["base", "dev", "qa"]);
    assert.deepEqual(await environments("two"), ["base", "qa"]);
    assert.deepEqual(await environments("-one"), ["base", "qa"]);
    assert.deepEqual(await environments("-one,-two"), []);
    assert.deepEqual(await environments("-nosuch"), ["base", "dev", "qa"]);
    assert.deepEqual(await environments(["two", "one"]), ["base", "dev", "qa"]);
    assert.deepEqual(await environments("-one,one"), ["base", "dev"]);
    assert.deepEqual(notes.splice(0), ["fileserver backend -one is not available here"]);
    assert.deepEqual(await environments("nosuch"), []);
    assert.deepEqual(notes, ["fileserver backend nosuch is not available here"]);
    assert.deepEqual(await run("envs", { sources: true }), ["one", "two"]);
    assert.deepEqual(await run("file_list", { backend: "two" }), ["both", "from", "two/b"]);
    assert.deepEqual(await run("symlink_list", { backend: "two" }), { from: "two" });
  });

  it("limits updates, each of which has its own event, and clearing", async () => {
    const { run, events, one, two } = open({ fileserver_events: true });
    assert.equal(await run("update", { backend: "two" }), true);
    assert.equal(await run("update"), true);
    const tags = events.map(({ tag }) => tag);
    assert.deepEqual(
      tags,
      ["two", "one", "two"].map((name) => `salt/fileserver/${name}/update`),
    );
    const files = { changed: [], removed: [], added: [] };
    assert.deepEqual(events[2]?.data, { changed: false, files, backend: "two" });
    assert.equal(await run("clear_cache", { backend: "nosuch" }), "No cache was cleared");
    assert.deepEqual(await run("clear_cache", { backend: "one" }), {
      cleared: ["The one fileserver cache was successfully cleared"],
    });
    assert.deepEqual([one.clearedCount, two.clearedCount], [1, 0]);
    await run("file_list");
    assert.deepEqual(await run("clear_file_list_cache", { backend: "-two" }), { one: ["base"] });
    assert.deepEqual(await run("clear_file_list_cache"), { two: ["base"] });
  });

  it("tells which caches could not be cleared", async () => {
    const { settings, config, remove } = openFiles();
    removals.push(remove);
    const files = new FileServer(settings, [new MemoryBackend("stuck", both)]);
    const context = { config, files } as unknown as RunnerContext;
    const clear = fileserverRunner.get("fileserver.clear_cache");
    const answer = await clear?.run(context, new Map(), { positional: [], keywords: new Map() });
    assert.deepEqual(answer, { errors: ["stuck: the cache is locked"] });
  });
});
