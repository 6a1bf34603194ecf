import assert from "node:assert/strict";
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import { reprOf } from "../../../src/python/repr.ts";
import type { EventWatch } from "../event-watch.ts";
import { type Comparable, comparable } from "../golden/same-output.ts";
import { Operator } from "../operator.ts";
import { openReleases } from "../salt-releases.ts";
import { type Maker, MasterUnderTest, MinionUnderTest, TestBed } from "../test-bed.ts";

const releases = await openReleases();
const release = releases.all.find(({ name }) => name === "3007");
const skip = releases.skip !== false ? releases.skip : release === undefined ? "Salt 3007 is not installed" : false;
const startTimeoutMs = 60_000;
const secrets = { fred: "fred-keeps-this-1", ann: "ann-keeps-this-2" };
const asUser = (username: keyof typeof secrets, password = secrets[username]) => [
  "-a",
  "file",
  `--username=${username}`,
  `--password=${password}`,
];

/** Grants of ann, who may ask web1 for test functions, and of fred, who may run everything except wheel functions. */
const commands: readonly (readonly ["salt" | "run", readonly string[]])[] = [
  ["salt", [...asUser("fred"), "web1", "cmd.run", "echo one"]],
  ["salt", [...asUser("ann", "wrong"), "web1", "test.ping"]],
  ["salt", [...asUser("ann"), "*", "test.ping"]],
  ["run", [...asUser("fred"), "test.arg", "three", "k=4"]],
];
/** Runner functions that the user may not run, or whose password is wrong. */
const refused: readonly (readonly string[])[] = [
  [...asUser("ann"), "test.arg", "five"],
  [...asUser("ann"), "jobs.migrate", "from=local_cache", "to=lmdb"],
  [...asUser("fred", "wrong"), "jobs.migrate", "from=local_cache", "to=lmdb"],
];

describe("external authentication", { skip }, () => {
  const bed = new TestBed();
  const masters = new Map<Maker, MasterUnderTest>();
  const tokenFile = (maker: Maker) => join(bed.folder, `token-${maker === "ours" ? "ours" : "theirs"}`);
  let watch: EventWatch;

  before(async () => {
    if (release === undefined) return;
    const users = join(bed.folder, "users");
    writeFileSync(users, `fred:${secrets.fred}\nann:${secrets.ann}\n`);
    const file = { "^filename": users, fred: [".*", "@runner"], ann: [{ web1: ["test.*"] }] };
    await Promise.all([release, "ours" as const].map((maker) => start(maker, { external_auth: { file } })));
  });
  after(() => bed.close());

  async function start(maker: Maker, options: Readonly<Record<string, unknown>>): Promise<void> {
    const name = maker === "ours" ? "ours" : "theirs";
    const master = await MasterUnderTest.create(
      bed,
      maker,
      { auto_accept: true, token_file: tokenFile(maker), ...options },
      name,
    );
    await master.start();
    const events = await bed.watchEvents(master.sockDir);
    if (maker === "ours") watch = events;
    for (const id of ["web1", "db1"]) {
      new MinionUnderTest(master, "ours", id, {}, `${name}-minions`);
      await events.until(`${id} start`, ({ tag }) => tag === `salt/minion/${id}/start`, startTimeoutMs);
    }
    masters.set(maker, master);
  }

  /** Runs Salt's command on Salt's master and on ours, and our command on ours. */
  async function answers(tool: "salt" | "run", words: readonly string[]): Promise<readonly Comparable[]> {
    const [ours, theirs] = [masters.get("ours"), release && masters.get(release)];
    assert.ok(release !== undefined && ours !== undefined && theirs !== undefined);
    const operators = [new Operator(release, theirs), new Operator(release, ours), new Operator("ours", ours)];
    return await Promise.all(operators.map(async (operator) => comparable(await operator.run(tool, words))));
  }

  bed.it("lets Salt's commands and ours do on our master what they do on Salt's", async () => {
    for (const [tool, words] of commands) {
      const [expected, ...actual] = await answers(tool, words);
      for (const one of actual) assert.deepEqual(one, expected, `${tool} ${words.join(" ")}`);
    }
  });

  bed.it("ends a refused runner with 1 and says what was refused, where Salt's command ends with 0", async () => {
    const [ours, theirs] = [masters.get("ours") ?? assert.fail(), release && masters.get(release)];
    assert.ok(release !== undefined && theirs !== undefined);
    for (const words of refused) {
      const name = words.find((word) => word.includes(".")) ?? assert.fail();
      const { stdout, code } = comparable(await new Operator("ours", ours).run("run", words));
      assert.equal(code, 1, stdout);
      assert.match(stdout, new RegExp(`^${name} was refused: Authentication failure of type "eauth" occurred`));
      // Salt's command does not know the functions that are ours.
      if (name === "jobs.migrate") continue;
      const bySalt = async (master: MasterUnderTest): Promise<Comparable> =>
        comparable(await new Operator(release, master).run("run", words));
      const expected: Comparable = await bySalt(theirs);
      assert.deepEqual(await bySalt(ours), expected);
      assert.equal(expected.code, 0);
      assert.equal(stdout, `${name} was refused: ${expected.stdout}`);
    }
  });

  bed.it("gives a token that stands for the password in the commands that come after", async () => {
    for (const [maker, master] of masters) {
      for (const operator of maker === "ours" ? [release ?? assert.fail(), "ours" as const] : [maker]) {
        rmSync(tokenFile(maker), { force: true });
        const asking = new Operator(operator, master);
        const made = await asking.run("salt", [...asUser("ann"), "-T", "web1", "test.echo", "six"]);
        assert.match(made.stdout.toString(), /six/);
        assert.equal(statSync(tokenFile(maker)).mode & 0o777, 0o600);
        assert.match(readFileSync(tokenFile(maker), "utf8"), /^[0-9a-f]{64}$/);
        // A caller that can read this key would act as the key's user.
        const key = join(master.cacheDir, ".root_key");
        renameSync(key, `${key}.kept`);
        const [granted, denied] = await Promise.all([
          asking.run("salt", ["web1", "test.echo", "seven"]),
          asking.run("salt", ["web1", "cmd.run", "echo eight"]),
        ]);
        renameSync(`${key}.kept`, key);
        assert.match(granted.stdout.toString(), /seven/);
        assert.equal(denied.stdout.toString(), "Authorization error occurred.\n");
      }
    }
  });

  bed.it("records whose job it was, and neither passwords nor tokens", async () => {
    const master = masters.get("ours") ?? assert.fail();
    const token = readFileSync(tokenFile("ours"), "utf8");
    const { data } = await watch.until(
      "a job of ann's",
      ({ tag, data }) => isNew(tag) && data.get("user") === "ann",
      0,
    );
    assert.equal(data.get("fun"), "test.echo");
    const told = watch.seen.map((event) => event.tag + reprOf(event.data)).join("\n");
    const written = [
      told,
      bed.logs(),
      ...filesBelow(join(master.cacheDir, "jobs")),
      ...filesBelow(join(master.cacheDir, "jobs.lmdb")),
    ];
    for (const secret of [...Object.values(secrets), token])
      assert.ok(!written.some((text) => text.includes(secret)), "a secret was written");
  });

  const isNew = (tag: string) => /^salt\/job\/\d+\/new$/.test(tag);

  function filesBelow(folder: string): string[] {
    const entries = readdirSync(folder, { withFileTypes: true, recursive: true });
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"));
  }
});
