/** One configuration of `reactor`, on a master of Salt's and on ours, each with a minion of Salt's: the same jobs and calls follow the same events. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import { plainJson } from "../../plain.ts";
import type { EventWatch, SeenEvent } from "../event-watch.ts";
import { Operator } from "../operator.ts";
import { runCommand } from "../program.ts";
import { openReleases, type SaltRelease } from "../salt-releases.ts";
import { MasterUnderTest, MinionUnderTest, TestBed } from "../test-bed.ts";

const releases = await openReleases();
const release = releases.all.find(({ name }) => name === "3007");
const skip = releases.skip !== false ? releases.skip : release === undefined ? "Salt 3007 is not installed" : false;
const waitMs = 60_000;
const minionId = "web1";

/** Files by path below the folder of the reactor's files. */
const files: Readonly<Record<string, string>> = {
  "start.sls": `
{% if data['id'].startswith('web') and tag.endswith('/start') %}
greet {{ data['id'] }}:
  local.test.arg:
    - tgt: {{ data['id'] }}
    - args:
      - first: {{ data.cmd }}
      - second: [1, {a: null}]
{% else %}
never:
  local.test.arg:
    - tgt: '*'
{% endif %}
`,
  "auth.sls": `
{% if data.get('act') == 'pend' and data['id'].startswith('web') %}
accept:
  wheel.key.accept:
    - args:
      - match: {{ data['id'] }}
tell:
  runner.test.arg:
    - args:
        accepted: {{ data['id'] }}
{% endif %}
`,
  "custom.sls": `
{% set text = data['data']['text'] %}
older form:
  cmd.test.arg:
    - tgt: ${minionId}
    - tgt_type: list
    - arg:
      - {{ text | yaml_dquote }}
      - 20201224000000000001
    - kwarg:
        count: {{ data['data']['count'] }}
        nested: {{ data['data']['list'] | json }}
new form:
  runner.test.arg:
    - args:
      - text: {{ text | json }}
      - tag: {{ tag }}
both lists:
  runner.test.arg:
    - arg: [1, two]
    - kwarg: {three: 3}
keys:
  wheel.key.name_match:
    - args:
        match: '{{ data['id'] }}'
# A comment: {{ text | yaml_encode }}
short: local.test.nothing
`,
  "parts/first.sls":
    "{% from 'map.jinja' import name %}\nfrom a glob:\n  runner.test.arg: [{args: {file: {{ name }}}}]\n",
  "parts/second.sls": "#!jinja|yaml\nfrom a glob too:\n  runner.test.arg: [{args: {file: second}}]\n",
  "served/map.jinja": "{% set name = 'first' %}",
  "served/answer.sls": "served:\n  runner.test.arg: [{args: {served: '{{ data.id }}'}}]\n",
  "order.sls": `
last written first:
  local.test.arg: [{tgt: ${minionId}}, {arg: [c]}, {order: last}]
z named:
  local.test.arg: [{tgt: ${minionId}}, {arg: [b]}]
a named:
  local.test.arg: [{tgt: ${minionId}}, {arg: [a]}]
numbered:
  local.test.arg: [{tgt: ${minionId}}, {arg: [zero]}, {order: first}]
several:
  local.test.arg: [{tgt: ${minionId}}, {names: [n1, n2]}, {arg: [named]}]
`,
  "beacon.sls": `
load:
  local.test.ping:
    - tgt: 'id:${minionId}'
    - tgt_type: grain
    - ret: ''
    - metadata: {load: {{ data['data']['1m'] }}}
nobody:
  local.test.ping:
    - tgt: nosuch*
`,
  "broken.sls": "{% for %}\n",
  "not-a-map.sls": "- a\n- b\n",
  "after.sls": "after:\n  runner.test.arg: [{args: {after: faults}}]\n",
  "invalid.sls": "two functions:\n  local: [test.ping, test.arg, {tgt: '*'}]\n",
  "bad-reactions.sls": `
no target:
  local.test.arg: [{arg: [x]}]
a wrong argument:
  runner.jobs.list_jobs: [{nosuch: 1}]
no such function:
  wheel.nosuch.fun: []
empty arguments:
  runner.test.arg: [{args: []}]
right:
  runner.test.arg: [{args: {right: 1}}]
`,
};

