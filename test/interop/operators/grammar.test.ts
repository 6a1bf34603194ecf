/**
 * Every form of permissions by hand-made requests, on Salt's master and on ours: what is refused leaves no trace on a minion, on the bus or in the
 * job cache. Afterwards all that our master wrote is searched for passwords and tokens.
 */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import { RequestChannel } from "../../../src/transport/request-channel.ts";
import { decode } from "../../../src/wire/msgpack.ts";
import { encodeClearRequest } from "../../../src/wire/request.ts";
import type { Encodable, ValueMap } from "../../../src/wire/values.ts";
import type { EventWatch } from "../event-watch.ts";
import { openReleases } from "../salt-releases.ts";
import { type Maker, MasterUnderTest, MinionUnderTest, TestBed } from "../test-bed.ts";
import { type Case, cases, grammarOptions, nameOf } from "./grammar-cases.ts";

const releases = await openReleases();
const release = releases.all.find(({ name }) => name === "3007");
const skip = releases.skip !== false ? releases.skip : release === undefined ? "Salt 3007 is not installed" : false;
const waitMs = 60_000;
const password = "grammar-of-permissions-7";
const ids = ["web1", "db1"];

type Site = { readonly master: MasterUnderTest; readonly events: EventWatch; readonly channel: RequestChannel };

