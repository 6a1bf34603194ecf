/**
 * What users with grants learn about other users' minions and jobs: by Salt's commands, by ours, and by hand-made requests. Every answer is
 * searched for what the user must not see.
 */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { RequestChannel } from "../../../src/transport/request-channel.ts";
import { decode } from "../../../src/wire/msgpack.ts";
import { encodeClearRequest } from "../../../src/wire/request.ts";
import type { Encodable, Value, ValueMap } from "../../../src/wire/values.ts";
import { Operator } from "../operator.ts";
import { openReleases } from "../salt-releases.ts";
import { MasterUnderTest, MinionUnderTest, TestBed } from "../test-bed.ts";

const releases = await openReleases();
const release = releases.all.find(({ name }) => name === "3007");
const startTimeoutMs = 60_000;
const password = "what-users-know-1";
/** A secret in db1's pillar, of letters that have no meaning in a glob. */
const secret = "k7q2zx9w";
const letters = "abcdefghijklmnopqrstuvwxyz0123456789";

/** `web` may ask web1 alone, `everyone` all minions for test.ping; `wheel` may call all wheel functions, `jobs` the runners of jobs. */
const grants = {
  web: [{ "web*": ["test.*"] }],
  everyone: ["test.ping"],
  wheel: ["@wheel"],
  jobs: ["@jobs", "@cache"],
  root: [{ "web*": ["test.*"] }],
} as const;
type User = keyof typeof grants;
const users = Object.keys(grants) as User[];

