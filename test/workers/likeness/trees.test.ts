/** What a member tells other members of its files and options. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { emptyDigest } from "../../../src/cluster/likeness/ask.ts";
import { loadMasterConfig } from "../../../src/config/load.ts";
import { masterOptions } from "../../../src/config/schema.ts";
import { likenessPageFilesMax } from "../../../src/limits.ts";
import { comparedOptions, optionStates } from "../../../src/workers/likeness/options.ts";
import { LocalTrees } from "../../../src/workers/likeness/trees.ts";

const place = mkdtempSync(join(tmpdir(), "saltworks-trees-"));
after(() => rmSync(place, { recursive: true }));

/** The configuration of a member whose roots are in a folder of its own. */
function memberIn(folder: string, more: object = {}) {
  const directory = join(place, folder);
  for (const name of ["conf", "files", "more", "pillar"]) mkdirSync(join(directory, name), { recursive: true });
  const roots = { base: [join(directory, "files"), join(directory, "more")], dev: [join(directory, "none")] };
  const config = {
    root_dir: directory,
    file_roots: roots,
    pillar_roots: { base: [join(directory, "pillar")] },
    ...more,
  };
  writeFileSync(join(directory, "conf", "master"), JSON.stringify(config));
  return { directory, config: loadMasterConfig(join(directory, "conf")) };
}

describe("the trees of a member", () => {
  it("have the same digest in different places and under another hash_type", async () => {
    const [one, other] = [memberIn("one"), memberIn("other", { hash_type: "md5" })];
    for (const { directory } of [one, other]) writeFileSync(join(directory, "files", "top.sls"), "base: {}\n");
    const states = await Promise.all([one, other].map(({ config }) => new LocalTrees(config).states()));
    assert.deepEqual(states[0], states[1]);
    assert.deepEqual(
      states[0]?.map(({ tree, environment }) => `${tree} ${environment}`),
      ["file_roots base", "file_roots dev", "pillar_roots base"],
    );
    assert.equal(states[0]?.[2]?.digest, emptyDigest);
    assert.notEqual(states[0]?.[0]?.digest, emptyDigest);
  });

  it("take a file from the first root that has it, as minions get it", async () => {
    const { directory, config } = memberIn("layers");
    writeFileSync(join(directory, "more", "a.sls"), "second\n");
    const digest = async () => (await new LocalTrees(config).states())[0]?.digest;
    const before = await digest();
    writeFileSync(join(directory, "files", "a.sls"), "first\n");
    assert.notEqual(await digest(), before);
  });

  it("are told in pages, and only as they were when their digest was", async () => {
    const { directory, config } = memberIn("pages");
    const count = likenessPageFilesMax + 1;
    for (let at = 0; at < count; at += 1) writeFileSync(join(directory, "files", `f${at}`), "");
    const trees = new LocalTrees(config);
    const [state] = await trees.states();
    assert.ok(state?.digest !== undefined);
    const first = trees.page("file_roots", "base", state.digest, "");
    assert.deepEqual([first.files.length, first.isLast], [likenessPageFilesMax, false]);
    const second = trees.page("file_roots", "base", state.digest, first.files.at(-1)?.[0] ?? "");
    assert.deepEqual([second.files.length, second.isLast], [1, true]);
    assert.throws(() => trees.page("file_roots", "base", "other", ""), { code: "FILES_FAILED" });
  });

  it("say that they were not read in time", async () => {
    const { directory, config } = memberIn("slow");
    writeFileSync(join(directory, "files", "a"), "");
    const [state] = await new LocalTrees(config, -1).states();
    assert.equal(state?.digest, undefined);
    assert.match(state?.why ?? "", /not read within/);
  });
});

describe("the options that members compare", () => {
  it("are options that there are", () => {
    assert.deepEqual(
      comparedOptions.filter((name) => !Object.hasOwn(masterOptions, name)),
      [],
    );
  });

  it("are alike whatever the order of a map's keys, and show short values only", () => {
    const acl = { fred: ["test.*"], ann: [".*"] };
    const { config } = memberIn("acl", { publisher_acl: acl });
    const { config: turned } = memberIn("turned", { publisher_acl: Object.fromEntries(Object.entries(acl).reverse()) });
    const { config: other } = memberIn("unlike", { publisher_acl: { ...acl, fred: [] } });
    const states = [config, turned, other].map((one) => optionStates(one));
    assert.deepEqual(states[0], states[1]);
    assert.notEqual(states[0]?.publisher_acl?.digest, states[2]?.publisher_acl?.digest);
    assert.equal(states[0]?.publisher_acl?.shown, undefined);
    assert.equal(states[0]?.publish_port?.shown, "4505");
  });
});