function reactorIn(folder: string): readonly Readonly<Record<string, unknown>>[] {
  const at = (...names: readonly string[]) => names.map((name) => join(folder, name));
  return [
    { "salt/minion/*/start": at("start.sls") },
    { "salt/auth": join(folder, "auth.sls") },
    { "my/[ce]*/?": [...at("custom.sls", "parts/*.sls"), "salt://answer.sls"] },
    { "salt/beacon/*/load/": at("beacon.sls") },
    { "my/order": at("order.sls") },
    { "my/broken": at("broken.sls", "no-such.sls", "not-a-map.sls", "after.sls") },
    { "my/invalid": at("after.sls", "invalid.sls") },
    { "my/bad": at("bad-reactions.sls") },
    // Each runner's end starts a runner, which would go on for ever if the reactor reacted to its own calls.
    { "salt/run/*/ret": at("after.sls") },
  ];
}

/** Jobs of the test's own commands. A slow machine makes Salt's command ask for its job. */
const byCommand = ["event.send", "saltutil.find_job"];

/** What a reaction shows on the bus, without its job id and time. */
function shown({ tag, data }: SeenEvent): string | undefined {
  const [, kind, , step] = tag.split("/");
  const pick = (...names: readonly string[]) =>
    JSON.stringify(plainJson(new Map(names.map((name) => [name, data.get(name) ?? null]))));
  if (kind === "job" && step === "new" && !byCommand.includes(String(data.get("fun"))))
    return `job ${pick("fun", "arg", "tgt", "tgt_type", "minions", "user")}`;
  if ((kind === "run" || kind === "wheel") && data.get("user") === "Reactor")
    return `${kind} ${step} ${pick("fun", "fun_args", "tag", "success", "return")}`;
  return undefined;
}

function isAnswer(tag: string): boolean {
  return tag.startsWith("salt/job/") && tag.endsWith(`/ret/${minionId}`);
}

type Site = { readonly master: MasterUnderTest; readonly watch: EventWatch; readonly minion: MinionUnderTest };

