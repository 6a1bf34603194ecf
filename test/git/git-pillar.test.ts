/** Pillars from git repositories. What Salt 3007 made of the same repositories and options is in golden/git-pillar.json. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { loadMasterConfig, type Overrides } from "../../src/config/load.ts";
import { PillarCompiler } from "../../src/pillar/compile.ts";
import { runSources } from "../../src/pillar/external/run-sources.ts";
import { pillarSettings } from "../../src/pillar/input/settings.ts";
import type { Value } from "../../src/wire/values.ts";
import { repositoryRoot } from "../root.ts";
import { skipWithout } from "../services/service.ts";
import { pillarRepositories, SampleRepository, samplesFolder } from "./sample-repositories.ts";

type Case = { readonly repos: readonly unknown[]; readonly opts?: Readonly<Record<string, unknown>> };
const golden: { readonly cases: Readonly<Record<string, Case>>; readonly pillars: Readonly<Record<string, unknown>> } =
  JSON.parse(readFileSync(join(repositoryRoot, "test/git/golden/git-pillar.json"), "utf8"));

const skip = skipWithout("git");
const { folder, remove } = samplesFolder();
let masterCount = 0;

function plain(value: Value): unknown {
  if (Array.isArray(value)) return value.map(plain);
  return value instanceof Map ? Object.fromEntries([...value].map(([key, one]) => [key, plain(one)])) : value;
}

/** A master that renders the pillar of `web1` from these repositories alone. */
function masterOf({ repos, opts = {} }: Case) {
  masterCount += 1;
  const own = join(folder, `master${masterCount}`);
  mkdirSync(own);
  const { pillarenv, saltenv, ...options } = JSON.parse(JSON.stringify(opts)) as Record<string, string>;
  const git = JSON.parse(JSON.stringify(repos).replaceAll("FOLDER", folder));
  const given = { cachedir: join(own, "cache"), pillar_roots: {}, ext_pillar: [{ git }], ...options } as Overrides;
  const settings = pillarSettings(loadMasterConfig(own, given));
  const compiler = new PillarCompiler(settings);
  const minion = { id: "web1", grains: new Map<Value, Value>([["os", "Debian"]]) };
  return async () => {
    const { outcomes } = await runSources(settings, { ...minion, pillarenv, saltenv }, process.env, 30_000);
    return plain(compiler.compile({ minion, saltenv, pillarenv, override: new Map(), outcomes }).pillar);
  };
}

before(() => {
  if (skip === false) pillarRepositories(folder);
});
after(remove);

describe("pillars of git repositories are Salt's", { skip }, () => {
  for (const [name, one] of Object.entries(golden.cases))
    it(name, async () => {
      assert.equal(JSON.stringify(await masterOf(one)()), JSON.stringify(golden.pillars[name]));
    });
});

describe("a git repository of pillars", { skip }, () => {
  it("that lacks its branch or root, or cannot be fetched, leaves an error and never a pillar without it", async () => {
    const errors: readonly [unknown, RegExp][] = [
      [
        "nosuch file://FOLDER/top",
        /Failed to load ext_pillar git: git_pillar remote nosuch .* has no branch or tag 'nosuch'/,
      ],
      [{ "master file://FOLDER/top": [{ root: "nowhere" }] }, /has no directory 'nowhere'/],
      ["master file://FOLDER/nosuch", /git_pillar remote master file:.*nosuch/],
      ["master https://user:hidden@127.0.0.1:1/x.git", /master https:\/\/127\.0\.0\.1:1\/x\.git/],
    ];
    for (const [remote, expected] of errors) {
      const { _errors } = (await masterOf({ repos: [remote] })()) as { readonly _errors?: readonly string[] };
      assert.match(String(_errors), expected);
      assert.doesNotMatch(String(_errors), /hidden/);
    }
  });

  it("shows no file of the master's machine through its links", async () => {
    const hostile = new SampleRepository(join(folder, "hostile"));
    hostile.commit({
      "top.sls": "base:\n  '*': [own, absolute, upward]\n",
      "own.sls": "-> real.yaml",
      "real.yaml": "own: 1\n",
      "absolute.sls": `-> ${join(folder, "secret.sls")}`,
      "upward.sls": "-> ../../../../../secret.sls",
    });
    new SampleRepository(folder).commit({ "secret.sls": "secret: yes\n" });
    const pillar = (await masterOf({ repos: [`master ${hostile.url}`] })()) as Record<string, unknown>;
    assert.deepEqual([pillar.own, pillar.secret, (pillar._errors as unknown[]).length], [1, undefined, 2]);
  });

  it("is as it was at the last fetch", async () => {
    const source = new SampleRepository(join(folder, "changing"));
    source.commit({ "top.sls": "base:\n  '*': [a]\n", "a.sls": "a: 1\n" });
    const pillar = masterOf({ repos: [`master ${source.url}`] });
    assert.deepEqual(await pillar(), { a: 1 });
    source.commit({ "a.sls": "a: 2\n" });
    assert.deepEqual(await pillar(), { a: 1 });
  });
});