describe("a user with some grant", () => {
  const bed = new TestBed();
  let master: MasterUnderTest;
  let channel: RequestChannel;
  let rootJid: string;

  before(async () => {
    const [file, pillar] = [join(bed.folder, "users"), join(bed.folder, "pillar")];
    writeFileSync(file, users.map((user) => `${user}:${password}\n`).join(""));
    mkdirSync(pillar);
    writeFileSync(join(pillar, "top.sls"), "base:\n  db1:\n    - db\n");
    writeFileSync(join(pillar, "db.sls"), `password: ${secret}\n`);
    master = await MasterUnderTest.create(bed, "ours", {
      auto_accept: true,
      external_auth: { file: { "^filename": file, ...grants } },
      pillar_roots: { base: [pillar] },
      nodegroups: { secretive: "I@password:k*" },
    });
    await master.start();
    const events = await bed.watchEvents(master.sockDir);
    for (const id of ["web1", "db1"]) {
      new MinionUnderTest(master, "ours", id);
      await events.until(`${id} start`, ({ tag }) => tag === `salt/minion/${id}/start`, startTimeoutMs);
    }
    channel = new RequestChannel({ endpoint: `tcp://127.0.0.1:${master.requestPort}`, timeoutMs: 30_000, tries: 1 });
    const operator = new Operator("ours", master);
    rootJid = (await operator.job("db1", ["pillar.get", "password"])).jid;
    assert.deepEqual(await operator.json("salt", ["-I", `password:${secret}`, "test.ping"]), { db1: true });
  });
  after(() => {
    channel?.close();
    return bed.close();
  });

  const proofOf = (user: string, eauth = "file") => ({ eauth, username: user, password });
  async function ask(load: Record<string, Encodable>): Promise<Value> {
    return decode(await channel.request(encodeClearRequest(load as Encodable, 3)));
  }
  const wheel = (user: string, fun: Encodable, fields: Record<string, Encodable>) =>
    ask({ cmd: "wheel", fun, ...fields, ...proofOf(user) });
  const runner = (user: string, fun: Encodable, arg: Encodable[], kwarg: Encodable = {}) =>
    ask({ cmd: "runner", fun, kwarg: { arg, kwarg }, sync: true, ...proofOf(user) });
  const publish = (user: string, tgt: Encodable, kind: string, fun: Encodable, arg: Encodable[] = []) =>
    ask({ cmd: "publish", tgt, tgt_type: kind, fun, arg, ret: "", jid: "", kwargs: proofOf(user), user: "root" });

  const textOf = (value: Value): string =>
    value instanceof Map
      ? `{${[...value].map(([key, member]) => `${String(key)}: ${textOf(member)}`).join(", ")}}`
      : Array.isArray(value)
        ? `[${value.map(textOf).join(", ")}]`
        : value instanceof Uint8Array
          ? Buffer.from(value).toString("latin1")
          : String(value);

  bed.it("finds no pillar by asking for one letter after the other", async () => {
    for (const user of users) {
      const answers = new Set<string>();
      for (const [kind, written] of [
        ["pillar", (glob: string) => `password:${glob}`],
        ["compound", (glob: string) => `web1 or I@password:${glob}`],
      ] as const)
        for (const letter of letters) {
          const reply = (await wheel(user, "saltworks.match_target", {
            tgt: written(`${letter}*`),
            tgt_type: kind,
          })) as ValueMap;
          const data = reply.get("data") as ValueMap;
          assert.equal(data.get("success"), false);
          answers.add(textOf(data.get("return") ?? null));
        }
      assert.equal(answers.size, 1, `${user} can tell letters apart: ${[...answers].join(" | ")}`);
      for (const [tgt, kind] of [
        ["secretive", "nodegroup"],
        ["web1 or N@secretive", "compound"],
        ["password:k.*", "pillar_pcre"],
        [`password:${secret}`, "pillar_exact"],
        [["J@password:k.*"], "compound"],
      ] as const) {
        const reply = await wheel(user, "saltworks.match_target", { tgt, tgt_type: kind });
        assert.ok(!textOf(reply).includes("db1"), `${user}: ${textOf(reply)}`);
      }
    }
  });

  bed.it("is told of no other minion, and of no other user's job", async () => {
    const seen: string[] = [];
    for (const user of ["web", "root", "wheel"]) {
      for (const [tgt, kind] of [
        ["*", "glob"],
        ["d.1", "pcre"],
        ["db1,web1", "list"],
        ["os:*", "grain"],
        ["not web*", "compound"],
      ] as const) {
        for (const fun of ["saltworks.match_target", "saltworks.explain_target"])
          seen.push(`${user} ${fun} ${kind}: ${textOf(withoutNames(await wheel(user, fun, { tgt, tgt_type: kind })))}`);
        seen.push(textOf(await publish(user, tgt, kind, "saltutil.find_job", [rootJid])));
      }
      for (const [fun, fields] of [
        ["saltworks.returns", { jid: rootJid, ids: ["db1", "web1"] }],
        ["saltworks.batch", { jid: rootJid }],
        ["saltworks.job_end", { jid: rootJid }],
        ["saltworks.retcodes", { jid: rootJid }],
        ["saltworks.peer_returns", { jid: rootJid, id: "db1" }],
      ] as const)
        seen.push(`${user} ${fun}: ${textOf(await wheel(user, fun, fields))}`);
    }
    for (const answer of seen) assert.doesNotMatch(answer, /db1|k7q2zx9w/);
    const everyone = await wheel("everyone", "saltworks.match_target", { tgt: "*" });
    assert.match(textOf(everyone), /db1/, "who may publish to all may know all");
  });

  /** Names that the user wrote may come back, as unknown ones. */
  function withoutNames(reply: Value): Value {
    const value = reply instanceof Map ? (reply.get("data") as ValueMap | undefined)?.get("return") : undefined;
    if (!(value instanceof Map)) return reply;
    for (const name of ["missing", "unknown", "target", "terms"]) value.delete(name);
    return value;
  }

  bed.it("reaches no token, no directory and no other function by arguments that are something else", async () => {
    const cachedir = master.cacheDir;
    for (const [fun, arg] of [
      ["cache.list", ["tokens"]],
      ["cache.list", ["../pki"]],
      ["cache.fetch", ["jobs", "x"]],
      ["cache.flush", ["tokens"]],
      ["cache.flush", ["batches"]],
    ] as const)
      assert.match(textOf(await runner("jobs", fun, [...arg])), /not a bank/, fun);
    for (const named of ["/", join(cachedir, ".."), join(cachedir, "tokens")])
      assert.match(textOf(await runner("jobs", "cache.list", ["pki"], { cachedir: named })), /without restriction/);
    for (const jid of ["../../pki/master", `${rootJid}/..`])
      assert.match(textOf(await runner("jobs", "jobs.lookup_jid", [jid])), /is not a path/);
    for (const fun of [
      "test.ping,cmd.run",
      ["test.ping,cmd.run"],
      [["test.ping", "cmd.run"]],
      ["test.ping", "cmd.run"],
    ] as const)
      assert.match(
        textOf(await publish("everyone", "*", "glob", fun as Encodable, [[], ["id"]])),
        /Authorization error/,
      );
    assert.match(textOf(await wheel("wheel", ["key.list_all"], {})), /error/);
  });

  const operators = [...(release === undefined ? [] : [release]), "ours" as const];
  const skip = releases.skip !== false ? releases.skip : false;
  it("gets no more by Salt's commands or ours", {
    skip: release === undefined && (skip || "Salt 3007 is not installed"),
  }, async () => {
    const login = (user: User) => ["-a", "file", `--username=${user}`, `--password=${password}`];
    for (const maker of operators) {
      const operator = new Operator(maker, master);
      const lines: (readonly ["salt" | "run", readonly string[]])[] = [
        ["salt", [...login("web"), "*", "test.ping"]],
        ["salt", [...login("web"), "*", "saltutil.find_job", rootJid]],
        ["salt", [...login("web"), "web1", "test.ping,cmd.run", "", "id"]],
        ["run", [...login("web"), "jobs.lookup_jid", rootJid]],
        ["run", [...login("jobs"), "cache.list", "tokens", "cachedir=/"]],
      ];
      if (maker === "ours")
        lines.push(
          ["salt", [...login("web"), "--preview-target", "*"]],
          ["salt", [...login("web"), "-I", "--preview-target", "password:*"]],
          ["salt", [...login("web"), "--explain", "*"]],
        );
      await Promise.all(
        lines.map(async ([tool, words]) => {
          const { stdout, stderr } = await operator.run(tool, words);
          const shown = String(stdout) + String(stderr);
          assert.doesNotMatch(shown, /db1|uid=|k7q2zx9w/, `${operator.name} ${tool} ${words.join(" ")}`);
        }),
      );
      const own = await operator.run("salt", [...login("web"), "web1", "test.ping"]);
      assert.match(String(own.stdout), /web1:\s+True/, `${operator.name}: ${String(own.stderr)}`);
    }
  });
});
