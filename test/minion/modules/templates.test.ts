import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { templateCallsMax } from "../../../src/limits.ts";
import type { Value } from "../../../src/wire/values.ts";
import { openWorld, valueOfCall, type World } from "./world.ts";

describe("commands as templates", () => {
  let root: string;
  let world: World;
  before(async () => {
    root = mkdtempSync(join(tmpdir(), "saltworks-templates-"));
    world = await openWorld(root, {
      grains: new Map<Value, Value>([["id", "unit"]]),
      pillar: new Map<Value, Value>([["tier", "front"]]),
      freshPillar: new Map<Value, Value>([["tier", "fresh"]]),
      environment: { PATH: process.env.PATH },
    });
  });
  after(() => rmSync(root, { recursive: true }));

  const run = (cmd: string, ...words: string[]) => valueOfCall(world, "cmd.run", cmd, "template=jinja", ...words);

  it("see grains, pillar, options and the environment", async () => {
    assert.equal(
      await run("echo {{ grains.id }} {{ pillar.tier }} {{ opts.id }} {{ saltenv }}"),
      "unit front unit base",
    );
    assert.equal(await run("pwd", "cwd=/{{ 'tmp' }}"), "/tmp");
    assert.equal(await run("echo {{ pillar.tier }} {{ saltenv }}", "pillar={x: 1}", "saltenv=dev"), "fresh dev");
    assert.equal(await valueOfCall(world, "cmd.run", "echo '{{ grains.id }}'"), "{{ grains.id }}");
  });

  it("call functions once, in order, and use their results", async () => {
    const trace = join(root, "trace");
    const cmd = `{% for x in [1, 2] %}{% set y = salt['cmd.run']('echo ' ~ x ~ ' | tee -a ${trace}') %}echo {{ y }}; {% endfor %}{{ salt.test.echo('true') }}`;
    assert.equal(await run(cmd), "1\n2");
    assert.equal(readFileSync(trace, "utf8"), "1\n2\n");
  });

  it("may change their values without changing the minion", async () => {
    const cmd = "{% do grains.update({'id': 'x'}) %}echo {{ grains.id }} {{ salt['grains.get']('id') }}";
    assert.equal(await run(cmd), "x unit");
    assert.equal(world.context.grains().get("id"), "unit");
  });

  it("fail with the reason", async () => {
    const failed = "Failed to execute cmd with error: ";
    const loop = `{% for x in range(${templateCallsMax + 1}) %}{{ salt['test.ping']() }}{% endfor %}`;
    const cases: [string, string][] = [
      ["echo {{ nosuch }}", "Jinja variable 'nosuch' is undefined; line 1"],
      ["echo {{ grains.id ", "Jinja syntax error: unexpected end of template; line 1"],
      ["echo {{ salt['no.such']() }}", "Jinja variable 'dict object' has no attribute 'no.such'; line 1"],
      [
        "\n{{ salt['file.read']('/no/such') }}",
        "Jinja error: Problem running salt function in Jinja template: [Errno 2] No such file or directory: '/no/such'; line 2",
      ],
      [
        "{% include 'x' %}",
        "Jinja error: the template x cannot be loaded: commands include and import no others; line 1",
      ],
      [loop, `Jinja error: more than ${templateCallsMax} calls of functions in one template`],
    ];
    for (const [cmd, message] of cases) await assert.rejects(run(cmd), { message: failed + message }, cmd);
    await assert.rejects(run("x", "template=foo"), {
      message: "Attempted to render file paths with unavailable engine foo",
    });
    await assert.rejects(run("x", "template=mako"), { message: "template=mako is not supported by this minion" });
  });

  it("are scripts, too", async () => {
    const script = join(root, "script.sh");
    writeFileSync(script, "#!/bin/sh\necho {{ grains.id }} $1\n");
    const result = (await valueOfCall(world, "cmd.script", script, "args=one", "template=jinja")) as { stdout: string };
    assert.equal(result.stdout, "unit one");
    const plain = (await valueOfCall(world, "cmd.script", script, "args=one")) as { stdout: string };
    assert.equal(plain.stdout, "{{ grains.id }} one");
    writeFileSync(script, "#!/bin/sh\necho {{ nothing }}\n");
    await assert.rejects(valueOfCall(world, "cmd.script", script, "template=jinja"), {
      message: `Failed to execute cmd with error: Jinja variable 'nothing' is undefined; line 2; file ${script}`,
    });
  });
});

describe("the names of runners", () => {
  it("are those of this program", async () => {
    const root = mkdtempSync(join(tmpdir(), "saltworks-templates-"));
    try {
      const world = await openWorld(root);
      assert.deepEqual(await valueOfCall(world, "sys.list_runners", "j*"), ["jobs"]);
      assert.deepEqual(await valueOfCall(world, "sys.list_runners", "manage", "nosuch"), ["manage"]);
      const lists = (await valueOfCall(world, "sys.list_runner_functions", "jobs.list_*")) as string[];
      assert.ok(lists.includes("jobs.list_jobs") && !lists.includes("jobs.active"));
      assert.ok(((await valueOfCall(world, "sys.list_runners")) as string[]).includes("cache"));
    } finally {
      rmSync(root, { recursive: true });
    }
  });
});
