/** A running master sees other programs' changes of the key directories, and the dropfile. */
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { type KeyChange, type KeyWatch, watchKeys, writeDropfile } from "../../../src/store/keys/keys.ts";
import { temporaryDirectories } from "../temporary.ts";

const deadlineMs = 20_000;
const settleMs = 50;
const masterId = "host_master";

describe("watchKeys", () => {
  const temporary = temporaryDirectories();
  let watching: KeyWatch | undefined;
  afterEach(() => watching?.close());

  function start(o: { served?: string[]; before?: string[]; rescanMs?: number } = {}) {
    const [pkiDir, cachedir] = [temporary(), temporary()];
    mkdirSync(join(pkiDir, "minions"));
    const put = (id: string, content = "key") => writeFileSync(join(pkiDir, "minions", id), content);
    for (const id of o.before ?? []) put(id);
    const changes: KeyChange[] = [];
    let wake: (() => void) | undefined;
    const onChange = (change: KeyChange) => {
      changes.push(change);
      // The master, too, applies each change to the served keys.
      for (const id of change.added) served.add(id);
      for (const id of change.removed) served.delete(id);
      wake?.();
    };
    const { rescanMs } = o;
    const served = new Set(o.served ?? o.before);
    watching = watchKeys(pkiDir, cachedir, onChange, {
      masterId,
      settleMs,
      served,
      ...(rescanMs === undefined ? {} : { rescanMs }),
    });
    /** The next change; fails without one in time. */
    const next = async (): Promise<KeyChange> => {
      const timer = setTimeout(() => wake?.(), deadlineMs);
      if (changes.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      clearTimeout(timer);
      const change = changes.shift();
      assert.ok(change, "no change was seen within a second");
      return change;
    };
    return {
      pkiDir,
      cachedir,
      put,
      next,
      changes,
      served,
      watching,
      file: (id: string) => join(pkiDir, "minions", id),
    };
  }

  it("reports a key that appears, changes and goes, each within a second", async () => {
    const { put, next, file } = start();
    put("a");
    assert.deepEqual(await next(), { added: ["a"], removed: [], changed: [], rotate: false });
    put("a", "another key");
    assert.deepEqual(await next(), { added: [], removed: [], changed: ["a"], rotate: false });
    rmSync(file("a"));
    assert.deepEqual(await next(), { added: [], removed: ["a"], changed: [], rotate: false });
  });

  it("gathers what one command does into one change", async () => {
    const ids = Array.from({ length: 300 }, (_, index) => `m${index}`);
    const { cachedir, next, file, changes } = start({ before: ids });
    for (const id of ids) rmSync(file(id));
    writeDropfile(cachedir, masterId);
    const change = await next();
    assert.equal(change.removed.length, 300);
    assert.equal(change.rotate, true);
    await new Promise((resolve) => setTimeout(resolve, 3 * settleMs));
    assert.deepEqual(changes, []);
  });

  it("waits after a removal for the dropfile that Salt's tools write a little later", async () => {
    const { cachedir, next, file } = start({ before: ["a"] });
    // The first look is over.
    await new Promise((resolve) => setTimeout(resolve, 2 * settleMs));
    rmSync(file("a"));
    await new Promise((resolve) => setTimeout(resolve, 1.5 * settleMs));
    writeDropfile(cachedir, masterId);
    assert.deepEqual(await next(), { added: [], removed: ["a"], changed: [], rotate: true });
  });

  it("reports keys that its caller did not know at the start", async () => {
    const { next } = start({ before: ["known", "new"], served: ["known"] });
    assert.deepEqual((await next()).added, ["new"]);
  });

  it("sees a key that was moved in from another directory", async () => {
    const { pkiDir, next, file } = start();
    mkdirSync(join(pkiDir, "minions_pre"));
    writeFileSync(join(pkiDir, "minions_pre", "a"), "key");
    renameSync(join(pkiDir, "minions_pre", "a"), file("a"));
    assert.deepEqual((await next()).added, ["a"]);
  });

  it("reports as removed what is served and has no file, also if it was never seen to have one", async () => {
    const { put, file, served, watching, next } = start();
    put("brief");
    rmSync(file("brief"));
    served.add("brief");
    watching.noteServed(["brief"]);
    assert.deepEqual((await next()).removed, ["brief"]);
  });

  it("notices by comparing with what is served what nothing told", async () => {
    const { served, next } = start({ before: ["a"], rescanMs: 100 });
    served.add("gone");
    assert.deepEqual((await next()).removed, ["gone"]);
  });

  it("notices by looking again a key that was written over behind the kernel's back", async () => {
    const { pkiDir, next } = start({ before: ["a"], rescanMs: 100 });
    renameSync(join(pkiDir, "minions"), join(pkiDir, "old"));
    mkdirSync(join(pkiDir, "minions"));
    writeFileSync(join(pkiDir, "minions", "a"), "the same name");
    const seen: string[] = [];
    while (!seen.includes("a")) seen.push(...(await next()).changed);
  });

  it("reports at once, when asked, a key that is new, and once only", async () => {
    const { put, watching, changes } = start({ before: ["a"] });
    watching.lookForNew();
    put("b");
    watching.lookForNew();
    watching.lookForNew();
    put("c");
    watching.lookForNew();
    assert.deepEqual(
      changes.map(({ added }) => added),
      [["b"], ["c"]],
    );
    await new Promise((resolve) => setTimeout(resolve, 4 * settleMs));
    assert.equal(changes.length, 2);
  });

  it("does not report dotfiles and temporary files", async () => {
    const { put, next } = start();
    for (const name of [".key_cache", ".saltworks-1234"]) put(name);
    put("real");
    assert.deepEqual((await next()).added, ["real"]);
  });

  it("notices by listing what the kernel did not tell", async () => {
    const { pkiDir, next } = start({ rescanMs: 100 });
    // The watched directory is replaced, but the kernel still watches the removed one.
    renameSync(join(pkiDir, "minions"), join(pkiDir, "old"));
    mkdirSync(join(pkiDir, "minions"));
    writeFileSync(join(pkiDir, "minions", "a"), "key");
    const seen: string[] = [];
    while (!seen.includes("a")) seen.push(...(await next()).added);
  });

  const dropfiles: [string, string, number, boolean][] = [
    ["as 3007 and 3008 write it", masterId, 0o400, true],
    ["as 3006 writes it, empty", "", 0o400, true],
    ["for another master", "other_master", 0o400, false],
    ["with another mode", masterId, 0o600, false],
    ["that others may read", masterId, 0o444, false],
  ];
  for (const [name, content, mode, isHonoured] of dropfiles) {
    it(`${isHonoured ? "honours and removes" : "leaves alone"} a dropfile ${name}`, async () => {
      const { cachedir, put, next } = start();
      const dropfile = join(cachedir, ".dfn");
      writeFileSync(`${dropfile}-next`, content);
      chmodSync(`${dropfile}-next`, mode);
      renameSync(`${dropfile}-next`, dropfile);
      put("a");
      assert.equal((await next()).rotate, isHonoured);
      assert.equal(existsSync(dropfile), !isHonoured);
    });
  }

  it("honours a dropfile that was there before the master", async () => {
    const [pkiDir, cachedir] = [temporary(), temporary()];
    writeDropfile(cachedir, masterId);
    assert.equal(statSync(join(cachedir, ".dfn")).mode & 0o777, 0o400);
    const change = await new Promise<KeyChange>((resolve) => {
      watching = watchKeys(pkiDir, cachedir, resolve, { masterId, settleMs, served: new Set() });
    });
    assert.deepEqual(change, { added: [], removed: [], changed: [], rotate: true });
  });

  it("reports nothing after it is closed", async () => {
    const { put, changes } = start();
    watching?.close();
    put("a");
    await new Promise((resolve) => setTimeout(resolve, 4 * settleMs));
    assert.deepEqual(changes, []);
  });
});
