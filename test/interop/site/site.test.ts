/**
 * A site of thirty state files moves to our master and back: each command is typed on a master of Salt 3007, on ours after the takeover, and on Salt's
 * again. All answers, and all files that highstates wrote, are the same each time.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { after, before, describe, type TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { skipWithout } from "../../services/service.ts";
import { Operator } from "../operator.ts";
import { openReleases, type SaltRelease } from "../salt-releases.ts";
import { type Maker, MasterUnderTest, TestBed } from "../test-bed.ts";
import { demandAnswers, SiteMinions } from "./site-minions.ts";
import { minionIds, type SiteTree, writeSite } from "./site-tree.ts";

const releases = await openReleases();
const of = (name: string) => releases.all.find((release) => release.name === name) as SaltRelease;
const skip = skipWithout("git", "gpg", "gpgconf") || releases.skip;
const waitMs = 120_000;
/** Of one test, with room for one more round after a minion that stood still. */
const testTimeoutMs = 500_000;
type Answers = Readonly<Record<string, unknown>>;

/** Without what differs from run to run: times, process ids, job ids, and the order of lists without one. */
function steady(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(steady);
  // Salt's runners show the bytes of file_tree as Python writes them. Minions stand in the order in which they returned.
  if (typeof value === "string") {
    const inOrder = (_text: string, ids: string) => `ran on ${ids.split(", ").sort().join(", ")}.`;
    return value.replace(/^b'(.*)'$/, "$1").replaceAll(/ran on ([\w, ]+)\./g, inOrder);
  }
  if (typeof value !== "object" || value === null) return value;
  const moving = new Set(["start_time", "duration", "jid", "__jid__", "__pub_jid", "pid", "_stamp"]);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !moving.has(name))
      .map(([name, member]) => [name, steady(member)]),
  );
}

/** The contents of all files below a folder by their paths. */
function filesBelow(folder: string): Readonly<Record<string, string>> {
  const found = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = found.map((entry) => join(entry.parentPath, entry.name)).sort();
  return Object.fromEntries(paths.map((path) => [relative(folder, path), readFileSync(path, "utf8")]));
}

