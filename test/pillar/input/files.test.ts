import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { pillarFileBytesMax } from "../../../src/limits.ts";
import { PillarFiles } from "../../../src/pillar/input/files.ts";

describe("files below the pillar roots", () => {
  const root = mkdtempSync(join(tmpdir(), "pillar-files-"));
  after(() => rmSync(root, { recursive: true }));
  const hourMs = 3_600_000;
  const read = (files: PillarFiles, path: string) => files.read([root], path)?.text;

  it("have no names that lead outside", () => {
    writeFileSync(join(root, "..", "outside.sls"), "secret");
    const files = new PillarFiles();
    for (const path of ["../outside.sls", "a/../../outside.sls", "/etc/hostname", "./x", "", "a//b", "a\0b"])
      assert.equal(read(files, path), undefined, path);
    rmSync(join(root, "..", "outside.sls"));
  });

  it("are read again when they change, even within the same second and with the same length", () => {
    const file = join(root, "a.sls");
    const files = new PillarFiles();
    for (const text of ["one", "two", "six"]) {
      writeFileSync(file, text);
      assert.equal(read(files, "a.sls"), text);
    }
  });

  it("are read again even if time and length are set back", () => {
    const file = join(root, "kept.sls");
    const past = new Date(Date.now() - hourMs);
    const files = new PillarFiles(() => Date.now() + hourMs);
    for (const text of ["x", "y"]) {
      writeFileSync(file, text);
      utimesSync(file, past, past);
      assert.equal(read(files, "kept.sls"), text);
    }
  });

  it("are found in the first directory that has them", () => {
    mkdirSync(join(root, "second"));
    writeFileSync(join(root, "second", "only.sls"), "b");
    assert.equal(new PillarFiles().read([root, join(root, "second")], "only.sls")?.text, "b");
  });

  it("are refused when too large", () => {
    const file = join(root, "large.sls");
    writeFileSync(file, "");
    truncateSync(file, pillarFileBytesMax + 1);
    assert.throws(() => read(new PillarFiles(), "large.sls"), { code: "PILLAR_FAILED", message: /bytes/ });
  });

  it("are listed through links, and circles of links end", () => {
    const tree = join(root, "tree");
    mkdirSync(join(tree, "app"), { recursive: true });
    writeFileSync(join(tree, "app", "init.sls"), "");
    writeFileSync(join(tree, "app", "one.sls"), "");
    symlinkSync(join(tree, "app"), join(tree, "linked"));
    const names = new PillarFiles().slsNames([tree]);
    assert.deepEqual(names, ["app", "app.one", "linked", "linked.one"]);
    symlinkSync(tree, join(tree, "app", "circle"));
    // Through the circle, every name would come once more for each path through the two links.
    assert.deepEqual(new PillarFiles().slsNames([tree]), ["app", "app.one", "linked", "linked.one"]);
  });
});
