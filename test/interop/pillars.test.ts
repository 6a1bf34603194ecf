import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import { Operator } from "./operator.ts";
import { openReleases, type SaltRelease } from "./salt-releases.ts";
import { MasterUnderTest, MinionUnderTest, TestBed } from "./test-bed.ts";

const releases = await openReleases();
const startTimeoutMs = 60_000;
const release = releases.all.find(({ name }) => name === "3007");
const files: Readonly<Record<string, string>> = {
  "top.sls": "base:\n  '*': [common]\n  'kernel:Linux':\n    - match: grain\n    - linux\n  'nobody': [nothere]\n",
  "common.sls":
    "{% from 'lib.jinja' import list_of with context %}\nid: {{ grains.id }}\nnumbers: [1, 2.0, yes, null, 0644, 2001-01-01]\n{{ list_of('names', ['a', 'b']) }}\n1: int key\n",
  "lib.jinja":
    "{% macro list_of(name, items) %}{{ name }}:\n{% for item in items %}  - {{ loop.index }}{{ item }}\n{% endfor %}{% endmacro %}\n",
  "linux/init.sls": "include:\n  - .more\nkernel: {{ salt['grains.get']('kernel') | lower }}\ndeep: {a: {b: 1}}\n",
  "linux/more.sls": "deep: {a: {c: {{ [1, 'x'] | json }}}}\ntext: |\n  two\n  lines\n",
};
/** For the external source `file_tree`. */
const tree: Readonly<Record<string, string>> = {
  "nodegroups/all/app/config": "group\n",
  "nodegroups/all/app/rest": "group\n",
  "hosts/same/app/config": "host\n\n",
  "hosts/same/kept": "line\n",
  "hosts/own/app/config": "host\n\n",
  "hosts/own/kept": "line\n",
};

describe("a real minion's pillar", { skip: release === undefined ? releases.skip || "no Salt 3007" : false }, () => {
  const bed = new TestBed();
  /** Two minions of one id need separate folders. */
  const otherBed = new TestBed();
  const folder = join(bed.folder, "pillar-tree");
  const treeFolder = join(bed.folder, "file-tree");
  const operators: Operator[] = [];

  before(async () => {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(folder, path, ".."), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    for (const [path, text] of Object.entries(tree)) {
      mkdirSync(join(treeFolder, path, ".."), { recursive: true });
      writeFileSync(join(treeFolder, path), text);
    }
    for (const maker of ["ours", release as SaltRelease] as const) {
      const options = {
        auto_accept: true,
        pillar_roots: { base: [folder] },
        nodegroups: { all: "*" },
        ext_pillar: [
          { cmd_yaml: "echo 'from: {yaml: \"%s\", both: yaml}'; echo 'block: |'; echo '  end'" },
          { cmd_json: 'echo {\\"from\\":{\\"json\\":[1,2.5,null],\\"both\\":\\"json\\"}}' },
          { file_tree: { root_dir: treeFolder, keep_newline: ["./kept"] } },
        ],
      };
      const itsBed = maker === "ours" ? bed : otherBed;
      const master = await MasterUnderTest.create(itsBed, maker, options);
      await master.start();
      const watch = await itsBed.watchEvents(master.sockDir);
      new MinionUnderTest(master, release as SaltRelease, "same");
      await watch.until("start", ({ tag }) => tag === "salt/minion/same/start", startTimeoutMs);
      if (maker === "ours") {
        new MinionUnderTest(master, "ours", "own");
        await watch.until("start", ({ tag }) => tag === "salt/minion/own/start", startTimeoutMs);
      }
      watch.close();
      operators.push(new Operator(maker, master));
    }
  });
  after(async () => {
    await bed.close();
    await otherBed.close();
  });

  const answer = async (operator: Operator | undefined, args: readonly string[]): Promise<unknown> => {
    const shown = await operator?.json("salt", ["same", ...args, "--static"]);
    return (shown as { readonly same?: unknown } | undefined)?.same;
  };

  bed.it("is the one that a real master gives it", async () => {
    const [ours, theirs] = operators;
    const pillar = await answer(theirs, ["pillar.items"]);
    assert.deepEqual(
      Object.keys(pillar as object).sort(),
      ["1", "app", "block", "deep", "from", "id", "kept", "kernel", "names", "numbers", "text"].sort(),
    );
    const { from } = pillar as { readonly from: object };
    assert.deepEqual(from, { yaml: "same", both: "json", json: [1, 2.5, null] });
    assert.deepEqual(await answer(ours, ["pillar.items"]), pillar);
    assert.deepEqual(await answer(ours, ["pillar.get", "deep:a"]), { b: 1, c: [1, "x"] });
    const own = (await ours?.json("salt", ["own", "pillar.items", "--static"])) as { readonly own: object };
    assert.deepEqual(own.own, { ...(pillar as object), id: "own", from: { ...from, yaml: "own" } });
  });

  bed.it("says which source it asked for and does not get (pillar.ext)", async () => {
    const [ours, theirs] = operators;
    const asked = ["pillar.ext", "{git: [main x]}"];
    const pillar = (await answer(theirs, asked)) as object;
    assert.deepEqual(await answer(ours, asked), {
      ...pillar,
      _errors: ["The ext_pillar module git is not allowed for on-demand pillar data (on_demand_ext_pillar)"],
    });
  });

  bed.it("takes a caller's own values, and is renewed by saltutil.refresh_pillar", async () => {
    for (const operator of operators) {
      const items = (await answer(operator, ["pillar.items", "pillar={id: mine, deep: {a: {b: 2}}}"])) as {
        id: string;
      };
      assert.equal(items.id, "mine");
    }
    writeFileSync(join(folder, "linux", "more.sls"), "added: 5\n");
    for (const operator of operators) {
      assert.equal(await answer(operator, ["saltutil.refresh_pillar", "wait=True"]), true);
      assert.equal(await answer(operator, ["pillar.get", "added"]), 5);
    }
  });

  bed.it("decides which minions a pillar target reaches", async () => {
    for (const operator of operators) {
      // Only this minion has asked again since the file changed.
      assert.deepEqual(await operator.json("salt", ["-I", "added:5", "test.ping", "--static"]), { same: true });
      assert.deepEqual(await operator.json("salt", ["-J", "added:^5$", "test.ping", "--static"]), { same: true });
      assert.deepEqual(
        await operator.json("salt", ["-C", "I@deep:a:b:1 and not I@added:6 and sam*", "test.ping", "--static"]),
        {
          same: true,
        },
      );
      const nobody = await operator.run("salt", ["-I", "added:6", "test.ping", "--static", "--out=json"]);
      assert.match(nobody.stdout + nobody.stderr, /No minions matched/);
    }
  });
});
