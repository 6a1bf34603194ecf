import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { dispatch } from "../../../src/cli/dispatch.ts";
import { isEnvironmentName } from "../../../src/config/files/environment.ts";
import { environmentNameBytesMax } from "../../../src/limits.ts";
import { PillarCompiler } from "../../../src/pillar/compile.ts";
import type { ValueMap } from "../../../src/wire/values.ts";
import { TestHost } from "../../cli/test-host.ts";
import { grains, settingsOf } from "../../pillar/rendering.ts";

const leadingAway = ["../evil", "..", ".", "", "/etc", "qa/../../evil", "qa/..", "qa/sub", "..\\evil", "x\0", "qa\0"];

describe("a name for which `__env__` stands", () => {
  let folder: string;
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "saltworks-environment-"));
    for (const [place, environment] of [
      ["envs/qa", "qa"],
      ["envs/qa/sub", "qa/sub"],
      ["evil", "../evil"],
      [".", ".."],
      ["envs", "."],
    ] as const) {
      write(join(place, "top.sls"), `{{ saltenv | tojson }}:\n  '*': [secret]\n`);
      write(join(place, "secret.sls"), `of: ${JSON.stringify(environment)}\n`);
      write(join(place, "file.txt"), `of ${environment}`);
    }
    const roots = `{__env__: [${folder}/envs/__env__]}`;
    write(
      "minion",
      `root_dir: ${folder}/root\nid: here\nfile_client: local\nfile_roots: ${roots}\npillar_roots: ${roots}\n`,
    );
  });
  after(() => rmSync(folder, { recursive: true }));

  it("is one directory's name, and short enough for a file system", () => {
    for (const name of leadingAway) assert.equal(isEnvironmentName(name), false, JSON.stringify(name));
    for (const name of ["qa", "a..b", "...", "release 1.2", "ü".repeat(environmentNameBytesMax / 2)])
      assert.ok(isEnvironmentName(name), name);
    assert.equal(isEnvironmentName("x".repeat(environmentNameBytesMax + 1)), false);
  });

  it("never leads a pillar elsewhere: such an environment is unknown, as in Salt", () => {
    const roots = { __env__: [join(folder, "envs/__env__")] };
    const compile = (asked: { saltenv?: string; pillarenv?: string }, options = {}): ValueMap => {
      const minion = { id: "m", grains: grains() };
      const compiler = new PillarCompiler(settingsOf({ pillar_roots: roots, ...options }));
      const request = { minion, saltenv: asked.saltenv, pillarenv: asked.pillarenv, override: new Map() };
      assert.deepEqual(compiler.top(request).faults, []);
      return compiler.compile(request).pillar;
    };
    assert.deepEqual(compile({ pillarenv: "qa" }), new Map([["of", "qa"]]));
    for (const name of [...leadingAway.filter((other) => other !== ""), "__env__", "x".repeat(5_000)]) {
      assert.deepEqual(compile({ pillarenv: name }), new Map(), JSON.stringify(name));
      assert.deepEqual(compile({ saltenv: name }), new Map(), JSON.stringify(name));
      assert.deepEqual(compile({ saltenv: name }, { pillarenv_from_saltenv: true }), new Map(), JSON.stringify(name));
      assert.deepEqual(compile({}, { pillarenv: name }), new Map(), JSON.stringify(name));
    }
  });

  it("never leads a minion without a master elsewhere, for files, pillars and its own copies", async () => {
    const call = async (...words: string[]): Promise<string> => {
      const host = new TestHost();
      await dispatch(["call", "-c", folder, "--local", "--skip-grains", "--out=json", ...words], host);
      return host.out + host.err;
    };
    assert.match(await call("cp.get_file_str", "salt://file.txt", "saltenv=qa"), /of qa/);
    assert.match(await call("pillar.items", "pillarenv=qa"), /of.*qa/);
    for (const name of leadingAway.filter((other) => other !== "" && !other.includes("\0"))) {
      const files = ["cp.get_file_str", "cp.cache_file", "cp.hash_file"];
      for (const words of files.map((fun) => [fun, `salt://file.txt?saltenv=${name}`]))
        assert.match(await call(...words), /is not an environment/, `${name} ${words[0]}`);
      assert.match(await call("cp.list_master", `saltenv='${name}'`), /is not an environment/, name);
      for (const words of [`pillarenv='${name}'`, `saltenv='${name}'`])
        assert.doesNotMatch(await call("pillar.items", words), /"of"/, words);
    }
  });
});