describe("permissions", { skip }, () => {
  const bed = new TestBed();
  const sites = new Map<Maker, Site>();

  before(async () => {
    if (release === undefined) return;
    const users = join(bed.folder, "users");
    const names = new Set(["token-user", ...cases.map((_, index) => nameOf(index))]);
    writeFileSync(users, [...names].map((name) => `${name}:${password}\n`).join(""));
    await Promise.all([release, "ours" as const].map((maker) => start(maker, grammarOptions(users))));
  });
  after(async () => {
    for (const { channel } of sites.values()) channel.close();
    await bed.close();
  });

  async function start(maker: Maker, options: ReturnType<typeof grammarOptions>): Promise<void> {
    const name = maker === "ours" ? "ours" : "theirs";
    const audit = maker === "ours" ? { audit_log: join(bed.folder, "ours", "audit") } : {};
    const master = await MasterUnderTest.create(bed, maker, { auto_accept: true, ...options, ...audit }, name);
    await master.start();
    const events = await bed.watchEvents(master.sockDir);
    for (const id of ids) {
      new MinionUnderTest(master, "ours", id, { grains: { role: id.slice(0, -1) } }, `${name}-minions`);
      await events.until(`${id} start`, ({ tag }) => tag === `salt/minion/${id}/start`, waitMs);
    }
    const channel = new RequestChannel({
      endpoint: `tcp://127.0.0.1:${master.requestPort}`,
      timeoutMs: 30_000,
      tries: 1,
    });
    sites.set(maker, { master, events, channel });
  }

  const siteOf = (maker: Maker) => sites.get(maker) ?? assert.fail();
  const traces = (maker: Maker) => join(bed.folder, maker === "ours" ? "traces-ours" : "traces-theirs");

  /** What the master answers. */
  async function ask(maker: Maker, { asked, local, proof = {} }: Case, index: number): Promise<ValueMap> {
    const { master, channel } = siteOf(maker);
    const login = { eauth: "file", username: nameOf(index), password, ...proof };
    const key = local === undefined ? "" : readFileSync(join(master.cacheDir, `.${local}_key`), "latin1");
    const credentials: Record<string, Encodable> = local === undefined ? login : { user: local, key };
    const trace = `echo case${index} >> ${traces(maker)}`;
    const load: Record<string, Encodable> =
      asked.cmd === "publish"
        ? {
            ...{ cmd: "publish", fun: asked.fun ?? "cmd.run", tgt: asked.tgt, tgt_type: asked.kind ?? "glob" },
            ...{ arg: withTrace(asked.arg ?? [], trace), ret: "", jid: "", user: "root" },
            ...(local === undefined ? { kwargs: login } : { kwargs: {}, ...credentials }),
          }
        : asked.cmd === "runner"
          ? { cmd: "runner", fun: asked.fun, kwarg: { arg: asked.arg ?? [], kwarg: asked.kwarg ?? {} }, ...credentials }
          : { cmd: "wheel", fun: asked.fun, ...asked.fields, ...credentials };
    return decode(await channel.request(encodeClearRequest(load as Encodable, 3))) as ValueMap;
  }

  function withTrace(value: Encodable, trace: string): Encodable {
    if (value === "{trace}") return trace;
    if (Array.isArray(value)) return value.map((each) => withTrace(each as Encodable, trace));
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withTrace(each as Encodable, trace)]));
  }

  /** Asks all cases and compares. @returns the indices of permitted jobs */
  async function decide(maker: Maker): Promise<number[]> {
    const { events } = siteOf(maker);
    const permittedJobs: number[] = [];
    const wrong: string[] = [];
    for (const [index, each] of cases.entries()) {
      const expected = maker === "ours" ? each.permitted : (each.salts ?? each.permitted);
      if (expected === "any") continue;
      const reply = await ask(maker, each, index);
      const isPermitted = !reply.has("error");
      const what = `${each.asked.cmd}: ${each.what} (case ${index})`;
      assert.equal(
        isPermitted,
        expected,
        `${what}: ${JSON.stringify([...reply.keys()])} ${String(reply.get("error"))}`,
      );
      if (each.asked.cmd !== "publish" || !isPermitted) continue;
      permittedJobs.push(index);
      const jid = (reply.get("load") as ValueMap).get("jid");
      for (const id of (reply.get("load") as ValueMap).get("minions") as string[])
        await events.until(`${what} of ${id}`, ({ tag }) => tag === `salt/job/${String(jid)}/ret/${id}`, waitMs);
    }
    assert.deepEqual(wrong, []);
    return permittedJobs;
  }

  const tracesOf = (maker: Maker) =>
    [...new Set(readFileSync(traces(maker), "utf8").split("\n").filter(Boolean))].sort();

  bed.it("are on Salt's master what they are said to be there", async () => {
    await decide(release ?? assert.fail());
  });

  bed.it("are on ours the same but for what is stricter, and what is refused leaves no trace", async () => {
    const permitted = await decide("ours");
    const { events, channel, master } = siteOf("ours");
    // A job that was published in spite of its refusal would have been announced before this one.
    const fence = {
      cmd: "publish",
      fun: "cmd.run",
      arg: [`echo fence >> ${traces("ours")}`],
      tgt: "*",
      tgt_type: "glob",
    };
    const key = readFileSync(join(master.cacheDir, ".root_key"), "latin1");
    const reply = decode(
      await channel.request(encodeClearRequest({ ...fence, ret: "", jid: "", user: "root", key, kwargs: {} }, 3)),
    ) as ValueMap;
    const jid = String((reply.get("load") as ValueMap).get("jid"));
    for (const id of ids)
      await events.until(`the fence of ${id}`, ({ tag }) => tag === `salt/job/${jid}/ret/${id}`, waitMs);
    const isRun = (index: number) => {
      const { asked } = cases[index] ?? assert.fail();
      return asked.cmd === "publish" && JSON.stringify(asked.fun ?? "").includes("cmd.run");
    };
    const expected = ["fence", ...permitted.filter(isRun).map((index) => `case${index}`)].sort();
    assert.deepEqual(tracesOf("ours"), expected);
    const began = events.seen.filter(({ tag }) => /^salt\/(?:job|run|wheel)\/\d+\/new$/.test(tag));
    const userOf = (index: number) => cases[index]?.local ?? nameOf(index);
    const count = (user: string) => began.filter(({ data }) => data.get("user") === user).length;
    for (const user of new Set(cases.map((_, index) => userOf(index)))) {
      const asked = cases.filter((each, index) => each.permitted && userOf(index) === user).length;
      assert.equal(count(user), asked, user);
    }
    assert.deepEqual(readdirSync(join(master.pkiDir, "minions")).sort(), [...ids].sort());
  });

  bed.it("of a token are its user's, and no password or token is in anything that the master wrote", async () => {
    const { master, channel } = siteOf("ours");
    const login = { eauth: "file", username: "token-user", password };
    const made = decode(await channel.request(encodeClearRequest({ cmd: "mk_token", ...login }, 3))) as ValueMap;
    const token = String(made.get("token"));
    const publish = (tgt: string) => {
      const load = { cmd: "publish", fun: "test.ping", arg: [], tgt, tgt_type: "glob", ret: "", jid: "", user: "root" };
      return channel.request(encodeClearRequest({ ...load, kwargs: { token } }, 3));
    };
    assert.ok((decode(await publish("web1")) as ValueMap).has("error"), "'*' grants cmd.run alone");
    await master.program.stop();
    const audit = readFileSync(join(bed.folder, "ours", "audit"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const told = (user: string) =>
      audit.filter((line) => line.user === user).map(({ event, outcome }) => `${event} ${outcome}`);
    assert.deepEqual(told("token-user"), ["login authentic", "refusal denied"]);
    for (const [index, each] of cases.entries()) {
      if (each.named !== undefined || each.local !== undefined || each.proof !== undefined) continue;
      const kinds = new Set(told(nameOf(index)).map((text) => text.split(" ")[0]));
      assert.deepEqual([...kinds], [each.permitted ? "command" : "refusal"], `case ${index}: ${each.what}`);
    }
    for (const file of filesBelow(bed.folder)) {
      if (file === join(bed.folder, "users") || file.startsWith(join(bed.folder, "theirs"))) continue;
      const text = readFileSync(file, "latin1");
      for (const secret of [password, token]) assert.ok(!text.includes(secret), `a secret is in ${file}`);
    }
    assert.ok(!bed.logs().includes(password) && !bed.logs().includes(token));
  });

  function filesBelow(folder: string): string[] {
    const entries = readdirSync(folder, { withFileTypes: true, recursive: true });
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    return files.filter((file) => existsSync(file));
  }
});
