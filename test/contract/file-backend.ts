/** The contract of every backend of the file server. A backend's test calls this with a function that opens one with the given files. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { afterEach, describe, it } from "node:test";
import type { FileBackend, FoundFile } from "../../src/fileserver/backends/contract/backend.ts";

/** Contents by name, by environment. */
export type Tree = Readonly<Record<string, Readonly<Record<string, string>>>>;

export type OpenedBackend = {
  readonly backend: FileBackend;
  readonly hashType: string;
  /** Writes or, without content, removes a file. */
  readonly put: (environment: string, name: string, content: string | undefined) => void;
  readonly remove: () => void;
};

const tree: Tree = { base: { "top.sls": "base:", "web/init.sls": "0123456789" }, dev: { "only.sls": "dev" } };

export function fileBackendContract(name: string, open: (tree: Tree) => OpenedBackend): void {
  describe(`file backend contract: ${name}`, () => {
    const opened: OpenedBackend[] = [];
    afterEach(() => {
      for (const one of opened.splice(0)) one.remove();
    });
    const begin = (): OpenedBackend => {
      const one = open(tree);
      opened.push(one);
      return one;
    };
    findContract(begin);
    listContract(begin);
    updateContract(begin);
  });
}

async function found({ backend }: OpenedBackend, name: string, environment = "base"): Promise<FoundFile> {
  const file = await backend.find({ name, environment, rootIndex: undefined });
  assert.ok(file !== undefined, `${name} must be found in ${environment}`);
  return file;
}

function findContract(begin: () => OpenedBackend): void {
  it("finds a file in its own environment only, under its name", async () => {
    const { backend } = begin();
    const find = (name: string, environment: string) => backend.find({ name, environment, rootIndex: undefined });
    assert.equal((await find("web/init.sls", "base"))?.name, "web/init.sls");
    assert.notEqual((await find("web/init.sls", "base"))?.path, "");
    for (const [name = "", environment = ""] of [
      ["web/init.sls", "dev"],
      ["only.sls", "base"],
      ["only.sls", "nosuch"],
      ["web", "base"],
      ["none", "base"],
    ]) {
      assert.equal(await find(name, environment), undefined, `${name} in ${environment}`);
    }
  });

  it("reads pieces from any offset, and nothing behind the end", async () => {
    const file = await found(begin(), "web/init.sls");
    const piece = async (offset: number, bytesMax: number) => Buffer.from(await file.read(offset, bytesMax)).toString();
    assert.equal(await piece(0, 4), "0123");
    assert.equal(await piece(4, 100), "456789");
    assert.equal(await piece(10, 4), "");
    assert.equal(await piece(11, 4), "");
  });

  it("gives the hash of the content, another one when the content changes, and stat's ten fields or none", async () => {
    const opened = begin();
    const hash = (content: string) => createHash(opened.hashType).update(content).digest("hex");
    assert.equal(await (await found(opened, "web/init.sls")).hash(), hash("0123456789"));
    opened.put("base", "web/init.sls", "changed");
    const file = await found(opened, "web/init.sls");
    assert.equal(await file.hash(), hash("changed"));
    const stat = file.stat();
    if (stat !== null) assert.deepEqual([stat.length, stat[6]], [10, "changed".length]);
  });
}

function listContract(begin: () => OpenedBackend): void {
  it("lists environments, and their files and directories sorted; an unknown environment has no lists", async () => {
    const { backend } = begin();
    assert.deepEqual([...(await backend.environments())].sort(), ["base", "dev"]);
    const lists = await backend.lists("base");
    assert.deepEqual(lists?.files, ["top.sls", "web/init.sls"]);
    assert.deepEqual(lists?.dirs, ["web"]);
    assert.deepEqual([lists?.emptyDirs, [...(lists?.links ?? [])]], [[], []]);
    assert.equal(await backend.lists("nosuch"), undefined);
    assert.equal(await backend.lists("base"), lists, "the lists are the same object while they are unchanged");
  });

  it("makes lists anew when they are cleared, and names the environments whose lists were known", async () => {
    const { backend, put } = begin();
    assert.deepEqual(await backend.clearLists(undefined), []);
    await backend.lists("base");
    await backend.lists("dev");
    put("base", "new.sls", "new");
    assert.deepEqual(await backend.clearLists(["nosuch"]), []);
    assert.deepEqual(await backend.clearLists(["base"]), ["base"]);
    assert.deepEqual((await backend.lists("base"))?.files, ["new.sls", "top.sls", "web/init.sls"]);
    assert.deepEqual(await backend.clearLists(undefined), ["base", "dev"]);
  });
}

function updateContract(begin: () => OpenedBackend): void {
  it("tells what has changed since the last update", async () => {
    const { backend, put } = begin();
    assert.equal((await backend.update()).added.length, 3);
    assert.deepEqual(await backend.update(), { isChanged: false, changed: [], added: [], removed: [] });
    put("base", "new.sls", "new");
    put("dev", "only.sls", undefined);
    const { isChanged, changed, added, removed } = await backend.update();
    assert.deepEqual([isChanged, changed], [true, []]);
    for (const [paths, name] of [
      [added, "new.sls"],
      [removed, "only.sls"],
    ] as const) {
      assert.equal(paths.length, 1);
      assert.ok(paths[0]?.endsWith(name), `${paths[0]} must be ${name}`);
    }
  });
}