describe("a site of thirty state files", { skip }, () => {
  const bed = new TestBed();
  let salts: MasterUnderTest;
  let minions: SiteMinions;
  let site: SiteTree;
  let first: Answers;

  before(async () => {
    const folder = join(bed.folder, "master");
    site = writeSite(join(folder, "site"), join(folder, "cache"));
    salts = await MasterUnderTest.create(bed, of("3007"), {
      ...site.options,
      salt_python: of("3007").program("python"),
    });
    await salts.start();
    minions = await SiteMinions.start(salts, of);
  });
  after(async () => {
    await bed.close();
    site?.remove();
  });

  /** As `typedOnce`, and again if one of Salt's minions stood still meanwhile, which is started anew. */
  async function typed(t: TestContext, maker: Maker, master: MasterUnderTest): Promise<Answers> {
    const outcome = await typedOnce(maker, master).catch((error: unknown) => ({ error }));
    const still = await minions.standingStill(new Operator(maker, master));
    if (still.length > 0) {
      t.diagnostic(`${still.join(", ")} stood still and was started anew: ${JSON.stringify(outcome)}`);
      await minions.startAnew(still, master);
      return await typedOnce(maker, master);
    }
    if ("error" in outcome) throw outcome.error;
    return outcome;
  }

  /** Types every command on the master that runs. */
  async function typedOnce(maker: Maker, master: MasterUnderTest): Promise<Answers> {
    const operator = new Operator(maker, master);
    const watch = await bed.watchEvents(master.sockDir);
    const answers: Record<string, unknown> = {};
    const ask = async (tool: "salt" | "run", ...words: readonly string[]) => {
      answers[`${tool} ${words.join(" ")}`] = steady(await operator.json(tool, words));
    };
    const all = async (...words: readonly string[]) => {
      await ask("salt", "--static", "*", ...words);
      demandAnswers(answers[`salt --static * ${words.join(" ")}`]);
    };
    await untilAll(operator, "back");
    await operator.json("salt", ["--static", "*", "saltutil.sync_all"]);
    await untilAll(operator, "grown");
    await operator.json("salt", ["--static", "*", "mine.update"]);
    await untilAll(operator, "mined");
    rmSync(site.out, { recursive: true, force: true });
    await operator.json("run", ["saltutil.sync_runners"]);
    await operator.json("run", ["saltutil.sync_modules"]);
    for (const words of [
      ["pillar.items"],
      ["state.show_top"],
      ["state.apply"],
      ["state.apply", "shared"],
      ["state.show_sls", "common"],
      ["grains.get", "site_grain"],
      ["site_module.word"],
      ["cp.get_file_str", "salt://shared.txt"],
      ["cp.hash_file", "salt://web/files/web.conf"],
      ["cp.list_states"],
      ["cp.list_master", "saltenv=dev"],
      ["mine.get", "*", "closed"],
      ["match.compound", "G@role:web and not dev*"],
    ])
      await all(...words);
    for (const target of [
      ["-E", "(web|db)1"],
      ["-L", "web1,dev1"],
      ["-G", "role:db"],
      ["-P", "role:w.*"],
      ["-I", "tier:front"],
      ["-N", "racks"],
      ["-C", "I@users:ann:uid:1001 and not L@db1"],
      ["-S", "127.0.0.1"],
    ])
      await ask("salt", "--static", ...target, "test.ping");
    await ask("run", "site_runner.greet", "you");
    await ask("run", "fileserver.envs");
    await ask("run", "fileserver.file_list");
    await ask("run", "pillar.show_pillar", "web1");
    await ask("run", "mine.get", "*", "place");
    await ask("run", "state.orchestrate", "orch.deploy", 'pillar={"who": "them"}');
    await ask("run", "event.send", "site/deploy", `data=${JSON.stringify({ word: "again", out: site.out })}`);
    await watch.until("the reaction's return", isReaction, waitMs);
    await watch.until("a tick of the engine", ({ tag }) => tag === "site/engine", waitMs);
    await watch.until("a beat of the schedule", ({ tag }) => tag === "site/beat", waitMs);
    watch.close();
    return { ...answers, files: filesBelow(site.out) };
  }

  const test = (name: string, body: (t: TestContext) => Promise<void>) => bed.it(name, body, testTimeoutMs);

  test("answers under Salt's master", async (t) => {
    first = await typed(t, of("3007"), salts);
    const files = first.files as Readonly<Record<string, string>>;
    for (const name of ["web1/tls", "db1/backup", "dev1/feature", "web1/told_python", "web1/shared", "reacted"])
      assert.ok(name in files, `${name} is not among ${Object.keys(files).join(" ")}`);
    await salts.program.stop();
  });

  test("answers the same under ours after a takeover", async (t) => {
    const ours = salts.madeBy("ours");
    await ours.start();
    assert.deepEqual(await typed(t, "ours", ours), first);
    await ours.program.stop();
  });

  test("answers the same under Salt's master again", async (t) => {
    await salts.start();
    assert.deepEqual(await typed(t, of("3007"), salts), first);
  });
});

function isReaction({ tag, data }: { readonly tag: string; readonly data: unknown }): boolean {
  return /^salt\/job\/\d+\/ret\/web1$/.test(tag) && data instanceof Map && data.get("fun") === "state.single";
}

/** What minions do beside their answers: they reconnect, read grains that were just brought, and send their mines. */
const settled = {
  back: { tool: "salt", words: ["-t", "5", "--static", "*", "test.ping"], is: (value: unknown) => value === true },
  grown: {
    tool: "salt",
    words: ["--static", "*", "grains.get", "site_grain"],
    is: (value: unknown) => value === "grown",
  },
  mined: { tool: "run", words: ["mine.get", "*", "place"], is: (value: unknown) => value !== undefined },
} as const;

/** Asks until all minions have it. */
async function untilAll(operator: Operator, what: keyof typeof settled): Promise<void> {
  const { tool, words, is } = settled[what];
  const deadlineMs = performance.now() + waitMs;
  for (;;) {
    const answer = ((await operator.json(tool, words)) ?? {}) as Answers;
    if (minionIds.every((id) => is(answer[id]))) return;
    if (performance.now() > deadlineMs) throw new Error(`not all minions are ${what}: ${JSON.stringify(answer)}`);
    await delay(500);
  }
}
