import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { SaltworksError } from "../../../src/errors.ts";
import type { Value } from "../../../src/wire/values.ts";
import { readGolden } from "../../target/fleet.ts";
import { openWorld, type World } from "./world.ts";

type Edit = {
  readonly content: string | null;
  readonly function: string;
  readonly kwargs: { readonly [name: string]: unknown };
  readonly value?: string | boolean;
  readonly error?: string;
  readonly text?: string;
  readonly files: { readonly [name: string]: string };
};
const { edits } = readGolden("text_edits.json") as { edits: Edit[] };

const kinds: Readonly<Record<string, string>> = {
  command: "CommandExecutionError",
  invocation: "SaltInvocationError",
  python: "error",
};

describe("functions of file that edit", () => {
  let root: string;
  let world: World;
  before(async () => {
    root = mkdtempSync(join(tmpdir(), "saltworks-edits-"));
    world = await openWorld(root);
  });
  after(() => rmSync(root, { recursive: true }));

  let folders = 0;
  function folderWith(content: string | null): string {
    folders += 1;
    const folder = join(root, `case-${folders}`);
    mkdirSync(folder);
    if (content !== null) writeFileSync(join(folder, "f"), content);
    return folder;
  }

  async function call(
    name: string,
    path: string,
    kwargs: Edit["kwargs"],
  ): Promise<{ value?: unknown; error?: string; text?: string }> {
    const given = new Map(Object.entries(kwargs).map(([key, value]) => [key, asMap(value)]));
    try {
      return { value: await world.context.callFunction(name, [path], given as Map<Value, Value>) };
    } catch (error) {
      const { detail, message } = error as SaltworksError;
      return { error: kinds[String(detail?.kind)] ?? String(error), text: message };
    }
  }

  for (const edit of edits) {
    it(`${edit.function} ${JSON.stringify(edit.kwargs)} of ${JSON.stringify(edit.content)}`, async () => {
      const folder = folderWith(edit.content);
      const { text, ...outcome } = await call(edit.function, join(folder, "f"), edit.kwargs);
      const recorded = edit.error === undefined ? { value: edit.value } : { error: edit.error };
      assert.deepEqual(outcome, recorded, text);
      // Python adds the position in the pattern.
      if (edit.text !== undefined)
        assert.equal(text?.replaceAll(folder, "FOLDER"), edit.text.replace(/ at position \d+/, ""));
      const files = Object.fromEntries(
        readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")]),
      );
      assert.deepEqual(files, edit.files);
    });
  }

  it("keep bytes that are not UTF-8", async () => {
    const folder = folderWith(null);
    const path = join(folder, "f");
    writeFileSync(path, Buffer.from("caf\xe9 x\n", "latin1"));
    await call("file.replace", path, { pattern: "x", repl: "y" });
    assert.equal(readFileSync(path, "latin1"), "caf\xe9 y\n");
    assert.equal(readFileSync(`${path}.bak`, "latin1"), "caf\xe9 x\n");
  });

  it("keep mode and other names of a file, or leave the names to the copy", async () => {
    const folder = folderWith("one\n");
    const [path, other] = [join(folder, "f"), join(folder, "other")];
    chmodSync(path, 0o640);
    linkSync(path, other);
    await call("file.replace", path, { pattern: "one", repl: "two" });
    assert.equal(readFileSync(other, "utf8"), "two\n");
    await call("file.replace", path, { pattern: "two", repl: "three", preserve_inode: false });
    assert.equal(readFileSync(other, "utf8"), "two\n");
    assert.equal(statSync(`${path}.bak`).ino, statSync(other).ino);
    assert.equal(readFileSync(path, "utf8"), "three\n");
    await call("file.line", path, { content: "four", mode: "insert", after: "three", backup: true });
    assert.equal(readFileSync(path, "utf8"), "three\nfour\n");
    assert.equal(statSync(path).mode & 0o777, 0o640);
    const dated = readdirSync(folder).filter((name) => /^f\.\d{4}(-\d\d){5}$/.test(name));
    assert.deepEqual(
      dated.map((name) => readFileSync(join(folder, name), "utf8")),
      ["three\n"],
    );
  });

  it("edit the target of a link, and link to the copy", async () => {
    const folder = folderWith("one\n");
    const link = join(folder, "link");
    symlinkSync("f", link);
    await call("file.replace", link, { pattern: "one", repl: "two" });
    assert.equal(readFileSync(join(folder, "f"), "utf8"), "two\n");
    assert.equal(readlinkSync(`${link}.bak`), "f.bak");
    assert.equal(readFileSync(`${link}.bak`, "utf8"), "one\n");
  });

  it("change nothing with test: True", async () => {
    const other = await openWorld(join(root, "trying"), { minion: `id: unit\nroot_dir: ${root}\ntest: True\n` });
    const folder = folderWith("one\n");
    const kwargs = new Map<Value, Value>([
      ["mode", "ensure"],
      ["after", "one"],
    ]);
    const diff = await other.context.callFunction("file.line", [join(folder, "f"), "two"], kwargs);
    assert.equal(diff, "--- \n+++ \n@@ -1 +1,2 @@\n one\n+two\n");
    assert.equal(readFileSync(join(folder, "f"), "utf8"), "one\n");
    assert.ok(existsSync(join(folder, "f")));
  });
});

function asMap(value: unknown): unknown {
  const isPlain = typeof value === "object" && value !== null && !Array.isArray(value);
  return isPlain ? new Map(Object.entries(value)) : value;
}