describe("the reactor beside Salt's", { skip }, () => {
  const bed = new TestBed();
  const sites: Site[] = [];

  before(async () => {
    if (release === undefined) return;
    const folder = join(bed.folder, "reactor");
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(folder, path, ".."), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    for (const maker of [release, "ours"] as const) sites.push(await start(maker, release, folder));
  });
  after(() => bed.close());

  async function start(maker: SaltRelease | "ours", minions: SaltRelease, folder: string): Promise<Site> {
    const name = maker === "ours" ? "ours" : "theirs";
    const master = await MasterUnderTest.create(
      bed,
      maker,
      {
        ...{ id: "the_master", timeout: 5, gather_job_timeout: 5, reactor: reactorIn(folder) },
        file_roots: { base: [join(folder, "served")] },
      },
      name,
    );
    await master.start();
    const watch = await bed.watchEvents(master.sockDir);
    const minion = new MinionUnderTest(master, minions, minionId, {}, `${name}-minions`);
    return { master, watch, minion };
  }

  /** The reactions so far, once there are `count` more than `from`. */
  async function reactions({ watch }: Site, from: number, count: number): Promise<string[]> {
    const since = () => watch.seen.slice(from).flatMap((event) => shown(event) ?? []);
    await watch.until(`${count} reactions`, () => since().length >= count, waitMs);
    return since();
  }

  /** What follows `step` on both masters. @param count - of events that show reactions */
  async function compare(
    what: string,
    count: number,
    step: (site: Site) => Promise<unknown>,
    isOrdered = false,
  ): Promise<readonly string[]> {
    const both: string[][] = [];
    for (const site of sites) {
      const from = site.watch.seen.length;
      await step(site);
      const found = await reactions(site, from, count);
      both.push(isOrdered ? found : found.toSorted());
    }
    assert.deepEqual(both[1], both[0], what);
    return both[1] ?? [];
  }

  const send = (tag: string, data: unknown) => (site: Site) =>
    new Operator(release ?? "ours", site.master).job(minionId, ["event.send", tag, JSON.stringify(data)]);

  bed.it("accepts a minion's key, and greets the minion", async () => {
    const both: string[][] = [];
    for (const { watch } of sites) {
      await watch.until(
        "the minion's answer",
        ({ tag, data }) => isAnswer(tag) && data.get("fun") === "test.arg",
        waitMs,
      );
      // The minion asks again until its key is accepted, and the later calls find no key that waits.
      const found = watch.seen.flatMap((event) => shown(event) ?? []).filter((text) => !text.includes('"return":{}'));
      both.push([...new Set(found)].sort());
    }
    assert.deepEqual(both[1], both[0]);
    assert.match(both[1]?.find((text) => text.startsWith("job")) ?? "", /"second":\[1,\{"a":null\}\]/);
  });

  bed.it("reacts alike to a minion's own event, with texts of every kind", async () => {
    const data = { text: 'grüße ☃ "quoted": {{ 1 }} - #', count: 3, list: [1, { a: null }] };
    const step = async ({ minion }: Site) => {
      const words = ["-c", minion.configDir, "event.send", "my/event/1", JSON.stringify(data)];
      const ended = await runCommand(release?.program("salt-call") ?? "", words);
      assert.equal(ended.code, 0, ended.stderr);
    };
    // A job, and two events for each of five runner calls and one wheel call.
    const found = await compare("custom", 13, step);
    assert.equal(found.filter((text) => text.includes("grüße ☃")).length, 3);
  });

  bed.it("starts the reactions of one event in the order of Salt", async () => {
    const found = await compare("order", 6, send("my/order", {}), true);
    const args = found.map((text) => /"arg":\["(\w+)"\]/.exec(text)?.[1]);
    assert.deepEqual(args, ["zero", "a", "b", "named", "named", "c"]);
  });

  bed.it("reacts alike to a beacon's event", async () => {
    await compare("beacon", 1, send(`salt/beacon/${minionId}/load/`, { id: minionId, "1m": 0.5 }));
  });

  bed.it("goes on alike after files and reactions with faults", async () => {
    await compare("broken", 2, send("my/broken", {}));
    await compare("bad", 2, send("my/bad", {}));
    // A file whose declarations are invalid keeps all of its event's reactions from starting.
    for (const site of sites) {
      const from = site.watch.seen.length;
      await send("my/invalid", {})(site);
      await send("my/broken", {})(site);
      assert.equal((await reactions(site, from, 2)).length, 2);
    }
  });

  bed.it("obeys the same runners", async () => {
    const answers: unknown[][] = [];
    for (const { master } of sites) {
      const operator = new Operator(master.maker, master);
      const run = async (name: string, ...words: readonly string[]) => {
        const ended = await operator.run("run", ["--out=json", `reactor.${name}`, ...words]);
        // Salt's command prints the runner's own event, with the master's key, before the answer.
        return JSON.parse(ended.stdout.toString().replace(/^\{\n {4}"suffix"[\s\S]*?\n\}\n/, "")) as unknown;
      };
      const listed = (await run("list")) as unknown[];
      answers.push([
        listed.length,
        await run("is_leader"),
        await run("add", "my/added", "/no/such.sls"),
        await run("add", "my/added", "/no/such.sls"),
        ((await run("list")) as unknown[]).at(-1),
        await run("delete", "my/added"),
        await run("delete", "my/added"),
        await run("set_leader", "False"),
        await run("is_leader"),
        await run("set_leader"),
      ]);
    }
    assert.deepEqual(answers[1], answers[0]);
  });
});
